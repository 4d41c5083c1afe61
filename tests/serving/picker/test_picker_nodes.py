"""On which nodes pickers run."""

from collections.abc import Callable

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
