"""Decides from its arguments what an engine serves and where, or why it cannot start."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

from inferfleet.profiles.meanings import Meaning

from inferfleet.profiles.engines import EngineDefaults, engine
from sandbox.engine.command import arguments
from sandbox.engine.command.arguments import Arguments
from sandbox.engine.command.flags import BY_LABEL, EngineFlags
from sandbox.engine.failure import EngineFailure
from sandbox.engine.group import Group, gpus_needed, group_of, health_port_of, ports_of
from sandbox.engine.handover.transfer import Transfer, transfer_of
from sandbox.engine.protocol import Start
from sandbox.engine.steering import SLOTS, Steering

_TYPE_BY_LABEL = {"vllm": "vLLM", "sglang": "SGLang", "trtllm-serve": "TensorRT-LLM"}
_TRITON = ("triton-tensorrt-llm", "triton")
_LOCAL = ("127.0.0.1", "localhost", "::1")
_TRUE = ("1", "true", "yes", "y")
_UNITS = {"k": 10**3, "m": 10**6, "g": 10**9}


@dataclass(frozen=True)
class Settings:
    """What one engine serves and where.

    `names` are the models it answers for, first its own, and `adapters` are those that are LoRA adapters.
    `any_model`: it answers whatever model a request names. `slots`: the requests it runs at once.
    `max_length` and `block_size` are in tokens. `reachable`: it listens on the pod's address. `metrics_path`
    is None without metrics. `more_ports` are those of its other API servers, and `health_port` tells the
    health of all. `group` is that of an engine in many pods, of which some answer for their health alone or
    nothing. `transfer` says how it hands prompts over, and `notes` are lines for its log. After SIGTERM
    requests in hand have `drain` seconds, None for as long as their pod has. One that is `deaf` never hears
    it: the shell that started it keeps it.
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
    more_ports: tuple[int, ...] = ()
    health_port: int | None = None
    group: Group | None = None
    answers: Literal["requests", "health", "nothing"] = "requests"
    transfer: Transfer | None = None
    drain: int | None = None
    deaf: bool = False
    notes: tuple[str, ...] = field(default_factory=tuple)

    @property
    def ports(self) -> tuple[int, ...]:
        """The ports of all of its API servers."""
        return (self.port, *self.more_ports)


def settings(start: Start, steer: Steering) -> Settings:
    """Return the settings of an engine that starts. Raises EngineFailure with the engine's last message."""
    flags = BY_LABEL.get(start.engine)
    if flags is None:
        return _without_arguments(start, steer)
    defaults = engine(_TYPE_BY_LABEL[start.engine])
    given = arguments.read(arguments.command_line(start.args, start.env), flags, defaults)
    meanings: tuple[Meaning, ...] = ("tensor", "pipeline", "data", "dataLocal", "port")
    numbers = {meaning: _number(given, defaults, meaning) for meaning in meanings}
    _check_ranges(given, flags)
    notes = [f"WARNING {flag}: {flags.program} may not know this argument" for flag in given.unknown]
    if defaults.data_in_tensor and given.has(defaults.data_in_tensor):
        numbers["data"] = 1
    group = group_of(start.engine, given, numbers)
    notes += _check_gpus(start, given, numbers, group)
    names, adapters = _names(start, given, flags)
    block_size = _size(given.text("--block-size", "--page-size")) or 16
    transfer, said = transfer_of(
        start, given, model=_model(start, given, flags), tensor=numbers["tensor"] or 1, block_size=block_size
    )
    notes += said
    port = numbers["port"] or defaults.port
    ports = ports_of(given, numbers, port)
    host = given.text("--host") or flags.host
    if port != start.port:
        notes.append(f"WARNING listens on port {port}; the container's port is {start.port}")
    if host in _LOCAL:
        notes.append(
            f"WARNING listens on {host}:{port}: nothing outside the pod reaches it; pass --host 0.0.0.0"
        )
    path: str | None = defaults.metrics_path
    if start.engine == "sglang" and not given.has("--enable-metrics"):
        path = None
        notes.append("WARNING has no /metrics without --enable-metrics: endpoint pickers cannot see its load")
    drain = _drain(start, {flag: given.text(flag) for flag in defaults.end_flags}, defaults)
    deaf, drain, heard = _signalled(start, drain, flags.launchers)
    return Settings(
        engine=start.engine,
        names=names,
        adapters=adapters,
        max_loras=int(given.text("--max-loras") or 1) if given.has("--enable-lora") else 0,
        any_model=not flags.strict_model,
        port=port,
        metrics_port=defaults.metrics_port or port,
        metrics_path=path,
        health_paths=("/health", "/health_generate") if start.engine == "sglang" else ("/health",),
        reachable=host not in _LOCAL,
        slots=steer.slots or _size(given.text(flags.slots)) or SLOTS,
        max_length=_size(given.text(flags.length)),
        block_size=block_size,
        more_ports=ports[1:],
        health_port=health_port_of(given, ports),
        group=group,
        answers=_answers(start.engine, group),
        transfer=transfer,
        drain=drain,
        deaf=deaf,
        notes=(*notes, *heard),
    )


def _without_arguments(start: Start, steer: Steering) -> Settings:
    """Return the settings of an engine whose arguments are not known: it listens on the container's port."""
    triton = start.engine in _TRITON
    defaults = engine("Triton" if triton else "Other")
    drain = _drain(start, _pairs(arguments.command_line(start.args, start.env)), defaults)
    deaf, drain, heard = _signalled(start, drain, ("tritonserver",))
    return Settings(
        engine=start.engine,
        names=(start.model or "model",),
        any_model=True,
        port=start.port,
        metrics_port=defaults.metrics_port or start.port,
        metrics_path=defaults.metrics_path,
        health_paths=("/v2/health/ready", "/v2/health/live") if triton else ("/health",),
        slots=steer.slots or SLOTS,
        drain=drain,
        deaf=deaf,
        notes=(f"WARNING the arguments of a {start.engine} engine are not checked", *heard),
    )


