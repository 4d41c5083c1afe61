"""Replicas on classes that allocate by DRA: their claims stand before their workloads, as planned."""

from typing import Any

import pytest
from small_stack import Document, after, cluster, deployment, stack

from inferfleet.desired import desired
from inferfleet.desired.values import Desired, KubeObject
from inferfleet.documents.kinds.inference_class import InferenceClass
from inferfleet.documents.problems import InvalidDocuments
from inferfleet.fleet.lock.lock import Lock, LockedCluster
from inferfleet.fleet.spot import Spot

NOTHING = Lock(stack="test")
GPU = {
    "name": "gpu",
    "driver": "gpu.nvidia.com",
    "deviceClassName": "gpu.nvidia.com",
    "count": 4,
    "capacity": {"memory": {"value": "24Gi"}},
}

NETWORK = {"name": "nic", "driver": "dra.net", "claim": "Synthetic"}


def _made(*documents: Document, lock: Lock = NOTHING, **spec: Any) -> Desired:
    claimed = InferenceClass.model_validate(
        {
            "metadata": {"name": "l4"},
            "spec": {
                "node": {"cpu": "40", "memory": "160Gi"},
                "allocation": "DRA",
                "devices": [GPU],
                **spec,
            },
        }
    )
    documents_of_all = stack(*documents)
    documents_of_all.classes["l4"] = claimed
    return desired(documents_of_all, lock)


def _of_kind(made: Desired, kind: str) -> list[KubeObject]:
    return [wanted for part in made.clusters for wanted in part.objects if wanted.kind == kind]


def test_the_claim_template_stands_before_the_workload_that_names_it() -> None:
    made = _made(cluster("east"), deployment("a", 2, gpus=2))
    (template,) = _of_kind(made, "ResourceClaimTemplate")
    (workload,) = [one for one in _of_kind(made, "Deployment") if not one.name.endswith("-epp")]
    assert template.name == f"east/ml/{template.kubernetes_name}"
    assert f"ResourceClaimTemplate {template.name}" in after(made, "Deployment", workload.name)
    pod = workload.manifest["spec"]["template"]["spec"]
    assert pod["resourceClaims"] == [
        {"name": "devices", "resourceClaimTemplateName": template.kubernetes_name}
    ]
    assert pod["containers"][0]["resources"] == {"claims": [{"name": "devices"}]}


def test_claims_ask_for_what_the_plan_counts_on_every_spot() -> None:
    """Two nodes of four GPUs have four pods of two: so many the plan places, and each claims two."""
    made = _made(cluster("east"), cluster("west"), deployment("a", 8, gpus=2))
    templates = _of_kind(made, "ResourceClaimTemplate")
    counts = [
        request["exactly"]["count"]
        for template in templates
        for request in template.manifest["spec"]["spec"]["devices"]["requests"]
    ]
    assert (len(templates), counts) == (2, [2, 2])
    assert [placement.replicas for placement in made.plan.placements] == [4, 4]


def test_one_more_than_fits_is_unplaced() -> None:
    made = _made(cluster("east"), deployment("a", 3, gpus=4))
    (unplaced,) = made.plan.unplaced
    assert unplaced.replicas == 1


def test_a_mistake_in_a_selector_is_told_once_for_replicas_that_run() -> None:
    east = Spot("ml/a", "east", (("decode", "l4"),))
    running = Lock(stack="test", clusters={"east": LockedCluster("Existing", None)}, placements={east: 1})
    with pytest.raises(InvalidDocuments) as raised:
        _made(cluster("east"), deployment("a", nodeSelector={"cel": "device.driver =="}), lock=running)
    assert [problem.path for problem in raised.value.problems] == ["spec.nodeSelector.cel"]
