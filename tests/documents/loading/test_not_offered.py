"""What people look for in documents and they do not have: each is refused by its name, with its line."""

import pytest
from fleet_text import BASE, Mistake

from inferfleet.documents import Where

_INSTALLS = "is not offered: what serving needs is installed as a whole"
_VENDORS = "NVIDIA, AMD, Gaudi, TPU, Ascend or None; other vendors' are named by the engine's resources alone"
_HUB = "is not offered: a model is one of the Hugging Face Hub, a folder in the container, or in a ModelCache"
_ENGINE, _GATEWAY = "  engine: {type: vLLM}", "  serving: {gateway: {className: istio}}"

# What is written in place of what; then line, path, what, next step of the one problem that makes.
CASES = {
    "vendor": (
        _ENGINE, "  accelerator: Trainium",
        22, "spec.accelerator", "accelerator 'Trainium' is not offered", f"Write {_VENDORS}",
    ),
    "accelerator required": (
        _ENGINE, "  accelerator: Required",
        22, "spec.accelerator", "accelerator 'Required' is not offered", f"Write {_VENDORS}",
    ),
    "accelerator without a value": (
        _ENGINE, "  accelerator:",
        22, "spec.accelerator", "accelerator is there and says nothing",
        f"Remove the line, or write {_VENDORS}",
    ),
    "artifact": (
        _ENGINE, "  engine: {model: {artifact: qwen}}",
        22, "spec.engine.model.artifact", f"artifact 'qwen' {_HUB}",
        "Write repository: NAME instead; the plugin model-cache unpacks and mounts artifacts",
    ),
    "gRPC": (
        _ENGINE, "  engine: {type: vLLM, protocol: gRPC}",
        22, "spec.engine.protocol", "protocol 'gRPC' is not offered: gateways and probes reach engines by "
        "HTTP/1.1, and routes by paths with a prefix",
        "Start the engine's HTTP server (vllm serve without --grpc) and remove protocol",
    ),
    "CRDs": (
        _GATEWAY, "  serving: {gateway: {className: istio}, crds: Install}",
        15, "spec.serving.crds", f"crds 'Install' {_INSTALLS}",
        "Write stack: Managed",
    ),
    "CRDs by name": (
        _GATEWAY, "  serving: {gateway: {className: istio}, crds: {inferencepools: Install}}",
        15, "spec.serving.crds", f"crds {_INSTALLS}", "Write stack: Managed",
    ),
    "route by model": (
        _ENGINE, "  route: {model: qwen}",
        22, "spec.route.model", "model 'qwen' is not offered: the name of a model stands in the body of a "
        "request, which gateways do not read",
        "Remove model; requests are told apart by path, hostnames and headers",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_what_is_not_offered_is_refused_by_its_name(mistake: Mistake, case: str) -> None:
    old, new, line, *told = CASES[case]
    assert mistake(BASE, old, new) == (Where("a.yaml", line), *told)