def _number(given: Arguments, defaults: EngineDefaults, meaning: Meaning) -> int:
    """Return the number a flag gives, or 0 without the flag. Raises EngineFailure for numbers below 1."""
    spellings = [flag for flag, means in defaults.flags.items() if means == meaning]
    text = next((given.text(flag) for flag in reversed(list(given.values)) if flag in spellings), None)
    if text is None:
        return 0
    if not text.isdecimal() or int(text) < 1:
        raise EngineFailure(f"ValueError: {spellings[0]} must be greater than 0, got {text}.")
    return int(text)


def _size(text: str | None) -> int | None:
    """Return the number of a text such as `32k`, or None for a text that leaves the choice to the engine."""
    match = re.fullmatch(r"([0-9.]+)([kKmMgG]?)(i?)", text or "")
    if not match:
        return None
    unit = _UNITS.get(match[2].lower(), 1)
    # In vLLM 1k is 1000 and 1K is 1024.
    scale = 1024 ** (len(str(unit)) // 3) if match[2].isupper() or match[3] else unit
    return int(float(match[1]) * scale)


def _check_ranges(given: Arguments, flags: EngineFlags) -> None:
    for flag in ("--gpu-memory-utilization", "--mem-fraction-static", "--kv_cache_free_gpu_memory_fraction"):
        share = given.text(flag)
        if share is not None and not 0 < float(share) <= 1:
            raise EngineFailure(f"ValueError: {flag} must be in (0, 1]. Got {share}.")
    for flag in (flags.slots, "--block-size"):
        text = given.text(flag)
        if text is not None and (_size(text) or 0) < 1:
            raise EngineFailure(f"ValueError: {flag} must be greater than 0, got {text}.")


def _check_gpus(
    start: Start, given: Arguments, numbers: Mapping[Meaning, int], group: Group | None
) -> list[str]:
    """Compare the parallel sizes with the container's GPUs.

    Returns notes for the log, or raises EngineFailure.
    """
    if start.gpus == 0:
        return ["WARNING the container asks for no GPU that the sandbox can count: tensor size not checked"]
    world = gpus_needed(start.engine, given, numbers, group)
    if start.gpus == world:
        return []
    sizes = ", ".join(f"{meaning} {numbers[meaning] or 1}" for meaning in ("tensor", "pipeline", "data"))
    if group is not None:
        sizes += f", {group.count} of {group.size} {group.ranks} here"
    if world > start.gpus:
        raise EngineFailure(
            f"ValueError: World size ({world}) is larger than the number of available GPUs ({start.gpus}) in"
            f" this node ({sizes})."
        )
    raise EngineFailure(
        f"ValueError: World size ({world}) is smaller than the {start.gpus} GPUs of the container ({sizes}):"
        " the others would be idle."
    )


def _drain(start: Start, words: Mapping[str, str | None], defaults: EngineDefaults) -> int | None:
    """Return for how many seconds the engine waits at SIGTERM: by its flag, or by itself."""
    if any(start.env.get(name, "").lower() in _TRUE for name in defaults.cut_variables):
        return 0
    text = next((words[flag] for flag in defaults.end_flags if words.get(flag)), None)
    return int(text) if text and text.isdecimal() else defaults.end_default


def _signalled(
    start: Start, drain: int | None, launchers: Collection[str]
) -> tuple[bool, int | None, tuple[str, ...]]:
    """Return whether the engine is deaf to SIGTERM, how long it waits then, and what its log says of that."""
    signalled = arguments.signalled(start.args, start.env, launchers)
    if signalled == "unheard":
        return True, None, ("WARNING a shell keeps SIGTERM: the engine never hears that its pod ends",)
    if signalled == "cut":
        return False, 0, ("WARNING the script ends behind its trap: SIGTERM ends the engine at once",)
    return False, drain, ()


def _pairs(words: tuple[str, ...]) -> dict[str, str]:
    """Return the values of flags, written as `--flag=value` or with the value behind them."""
    split = [word.partition("=") for word in words]
    joined = {name: value for name, equals, value in split if equals}
    return {name: value for name, value in pairwise(words) if name.startswith("-")} | joined


def _answers(engine_label: str, group: Group | None) -> Literal["requests", "health", "nothing"]:
    """Return what an engine answers: of a group, SGLang's other nodes only tell that they live."""
    if group is None or not group.headless:
        return "requests"
    return "health" if engine_label == "sglang" else "nothing"


def _names(start: Start, given: Arguments, flags: EngineFlags) -> tuple[tuple[str, ...], tuple[str, ...]]:
    served = given.values.get(flags.served) or (_model(start, given, flags),)
    adapters = tuple(
        text.partition("=")[0] for text in given.values.get("--lora-modules", ()) if not text.startswith("{")
    )
    return (*served, *adapters), adapters


def _model(start: Start, given: Arguments, flags: EngineFlags) -> str:
    model = given.text(*flags.model) or (
        given.positional[0] if flags.positional and given.positional else None
    )
    model = model or start.model or flags.default_model
    if model is None:
        named = "/".join(flags.model) or "MODEL"
        raise EngineFailure(f"{flags.program}: error: the following arguments are required: {named}")
    return model
