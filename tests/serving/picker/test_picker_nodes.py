"""On which nodes pickers run."""

from collections.abc import Callable
from typing import Any

import pytest
from one_picker import picker as one_picker

from inferfleet.documents.kinds.inference_cluster import Serving
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.serving import picker as objects
from inferfleet.tables.pickers import profile

Make = Callable[..., ModelDeployment]
Serve = Callable[..., Serving]


def test_pickers_rather_leave_nodes_with_accelerators_to_others(deployment: Make, serving: Serve) -> None:
    made = objects.objects(
        objects.Picker(
            deployment=deployment(),
            serving=serving(),
            profile=profile("gie-1.5"),
            stack="prod",
            replicas=1,
            drain=130,
        )
    )
    affinity = made.deployment["spec"]["template"]["spec"]["affinity"]
    [preferred] = affinity["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    expressions = preferred["preference"]["matchExpressions"]
    absent = {expression["key"] for expression in expressions}
    assert {"nvidia.com/gpu.present", "cloud.google.com/gke-accelerator"} <= absent
    assert {expression["operator"] for expression in expressions} == {"DoesNotExist"}


LOST = [
    {
        "key": f"node.kubernetes.io/{what}",
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": 20,
    }
    for what in ("not-ready", "unreachable")
]
INFRA = {
    "nodeSelector": {"node-role": "infra"},
    "tolerations": [{"key": "infra", "operator": "Exists", "effect": "NoSchedule"}],
}
OTHER = {"nodeSelector": {"disk": "ssd"}, "tolerations": [{"key": "team", "value": "ml"}]}


@pytest.mark.parametrize(
    ("of_cluster", "of_deployment", "selector", "tolerated"),
    [
        ({}, {}, None, []),
        (INFRA, {}, {"node-role": "infra"}, INFRA["tolerations"]),
        ({}, OTHER, {"disk": "ssd"}, [{"key": "team", "operator": "Equal", "value": "ml"}]),
        (INFRA, OTHER, {"disk": "ssd"}, [{"key": "team", "operator": "Equal", "value": "ml"}]),
        (INFRA, {"nodeSelector": {}, "tolerations": []}, None, []),
    ],
)
def test_a_cluster_or_a_deployment_says_on_which_nodes_pickers_run(
    deployment: Make,
    serving: Serve,
    of_cluster: dict[str, Any],
    of_deployment: dict[str, Any],
    selector: dict[str, str] | None,
    tolerated: list[dict[str, Any]],
) -> None:
    one = one_picker(deployment(endpointPicker=of_deployment), serving(endpointPicker=of_cluster))
    spec = objects.objects(one).deployment["spec"]["template"]["spec"]
    assert (spec.get("nodeSelector"), spec["tolerations"]) == (selector, LOST + tolerated)


@pytest.mark.parametrize("names", [[], ["registry"], ["first", "second"]])
def test_images_of_pickers_are_pulled_by_the_secrets_of_their_cluster(
    deployment: Make, serving: Serve, names: list[str]
) -> None:
    spec = objects.objects(one_picker(deployment(), serving(imagePullSecrets=names))).deployment["spec"]
    pulled = spec["template"]["spec"].get("imagePullSecrets")
    assert pulled == ([{"name": name} for name in names] or None)
