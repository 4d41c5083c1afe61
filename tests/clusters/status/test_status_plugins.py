"""With which plugins a running workload was made, and which ones the documents name."""

from datetime import UTC, datetime
from typing import Any

import pytest

from inferfleet.cli.verbs.status import as_values, tables
from inferfleet.clusters.status.read import LiveCluster
from inferfleet.clusters.status.status import placement_status
from inferfleet.clusters.status.values import DeploymentStatus, PluginStatus, Status

NOW = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)
KEY = ("Deployment", "ml", "x-decode-l4")
OLD, NEW = "istio 1.0.0 aa11bb22", "istio 1.1.0 aa11bb22"


def _workload(plugins: str = "") -> dict[str, Any]:
    """A workload without pods, with what the annotation says."""
    annotated = {"annotations": {"inferfleet.dev/plugins": plugins}} if plugins else {}
    return {
        "kind": "Deployment",
        "metadata": {"namespace": "ml", "name": "x-decode-l4", **annotated},
        "spec": {
            "replicas": 0,
            "progressDeadlineSeconds": 600,
            "selector": {"matchLabels": {"app": "x"}},
            "template": {"metadata": {}, "spec": {}},
        },
    }


def _plugins(wanted: dict[str, Any], live: dict[str, Any] | None) -> tuple[PluginStatus, ...]:
    seen = LiveCluster({KEY: live} if live else {})
    return placement_status("east", "decode=l4", [wanted], seen, NOW).plugins


def test_plugins_are_those_of_the_running_workload() -> None:
    both = f"{OLD},restricted 1.0.0 cc33dd44"
    names = (OLD, "restricted 1.0.0 cc33dd44")
    assert _plugins(_workload(both), _workload(both)) == (PluginStatus(KEY[2], names, names, False),)


@pytest.mark.parametrize(
    ("wanted", "live", "made_with", "documents"),
    [
        (_workload(NEW), _workload(OLD), (OLD,), (NEW,)),
        (_workload(NEW), _workload(), (), (NEW,)),
        (_workload(), _workload(OLD), (OLD,), ()),
    ],
)
def test_other_plugins_than_those_of_the_documents_are_told(
    wanted: dict[str, Any], live: dict[str, Any], made_with: tuple[str, ...], documents: tuple[str, ...]
) -> None:
    assert _plugins(wanted, live) == (PluginStatus(KEY[2], made_with, documents, True),)


def test_a_workload_without_plugins_and_one_that_is_missing_have_no_entry() -> None:
    assert _plugins(_workload(), _workload()) == _plugins(_workload(NEW), None) == ()


def test_the_table_and_the_values_name_them() -> None:
    placement = placement_status(
        "east", "decode=l4", [_workload(NEW)], LiveCluster({KEY: _workload(OLD)}), NOW
    )
    status = Status("prod", (), (DeploymentStatus("ml/x", (placement,), ()),), ())
    rows = [row for title, _, rows in tables(status) if title == "deployments" for row in rows]
    assert rows[-1] == (
        "    x-decode-l4",
        None,
        None,
        None,
        f"plugins: {OLD}; documents say: {NEW}",
    )
    [deployment] = as_values(status)["deployments"]
    assert deployment["placements"][0]["plugins"] == [
        {"workload": "x-decode-l4", "madeWith": [OLD], "wanted": [NEW], "differ": True}
    ]
