"""How long an engine waits for its own processes, which a startup probe does not tell it."""

from collections.abc import Iterator, Mapping
from typing import Any

from inferfleet.api.kinds.containers import ENGINE
from inferfleet.api.kinds.model_deployment import Engine
from inferfleet.api.problems import Mistake
from inferfleet.fleet.engines.group import Group
from inferfleet.fleet.engines.words import is_known


def ready_variable(group: Group) -> str | None:
    """Return the variable that gives API servers `engine.startup` for their engines, None for none.

    vLLM's wait 600 s, whatever a startup probe allows (VLLM_ENGINE_READY_TIMEOUT_S in vllm/envs.py, read in
    vllm/v1/engine/core_client.py). Pods of workers of several pods are given more, and pods with a port for
    each copy. Others are not, because they would restart for it.
    """
    return group.table.ready_variable if group.pods > 1 or len(group.ports) > 1 else None


def ready_mistakes(spec: Mapping[str, Any], group: Group, document: Engine) -> Iterator[Mistake]:
    """Yield an engine that would end itself while `engine.startup` lets it load. Places begin with `spec`."""
    variable, limit = group.table.ready_variable, group.table.ready_limit
    if variable is None or limit is None:
        return
    place, container = next(
        (place, container)
        for place, container in enumerate(spec["containers"])
        if container["name"] == ENGINE
    )
    at = ("spec", "containers", place)
    written = {env["name"]: (i, env) for i, env in enumerate(container.get("env", []))}
    several = group.topology.data > 1 and ready_variable(group) is None and "envFrom" not in container
    if variable in written:
        i, env = written[variable]
        value, startup = env.get("value", ""), document.startup or group.table.startup
        if "valueFrom" in env or not is_known(value) or (value.isdecimal() and int(value) >= startup):
            return
        yield Mistake(
            f"{variable} is {value!r}, so the engine ends itself before the {startup} s of engine.startup"
            if value.isdecimal()
            else f"{variable} is {value!r}, and the engine reads it as whole seconds",
            f"Write {startup}, or as many seconds as engine.startup has",
            (*at, "env", i, "value"),
        )
    # Of a time that nobody has written it is not known whether the model needs it.
    elif several and document.startup and document.startup > limit:
        yield Mistake(
            f"a pod has {group.topology.data} copies and several API servers, which end it when a copy loads "
            f"for more than {limit} s, but engine.startup is {document.startup} s",
            f"Give the engine the variable {variable} with value {document.startup}; its pods restart",
            at,
        )
