"""Which pod holds up a group, and the words with which its engine ended."""

from datetime import UTC, datetime
from typing import Any

import pytest

from inferfleet.cli.verbs.status import tables
from inferfleet.clusters.status.pods import groups, held_up, last_end, pod_status
from inferfleet.clusters.status.read import LiveCluster
from inferfleet.clusters.status.status import placement_status
from inferfleet.clusters.status.values import DeploymentStatus, GroupStatus, Phase, Status

NOW = datetime(2026, 8, 1, 12, tzinfo=UTC)
SET = "leaderworkerset.sigs.k8s.io"
WORDS = "DistStoreError: 1/2 clients joined."
ENDED = {"terminated": {"exitCode": 1, "message": WORDS}}
SAID = f"engine ended with exit code 1: {WORDS}"


def _pod(name: str, *, ready: bool = False, node: str | None = "n1", **fields: Any) -> dict[str, Any]:
    _, group, *worker = name.split("-")
    labels = {f"{SET}/name": "kimi", f"{SET}/group-index": group, f"{SET}/worker-index": (worker or ["0"])[0]}
    deleted = {"deletionTimestamp": "2026-08-01T11:59:00Z"} if fields.pop("leaving", False) else {}
    status = {"name": "engine", "state": {"running": {"startedAt": "2026-08-01T11:59:00Z"}}, **fields}
    return {
        "metadata": {"name": name, "namespace": "ml", "labels": labels, **deleted},
        "spec": {"containers": [{"name": "engine"}], **({"nodeName": node} if node else {})},
        "status": {
            "conditions": [{"type": "Ready", "status": str(ready)}],
            "containerStatuses": [status] if node else [],
        },
    }


def _groups(*pods: dict[str, Any], number: int = 1) -> list[GroupStatus]:
    members = [(pod, pod_status(pod, main="engine", deadline=None, now=NOW)) for pod in pods]
    return list(groups(members, number=number, size=2))


@pytest.mark.parametrize(
    ("pods", "told"),
    [
        pytest.param(
            [_pod("kimi-0", ready=True), _pod("kimi-0-1", ready=True)],
            GroupStatus(0, Phase.READY, 2, 2),
            id="whole",
        ),
        pytest.param([], GroupStatus(0, Phase.PENDING, 0, 2, "", "0 of 2 pods exist"), id="none exists"),
        pytest.param(
            [_pod("kimi-0"), _pod("kimi-0-1", node=None)],
            GroupStatus(0, Phase.PENDING, 0, 2, "kimi-0-1", "the scheduler has not looked at it yet"),
            id="a leader waits for a follower without a node",
        ),
        pytest.param(
            [_pod("kimi-0"), _pod("kimi-0-1", ready=True)],
            GroupStatus(0, Phase.STARTING, 1, 2, "kimi-0"),
            id="a leader that loads",
        ),
        pytest.param(
            [_pod("kimi-0", state=ENDED), _pod("kimi-0-1", ready=True)],
            GroupStatus(0, Phase.FAILED, 1, 2, "kimi-0", SAID),
            id="a leader that ended",
        ),
        pytest.param(
            [_pod("kimi-0"), _pod("kimi-0-1")],
            GroupStatus(0, Phase.STARTING, 0, 2, "kimi-0-1"),
            id="of two that wait alike the follower",
        ),
        pytest.param(
            [_pod("kimi-0", leaving=True, lastState=ENDED), _pod("kimi-0-1", leaving=True)],
            GroupStatus(0, Phase.LEAVING, 0, 2, "kimi-0", SAID),
            id="a group that begins anew, with the words of the one that ended",
        ),
    ],
)
def test_a_group_names_the_pod_that_holds_it_up(pods: list[dict[str, Any]], told: GroupStatus) -> None:
    assert _groups(*pods) == [told]


def test_each_group_is_told_apart() -> None:
    pods = [_pod("kimi-1", ready=True), _pod("kimi-0", ready=True), _pod("kimi-1-1", ready=True)]
    assert [(group.number, group.ready, group.phase) for group in _groups(*pods, number=3)] == [
        (0, 1, Phase.PENDING),
        (1, 2, Phase.READY),
        (2, 0, Phase.PENDING),
    ]


def test_an_end_without_words_of_a_pod_that_is_deleted_is_not_told() -> None:
    killed = {"terminated": {"exitCode": 137}}
    assert last_end(_pod("kimi-0", leaving=True, state=killed)) == ""
    assert last_end(_pod("kimi-0", lastState=killed)) == "engine ended with exit code 137"
    assert last_end(_pod("kimi-0", lastState={"terminated": {"exitCode": 0}})) == ""


def test_pods_that_are_not_ready_are_told_in_words() -> None:
    pods = [_pod("kimi-0-1", ready=True), _pod("kimi-0", state=ENDED)]
    assert list(held_up(pods, NOW)) == [f"kimi-0 Failed: {SAID}"]


def _workload() -> dict[str, Any]:
    template: dict[str, Any] = {"metadata": {}, "spec": {}}
    group = {"size": 2, "leaderTemplate": template, "workerTemplate": template}
    return {
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "kimi", "namespace": "ml"},
        "spec": {"replicas": 1, "leaderWorkerTemplate": group},
    }


def _placement(live: dict[str, Any], *pods: dict[str, Any]) -> Any:
    seen = LiveCluster({("LeaderWorkerSet", "ml", "kimi"): live}, pods)
    return placement_status("east", "decode=l4", [_workload()], seen, NOW)


def test_a_placement_counts_pods_and_shows_its_groups() -> None:
    placement = _placement(_workload() | {"status": {"updatedReplicas": 1}}, _pod("kimi-0"))
    assert (placement.wanted, placement.ready, placement.phase) == (2, 0, Phase.STARTING)
    told = Status("prod", (), (DeploymentStatus("ml/kimi", (placement,), ()),), ())
    [_, (_, _, rows)] = tables(told)
    assert rows[2] == (
        "    group 0 of kimi",
        Phase.PENDING,
        "0/2",
        None,
        "waits for kimi-0: 1 of 2 pods exist",
    )


def test_groups_that_roll_are_counted_by_groups() -> None:
    live = _workload() | {"status": {"updatedReplicas": 0}}
    placement = _placement(live, _pod("kimi-0", ready=True), _pod("kimi-0-1", ready=True))
    assert (placement.phase, placement.message) == (
        Phase.STARTING,
        "rolls: 0 of 1 groups have the latest template",
    )
