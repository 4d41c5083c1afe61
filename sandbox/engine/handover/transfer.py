"""Reads from an engine's arguments how it hands prompts over, or takes them, or why it cannot start.

vLLM has `--kv-transfer-config` (vllm/config/kv_transfer.py) and variables for the side channel of NIXL
(vllm/envs.py); SGLang has `--disaggregation-mode` and its relatives (sglang/srt/server_args.py).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

from pydantic import BaseModel, ValidationError, model_validator

from sandbox.engine.command.arguments import Arguments
from sandbox.engine.failure import REFUSED, EngineFailure
from sandbox.engine.handover.layout import Layout
from sandbox.engine.protocol import Start

_FLAG = "--kv-transfer-config"
_ROLES = ("kv_producer", "kv_both", "kv_consumer")
# The names of connectors by the way that they use.
_NIXL = ("NixlConnector", "NixlPullConnector")
# Two names of one class: v1/nixl/connector.py ends in `NixlConnector = NixlPullConnector`.
ALIASES = {"NixlPullConnector": "NixlConnector"}
# Classes that store a cache in files: the folder is a hash of the tokens, the file is called after the layer
# (_generate_foldername_debug in v1/example_connector.py at 00231834).
FILES = ("ExampleConnector", "SharedStorageConnector")
_LMCACHE = ("LMCacheConnectorV1", "LMCacheMPConnector")
# These hand nothing over by what a routing sidecar of llm-d 0.7 says to engines.
_OTHERS = (
    "MooncakeConnector",
    "MooncakeStoreConnector",
    "OffloadingConnector",
    "P2pNcclConnector",
    "MoRIIOConnector",
    "HF3FSKVConnector",
    "FlexKVConnectorV1",
    "DecodeBenchConnector",
)
_BOOTSTRAP_PORT = "--disaggregation-bootstrap-port"

Way = Literal["nixl", "storage", "bootstrap"]
Role = Literal["prefill", "decode", "both"]

_ROLE_BY_MODE: Mapping[str, Role] = {"prefill": "prefill", "decode": "decode"}


class KVTransferConfig(BaseModel):
    """What is judged of vLLM's class of this name, whose errors name it, before the engine starts."""

    kv_connector: str | None = None
    kv_role: Literal["kv_producer", "kv_both", "kv_consumer"] | None = None
    kv_connector_extra_config: dict[str, Any] = {}
    kv_connector_module_path: str | None = None
    kv_load_failure_policy: Literal["recompute", "fail"] = "fail"

    @model_validator(mode="after")
    def _has_a_role(self) -> Self:
        if self.kv_connector is not None and self.kv_role is None:
            raise ValueError(f"Please specify kv_role when kv_connector is set, supported roles are {_ROLES}")
        return self


@dataclass(frozen=True)
class Transfer:
    """How an engine hands over. `host` and `port` are what it tells others of its channel.

    `store` names the storage that it shares. Blocks that nobody asks for are kept for `lease` seconds. If not
    `strict`, versions and models of the two engines may differ. With `recompute`, a prompt that cannot be
    had is computed; otherwise its request fails.
    """

    way: Way
    role: Role
    layout: Layout
    host: str = ""
    port: int = 0
    store: str = ""
    lease: float = 480
    strict: bool = True
    recompute: bool = False


def transfer_of(
    start: Start, given: Arguments, *, model: str, tensor: int, block_size: int
) -> tuple[Transfer | None, list[str]]:
    """Return how the engine hands over, None if it does not, and notes for its log. Raises EngineFailure."""
    layout = Layout(
        connector="",
        version=start.image.partition("@")[0].rpartition("/")[2],
        model=model,
        dtype=given.text("--dtype") or "auto",
        cache_dtype=given.text("--kv-cache-dtype") or "auto",
        block_size=block_size,
        tensor=tensor,
    )
    if start.engine == "sglang":
        return _sglang(given, layout), []
    if start.engine == "vllm" and (text := given.text(_FLAG)) is not None:
        return _vllm(start.env, config_of(text), layout)
    return None, []


