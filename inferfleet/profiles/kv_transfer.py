"""How engines hand KV caches from prefill to decode: connectors, models, and how the pods find each other.

Sources: of vllm-project/vllm vllm/config/kv_transfer.py, vllm/distributed/kv_transfer/kv_connector/factory.py
(names of connectors), docs/features/nixl_connector_usage.md and nixl_connector_compatibility.md at 0a5110ef,
mooncake_connector_usage.md at 00f4240e; of sgl-project/sglang python/sglang/srt/server_args.py and
srt/disaggregation/common/conn.py; of llm-d/llm-d guides/pd-disaggregation; of
llm-d/llm-d-inference-scheduler pkg/sidecar/proxy at v0.7.1 (the proxy knows NIXL, shared storage and SGLang).
Variables and ports: vllm/envs.py, nixl/scheduler.py and mooncake/mooncake_connector.py below
vllm/distributed/kv_transfer/kv_connector/v1 (before 0.12 the first was nixl_connector.py; each rank of data
parallelism has a side channel of its own, at the port plus its number); srt/environ.py of SGLang; of UCX
docs/source/faq.md, and guides/pd-disaggregation of llm-d.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from inferfleet.profiles.images import Version, reference_of

# The ways that documents name: `spec.prefill.connector`.
Way = Literal["NIXL", "SharedStorage", "Mooncake", "SGLang"]


@dataclass(frozen=True)
class ConnectorClass:
    """A class that vLLM takes for `kv_connector`.

    It is surely not in versions before `since`, nor in those from `gone` on, which call it `successor`. Of
    versions between the last that surely lacks it and the first that has it nothing is known here.
    """

    since: Version | None = None
    gone: Version | None = None
    successor: str | None = None


# The first of each is the one that is written. The API pages of docs.vllm.ai have NixlConnector from v0.9.0
# on; LMCacheConnectorV1 is vllm#16625, after v0.8.4; MooncakeConnector is vllm#24718, which was open when
# v0.11.2 came out; vllm#30201 renamed SharedStorageConnector after v0.12.0 (v0.15.0 has the new name);
# NixlPushConnector is vllm#35264, after v0.15.0.
CLASSES: Mapping[str, Mapping[str, ConnectorClass]] = {
    "NIXL": {
        "NixlConnector": ConnectorClass((0, 9, 0)),
        "NixlPullConnector": ConnectorClass((0, 16, 0)),
        "NixlPushConnector": ConnectorClass((0, 16, 0)),
    },
    "SharedStorage": {
        "LMCacheConnectorV1": ConnectorClass((0, 8, 5)),
        "LMCacheMPConnector": ConnectorClass(),
        "ExampleConnector": ConnectorClass((0, 12, 0)),
        "SharedStorageConnector": ConnectorClass(gone=(0, 15, 0), successor="ExampleConnector"),
        "MooncakeStoreConnector": ConnectorClass((0, 16, 0)),
        "OffloadingConnector": ConnectorClass(),
        "FlexKVConnectorV1": ConnectorClass(),
        "HF3FSKVConnector": ConnectorClass(),
    },
    "Mooncake": {"MooncakeConnector": ConnectorClass((0, 12, 0))},
}
# Two names of one class: v1/nixl/connector.py ends in `NixlConnector = NixlPullConnector`.
ALIASES: Mapping[str, str] = {"NixlPullConnector": "NixlConnector"}
# `kv_buffer_device` of vllm/config/kv_transfer.py without it.
BUFFER_DEVICE = "cuda"
# Classes that store a cache in files: the folder is a hash of the tokens, the file is called after the layer
# (_generate_foldername_debug in v1/example_connector.py at 00231834). Nothing in these names tells models,
# formats or GPUs of a tensor group apart.
FILES = ("ExampleConnector", "SharedStorageConnector")
# Several connectors at once; those within stand in kv_connector_extra_config.connectors.
MULTI = "MultiConnector"

# What `kv_role` is for the pods of a role, and what else does as well.
ROLES: Mapping[str, tuple[str, str]] = {
    "prefill": ("kv_producer", "kv_both"),
    "decode": ("kv_consumer", "kv_both"),
}

# NixlConnector reads a cache that is spread over more GPUs than its own since vllm#27274, after v0.11.
PREFILL_WIDER_SINCE: Version = (0, 12, 0)

# The CUDA compute capability from which GPUs have bfloat16, and vLLM FLASH_ATTN.
BFLOAT16_SINCE = (8, 0)

# Which engines hand KV caches on in which way, the usual one first; the routing proxy of decode pods knows no
# others.
ENGINES: Mapping[str, tuple[Way, ...]] = {
    "vLLM": ("NIXL", "SharedStorage", "Mooncake"),
    "SGLang": ("SGLang",),
    "Other": ("NIXL", "SharedStorage", "Mooncake", "SGLang"),
}

# SGLang's `--disaggregation-transfer-backend` without the flag.
SGLANG_WAY = "mooncake"

# Parts of `kv_connector_extra_config` that both sides must have alike, with the connector they are for.
ALIKE: Mapping[str, str] = {
    "backends": "NIXL",
    "enable_cross_layers_blocks": "NIXL",
    "mooncake_protocol": "Mooncake",
    "shared_storage_path": "SharedStorage",
}

# Address that a decode engine is told to ask: by default it would ask itself.
NIXL_HOST = "VLLM_NIXL_SIDE_CHANNEL_HOST"
NIXL_PORT = "VLLM_NIXL_SIDE_CHANNEL_PORT"
NIXL_DEFAULT_PORT = 5600
# Where prefill engines of Mooncake and SGLang tell the way to them, and what names another port.
BOOTSTRAP_PORT = 8998
MOONCAKE_PORT = "VLLM_MOONCAKE_BOOTSTRAP_PORT"
SGLANG_PORT_FLAG = "--disaggregation-bootstrap-port"
# The variable of the routing proxy that says SGLang's.
SGLANG_PROXY_PORT = "SGLANG_BOOTSTRAP_PORT"

# Seconds for which engines keep connections that nobody uses, 5 by default. The routing proxy keeps its own
# for 90 (http.DefaultTransport of Go), and a request on one that the engine just closed fails.
KEEP_ALIVE: Mapping[str, str] = MappingProxyType(
    {"vLLM": "VLLM_HTTP_TIMEOUT_KEEP_ALIVE", "SGLang": "SGLANG_TIMEOUT_KEEP_ALIVE"}
)
KEEP_ALIVE_SECONDS = 120

UCX_TLS = "UCX_TLS"
# Without adapters for RDMA in the pod: GPUs of one node among themselves, and TCP to others. Where
# there may be adapters the choice is UCX's, as in llm-d's guides.
UCX_WITHOUT_RDMA = "cuda_ipc,cuda_copy,tcp"
# RoCE of GKE has a network for each adapter. UCX takes adapters of two networks for unreachable without this
# (guides/pd-disaggregation/modelserver/gpu/vllm/gke of llm-d at 02be547).
UCX_ROCE = ("UCX_IB_ROCE_REACHABILITY_MODE", "all")

# Models with multi-head latent attention, whose cache every GPU of a tensor group has whole: DeepSeek V2 and
# later, Kimi K2 and Linear, GLM 4.7 Flash and 5, LongCat, Pangu Ultra MoE (`is_deepseek_mla` in
# vllm/transformers_utils/model_arch_config_convertor.py). Their names are all that a command line shows.
_MLA = re.compile(
    r"deepseek[-_]?(v[2-9]|r1|prover[-_]v2|coder[-_]v2)|kimi[-_]?(k[2-9]|linear)|glm[-_]?(4\.7[-_]flash|5)"
    r"|longcat|pangu[-_]ultra[-_]moe",
    re.IGNORECASE,
)
_VERSION = re.compile(r"v?(\d{1,4})\.(\d{1,4})(?:\.(\d{1,4}))?(?:\.(\d{1,4}))?(?:\.post\d+)?(?:[-_+].*)?")
# Images of vLLM's project, tagged by its versions, under which mirrors have them too: below `vllm/`, or right
# below a registry. `lmcache/vllm-openai` has the versions of LMCache, and others have their own. Tags of
# vllm-tpu are those of tpu-inference, which follow vLLM's (v0.18.0 and v0.19.0 in Google's samples,
# 2026-11-24).
_IMAGES = ("vllm-openai", "vllm-openai-rocm", "vllm-openai-cpu", "vllm-tpu")


def has_latent_attention(model: str) -> bool:
    """Return whether a model's name is one of those with multi-head latent attention (MLA)."""
    return "distill" not in model.lower() and _MLA.search(model) is not None


def version_of(image: str | None) -> Version | None:
    """Return the version of vLLM in the tag of an image of its project or a mirror, None for other images
    and tags. It has three numbers, or four (0.10.1.1).
    """
    reference = reference_of(image or "")
    numbers = _VERSION.fullmatch(reference.tag)
    owner = reference.repository.rpartition("/")[0]
    of_project = owner in ("", "vllm") or owner.endswith("/vllm")
    if reference.program not in _IMAGES or numbers is None or not of_project:
        return None
    *release, fourth = numbers.groups()
    return (*(int(part or 0) for part in release), *((int(fourth),) if fourth else ()))


def version_for_args(image: str | None) -> Version | None:
    """Return the version by which arguments are generated, None for all but `vllm/vllm-openai`.

    It does not follow what `version_of` learns to read: pods restart for another argument.
    """
    version = version_of(image)
    own = reference_of(image or "").repository.endswith("vllm/vllm-openai")
    return version if own and version and len(version) == 3 else None
