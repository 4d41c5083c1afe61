"""Which workloads an update waits for, and what is said about those it does not wait for."""

import pytest
from small_stack import NOTHING, cluster, deployment, find, lock, spot, stack

from inferfleet.desired import desired
from inferfleet.desired.gate import announced_problems
from inferfleet.desired.transition import with_leaving
from inferfleet.desired.values import Desired
from inferfleet.documents.documents import Documents
from inferfleet.documents.problems import Problem
from inferfleet.fleet.decisions import Leaving
from inferfleet.fleet.lock.lock import Lock

# Both nodes of the pool are taken by what is leaving.
LEAVING = Leaving("east", "ml", "old-decode-l4", "l4", pods=2, gpus_per_pod=4)


def _unawaited(found: Desired) -> set[str]:
    return {
        one.name
        for part in found.clusters
        for one in part.objects
        if one.manifest["metadata"].get("annotations", {}).get("pulumi.com/skipAwait") == "true"
        and one.kind == "Deployment"
    }


def _said(documents: Documents, lock: Lock, *leaving: Leaving) -> tuple[Problem, ...]:
    found = with_leaving(desired(documents, lock), documents, lock, leaving)
    return announced_problems(found, documents, lock, locked=False, preview=True)


def test_every_workload_is_awaited_by_default_and_nothing_is_announced() -> None:
    documents = stack(cluster("east"), cluster("west"), deployment("a", 2))
    assert _unawaited(desired(documents, NOTHING)) == set()
    assert _said(documents, lock({"a east/l4": 1, "a west/l4": 1})) == ()


def test_await_applied_waits_for_pickers_but_for_no_engine() -> None:
    found = desired(stack(cluster("east"), deployment("a"), deployment("b"), **{"await": "applied"}), NOTHING)
    assert _unawaited(found) == {"east/ml/a-decode-l4", "east/ml/b-decode-l4"}
    assert find(found, "Deployment", "east/ml/a-epp").timeout == 180


@pytest.mark.parametrize(("provider", "seconds"), [("gke", (900, 600)), ("istio", (300, 120))])
def test_google_s_gateways_have_the_time_that_load_balancers_take(
    provider: str, seconds: tuple[int, int]
) -> None:
    gateway = {"className": "any", "provider": provider}
    documents = stack(cluster("east", serving={"gateway": gateway}), deployment("a"))
    found = desired(documents, NOTHING)
    assert (
        find(found, "Gateway", "east/inferfleet-system/inferfleet").timeout,
        find(found, "HTTPRoute", "east/ml/a").timeout,
    ) == seconds


def test_await_applied_announces_deployments_that_roll_in_several_places_together() -> None:
    documents = stack(
        *map(cluster, ("east", "west")), deployment("a", 2), deployment("b", 1), **{"await": "applied"}
    )
    assert _said(documents, lock({"a east/l4": 1, "a west/l4": 1, "b east/l4": 1})) == (
        Problem(
            "with await: applied a change of ml/a rolls on its placements together",
            "Set inferfleet:await to ready to roll one placement after the other",
            kind="ModelDeployment",
            key="ml/a",
            severity="warning",
        ),
    )


def test_new_placements_and_those_on_lost_clusters_do_not_roll() -> None:
    applied = {"await": "applied"}
    new = stack(*map(cluster, ("east", "west")), deployment("a", 2), **applied)
    assert _said(new, NOTHING) == ()
    assert _said(new, lock({"a east/l4": 1})) == ()
    lost = stack(cluster("east"), cluster("west", state="lost"), deployment("a", 2), **applied)
    assert _said(lost, lock({"a east/l4": 1, "a west/l4": 1})) == ()


def test_a_workload_that_fits_only_where_a_leaving_one_stands_is_not_awaited_and_announced() -> None:
    documents = stack(cluster("east"), deployment("a"), deployment("b"))
    locked = lock({"b east/l4": 1})
    found = with_leaving(desired(documents, locked), documents, locked, [LEAVING])
    assert found.waiting == frozenset({spot("a east/l4")})
    assert _unawaited(found) == {"east/ml/a-decode-l4"}
    assert _said(documents, locked, LEAVING) == (
        Problem(
            "ml/a on east/l4 fits only once workloads that are leaving are gone, "
            "so this update does not wait for its pods",
            "Run the next `pulumi up` when they are: it waits for them",
            kind="ModelDeployment",
            key="ml/a",
            severity="warning",
            about="ml/a on east/l4",
        ),
    )


def test_without_leaving_workloads_the_same_stack_waits_for_all() -> None:
    documents = stack(cluster("east"), deployment("a"), deployment("b"))
    found = desired(documents, lock({"b east/l4": 1}))
    assert (found.waiting, _unawaited(found)) == (frozenset(), set())


def test_nothing_that_leaves_changes_nothing_of_what_is_desired() -> None:
    documents = stack(cluster("east"), cluster("west"), deployment("a", 2), deployment("b"))
    locked = lock({"b east/l4": 1})
    decided = desired(documents, locked)
    assert with_leaving(decided, documents, locked, []) == decided


def test_waiting_changes_nothing_but_the_annotation() -> None:
    documents = stack(cluster("east"), deployment("a"))
    name = "east/ml/a-decode-l4"
    decided = desired(documents, NOTHING)
    plain = find(decided, "Deployment", name)
    waiting = find(with_leaving(decided, documents, NOTHING, [LEAVING]), "Deployment", name)
    assert waiting.manifest["metadata"].pop("annotations") == {"pulumi.com/skipAwait": "true"}
    assert waiting == plain
