"""Handover: what fits only where a leaving workload still runs."""

import pytest
from small_fleet import class_, cluster, deployment, fleet, lock, spot

from inferfleet.documents.documents import Documents
from inferfleet.fleet.decisions import Leaving
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.placement.handover import waiting
from inferfleet.fleet.planning import plan
from inferfleet.fleet.shapes import Pod

EAST = cluster("east", {"l4": ("l4", 1)})


# One node of 200 cores, of which a replica asks for 100.
ON_CORES = fleet(
    cluster("east", {"l4": ("cpu", 1)}),
    class_("cpu", 0, devices=[]),
    deployment("a", 1, accelerator="None", resources={"requests": {"cpu": "100"}}),
)


def _leaving(pods: int, gpus: int, *, pool: str = "l4", requests: Pod | None = None) -> Leaving:
    return Leaving("east", "ml", "old-decode-l4", pool, pods, gpus, requests)


@pytest.mark.parametrize(
    ("documents", "before", "leaving", "waits"),
    [
        pytest.param(fleet(EAST, deployment("a", 1, gpus=4)), lock({}), [], [], id="nothing leaves"),
        pytest.param(
            fleet(EAST, deployment("a", 1, gpus=4)), lock({}), [_leaving(1, 4)], ["a east/l4"], id="swapped"
        ),
        pytest.param(
            fleet(EAST, deployment("a", 1, gpus=2)), lock({}), [_leaving(1, 2)], [], id="both fit for a while"
        ),
        pytest.param(
            fleet(EAST, deployment("a", 1, gpus=4)),
            lock({}),
            [_leaving(1, 4, pool="other")],
            [],
            id="elsewhere",
        ),
        pytest.param(
            fleet(EAST, deployment("a", 4)),
            lock({"a east/l4": 2}),
            [_leaving(2, 1)],
            ["a east/l4"],
            id="grown",
        ),
        pytest.param(
            fleet(EAST, deployment("a", 2)),
            lock({"a east/l4": 2}),
            [_leaving(4, 1)],
            [],
            id="replicas that are there never",
        ),
        pytest.param(
            ON_CORES, lock({}), [_leaving(1, 0, requests=Pod(0, 150_000, 0))], ["a east/l4"], id="cores"
        ),
        pytest.param(
            ON_CORES, lock({}), [_leaving(1, 0, requests=Pod(0, 50_000, 0))], [], id="cores for both"
        ),
        pytest.param(
            fleet(EAST, deployment("a", 4)),
            lock({"a east/l4": 4}),
            [Leaving("east", "ml", "a-decode-l4", "l4", 4, 1)],
            ["a east/l4"],
            id="replicas whose workload becomes one of another kind",
        ),
        pytest.param(
            fleet(EAST, deployment("a", 2), deployment("b", 2)),
            lock({}),
            [_leaving(2, 1)],
            ["b east/l4"],
            id="only as many as must",
        ),
    ],
)
def test_what_waits_for_what_leaves(
    documents: Documents, before: Lock, leaving: list[Leaving], waits: list[str]
) -> None:
    late = waiting(documents, plan(documents, before), leaving, before)
    assert late == frozenset(spot(text) for text in waits)
