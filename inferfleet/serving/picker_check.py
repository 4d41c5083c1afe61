"""What documents say of an endpoint picker that nobody else says in time: flags that another field says too,
images that are another program, and what would keep prefill pods unused in silence.

What a picker refuses of its flags and its EndpointPickerConfig, it says itself as it ends, in the update that
waits for it.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from inferfleet.documents.kinds.inference_cluster import InferenceCluster
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.documents.problems import FieldPath, Mistake, Problem, Severity, cluster_problem
from inferfleet.documents.wording import listing, one_of, path_of, shown
from inferfleet.fleet import names
from inferfleet.fleet.roles import connector, is_disaggregated
from inferfleet.serving.picker import (
    FILTERS,
    HANDLER,
    HEALTH_PORT,
    METRICS_PORT,
    PICKER,
    PREFIX_DECIDER,
    SOURCE,
    Picker,
    always,
    metrics_source,
    unled_seconds,
)
from inferfleet.serving.programs import Value, resource_mistakes, text
from inferfleet.tables.engines import engine
from inferfleet.tables.pickers import NEWEST
from inferfleet.tables.pickers import picker as picker_row

# Flags that repeat what a document or a name says elsewhere, with the place where it is said.
_SYSTEM = {
    "pool-name": "it follows from the deployment's name",
    "pool-namespace": "it follows from the deployment's namespace",
    "pool-group": "it follows from the profile",
    "endpoint-selector": "endpoints come from the deployment's InferencePool",
    "endpoint-target-ports": "endpoints come from the deployment's InferencePool",
    "config-file": "write spec.endpointPicker.config instead",
    "config-text": "write spec.endpointPicker.config instead",
    "grpc-port": "write spec.endpointPicker.port instead",
    "ha-enable-leader-election": "it follows from spec.endpointPicker.replicas",
    "metrics-endpoint-auth": "write serving.metricsAuth of the cluster instead",
    "tracing": "write serving.tracing of the cluster instead",
}
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*")
_LAST_PORT = 65_535
# The older one asks a decider without being told which.
_OLD_HANDLER = "pd-profile-handler"


def cluster_problems(cluster: InferenceCluster) -> Iterator[Problem]:
    """Yield what is wrong with a cluster's own flags; its model has checked the rest of its serving block."""
    for mistake in flag_mistakes(cluster.spec.serving.epp_flags):
        yield cluster_problem(
            cluster.metadata.name,
            mistake.what,
            mistake.next_step,
            path_of(("spec", "serving", "eppFlags", *mistake.field_path)),
        )


def deployment_problems(deployment: ModelDeployment) -> Iterator[Problem]:
    """Yield errors and warnings of a deployment's picker."""
    picker = deployment.spec.endpoint_picker
    every: tuple[tuple[str, Iterable[Mistake]], ...] = (
        ("resources", resource_mistakes(picker.resources)),
        ("flags", flag_mistakes(picker.flags)),
        ("config", config_mistakes(deployment)),
    )
    for field, mistakes in every:
        for mistake in mistakes:
            yield _problem(deployment, ("endpointPicker", field), mistake)
    yield from _filter_problems(deployment)
    yield from _decider_problems(deployment)
    yield from _fail_open_problems(deployment)


def flag_mistakes(flags: Mapping[str, Value]) -> Iterator[Mistake]:
    """Yield what is wrong with the flags of one document: that another field says the same, or that no port
    can be read of them. What else a picker does not take, it says itself.
    """
    for name, value in flags.items():
        if not _NAME.fullmatch(name):
            step = "Write letters, digits and dashes, without dashes at the beginning"
            yield Mistake(f"{shown(name)!r} is not the name of a flag", step, (name,))
        elif name in _SYSTEM:
            yield Mistake(f"flag {name} is set by inferfleet", f"Remove it: {_SYSTEM[name]}", (name,))
        elif name in (HEALTH_PORT, METRICS_PORT) and not _is_port(text(value)):
            what = f"{name} is {shown(text(value))!r}, which is no port"
            yield Mistake(what, f"Give it a port from 1 to {_LAST_PORT}", (name,))


