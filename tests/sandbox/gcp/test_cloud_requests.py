"""Queued pools start nodes for ProvisioningRequests alone: all at once, in one zone, or none."""

from pathlib import Path
from typing import Any

import pytest
from cloud_double import create, with_cluster
from small_cloud import pool

from sandbox.gcp.nodes.requests import Answer, answer, consumes, is_open, is_queued, path_of
from sandbox.gcp.nodes.scaling import AutoscaledPool, autoscaled
from sandbox.gcp.store import Record

ZONES = ["us-east5-a", "us-east5-b"]
NONE = {"reservationAffinity": {"consumeReservationType": "NO_RESERVATION"}, "flexStart": True}
TAINTS = [{"key": key, "operator": "Exists"} for key in ("nvidia.com/gpu", "cloud.google.com/gke-queued")]
CLASS = "queued-provisioning.gke.io"


@pytest.fixture
def pools(tmp_path: Path) -> list[AutoscaledPool]:
    """A queued pool of at most three nodes with four GPUs each in two zones, without any."""
    scaling = {"totalMinNodeCount": 0, "totalMaxNodeCount": 3}
    queued = pool(
        "q",
        {
            **NONE,
            "machineType": "g2-standard-48",
            "guestAccelerators": [{"type": "nvidia-l4", "count": 4}],
        },
        queuedProvisioning={"enabled": True},
        autoscaling=scaling,
        management={"autoRepair": False, "autoUpgrade": True},
        nodeLocations=ZONES,
    )
    return autoscaled([create(with_cluster(tmp_path)[0], queued)])


def template(*, gpus: int = 4, **spec: Any) -> dict[str, Any]:
    container = {"name": "engine", "resources": {"limits": {"nvidia.com/gpu": str(gpus)}}}
    return {"template": {"spec": {"containers": [container], "tolerations": TAINTS, **spec}}}


def request(count: int = 2, *conditions: dict[str, str], **spec: Any) -> dict[str, Any]:
    sets = [{"count": count, "podTemplateRef": {"name": "t"}}]
    return {
        "metadata": {"name": "r", "namespace": "ml"},
        "spec": {"provisioningClassName": CLASS, "podSets": sets, **spec},
        "status": {"conditions": list(conditions)},
    }


def answered(pools: list[AutoscaledPool], asked: dict[str, Any], *, short: str = "", **of: Any) -> Answer:
    """What comes of the request where the first zone lacks nodes for the reason `short`."""

    def shortage(record: Record, zone: str, more: int) -> str:
        return short if zone == ZONES[0] else ""

    return answer(asked, {"ml/t": template(**of)}, pools, shortage)


def said(found: Answer) -> list[tuple[str, str, str]]:
    return [(each["type"], each["status"], each["message"]) for each in found.conditions]


@pytest.mark.parametrize(("count", "gpus", "nodes"), [(1, 4, 1), (2, 4, 2), (3, 4, 3), (3, 2, 2), (4, 1, 1)])
def test_a_request_gets_as_many_nodes_of_one_zone_as_its_pods_need(
    pools: list[AutoscaledPool], count: int, gpus: int, nodes: int
) -> None:
    found = answered(pools, request(count), gpus=gpus)
    assert (found.pool, found.zone, found.more) == (pools[0], ZONES[0], nodes)
    assert said(found) == [("Accepted", "True", ""), ("Provisioned", "True", "")]


def test_where_a_zone_lacks_them_another_is_taken(pools: list[AutoscaledPool]) -> None:
    assert answered(pools, request(), short="no stock").zone == ZONES[1]


def test_without_capacity_a_request_stays_accepted_and_says_why(pools: list[AutoscaledPool]) -> None:
    found = answer(request(), {"ml/t": template()}, pools, lambda *_: "no stock")
    assert (found.pool, said(found)) == (
        None,
        [("Accepted", "True", ""), ("Provisioned", "False", "no stock")],
    )


NO_POOL = "no node pool with queued provisioning has nodes of this kind, and room for so many"


@pytest.mark.parametrize(
    ("asked", "of", "why"),
    [
        (request(4), {}, NO_POOL),
        (request(1), {"gpus": 5}, NO_POOL),
        (request(), {"tolerations": []}, NO_POOL),
        (request(), {"nodeSelector": {"cloud.google.com/gke-nodepool": "other"}}, NO_POOL),
        (request(podSets=[{"count": 1, "podTemplateRef": {"name": "x"}}]), {}, "PodTemplate ml/x not found"),
        (request(podSets=[{}, {}]), {}, "only one podSet is supported"),
    ],
)
def test_what_no_pool_can_have_fails_for_ever(
    pools: list[AutoscaledPool], asked: dict[str, Any], of: dict[str, Any], why: str
) -> None:
    assert said(answered(pools, asked, **of)) == [("Failed", "True", why)]


def test_a_request_is_answered_until_it_has_its_nodes_or_failed() -> None:
    accepted, lacking = {"type": "Accepted", "status": "True"}, {"type": "Provisioned", "status": "False"}
    over = [{"type": kind, "status": "True"} for kind in ("Provisioned", "Failed")]
    asked = [request(), request(1, accepted, lacking), *(request(1, accepted, each) for each in over)]
    others = request(provisioningClassName="check-capacity.autoscaling.x-k8s.io")
    assert [is_open(each) for each in (*asked, others)] == [True, True, False, False, False]


def test_pods_of_a_request_are_known_and_so_are_queued_pools(pools: list[AutoscaledPool]) -> None:
    annotations = {"autoscaling.x-k8s.io/consume-provisioning-request": "r"}
    assert consumes({"metadata": {"annotations": annotations}})
    assert not consumes({"metadata": {}})
    assert is_queued(pools[0])
    at = "/apis/autoscaling.x-k8s.io/v1/namespaces/ml/provisioningrequests/r/status"
    assert path_of(request()) == at
