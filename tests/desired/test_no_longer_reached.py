"""Reviewers read which gateways stop leading to a model before clients of these get 404."""

import pytest
from small_stack import Document, cluster, deployment, lock, service, stack

from inferfleet.desired import desired
from inferfleet.desired.gate import announced_problems
from inferfleet.documents.problems import Problem
from inferfleet.fleet.lock.lock import Lock

WEST = cluster("west")
DRAINED = cluster("east", state="drained")


def _warned(before: Lock, *documents: Document) -> list[tuple[str, str]]:
    read = stack(*documents)
    told = announced_problems(desired(read, before), read, before, locked=False, preview=False)
    return [(one.what, one.next_step) for one in told if "no longer reached" in one.what]


def test_a_cluster_that_loses_its_last_replica_is_told_with_where_clients_go_first() -> None:
    before = lock({"a east/l4": 1, "a west/l4": 1}, {"s": ("east", "west")})
    documents = stack(DRAINED, WEST, deployment("a", 2), service("s"))
    told = announced_problems(desired(documents, before), documents, before, locked=False, preview=False)
    assert [one for one in told if "gateway" in one.what] == [
        Problem(
            "ml/a, service ml/s are no longer reached through the gateway of east",
            "Send clients to west first",
            "spec.state",
            kind="InferenceCluster",
            key="east",
            severity="warning",
        )
    ]


def test_where_no_other_cluster_has_it_yet_one_replica_more_comes_first() -> None:
    assert _warned(lock({"a east/l4": 1}), DRAINED, WEST, deployment("a")) == [
        (
            "ml/a is no longer reached through the gateway of east",
            "Write state: cordoned first, one replica more, and run `pulumi up`; send clients where that "
            "one is, and go on from there",
        )
    ]


def test_one_line_names_five_of_many() -> None:
    before = lock({f"{name} {place}/l4": 1 for name in "abcdefg" for place in ("east", "west")})
    models = [deployment(name, 1) for name in "abcdefg"]
    [(what, step)] = _warned(before, DRAINED, WEST, *models)
    assert what == (
        "ml/a, ml/b, ml/c, ml/d, ml/e, and 2 more are no longer reached through the gateway of east"
    )
    assert step == "Send clients to west first"


@pytest.mark.parametrize(
    ("before", "documents"),
    [
        (lock({"a east/l4": 1, "a west/l4": 1}), (cluster("east"), WEST, deployment("a", 2))),
        # A replica of two leaves; the other answers.
        (lock({"a east/l4": 2, "a west/l4": 1}), (cluster("east"), WEST, deployment("a", 2))),
        (
            lock({"a east/l4": 1, "a west/l4": 1}),
            (DRAINED, WEST, deployment("a", 2, route={"enabled": False})),
        ),
        (lock({"a east/l4": 1, "a west/l4": 1}), (DRAINED, WEST)),
        (lock({"a east/l4": 1}), (cluster("east", state="abandoned"), WEST, deployment("a"))),
        (lock({"a east/l4": 1}), (cluster("east"), WEST, deployment("a", 0))),
    ],
)
def test_nothing_is_said_where_the_route_stays_or_leads_nowhere_at_all(
    before: Lock, documents: tuple[Document, ...]
) -> None:
    assert _warned(before, *documents) == []
