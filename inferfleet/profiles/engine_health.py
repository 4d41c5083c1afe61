"""Paths of engines by which their health is asked, and which of them they do not answer with success.

Read 2026-11-24: vLLM `entrypoints/serve/instrumentator/health.py` (98b137c6), `basic.py` (dcbf2004),
`openai/api_server.py` (0001948b); that it has no /livez and /readyz: vllm#1244, and no /: vllm#6194. SGLang
`srt/entrypoints/http_server.py` (0025436e), which has / (sgl-project.github.io/basic_usage/ollama_api.html).
TensorRT-LLM `serve/openai_server.py` (00057725: `register_routes`). Triton `src/http_server.cc` (e1db8a60:
what matches no expression gets 404).

With a key, vLLM guards /v1 (`GUARDED_PREFIX` in `entrypoints/serve/middleware/authenticate.py`, baaf6e9c,
which has further ones), SGLang all but /health and /metrics (`add_api_key_middleware` in `srt/utils.py`).
Both answer 401. An empty key is none to vLLM (`build_app` in `openai/api_server.py`).
"""

from collections.abc import Mapping
from dataclasses import dataclass

# Of Kubernetes' own programs, of NIM, and of Triton and KServe.
_KUBERNETES = ("/healthz", "/livez", "/readyz")
_NIM = ("/v1/health/live", "/v1/health/ready")
_TRITON = ("/v2/health/live", "/v2/health/ready")
_SGLANG = ("/get_model_info", "/get_server_info")
# What a kubelet asks without a path: `SetDefaults_HTTPGetAction` in Kubernetes' pkg/apis/core/v1/defaults.go.
ROOT = "/"


@dataclass(frozen=True)
class HealthPaths:
    """What an engine answers to a kubelet: 404 on the paths `unknown`, of those by which other programs tell
    their health, and with a key 401, on paths with a prefix `guarded`, unless that is one of `free`.

    The key is given by the flag `key_flag` or the variable `key_variable`.
    """

    unknown: tuple[str, ...] = ()
    guarded: str | None = None
    free: tuple[str, ...] = ()
    key_flag: str = "--api-key"
    key_variable: str | None = None


_PATHS: Mapping[str, HealthPaths] = {
    "vLLM": HealthPaths(
        (ROOT, *_KUBERNETES, *_NIM, *_TRITON, *_SGLANG, "/health_generate"),
        guarded="/v1",
        key_variable="VLLM_API_KEY",
    ),
    "SGLang": HealthPaths((*_KUBERNETES, *_NIM, *_TRITON), guarded="/", free=("/health", "/metrics")),
    "TensorRT-LLM": HealthPaths((ROOT, *_KUBERNETES, *_NIM, *_TRITON, *_SGLANG)),
    "Triton": HealthPaths((*_KUBERNETES, *_NIM, "/health", "/health_generate")),
}


def health_paths(engine_type: str) -> HealthPaths:
    """Return what is known of an engine type, nothing of one that is not here."""
    return _PATHS.get(engine_type, HealthPaths())
