"""Checks a deployment's own EndpointPickerConfig: will the picker take it, and do what the document says.

Where prefill is apart, a config with a part missing starts all the same, and decode pods then read every
prompt. Sources: pkg/plugins/profile of llm-d-inference-scheduler v0.7.1, pkg/epp/framework/plugins/scheduling
of llm-d-router v0.10.0, pkg/epp/config/loader of Gateway API Inference Extension v1.4.0 and v1.5.0.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.api.problems import Mistake
from inferfleet.api.wording import shown
from inferfleet.fleet import names
from inferfleet.fleet.roles import connector, is_disaggregated
from inferfleet.manifests.picker.config import (
    ALWAYS_DECIDER,
    DETECTOR,
    FILTERS,
    HANDLER,
    PREFIX_DECIDER,
    config_text,
)
from inferfleet.manifests.picker.parameters import mappings, seconds
from inferfleet.manifests.picker.wiring import findings
from inferfleet.profiles.engines import engine
from inferfleet.profiles.pickers.tables import picker_table
from inferfleet.profiles.profile import Phases, Profile

# Bytes of one argument of a program on Linux (execve(2)), and the flag before the text of the config in it.
LONGEST_TEXT = 32 * 4096 - 1
_FLAG_BYTES = len("--config-text=")
_OLD_HANDLER = "pd-profile-handler"
_HANDLERS = (HANDLER, _OLD_HANDLER)
_SCORER = "prefix-cache-scorer"
# pkg/epp/framework/plugins/flowcontrol/saturationdetector/utilization/config.go of GIE 1.5 and llm-d-router
# 0.10; the same in GIE 1.4.
_STALE = "200ms"
_OF_PHASES = (*_HANDLERS, *FILTERS.values(), PREFIX_DECIDER, ALWAYS_DECIDER)
_WITH_PREFILL = (
    "Write spec.prefill, with which the deployment has a picker that knows it, or remove the plugin"
)


# What a picker knows and cannot do here. Of the first it waits two minutes for a list of objects, for which
# its account has no right (pkg/epp/datalayer/k8s_bind.go), and exits; the second leaves the pool unread.
_WITHOUT_RIGHTS = {
    "k8s-notification-source": (
        "watches objects that the picker's account may not list, so the picker ends after two minutes",
        "Remove it, and the extractors that it feeds",
    ),
    "file-discovery": (
        "takes endpoints from a file, and a picker here has none and is to serve its InferencePool",
        "Remove it: endpoints are the pods of the deployment",
    ),
}


@dataclass(frozen=True)
class _Plugin:
    """A plugin of the config, by its place in the list; others refer to it by `name`."""

    at: int
    name: str
    type: str
    parameters: Mapping[str, Any]


def mistakes(deployment: ModelDeployment, profile: Profile) -> Iterator[Mistake]:
    """Yield what the picker refuses, and of a deployment with prefill apart also what keeps it unused."""
    config = deployment.spec.endpoint_picker.config
    if config is None:
        return
    for key, known in (("apiVersion", profile.config_api_versions), ("kind", (profile.config_kind,))):
        if config.get(key) not in known:
            picker, value = f"the endpoint picker of {profile.name}", config.get(key)
            what = f"it is {shown(str(value))!r}, which {picker} does not read"
            if value is None:
                what = f"it has no {key}, by which {picker} knows a config"
            yield Mistake(what, f"Write {key}: {known[0]}", (key,))
    if (size := len(config_text(config).encode())) > (most := LONGEST_TEXT - _FLAG_BYTES):
        what = f"it has {size:,} bytes, and the argument of the picker that holds it takes at most {most:,}"
        yield Mistake(what, "Shorten it")
    for plugin in _plugins(config):
        if plugin.type in _WITHOUT_RIGHTS:
            what, step = _WITHOUT_RIGHTS[plugin.type]
            yield Mistake(f"plugin {plugin.type} {what}", step, ("plugins", plugin.at, "type"))
    if is_disaggregated(deployment) and profile.phases:
        yield from _apart(deployment, config, profile.phases)


def found(
    deployment: ModelDeployment, profile: Profile, flags: Mapping[str, str]
) -> Iterator[tuple[Mistake, bool]]:
    """Yield what the profile's own image says to the config, and whether it ends with it, then or later.

    `flags` are those that the picker is started with.
    """
    config = deployment.spec.endpoint_picker.config
    if config is None:
        return
    table, who = picker_table(profile.name), f"the endpoint picker of {profile.name}"
    types = {plugin.at: plugin.type for plugin in _plugins(config)}
    for finding in findings(config, table, who=who, flags=flags):
        mistake = finding.mistake
        match mistake.at:
            case ("plugins", int(place), "type") if types.get(place) in _OF_PHASES and not profile.phases:
                mistake = Mistake(mistake.what, _WITH_PREFILL, mistake.at)
        yield mistake, finding.refused or finding.deadly


def stale_after(deployment: ModelDeployment, profile: Profile) -> str:
    """Return the age, as a duration of Go, from which on the picker takes metrics of a pod for old."""
    config = deployment.spec.endpoint_picker.config
    if config is None:
        return profile.metrics_stale_after or _STALE
    said = [_mapping(config.get("saturationDetector"))]
    said += [plugin.parameters for plugin in _plugins(config) if plugin.type == DETECTOR]
    limits = [one["metricsStalenessThreshold"] for one in said if "metricsStalenessThreshold" in one]
    return next((limit for limit in limits if isinstance(limit, str) and seconds(limit) is not None), _STALE)


def idle(deployment: ModelDeployment, profile: Profile) -> Iterator[Mistake]:
    """Yield what the picker takes, and what does nothing or reads nothing."""
    config = deployment.spec.endpoint_picker.config
    if config is None:
        return
    plugins = _plugins(config)
    if not is_disaggregated(deployment) and profile.phases:
        for plugin in plugins:
            if plugin.type in _HANDLERS:
                what = f"{plugin.type} chooses prefill pods, and the deployment has none"
                step = "Write spec.prefill, or use single-profile-handler"
                yield Mistake(what, step, ("plugins", plugin.at))
    kind = deployment.spec.engine.type
    if profile.engine_label == names.LLM_D_ENGINE or engine(kind).label == "vllm":
        return
    if any(plugin.type == profile.extractor and plugin.parameters for plugin in plugins):
        return
    yield Mistake(
        f"its plugins have no {profile.extractor} with parameters, so the endpoint picker of {profile.name} "
        f"takes {kind} for vLLM and reads none of its metrics",
        f"Add the plugin {profile.extractor} with parameters: {{engineLabelKey: {names.LLM_D_ENGINE}}}",
    )


def _apart(deployment: ModelDeployment, config: dict[str, Any], phases: Phases) -> Iterator[Mistake]:
    plugins = _plugins(config)
    handler = next((plugin for plugin in plugins if plugin.type in _HANDLERS), None)
    if handler is None:
        what = f"the deployment has prefill apart, and no plugin is a {HANDLER}, which chooses prefill pods"
        step = f"Add it with parameters: {{deciders: {{prefill: {PREFIX_DECIDER}}}}}, or remove the config"
        yield Mistake(what, step, ("plugins",))
        return
    yield from _decided(deployment, config, handler, phases)
    if phases.headers_handlers and not any(plugin.type in phases.headers_handlers for plugin in plugins):
        header = phases.headers_handlers[0]
        what = f"no plugin is a {header}, which tells the decode pod the prefill pod that was chosen"
        yield Mistake(what, f"Add {{type: {header}}}", ("plugins",))
    by_name = {
        profile.get("name"): (at, profile)
        for at, profile in enumerate(mappings(config, "schedulingProfiles"))
    }
    for role, wanted in FILTERS.items():
        name = _said(handler, "profiles", role, f"{role}Profile") or role
        if name not in by_name:
            what = f"there is no scheduling profile {shown(name)!r}, by which pods of {role} are chosen"
            yield Mistake(what, f"Add one with pluginRef: {wanted}", ("schedulingProfiles",))
            continue
        at, profile = by_name[name]
        if not any(_filters(plugin, role) for plugin in plugins if plugin.name in _references(profile)):
            what = f"profile {shown(name)!r} chooses among pods of both roles"
            yield Mistake(what, f"Add pluginRef: {wanted} to it", ("schedulingProfiles", at, "plugins"))


def _decided(
    deployment: ModelDeployment, config: dict[str, Any], handler: _Plugin, phases: Phases
) -> Iterator[Mistake]:
    """Yield why the decider never says yes, or is none."""
    plugins, here = _plugins(config), ("plugins", handler.at)
    said = _said(handler, "deciders", "prefill", "prefillDeciderPluginName", "deciderPluginName")
    name = said or (PREFIX_DECIDER if handler.type == _OLD_HANDLER else None)
    if name is None:
        what = f"{handler.name} names no decider, so no prompt is read by prefill pods"
        yield Mistake(what, f"Write parameters: {{deciders: {{prefill: {PREFIX_DECIDER}}}}}", here)
        return
    decider = next((plugin for plugin in plugins if plugin.name == name), None)
    if decider is None:
        return
    at = ("plugins", decider.at)
    if decider.type != ALWAYS_DECIDER and connector(deployment) == "SGLang":
        what = f"SGLang's decode pods refuse what is not prefilled apart, and {decider.type} lets some by"
        yield Mistake(what, f"Use {ALWAYS_DECIDER}", at)
    if decider.type != PREFIX_DECIDER:
        return
    if not decider.parameters.get("nonCachedTokens"):
        what = "without nonCachedTokens, or with 0, it sends no prompt to prefill pods"
        yield Mistake(what, "Write parameters: {nonCachedTokens: 16}", at)
    for gate in phases.gates:
        if gate not in _gates(config):
            what = (
                f"without the feature gate {gate} the decider {decider.name} sends no prompt to prefill pods"
            )
            yield Mistake(
                what, f"Write featureGates: [{', '.join([*_gates(config), gate])}]", ("featureGates",)
            )
    if not any(plugin.type in (_SCORER, *phases.producers) for plugin in plugins):
        what = f"the decider {decider.name} asks what is cached, which no plugin knows"
        yield Mistake(what, f"Add {{type: {(*phases.producers, _SCORER)[0]}}}", ("plugins",))


def _said(handler: _Plugin, group: str, key: str, *flat: str) -> str | None:
    """Return a name from the parameters of a profile handler, in their nested or their older, flat form."""
    nested = handler.parameters.get(group)
    values = [nested.get(key) if isinstance(nested, dict) else None, *map(handler.parameters.get, flat)]
    return next((value for value in values if isinstance(value, str) and value), None)


def _filters(plugin: _Plugin, role: str) -> bool:
    """Return whether the plugin keeps pods of other roles out: by its type, or by the label of roles."""
    return plugin.type == FILTERS[role] or names.LLM_D_ROLE in json.dumps(plugin.parameters)


def _references(profile: Mapping[str, Any]) -> list[object]:
    return [item.get("pluginRef") for item in mappings(profile, "plugins")]


def _plugins(config: dict[str, Any]) -> list[_Plugin]:
    """Return the plugins that are written as such; the picker refuses what else is in the list."""
    return [
        _Plugin(at, str(item.get("name") or item["type"]), item["type"], _mapping(item.get("parameters")))
        for at, item in enumerate(mappings(config, "plugins"))
        if isinstance(item.get("type"), str)
    ]


def _gates(config: dict[str, Any]) -> list[str]:
    written = config.get("featureGates")
    return [gate for gate in written if isinstance(gate, str)] if isinstance(written, list) else []


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