def _is_port(value: str) -> bool:
    return re.fullmatch(r"[0-9]{1,5}", value) is not None and 1 <= int(value) <= _LAST_PORT


def picker_problems(picker: Picker, cluster: InferenceCluster) -> Iterator[Problem]:
    """Yield what is wrong with the picker of a deployment on one cluster."""
    yield from _image_problems(picker, cluster)
    yield from _metrics_problems(picker)
    yield from _leader_problems(picker)
    yield from _parser_problems(picker)


def _parser_problems(picker: Picker) -> Iterator[Problem]:
    """Yield what becomes of a deployment whose picker has one parser, and to which routes lead under paths
    that the parser of prompts refuses: one problem for each field that exposes such paths.
    """
    declared, key = picker.deployment.spec, picker.deployment.metadata.key
    if declared.endpoint_picker.config is not None:
        return
    usual = engine(declared.engine.type).paths
    paths_by_field: dict[tuple[str, str, str], list[str]] = {}
    for exposed in picker.unparsed_paths:
        if exposed.path not in usual:
            place = exposed.kind, exposed.key, exposed.field
            paths_by_field.setdefault(place, []).append(exposed.path)
    for (kind, document, field), paths in paths_by_field.items():
        what = (
            f"the picker of {key} ({picker.profile.name}) has one parser, and the one that reads prompts "
            f"refuses {listing(paths)}"
        )
        if picker.profile.parser_of_any:
            what += ", so it has one for all: affinity to prefixes and InferenceModelRewrites have no effect"
        yield Problem(
            what,
            f"Write profile: {NEWEST} for {key}, whose picker has several, or give these paths a deployment "
            "of their own",
            field,
            kind=kind,
            key=document,
            severity="notice" if picker.profile.parser_of_any else "warning",
        )


def _image_problems(picker: Picker, cluster: InferenceCluster) -> Iterator[Problem]:
    """Yield an error where a cluster chose the image of its usual pickers, and none for this deployment's.

    Who chooses an image cannot pull the profile's, or must not; and the usual one is another program.
    """
    deployment, profile = picker.deployment, picker.profile
    images, own_image = cluster.spec.serving.images, deployment.spec.endpoint_picker.image
    usual = picker_row(cluster.spec.serving.profile, disaggregated=False)
    if profile.epp_image == usual.epp_image or own_image:
        return
    apart = is_disaggregated(deployment)
    cluster_image = (images.prefill_epp or images.epp) if apart else images.epp
    if cluster_image and picker_row(cluster.spec.serving.profile, disaggregated=apart) is not profile:
        yield Problem(
            f"the endpoint picker of {profile.name} is another image than {cluster_image}, which cluster "
            f"{cluster.metadata.name!r} names in serving.images",
            f"Write endpointPicker.image, as {profile.epp_image} is called there",
            "spec.profile",
            kind="ModelDeployment",
            key=deployment.metadata.key,
        )
        return
    if images.prefill_epp or not images.epp:
        return
    yield cluster_problem(
        cluster.metadata.name,
        f"deployment {deployment.metadata.key!r} has prefill apart, whose endpoint picker is another program "
        f"({profile.epp_image}) than that of serving.images.epp",
        "Write serving.images.prefillEpp too, or endpointPicker.image in the deployment",
        "spec.serving.images.epp",
    )


def _leader_problems(picker: Picker) -> Iterator[Problem]:
    """Yield a warning where an evicted leader of a deployment's pickers leaves gateways without one.

    With FailOpen gateways choose pods themselves meanwhile.
    """
    declared, profile = picker.deployment.spec.endpoint_picker, picker.profile
    if not picker.is_replicated or declared.failure_mode == "FailOpen" or profile.serves_on:
        return
    without = unled_seconds(picker.drain, profile, picker.flags)
    what = (
        f"of {declared.replicas} endpoint pickers of {profile.name} one leads, and once it is evicted it "
        f"keeps its Lease until it ends: for up to {without} s nobody chooses pods, and requests fail"
    )
    better = unled_seconds(picker.drain, picker_row(NEWEST, disaggregated=False), {})
    step = (
        f"Write profile: {NEWEST}, whose leader gives it back after {better} s, or replicas: 1, which needs "
        "none: when it is evicted, another starts elsewhere in seconds"
    )
    yield _problem(picker.deployment, ("endpointPicker", "replicas"), Mistake(what, step), "warning")


