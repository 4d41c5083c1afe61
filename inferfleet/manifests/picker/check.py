"""Checks whether an endpoint picker would be taken and start with the settings of cluster and deployment."""

from collections.abc import Iterator
from typing import Any

from inferfleet.api.kinds.inference_cluster import InferenceCluster, Serving
from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.api.problems import Mistake, Problem, Severity
from inferfleet.api.wording import path_of
from inferfleet.fleet import names
from inferfleet.manifests.picker import flags as picker_flags
from inferfleet.manifests.picker.config import EXTRACTOR, config_text
from inferfleet.manifests.programs import resource_mistakes
from inferfleet.profiles.engines import engine
from inferfleet.profiles.profile import Profile

# validation.MaxSecretSize of k8s.io/kubernetes, for all values of a ConfigMap or Secret together.
_CONFIG_MAP_BYTES = 1_048_576


def check_cluster(cluster: InferenceCluster, profile: Profile) -> Iterator[Problem]:
    """Yield errors of a cluster's own flags; its model has checked the rest of its serving block."""
    for mistake in picker_flags.mistakes(cluster.spec.serving.epp_flags, profile):
        path = path_of(("spec", "serving", "eppFlags", *mistake.at))
        name = cluster.metadata.name
        yield Problem(mistake.what, mistake.next_step, path, kind="InferenceCluster", key=name)


def check_deployment(deployment: ModelDeployment, *, serving: Serving, profile: Profile) -> Iterator[Problem]:
    """Yield errors and warnings of a deployment's picker on a cluster whose own flags are valid."""
    picker = deployment.spec.endpoint_picker
    flags = list(picker_flags.mistakes(picker.flags, profile))
    for field, mistakes in (
        ("resources", resource_mistakes(picker.resources)),
        ("flags", flags),
        ("port", [] if flags else _port_mistakes(deployment, serving, profile)),
        ("config", _config_mistakes(picker.config, profile)),
    ):
        for mistake in mistakes:
            yield _problem(deployment, field, mistake)
    for mistake in _unread_metrics(deployment, profile):
        yield _problem(deployment, "config", mistake, severity="warning")


def _problem(
    deployment: ModelDeployment, field: str, mistake: Mistake, severity: Severity = "error"
) -> Problem:
    return Problem(
        mistake.what,
        mistake.next_step,
        path_of(("spec", "endpointPicker", field, *mistake.at)),
        kind="ModelDeployment",
        key=deployment.metadata.key,
        severity=severity,
    )


def _port_mistakes(deployment: ModelDeployment, serving: Serving, profile: Profile) -> Iterator[Mistake]:
    chosen = picker_flags.flags(deployment=deployment, serving=serving, profile=profile)
    used: dict[int, str] = {}
    for name, port in (
        ("health", picker_flags.health_port(chosen, profile)),
        ("metrics", picker_flags.metrics_port(chosen, profile)),
        ("gRPC", picker_flags.grpc_port(deployment, profile)),
    ):
        if not 1 <= port <= 65_535:
            what = f"the endpoint picker would serve {name} on port {port}"
            yield Mistake(what, "Give it a port from 1 to 65535")
            return
        if port in used:
            what = f"the endpoint picker would serve {used[port]} and {name} both on port {port}"
            yield Mistake(what, "Give one of the two another port")
            return
        used[port] = name


def _config_mistakes(config: dict[str, Any] | None, profile: Profile) -> Iterator[Mistake]:
    if config is None:
        return
    for key, known in (("apiVersion", profile.config_api_versions), ("kind", (profile.config_kind,))):
        if config.get(key) not in known:
            what = f"it is {config.get(key)!r}, which the endpoint picker of {profile.name} does not read"
            yield Mistake(what, f"Write {key}: {known[0]}", (key,))
    if (size := len(config_text(config).encode())) > _CONFIG_MAP_BYTES:
        what = f"it has {size} bytes, and the ConfigMap that holds it takes at most {_CONFIG_MAP_BYTES}"
        yield Mistake(what, "Shorten it")


def _unread_metrics(deployment: ModelDeployment, profile: Profile) -> Iterator[Mistake]:
    config = deployment.spec.endpoint_picker.config
    kind = deployment.spec.engine.type
    if config is None or profile.engine_label == names.LLM_D_ENGINE or engine(kind).label == "vllm":
        return
    plugins = config.get("plugins")
    for plugin in plugins if isinstance(plugins, list) else []:
        parameters = plugin.get("parameters") if isinstance(plugin, dict) else None
        if isinstance(parameters, dict) and plugin.get("type") == EXTRACTOR:
            return
    yield Mistake(
        f"its plugins have no {EXTRACTOR} with parameters, so the endpoint picker of {profile.name} "
        f"takes {kind} for vLLM and reads none of its metrics",
        f"Add the plugin {EXTRACTOR} with parameters: {{engineLabelKey: {names.LLM_D_ENGINE}}}",
    )
