"""What an engine serves, where and how much, or why it refuses to start."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from inferfleet.profiles.engines import EngineDefaults, Meaning, engine
from sandbox.engine import arguments
from sandbox.engine.arguments import Arguments
from sandbox.engine.failure import EngineFailure
from sandbox.engine.flags import BY_LABEL, EngineFlags
from sandbox.engine.protocol import Start
from sandbox.engine.steering import SLOTS, Steering

_TYPE_BY_LABEL = {"vllm": "vLLM", "sglang": "SGLang", "trtllm-serve": "TensorRT-LLM"}
_TRITON = ("triton-tensorrt-llm", "triton")
_LOCAL = ("127.0.0.1", "localhost", "::1")
_UNITS = {"k": 10**3, "m": 10**6, "g": 10**9}


@dataclass(frozen=True)
class Settings:
    """`names` are the models it answers for, the first is its own; `adapters` those of them that are LoRAs.

    `any_model`: it answers whatever model a request names. `reachable`: it listens on the pod's address
    and not only inside. `metrics_path` None: it has none. `notes` are lines of its log.
    """

    engine: str
    names: tuple[str, ...]
    port: int
    metrics_port: int
    slots: int
    health_paths: tuple[str, ...] = ("/health",)
    metrics_path: str | None = "/metrics"
    adapters: tuple[str, ...] = ()
    max_loras: int = 0
    any_model: bool = False
    reachable: bool = True
    max_length: int | None = None
    block_size: int = 16
    notes: tuple[str, ...] = field(default_factory=tuple)


def settings(start: Start, steer: Steering) -> Settings:
    """Raises EngineFailure with the engine's last words."""
    flags = BY_LABEL.get(start.engine)
    if flags is None:
        return _unread(start, steer)
    defaults = engine(_TYPE_BY_LABEL[start.engine])
    found = arguments.read(arguments.words(start.args, start.env), flags, defaults)
    numbers = {
        one: _number(found, defaults, one) for one in ("tensor", "pipeline", "data", "dataLocal", "port")
    }
    _check_ranges(found, flags)
    notes = [f"WARNING {flag}: {flags.program} may not know this argument" for flag in found.unknown]
    notes += _devices(start, found, numbers, defaults)
    names, adapters = _names(start, found, flags)
    port = numbers["port"] or defaults.port
    host = found.text("--host") or flags.host
    if port != start.port:
        notes.append(f"WARNING listens on port {port}; the container's port is {start.port}")
    if host in _LOCAL:
        notes.append(
            f"WARNING listens on {host}:{port}: nothing outside the pod reaches it; pass --host 0.0.0.0"
        )
    path: str | None = defaults.metrics_path
    if start.engine == "sglang" and not found.has("--enable-metrics"):
        path = None
        notes.append("WARNING has no /metrics without --enable-metrics: endpoint pickers cannot see its load")
    return Settings(
        engine=start.engine,
        names=names,
        adapters=adapters,
        max_loras=int(found.text("--max-loras") or 1) if found.has("--enable-lora") else 0,
        any_model=not flags.strict_model,
        port=port,
        metrics_port=defaults.metrics_port or port,
        metrics_path=path,
        health_paths=("/health", "/health_generate") if start.engine == "sglang" else ("/health",),
        reachable=host not in _LOCAL,
        slots=steer.slots or _size(found.text(flags.slots)) or SLOTS,
        max_length=_size(found.text(flags.length)),
        block_size=_size(found.text("--block-size", "--page-size")) or 16,
        notes=tuple(notes),
    )


def _unread(start: Start, steer: Steering) -> Settings:
    """Of an engine whose arguments are unknown: it listens where the container says."""
    triton = start.engine in _TRITON
    defaults = engine("Triton" if triton else "Other")
    return Settings(
        engine=start.engine,
        names=(start.model or "model",),
        any_model=True,
        port=start.port,
        metrics_port=defaults.metrics_port or start.port,
        metrics_path=defaults.metrics_path,
        health_paths=("/v2/health/ready", "/v2/health/live") if triton else ("/health",),
        slots=steer.slots or SLOTS,
        notes=(f"WARNING the arguments of a {start.engine} engine are not checked",),
    )


