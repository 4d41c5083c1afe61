"""What a pod requests, as kube-scheduler counts it."""

from typing import Any

import pytest

from inferfleet.fleet.shapes import requests

SIDECAR = "Always"


def _container(amount: str | None, restart: str | None = None, *, part: str = "requests") -> dict[str, Any]:
    resources = {"resources": {part: {"memory": amount}}} if amount else {}
    return {"name": "c", **resources, **({"restartPolicy": restart} if restart else {})}


def _pod(*running: str | None, init: tuple[tuple[str, str | None], ...] = (), **spec: Any) -> dict[str, Any]:
    return {
        "containers": [_container(amount) for amount in running],
        "initContainers": [_container(amount, restart) for amount, restart in init],
        **spec,
    }


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (_pod(None), 0),
        (_pod("8", "3"), 11),
        ({"containers": [_container("8", part="limits")]}, 8),
        # An init container ends before the others start.
        (_pod("8", init=(("5", None), ("7", None))), 8),
        (_pod("8", init=(("12", None), ("7", None))), 12),
        # A sidecar runs beside the containers, and beside the init containers that follow it.
        (_pod("8", init=(("3", SIDECAR), ("4", SIDECAR))), 15),
        (_pod("8", init=(("3", SIDECAR), ("10", None))), 13),
        (_pod("8", init=(("12", None), ("3", SIDECAR))), 12),
        (_pod("1", init=(("3", SIDECAR), ("10", None), ("4", SIDECAR))), 13),
        # What the whole pod requests takes the place of what its containers do.
        (_pod("8", "3", resources={"requests": {"memory": "20"}}), 20),
        (_pod("8", resources={"limits": {"memory": "20"}}), 8),
        (_pod(None, resources={"limits": {"memory": "20"}}), 20),
        (_pod("8", resources={"requests": {"cpu": "20"}}), 8),
        # The overhead of a RuntimeClass comes on top of all.
        (_pod("8", overhead={"memory": "2"}), 10),
        (_pod("8", resources={"requests": {"memory": "20"}}, overhead={"memory": "2", "cpu": "1"}), 22),
    ],
)
def test_memory_of_a_pod(spec: dict[str, Any], expected: int) -> None:
    assert requests(spec, "memory") == expected


def test_huge_pages_of_a_whole_pod_are_its_limit_where_containers_ask_for_some_too() -> None:
    engine = {"name": "engine", "resources": {"limits": {"hugepages-2Mi": "1Gi"}}}
    spec = {"containers": [engine], "resources": {"limits": {"hugepages-2Mi": "4Gi"}}}
    assert requests(spec, "hugepages-2Mi") == 4 * 2**30


def test_cores_are_counted_in_thousandths_and_everything_is_rounded_up() -> None:
    amounts = {"cpu": "1.5", "memory": "1500m", "hugepages-2Mi": "4Mi"}
    spec = {"containers": [{"name": "engine", "resources": {"limits": amounts}}]}
    counted = [requests(spec, name) for name in ("cpu", "memory", "hugepages-2Mi", "hugepages-1Gi")]
    assert counted == [1500, 2, 4 * 2**20, 0]
