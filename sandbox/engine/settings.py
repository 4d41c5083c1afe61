"""Decides from its arguments what an engine serves and where, or why it cannot start."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

from inferfleet.tables.engines import engine
from sandbox.engine.command import arguments
from sandbox.engine.command.arguments import Arguments
from sandbox.engine.command.flags import BY_LABEL, EngineFlags
from sandbox.engine.command.tables import table_of
from sandbox.engine.ending import Ending, ending_of
from sandbox.engine.failure import REFUSED, EngineFailure
from sandbox.engine.group import Group, Sizes, gpus_needed, group_of, health_port_of, ports_of, sizes_of
from sandbox.engine.handover.transfer import Transfer, transfer_of
from sandbox.engine.protocol import Start
from sandbox.engine.steering import SLOTS, Steering

_TRITON = ("triton-tensorrt-llm", "triton")
_LOCAL = ("127.0.0.1", "localhost", "::1")
# The variable with which vLLM lets clients load adapters.
_LOADS_ADAPTERS, _TRUE = "VLLM_ALLOW_RUNTIME_LORA_UPDATING", ("1", "true")
_UNITS = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}


@dataclass(frozen=True)
class Settings:
    """What one engine serves and where.

    `names` are the models it answers for, first its own, and `adapters` are those that are LoRA adapters;
    `roots` says what those are made from that have names of their own. With `loads_adapters` clients may load
    others, where it is `guarded` with the header of the pod's own sidecar. `version` is that of the table by
    which it is read.
    `any_model`: it answers whatever model a request names. `slots`: the requests it runs at once.
    `max_length` and `block_size` are in tokens. `reachable`: it listens on the pod's address. `metrics_path`
    is None without metrics. `more_ports` are those of its other API servers, and `health_port` tells the
    health of all. `group` is that of an engine in many pods, of which some answer for their health alone or
    nothing. `transfer` says how it hands prompts over, `ending` how it ends, and `notes` are lines for its
    log.
    """

    engine: str
    names: tuple[str, ...]
    port: int
    metrics_port: int
    slots: int
    health_paths: tuple[str, ...] = ("/health",)
    metrics_path: str | None = "/metrics"
    adapters: tuple[str, ...] = ()
    roots: Mapping[str, str] = field(default_factory=dict)
    loads_adapters: bool = False
    guarded: bool = False
    version: str = ""
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
    ending: Ending = field(default_factory=Ending)
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
    defaults = engine(flags.type_name)
    table, judged = table_of(flags, start.image)
    given = arguments.read(arguments.command_line(start.args, start.env), flags, table, judged=judged)
    _check_ranges(given, flags)
    sizes = sizes_of(given, flags.sizes)
    group = group_of(start.engine, given, sizes)
    notes = _check_gpus(start, given, sizes, group)
    names, adapters = _names(start, given, flags)
    model = _model(start, given, flags)
    block_size = _size(given.text("--block-size") or given.text("--page-size")) or 16
    transfer, said = transfer_of(start, given, model=model, tensor=sizes.tensor, block_size=block_size)
    notes += said
    port = int(given.text("--port") or defaults.port)
    ports = ports_of(given, sizes, port)
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
    ending, heard = _ending(start, steer, flags.launchers, given.text("--shutdown-timeout"))
    return Settings(
        engine=start.engine,
        names=(*names, *adapters),
        adapters=tuple(adapters),
        roots={name: model for name in names if name != model} | adapters,
        loads_adapters=given.has("--enable-lora") and start.env.get(_LOADS_ADAPTERS, "").lower() in _TRUE,
        version=table.version,
        guarded="inferfleet_guard.Guard" in given.values.get("--middleware", ()),
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
        ending=ending,
        notes=(*notes, *heard),
    )


def _without_arguments(start: Start, steer: Steering) -> Settings:
    """Return the settings of an engine whose arguments are not known: it listens on the container's port."""
    triton = start.engine in _TRITON
    defaults = engine("Triton" if triton else "Other")
    words = _pairs(arguments.command_line(start.args, start.env))
    seconds = words.get("--exit-timeout-secs") if triton else None
    ending, heard = _ending(start, steer, ("tritonserver",), seconds)
    return Settings(
        engine=start.engine,
        names=(start.model or "model",),
        any_model=True,
        port=start.port,
        metrics_port=defaults.metrics_port or start.port,
        metrics_path=defaults.metrics_path,
        health_paths=("/v2/health/ready", "/v2/health/live") if triton else ("/health",),
        slots=steer.slots or SLOTS,
        ending=ending,
        notes=(f"WARNING the arguments of a {start.engine} engine are not checked", *heard),
    )


def _ending(
    start: Start, steer: Steering, launchers: tuple[str, ...], seconds: str | None
) -> tuple[Ending, tuple[str, ...]]:
    return ending_of(
        start.engine,
        pod=start.name,
        seconds=int(seconds) if seconds and seconds.isdecimal() else None,
        env=start.env,
        signalled=arguments.signalled(start.args, start.env, launchers),
        wanted=steer.end,
    )


def _size(text: str | None) -> int | None:
    """Return the number of a text such as `32k`, or None for a text that leaves the choice to the engine."""
    match = re.fullmatch(r"([0-9.]+)([kKmMgGtT]?)(i?)", text or "")
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


def _check_gpus(start: Start, given: Arguments, sizes: Sizes, group: Group | None) -> list[str]:
    """Compare the parallel sizes with the container's GPUs.

    Returns notes for the log, or raises EngineFailure.
    """
    if start.gpus == 0:
        return ["WARNING the container asks for no GPU that the sandbox can count: tensor size not checked"]
    world = gpus_needed(start.engine, given, sizes, group)
    if start.gpus == world:
        return []
    told = f"tensor {sizes.tensor}, pipeline {sizes.pipeline}, data {sizes.data}"
    if group is not None:
        told += f", {group.count} of {group.size} {group.ranks} here"
    if world > start.gpus:
        raise EngineFailure(
            f"ValueError: World size ({world}) is larger than the number of available GPUs ({start.gpus}) in"
            f" this node ({told})."
        )
    raise EngineFailure(
        f"ValueError: World size ({world}) is smaller than the {start.gpus} GPUs of the container ({told}):"
        " the others would be idle."
    )


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


def _names(start: Start, given: Arguments, flags: EngineFlags) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the names of the model, and the paths of adapters by their names."""
    served = given.values.get(flags.served) or (_model(start, given, flags),)
    modules = given.values.get("--lora-modules", ())
    pairs = (text.partition("=") for text in modules if not text.startswith("{"))
    return served, {name: path for name, _, path in pairs}


def _model(start: Start, given: Arguments, flags: EngineFlags) -> str:
    flagged = given.text(flags.model) if flags.model else None
    model = given.model or flagged or start.model or flags.default_model
    if model is None:
        raise EngineFailure(
            f"{flags.program}: error: the following arguments are required: MODEL", code=REFUSED
        )
    return model