def _vllm(
    env: Mapping[str, str], config: KVTransferConfig, layout: Layout
) -> tuple[Transfer | None, list[str]]:
    if not config.kv_connector:
        return None, []
    roles: dict[str, Role] = {"kv_producer": "prefill", "kv_consumer": "decode"}
    notes: list[str] = []
    for one in _connectors(config.model_dump()):
        name, extra = str(one.get("kv_connector")), _extra(one)
        of = Layout(**{**vars(layout), "connector": ALIASES.get(name, name)})
        if name in _NIXL:
            # Its roles are hints: what is done follows from each request.
            nixl = Transfer(
                way="nixl",
                role="both",
                layout=of,
                host=env.get("VLLM_NIXL_SIDE_CHANNEL_HOST") or "localhost",
                port=_port(env, "VLLM_NIXL_SIDE_CHANNEL_PORT", 5600),
                lease=_lease(env, extra),
                strict=extra.get("enforce_handshake_compat", True) is not False,
                recompute=config.kv_load_failure_policy == "recompute",
            )
            return nixl, notes
        if store := _store(env, name, extra):
            return Transfer(
                way="storage", role=roles.get(config.kv_role or "", "both"), layout=of, store=store
            ), notes
        notes.append(_note(name, one))
    return None, notes


def _extra(config: Mapping[str, Any]) -> Mapping[str, Any]:
    extra = config.get("kv_connector_extra_config") or {}
    if not isinstance(extra, dict):
        raise EngineFailure(
            f"ValidationError: kv_connector_extra_config: Input should be a valid dictionary, got {extra!r}"
        )
    return extra


def _lease(env: Mapping[str, str], extra: Mapping[str, Any]) -> float:
    seconds = extra.get("kv_lease_duration") or env.get("VLLM_NIXL_ABORT_REQUEST_TIMEOUT") or 480
    try:
        return float(seconds)
    except (TypeError, ValueError) as error:
        raise EngineFailure(f"ValueError: {seconds!r} is no time in seconds to keep blocks for") from error


def _store(env: Mapping[str, str], connector: str, extra: Mapping[str, Any]) -> str | None:
    if connector in _LMCACHE:
        return env.get("LMCACHE_REMOTE_URL")
    # Without a path it is /tmp, which is no other pod's.
    return str(extra.get("shared_storage_path") or "") if connector in FILES else None


def _note(connector: str, config: Mapping[str, Any]) -> str:
    if connector in (*FILES, *_LMCACHE):
        missing = "LMCACHE_REMOTE_URL" if connector in _LMCACHE else "shared_storage_path"
        return f"WARNING {connector} has no {missing}: it shares its cache with no other pod"
    if connector in _OTHERS or config.get("kv_connector_module_path"):
        return f"WARNING the sandbox hands nothing over by {connector}: this pod computes all prompts itself"
    return f"WARNING {_FLAG}: vLLM may not know the connector {connector}"


def _connectors(config: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the connector, or those in a MultiConnector."""
    if config.get("kv_connector") != "MultiConnector":
        yield config
        return
    inner = _extra(config).get("connectors")
    if not isinstance(inner, list) or not all(isinstance(one, dict) for one in inner):
        raise EngineFailure("AssertionError: MultiConnector needs kv_connector_extra_config.connectors")
    for one in inner:
        yield from _connectors(one)


def config_of(text: str) -> KVTransferConfig:
    """Return what vLLM is told of its transfer. Raises EngineFailure."""
    try:
        return KVTransferConfig.model_validate_json(text)
    except ValidationError as error:
        raise EngineFailure(f"vllm serve: error: argument {_FLAG}: {error}", code=REFUSED) from error


def _port(env: Mapping[str, str], name: str, default: int) -> int:
    text = env.get(name) or str(default)
    if not text.isdecimal():
        raise EngineFailure(f"ValueError: invalid literal for int() with base 10: '{text}' ({name})")
    return int(text)


def _sglang(given: Arguments, layout: Layout) -> Transfer | None:
    role = _ROLE_BY_MODE.get(given.text("--disaggregation-mode") or "null")
    if role is None:
        return None
    backend = given.text("--disaggregation-transfer-backend") or "mooncake"
    return Transfer(
        way="bootstrap",
        role=role,
        layout=Layout(**{**vars(layout), "connector": backend, "version": ""}),
        port=int(given.text(_BOOTSTRAP_PORT) or 8998),
    )