def _number(found: Arguments, defaults: EngineDefaults, meaning: Meaning) -> int:
    """0 when the flag is not there."""
    spellings = [flag for flag, means in defaults.flags.items() if means == meaning]
    text = next((found.text(flag) for flag in reversed(list(found.values)) if flag in spellings), None)
    if text is None:
        return 0
    if not text.isdecimal() or int(text) < 1:
        raise EngineFailure(f"ValueError: {spellings[0]} must be greater than 0, got {text}.")
    return int(text)


def _size(text: str | None) -> int | None:
    """`32k` and the like; None for what leaves it to the engine."""
    found = re.fullmatch(r"([0-9.]+)([kKmMgG]?)(i?)", text or "")
    if not found:
        return None
    unit = _UNITS.get(found[2].lower(), 1)
    # 1k is 1000 and 1K is 1024 in vLLM.
    scale = 1024 ** (len(str(unit)) // 3) if found[2].isupper() or found[3] else unit
    return int(float(found[1]) * scale)


def _check_ranges(found: Arguments, flags: EngineFlags) -> None:
    for flag in ("--gpu-memory-utilization", "--mem-fraction-static", "--kv_cache_free_gpu_memory_fraction"):
        share = found.text(flag)
        if share is not None and not 0 < float(share) <= 1:
            raise EngineFailure(f"ValueError: {flag} must be in (0, 1]. Got {share}.")
    for flag in (flags.slots, "--block-size"):
        text = found.text(flag)
        if text is not None and (_size(text) or 0) < 1:
            raise EngineFailure(f"ValueError: {flag} must be greater than 0, got {text}.")


def _devices(
    start: Start, found: Arguments, numbers: Mapping[str, int], defaults: EngineDefaults
) -> list[str]:
    """A replica over several pods splits its pipeline, and vLLM its data ranks, by pods."""
    tensor, pipeline = numbers["tensor"] or 1, numbers["pipeline"] or 1
    data = numbers["data"] or 1
    nodes = int(found.text("--nnodes") or 1)
    if defaults.data_in_tensor and found.has(defaults.data_in_tensor):
        data = 1
    local = numbers["dataLocal"] or data
    if start.gpus == 0:
        return ["WARNING the container asks for no GPU that the sandbox can count: tensor size not checked"]
    needed = {tensor * local, -(-tensor * local * pipeline // nodes), -(-tensor * data * pipeline // nodes)}
    if start.gpus in needed:
        return []
    world = max(needed)
    sizes = f"tensor {tensor}, pipeline {pipeline}, data {local}"
    if world > start.gpus:
        raise EngineFailure(
            f"ValueError: World size ({world}) is larger than the number of available GPUs ({start.gpus}) in"
            f" this node ({sizes})."
        )
    raise EngineFailure(
        f"ValueError: World size ({world}) is smaller than the {start.gpus} GPUs of the container ({sizes}):"
        " the others would stand idle."
    )


def _names(start: Start, found: Arguments, flags: EngineFlags) -> tuple[tuple[str, ...], tuple[str, ...]]:
    model = found.text(*flags.model) or (
        found.positional[0] if flags.positional and found.positional else None
    )
    model = model or start.model or flags.default_model
    if model is None:
        named = "/".join(flags.model) or "MODEL"
        raise EngineFailure(f"{flags.program}: error: the following arguments are required: {named}")
    served = found.values.get(flags.served) or (model,)
    adapters = tuple(
        text.partition("=")[0] for text in found.values.get("--lora-modules", ()) if not text.startswith("{")
    )
    return (*served, *adapters), adapters
