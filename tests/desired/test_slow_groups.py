"""Groups of `tensor` GPUs over nodes without a network between them run, with a warning that says why not."""

from dataclasses import replace

from small_stack import NOTHING, cluster, deployment, stack

from inferfleet.desired import desired
from inferfleet.desired.values import Desired
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.inference_class import InferenceClass
from inferfleet.documents.problems import Problem, joined


def one_gpu(**spec: object) -> InferenceClass:
    node = {"cpu": "40", "memory": "160Gi"}
    device = {"name": "gpu", "driver": "gpu.nvidia.com", "count": 1}
    devices = [device, *spec.pop("more", ())]  # type: ignore[misc]  # a list of devices
    return InferenceClass.model_validate(
        {"metadata": {"name": "l4"}, "spec": {"node": node, "devices": devices, **spec}}
    )


def documents(*names: str, class_: InferenceClass) -> Documents:
    pairs = [deployment(name, gpus=2, engine={"args": ["--tensor-parallel-size=2"]}) for name in names]
    return replace(stack(cluster("east", pools=("l4", "more")), *pairs), classes={"l4": class_})


def slow(found: Desired) -> list[Problem]:
    return [problem for problem in joined(found.warnings) if "ordinary network" in problem.what]


def test_two_nodes_of_one_gpu_share_a_group_and_all_such_deployments_are_told_in_one_line() -> None:
    found = desired(documents("a", "b", class_=one_gpu()), NOTHING)
    assert sum(placement.replicas for placement in found.plan.placements) == 2
    (workload,) = (made for made in found.clusters[0].objects if made.kubernetes_name == "a-decode-l4")
    assert (workload.kind, workload.manifest["spec"]["leaderWorkerTemplate"]["size"]) == (
        "LeaderWorkerSet",
        2,
    )
    assert slow(found) == [
        Problem(
            "the GPUs that share each layer (tensor) are spread over several nodes of class l4, which "
            "describes no network between them: every layer waits for an exchange over the ordinary network, "
            "which is slow (also ml/b)",
            "Choose nodes with as many GPUs; write pipeline in place of tensor; or if nodes have such a "
            "network, describe it in the class (gpuDirect on GKE, a Synthetic device of driver dra.net or "
            "with the attribute linkType)",
            "spec.workers.topology",
            kind="ModelDeployment",
            key="ml/a",
            severity="warning",
        )
    ]


def test_a_class_with_a_network_is_not_warned_of() -> None:
    card = {"name": "nic", "driver": "dra.net", "claim": "Synthetic"}
    assert slow(desired(documents("a", class_=one_gpu(more=[card])), NOTHING)) == []
