"""Inputs that the provider's fields do not allow are refused, each with its path; unknown values pass."""

from typing import Any

import pytest
from small_cloud import CLUSTER, POOL, cluster, l4, network, pool

from sandbox.gcp.provider.check import Failure, check
from sandbox.gcp.provider.wire import UNKNOWN

MEMBER = "gcp:projects/iAMMember:IAMMember"
FIREWALL = "gcp:compute/firewall:Firewall"


def _pool(**changes: Any) -> dict[str, Any]:
    return {"name": "p", "cluster": "east", **changes}


@pytest.mark.parametrize(
    "declared", [*network(), cluster(), pool("system"), l4()], ids=lambda declared: declared["name"]
)
def test_what_a_program_writes_passes(declared: dict[str, Any]) -> None:
    assert check(declared["token"], declared["inputs"]) == ()


@pytest.mark.parametrize(
    ("token", "inputs", "failure"),
    [
        (
            POOL,
            _pool(nodecount=1),
            Failure("nodecount", "An argument named 'nodecount' is not expected here"),
        ),
        (
            POOL,
            _pool(instanceGroupUrls=[]),
            Failure("instanceGroupUrls", "An argument named 'instanceGroupUrls' is not expected here"),
        ),
        (POOL, {"name": "p"}, Failure("cluster", "Missing required argument 'cluster'")),
        (POOL, {"cluster": "east"}, Failure("name", "the simulated cloud generates no names: give one")),
        (POOL, _pool(nodeCount="3"), Failure("nodeCount", "expected Int, got String '3'")),
        (POOL, _pool(nodeCount=True), Failure("nodeCount", "expected Int, got Bool True")),
        (POOL, _pool(nodeCount=1.5), Failure("nodeCount", "expected Int, got Float 1.5")),
        (
            POOL,
            _pool(nodeConfig=[{}]),
            Failure("nodeConfig", "expected one object and not a list of it, got List"),
        ),
        (POOL, _pool(nodeLocations="a"), Failure("nodeLocations", "expected a list, got String")),
        (
            POOL,
            _pool(nodeConfig={"taints": [{"key": "a", "value": "b"}]}),
            Failure("nodeConfig.taints[0].effect", "Missing required argument 'effect'"),
        ),
        (
            POOL,
            _pool(nodeConfig={"labels": {"a": 1}}),
            Failure("nodeConfig.labels.a", "expected String, got Int 1"),
        ),
        (
            FIREWALL,
            {"name": "f", "network": "net"},
            Failure(
                "allows",
                "Invalid combination of arguments: exactly one of allows, denies must be given, not 0",
            ),
        ),
        (
            CLUSTER,
            {"name": "c", "maintenancePolicy": {"dailyMaintenanceWindow": {"startTime": "03:00"}}},
            None,
        ),
    ],
)
def test_what_the_fields_do_not_allow_is_refused(
    token: str, inputs: dict[str, Any], failure: Failure | None
) -> None:
    assert check(token, inputs) == ((failure,) if failure else ())


def test_fields_that_exclude_each_other_are_both_named() -> None:
    both = {"clusterSecondaryRangeName": "pods", "clusterIpv4CidrBlock": "/14"}
    first, second = "ipAllocationPolicy.clusterIpv4CidrBlock", "ipAllocationPolicy.clusterSecondaryRangeName"
    conflict = "Conflicting configuration arguments: {!r} conflicts with {!r}"
    assert check(CLUSTER, {"name": "c", "ipAllocationPolicy": both}) == (
        Failure(first, conflict.format(first, second)),
        Failure(second, conflict.format(second, first)),
    )


def test_all_failures_come_at_once() -> None:
    failures = check(MEMBER, {"rol": "x", "project": 3})
    assert [failure.path for failure in failures] == ["rol", "project", "member", "role"]


def test_unknown_values_of_a_preview_pass() -> None:
    assert check(POOL, _pool(nodeConfig={"serviceAccount": UNKNOWN}, nodeLocations=UNKNOWN)) == ()
    assert check(POOL, {"name": UNKNOWN, "cluster": UNKNOWN}) == ()