def _metrics_problems(picker: Picker) -> Iterator[Problem]:
    """Yield a warning where no source of a config of a team's own says where the engine has its metrics, and
    it is not where pickers look: they log that they read none, and choose pods without.
    """
    deployment, flags = picker.deployment, picker.flags
    config = deployment.spec.endpoint_picker.config
    elsewhere = {
        name: value
        for name, value in metrics_source(deployment, picker.profile).items()
        if f"model-server-metrics-{name}" not in flags
    }
    sources = [one for one in _entries(config, "plugins") if one.get("type") == SOURCE]
    said = [one["parameters"] for one in sources if isinstance(one.get("parameters"), Mapping)]
    if config is None or any(elsewhere.keys() <= parameters.keys() for parameters in (*said, {})):
        return
    origins = ", ".join(f"{name}: {value}" for name, value in elsewhere.items())
    what = (
        f"{deployment.spec.engine.type} serves its metrics elsewhere than pickers read them ({origins}), and "
        f"no {SOURCE} of the config says where: the picker chooses pods without them"
    )
    step = f"Add {{type: {SOURCE}, parameters: {{{origins}}}}} to its plugins"
    yield _problem(deployment, ("endpointPicker", "config"), Mistake(what, step), "warning")


def _problem(
    deployment: ModelDeployment, below: FieldPath, mistake: Mistake, severity: Severity = "error"
) -> Problem:
    return Problem(
        mistake.what,
        mistake.next_step,
        path_of(("spec", *below, *mistake.field_path)),
        kind="ModelDeployment",
        key=deployment.metadata.key,
        severity=severity,
    )


def config_mistakes(deployment: ModelDeployment) -> Iterator[Mistake]:
    """Yield what is wrong with an EndpointPickerConfig of a team's own: profiles that refer to plugins which
    are not there and, with `prefill`, parts without which a picker starts all the same and no prompt is read
    by prefill pods.
    """
    config = deployment.spec.endpoint_picker.config
    if config is None:
        return
    plugins = _by_name(config)
    for index, profile in enumerate(_entries(config, "schedulingProfiles")):
        for number, name in enumerate(_references(profile)):
            if isinstance(name, str) and name not in (*plugins, PICKER):
                at = ("schedulingProfiles", index, "plugins", number, "pluginRef")
                step = one_of(name, plugins, "Plugins") if plugins else "Add it to plugins"
                yield Mistake(f"there is no plugin {shown(name)!r}", step, at)
    if is_disaggregated(deployment):
        yield from _handler_mistakes(config, plugins)


def _handler_mistakes(
    config: Mapping[str, Any], plugins: Mapping[str, Mapping[str, Any]]
) -> Iterator[Mistake]:
    """Yield what keeps prefill pods unused. Handlers log of a decider that is not configured, and no more
    (HandlerFactory in pkg/epp/framework/plugins/scheduling/profilehandler/disagg of llm-d-router v0.10.0).
    """
    at, handler = _handler_of(config)
    wanted = f"parameters: {{deciders: {{prefill: {PREFIX_DECIDER}}}}}"
    if at is None:
        what = f"the deployment has prefill apart, and no plugin is a {HANDLER}"
        yield Mistake(f"{what}, which chooses prefill pods", f"Add it with {wanted}", ("plugins",))
        return
    type_ = _entries(config, "plugins")[at].get("type")
    decider = _said(handler, "deciders", "prefill", "prefillDeciderPluginName", "deciderPluginName")
    if decider is None and type_ == HANDLER:
        what = f"{HANDLER} names no decider, so no prompt is read by prefill pods"
        yield Mistake(what, f"Write {wanted}", ("plugins", at))
    elif decider is not None and decider not in plugins:
        what = f"{type_} names the decider {shown(decider)!r}, and there is no such plugin"
        yield Mistake(what, f"Add it, of type {PREFIX_DECIDER} or another one", ("plugins", at))


