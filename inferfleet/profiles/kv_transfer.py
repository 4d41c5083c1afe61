"""How engines hand KV caches from prefill to decode: classes of connectors, since when, and for which models.

Sources: of vllm-project/vllm vllm/config/kv_transfer.py, vllm/distributed/kv_transfer/kv_connector/factory.py
(names of connectors), docs/features/nixl_connector_usage.md and nixl_connector_compatibility.md at 0a5110ef,
mooncake_connector_usage.md at 00f4240e; of sgl-project/sglang python/sglang/srt/server_args.py and
srt/disaggregation/common/conn.py; of llm-d/llm-d guides/pd-disaggregation; of
llm-d/llm-d-inference-scheduler pkg/sidecar/proxy at v0.7.1 (the proxy knows NIXL, shared storage and SGLang).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

Version = tuple[int, ...]


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
# Several connectors at once; those within stand in kv_connector_extra_config.connectors.
MULTI = "MultiConnector"

# What `kv_role` is for the pods of a role, and what else does as well.
ROLES: Mapping[str, tuple[str, str]] = {
    "prefill": ("kv_producer", "kv_both"),
    "decode": ("kv_consumer", "kv_both"),
}

# NixlConnector reads a cache that is spread over more GPUs than its own since vllm#27274, after v0.11.
PREFILL_WIDER_SINCE: Version = (0, 12, 0)

# Which engines hand KV caches on in which way; the routing proxy of decode pods knows no others.
ENGINES: Mapping[str, tuple[str, ...]] = {
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

# Models with multi-head latent attention, whose cache every GPU of a tensor group has whole: DeepSeek V2 and
# later, Kimi K2 and Linear, GLM 4.7 Flash and 5, LongCat, Pangu Ultra MoE (`is_deepseek_mla` in
# vllm/transformers_utils/model_arch_config_convertor.py). Their names are all that a command line shows.
_MLA = re.compile(
    r"deepseek[-_]?(v[2-9]|r1|prover[-_]v2|coder[-_]v2)|kimi[-_]?(k[2-9]|linear)|glm[-_]?(4\.7[-_]flash|5)"
    r"|longcat|pangu[-_]ultra[-_]moe",
    re.IGNORECASE,
)
_VERSION = re.compile(r"v?(\d{1,4})\.(\d{1,4})(?:\.(\d{1,4}))?(?:\.post\d+)?(?:[-_+].*)?")


def has_latent_attention(model: str) -> bool:
    """Return whether a model's name is one of those with multi-head latent attention (MLA)."""
    return "distill" not in model.lower() and _MLA.search(model) is not None


def version_of(image: str | None) -> Version | None:
    """Return the version of vLLM in the tag of an image of its project, None for other images and tags."""
    repository, _, tag = (image or "").partition("@")[0].rpartition(":")
    found = _VERSION.fullmatch(tag)
    if not repository.endswith("vllm/vllm-openai") or found is None:
        return None
    return tuple(int(part or 0) for part in found.groups())
