"""Whether an endpoint picker would start with what cluster and deployment wrote about it."""

from collections.abc import Callable
from typing import Any

from inferfleet.api.kinds.inference_cluster import Serving
from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.api.problems import Problem, Where
from inferfleet.fleet import names
from inferfleet.manifests.picker import flags as picker_flags
from inferfleet.manifests.picker.config import EXTRACTOR
from inferfleet.profiles.engines import engine
from inferfleet.profiles.profile import Profile

_PICKER = "spec.endpointPicker"


def check_cluster(
    *, serving: Serving, profile: Profile, where: Callable[[str], Where | None]
) -> tuple[Problem, ...]:
    """Of a cluster's own flags; the rest of its serving block is settled by its model."""
    return picker_flags.check(serving.epp_flags, profile=profile, path="spec.serving.eppFlags", where=where)


def check_deployment(
    *,
    deployment: ModelDeployment,
    serving: Serving,
    profile: Profile,
    where: Callable[[str], Where | None],
) -> tuple[tuple[Problem, ...], tuple[Problem, ...]]:
    """Problems and warnings of a deployment's picker on a cluster whose own flags are right."""
    picker = deployment.spec.endpoint_picker
    problems = picker_flags.check(picker.flags, profile=profile, path=f"{_PICKER}.flags", where=where)
    if not problems:
        problems = _ports(deployment, serving, profile, where)
    problems += _config(picker.config, profile, where)
    return problems, _unread_metrics(deployment, profile, where)


def _ports(
    deployment: ModelDeployment, serving: Serving, profile: Profile, where: Callable[[str], Where | None]
) -> tuple[Problem, ...]:
    chosen = picker_flags.flags(deployment=deployment, serving=serving, profile=profile)
    used: dict[int, str] = {}
    for name, port in (
        ("health", picker_flags.health_port(chosen, profile)),
        ("metrics", picker_flags.metrics_port(chosen, profile)),
        ("gRPC", picker_flags.grpc_port(deployment, profile)),
    ):
        path = f"{_PICKER}.port"
        if not 1 <= port <= 65_535:
            what = f"the endpoint picker would serve {name} on port {port}"
            return (Problem(what, "Give it a port from 1 to 65535", path, where(path)),)
        if port in used:
            what = f"the endpoint picker would serve {used[port]} and {name} both on port {port}"
            return (Problem(what, "Give one of them another port", path, where(path)),)
        used[port] = name
    return ()


def _config(
    config: dict[str, Any] | None, profile: Profile, where: Callable[[str], Where | None]
) -> tuple[Problem, ...]:
    if config is None:
        return ()
    problems = []
    for key, known in (("apiVersion", profile.config_api_versions), ("kind", (profile.config_kind,))):
        if config.get(key) not in known:
            path = f"{_PICKER}.config.{key}"
            what = f"it is {config.get(key)!r}, which the endpoint picker of {profile.name} does not read"
            problems.append(Problem(what, f"Write {key}: {known[0]}", path, where(path)))
    return tuple(problems)


def _unread_metrics(
    deployment: ModelDeployment, profile: Profile, where: Callable[[str], Where | None]
) -> tuple[Problem, ...]:
    config = deployment.spec.endpoint_picker.config
    kind = deployment.spec.engine.type
    if config is None or profile.engine_label == names.LLM_D_ENGINE or engine(kind).label == "vllm":
        return ()
    plugins = config.get("plugins")
    for plugin in plugins if isinstance(plugins, list) else []:
        parameters = plugin.get("parameters") if isinstance(plugin, dict) else None
        if isinstance(parameters, dict) and plugin.get("type") == EXTRACTOR:
            return ()
    path = f"{_PICKER}.config"
    return (
        Problem(
            f"its plugins have no {EXTRACTOR} with parameters, so the endpoint picker of {profile.name} "
            f"takes {kind} for vLLM and reads none of its metrics",
            f"Add the plugin {EXTRACTOR} with parameters: {{engineLabelKey: {names.LLM_D_ENGINE}}}",
            path,
            where(path),
        ),
    )