def _filter_problems(deployment: ModelDeployment) -> Iterator[Problem]:
    """Yield a warning for each role whose pods no filter of a config of a team's own seems to choose."""
    config = deployment.spec.endpoint_picker.config
    if config is None or not is_disaggregated(deployment):
        return
    plugins, parameters = _by_name(config), _handler_of(config)[1]
    profiles = {str(one.get("name")): one for one in _entries(config, "schedulingProfiles")}
    for role, usual in FILTERS.items():
        name = _said(parameters, "profiles", role, f"{role}Profile") or role
        used = [plugins[str(one)] for one in _references(profiles.get(name)) if str(one) in plugins]
        if not any(one.get("type") == usual or _by_role(one) for one in used):
            what = f"no scheduling profile {shown(name)!r} seems to keep to pods of {role} by a filter"
            mistake = Mistake(what, f"Add pluginRef: {usual} to it", ("schedulingProfiles",))
            yield _problem(deployment, ("endpointPicker", "config"), mistake, "warning")


def _by_role(plugin: Mapping[str, Any]) -> bool:
    """Return whether a plugin names a label of roles, as those do that filter by label."""
    plugin_json = json.dumps(plugin)
    return names.LLM_D_ROLE in plugin_json or names.ROLE in plugin_json


def _said(parameters: object, group: str, key: str, *flat: str) -> str | None:
    """Return a name from the parameters of a profile handler, in their nested or their older, flat form."""
    given = parameters if isinstance(parameters, dict) else {}
    nested = given.get(group)
    values = [nested.get(key) if isinstance(nested, dict) else None, *map(given.get, flat)]
    return next((value for value in values if isinstance(value, str) and value), None)


def _handler_of(config: Mapping[str, Any]) -> tuple[int | None, object]:
    """Return the place of the handler of profiles among the plugins, and its parameters; None without one."""
    for at, plugin in enumerate(_entries(config, "plugins")):
        if plugin.get("type") in (HANDLER, _OLD_HANDLER):
            return at, plugin.get("parameters")
    return None, None


def _by_name(config: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    return {str(one.get("name") or one.get("type")): one for one in _entries(config, "plugins")}


def _references(profile: object) -> list[object]:
    return [entry.get("pluginRef") for entry in _entries(profile, "plugins")]


def _entries(above: object, name: str) -> list[Mapping[str, Any]]:
    """Return the entries of a list at their places, an empty one for what is no map; [] without a list."""
    written = above.get(name) if isinstance(above, Mapping) else None
    entries = written if isinstance(written, list) else []
    return [entry if isinstance(entry, Mapping) else {} for entry in entries]


def _decider_problems(deployment: ModelDeployment) -> Iterator[Problem]:
    """Yield a decider in the document that is not used, or with which SGLang refuses requests."""
    prefill, below = deployment.spec.prefill, ("prefill", "decider")
    if prefill is None or "decider" not in prefill.model_fields_set:
        return
    if deployment.spec.endpoint_picker.config is not None:
        what = "endpointPicker.config is used as it is written, so this decides nothing"
        mistake = Mistake(what, "Write it as a plugin of the config, and remove it here")
        yield _problem(deployment, below, mistake, "warning")
    elif prefill.decider.type == "PrefixBased" and always(deployment):
        what = "SGLang's decode pods refuse requests that are not prefilled apart, as PrefixBased leaves some"
        yield _problem(deployment, below, Mistake(what, "Write type: Always, or remove it"))


def _fail_open_problems(deployment: ModelDeployment) -> Iterator[Problem]:
    """Yield that a gateway may send requests to pods of prefill, and to decode pods without a prefill pod."""
    if not is_disaggregated(deployment) or deployment.spec.endpoint_picker.failure_mode != "FailOpen":
        return
    what = "without its picker a gateway sends requests to any pod of the pool, those of prefill among them"
    severity: Severity = "warning"
    if connector(deployment) == "SGLang":
        what += ", and SGLang's pods refuse all that come without the address of a prefill pod"
        severity = "error"
    mistake = Mistake(what, "Remove failureMode, or write FailClose")
    yield _problem(deployment, ("endpointPicker", "failureMode"), mistake, severity)
