"""The plugins about hardware and groups pass all checks of a chain, together, for every engine and device."""

from dataclasses import replace
from typing import Any

import pytest
from gke_pods import RDMA, TCPXO
from one_request import GPU, REQUEST
from running import outcome_of

from inferfleet.documents.kinds.base import PluginSpec
from inferfleet.plugins.contract import Request
from inferfleet.plugins.link import Link
from inferfleet.plugins.registry import builtin

COMMANDS = {
    "vLLM": (["vllm", "serve"], ["--model=m", "--tensor-parallel-size=2"]),
    "SGLang": (["python3", "-m", "sglang.launch_server"], ["--model-path=m", "--tp-size=2"]),
    "TensorRT-LLM": (["trtllm-serve", "m"], ["--tp_size=2"]),
    "Triton": (["tritonserver"], ["--model-repository=/models"]),
    "Other": (["/serve"], []),
}
EVERYWHERE: tuple[tuple[str, dict[str, Any]], ...] = (
    ("entry-address-file", {}),
    ("group-env", {}),
    ("hugepages", {"amount": "4Gi"}),
    ("lws-standard-labels", {}),
    ("scheduler", {"system": "Kueue", "queue": "team-a", "priorityClassName": "serving"}),
)


def elsewhere(driver: str, resource: str) -> Request:
    device = replace(GPU, driver=driver, resource=resource, attributes={"productName": "X"})
    return replace(REQUEST, accelerator=device)


PODS: dict[str, tuple[Request, tuple[tuple[str, dict[str, Any]], ...]]] = {
    "TCPXO": (TCPXO, (("accelerator", {"productOfClass": True}), ("network-fabric", {}))),
    "RDMA": (RDMA, (("accelerator", {"productOfClass": True}), ("network-fabric", {}))),
    "NVIDIA": (
        elsewhere("gpu.nvidia.com", "nvidia.com/gpu"),
        (("accelerator", {"productOfClass": True}), ("network-fabric", {"fabric": "InfiniBand"})),
    ),
    "AMD": (elsewhere("gpu.amd.com", "amd.com/gpu"), (("accelerator", {"productOfClass": True}),)),
    "TPU": (elsewhere("tpu.google.com", "google.com/tpu"), (("accelerator", {"topology": "2x4"}),)),
    "Gaudi": (
        elsewhere("gaudi.intel.com", "habana.ai/gaudi"),
        (("accelerator", {"product": "HL-325", "productLabel": "example.com/gaudi"}),),
    ),
    "Ascend": (
        elsewhere("npu.huawei.com", "huawei.com/Ascend910"),
        (("accelerator", {"productOfClass": True}),),
    ),
}


@pytest.mark.parametrize("engine", COMMANDS)
@pytest.mark.parametrize("pod", PODS)
def test_all_of_them_in_one_chain_leave_a_pod_that_is_taken(
    generated: dict[str, Any], engine: str, pod: str
) -> None:
    request, own = PODS[pod]
    request = replace(request, deployment=replace(request.deployment, engine=engine))
    container = generated["spec"]["containers"][1]
    container["command"], container["args"] = COMMANDS[engine]
    amounts = {request.accelerator.resource: str(request.gpus)}
    container["resources"] = {"limits": amounts, "requests": {**amounts, "memory": "64Gi"}}
    links = [
        Link(PluginSpec(name=name, config=config), "deployment", f"spec.plugins[{number}]", "ml/web")
        for number, (name, config) in enumerate((*own, *EVERYWHERE))
    ]
    outcome = outcome_of(generated, request, links, builtin())
    assert [step.status for step in outcome.effects] == ["changed"] * len(links)
    again = outcome_of(outcome.template, request, links, builtin())
    assert again.template["spec"] == outcome.template["spec"]
