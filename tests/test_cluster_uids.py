"""Which clusters `plan --write` asks for their UID, and what it says of those that do not answer."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fleet_of_one import UID

from inferfleet import run as module
from inferfleet.cloud.values import CloudCluster
from inferfleet.clusters.connections.git import Repository
from inferfleet.desired.values import Connection, Desired, DesiredCluster
from inferfleet.documents.problems import Problem
from inferfleet.fleet.decisions import Plan
from inferfleet.fleet.lock.lock import Lock, LockedCluster

GKE = {
    name: Connection(
        name,
        f"gke/acme/us-east5/{name}",
        "active",
        cloud=CloudCluster(name, "acme", "us-east5", f"{name}-1a2b3c", "DNS", (), {}, source="GKE"),
    )
    for name in ("known", "new", "remade", "silent", "stands")
}
REPOSITORY = Repository(Path("/nonexistent"), trusted=False)
SETTINGS = {"network": "new"}
LOCKED = Lock(
    "prod",
    clusters={name: LockedCluster("GKE", UID if name == "known" else None, SETTINGS) for name in GKE},
)
BEFORE = replace(
    LOCKED, clusters={**LOCKED.clusters, "remade": LockedCluster("GKE", UID, {"network": "old"})}
)


def test_clusters_of_the_stack_are_asked_too_and_those_to_come_are_passed_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[tuple[list[str], str]] = []
    silence = Problem("it is not known where cluster 'silent' is", "Fix it")

    def identify(desired: Desired, _: Any, *, container_api: str, seconds: float) -> Any:
        asked.append(([cluster.connection.cluster for cluster in desired.clusters], container_api))
        return {"stands": "uid-2"}, {"silent": silence}

    monkeypatch.setattr(module, "identify", identify)
    clusters = tuple(DesiredCluster(connection, ()) for connection in GKE.values())
    desired = Desired("prod", clusters, replace(Plan(), lock=LOCKED), frozenset(), ())
    lock, warnings = module.with_reachable_uids(desired, BEFORE, REPOSITORY, container_api="http://google")
    assert asked == [(["new", "silent", "stands"], "http://google")]
    assert {name: cluster.uid for name, cluster in lock.clusters.items()} == {
        "known": UID,
        "new": None,
        "remade": None,
        "silent": None,
        "stands": "uid-2",
    }
    assert warnings == (
        Problem(
            "no UID recorded: it is not known where cluster 'silent' is",
            "`pulumi up` records it, or run this again where the cluster answers",
            "spec.cluster.gke",
            kind="InferenceCluster",
            key="silent",
            severity="warning",
        ),
    )
