"""What an endpoint picker starts with, and nobody can mean: flags and numbers of its configuration.

Parameters of plugins: the tables in profiles/pickers. Flags: pkg/epp/datalayer/logger/logger.go (the averages
of an InferencePool), runtime.go and collector.go beside it (how often metrics are read), and
pkg/epp/datastore/datastore.go (their port) of GIE v1.5.0; the same in llm-d-router v0.9.0 and v0.10.0. Tried
with the programs of GIE v1.5.0 and llm-d-inference-scheduler v0.7.1 (2026-11-24).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from inferfleet.api.kinds.model_deployment import EndpointPicker, ModelDeployment
from inferfleet.api.problems import Mistake
from inferfleet.api.wording import listing, shown
from inferfleet.fleet.engines.ports import metrics_ports
from inferfleet.fleet.roles import serving_roles
from inferfleet.manifests.picker.config import SOURCE
from inferfleet.manifests.picker.parameters import At, Finding, mappings, seconds, within
from inferfleet.manifests.programs import Value
from inferfleet.profiles.engines import engine
from inferfleet.profiles.pickers.tables import Odd, PickerTable, PluginType
from inferfleet.profiles.profile import Profile

SCRAPED = "50ms"
_EVERY, _AVERAGED, _STALE = (
    "refresh-metrics-interval",
    "refresh-prometheus-metrics-interval",
    "metrics-staleness-threshold",
)
_AVERAGED_BY_DEFAULT, _STALE_BY_DEFAULT = "5s", "2s"
# Seconds. It is a choice: of averages that are made anew more than ten times a second nobody scrapes most.
_AVERAGED_AT_MOST_EVERY = 0.1
_FILES = ("cert-path", "metrics-cert-dir", "metrics-client-ca-file")


def of_flags(written: Mapping[str, Value], chosen: Mapping[str, str], profile: Profile) -> Iterator[Mistake]:
    """Yield flags of one document that are odd for any engine. All flags of the picker are `chosen`."""
    every, stale = chosen.get(_EVERY, SCRAPED), chosen.get(_STALE, _STALE_BY_DEFAULT)
    often, limit = seconds(every) or 0, seconds(stale) or 0
    if _EVERY in written and often < (seconds(SCRAPED) or 0):
        taken = profile.least_scrape or (SCRAPED if not often else None)
        what = (
            f"{_EVERY} is {every}, so {taken} is taken instead"
            if taken
            else f"{_EVERY} is {every}: the metrics of each pod are read that often, and already every "
            f"{SCRAPED} those of 100 pods keep 7.5 cores busy"
        )
        yield Mistake(what, f"Write {profile.flags.get(_EVERY, SCRAPED)}, or remove it", (_EVERY,))
    if _AVERAGED in written and (seconds(chosen[_AVERAGED]) or 0) < _AVERAGED_AT_MOST_EVERY:
        what = f"{_AVERAGED} is {chosen[_AVERAGED]}: the averages over all pods are made anew that often"
        yield Mistake(what, f"Write {_AVERAGED_BY_DEFAULT}, or remove it", (_AVERAGED,))
    at = next((name for name in (_STALE, _EVERY) if name in written), None)
    if at and limit <= often:
        what = (
            f"metrics of pods are read every {every}, and those older than {stale} ({_STALE}) are left out "
            "of the averages of the InferencePool, which are then of no pods"
        )
        yield Mistake(what, f"Write a {_STALE} of several times {every}", (at,))
    for name in _FILES:
        serves = name != "cert-path" or chosen.get("secure-serving", "true") == "true"
        if name in written and chosen[name] and serves:
            what = f"{name} is {shown(chosen[name])}, and nothing is mounted in the picker's pod"
            yield Mistake(what, "Remove it, or use an image of the picker that has the file", (name,))


def of_engine(
    deployment: ModelDeployment, chosen: Mapping[str, str], profile: Profile
) -> Iterator[tuple[Mistake, At]]:
    """Yield where a picker reads metrics that the deployment's engine does not serve there, with the place
    below `endpointPicker`.
    """
    kind = deployment.spec.engine.type
    if kind == "Other":
        return
    known, config = engine(kind), deployment.spec.endpoint_picker.config
    ours = config is None
    absent: list[tuple[Mapping[str, Any], At | None]] = [({}, None)]
    for parameters, place in [*_sources(config)] or absent:
        where = _Source(parameters, place, chosen, deployment.spec.endpoint_picker)
        # The configuration that is made names another path than /metrics, and counts before the flag.
        made = ours and known.metrics_path != "/metrics"
        path, at, by = (known.metrics_path, (), "") if made else where.said("path", "/metrics")
        if path != known.metrics_path:
            what = f"metrics are read at {shown(path)}{by}, and {kind} serves them at {known.metrics_path}"
            wanted = f"parameters: {{path: {known.metrics_path}}}"
            step = f"Add {{type: {SOURCE}, {wanted}}} to plugins" if by == _BY_DEFAULT else None
            yield Mistake(what, step or f"Write {known.metrics_path}"), at
        scheme, at, by = where.said("scheme", "http")
        if scheme == "https":
            what = f"metrics are read over https{by}, and {kind} serves plain HTTP to probes and routes"
            yield Mistake(what, "Write http, or remove it"), at
        # Where the port is a flag, it is no parameter.
        as_flag = profile.engine_metrics_port_flag is not None
        port, at, by = (replace(where, parameters={}) if as_flag else where).said("port", "0")
        if not port.isdecimal():
            continue
        if port != "0" or (known.metrics_port and not ours and not as_flag):
            yield from _port(deployment, int(port), at, by)


_BY_DEFAULT = " by default"


@dataclass(frozen=True)
class _Source:
    """A source of metrics in a picker's configuration, at its place below `endpointPicker`, None where the
    picker makes its own; with all flags that the picker has.
    """

    parameters: Mapping[str, Any]
    place: At | None
    chosen: Mapping[str, str]
    picker: EndpointPicker

    def said(self, name: str, default: str) -> tuple[str, At, str]:
        """Return what a parameter is, its place below `endpointPicker`, and by whom it is said where it does
        not stand there: parameters count before flags.
        """
        value, flag = self.parameters.get(name), f"model-server-metrics-{name}"
        if self.place is not None and isinstance(value, str | int) and not isinstance(value, bool):
            return str(value), (*self.place, name), ""
        if flag in self.picker.flags:
            return self.chosen[flag], ("flags", flag), ""
        if flag in self.chosen:
            return self.chosen[flag], (), f" ({flag} of serving.eppFlags)"
        at = self.place or (() if self.picker.config is None else ("config",))
        return default, at, _BY_DEFAULT


def in_plugin(given: Mapping[str, Any], row: PluginType, at: At) -> Iterator[Finding]:
    """Yield parameters of a plugin that are odd, or that end the picker later, by the rules of its row."""
    deadly = list(_odd(given, row.ends, at, deadly=True))
    told = [finding.mistake.at for finding in deadly]
    yield from deadly
    yield from (finding for finding in _odd(given, row.odd, at) if finding.mistake.at not in told)


def _odd(
    given: Mapping[str, Any], odds: Mapping[str, tuple[Odd, ...]], at: At, *, deadly: bool = False
) -> Iterator[Finding]:
    for name, rules in odds.items():
        amount = given.get(name)
        if isinstance(amount, bool) or not isinstance(amount, int | float):
            continue
        for rule in rules:
            beside = given.get(rule.unless, rule.otherwise)
            if isinstance(beside, int | float) and beside > 0:
                continue
            if all(within(amount, sign, limit) for sign, limit in rule.limits):
                continue
            wanted = " and ".join(f"{sign} {limit:g}" for sign, limit in rule.limits)
            mistake = Mistake(
                f"it is {amount}, {rule.effect}", f"Write a value {wanted}, or remove it", (*at, name)
            )
            yield Finding(mistake, refused=False, deadly=deadly)
            break


def in_fields(config: Mapping[str, Any], table: PickerTable) -> Iterator[Finding]:
    """Yield what is odd in a configuration beside the parameters of its plugins."""
    for path, rules in table.odd.items():
        above, _, name = path.rpartition(".")
        given = config.get(above)
        if isinstance(given, Mapping):
            yield from _odd(given, {name: rules}, (above,))
    yield from _weights(mappings(config, "schedulingProfiles"))
    types = {
        str(plugin.get("name") or plugin.get("type")): str(plugin.get("type"))
        for plugin in mappings(config, "plugins")
    }
    yield from _parsers(config, types, table)
    yield from _tests(config, types)


# They read gRPC. `ParseRequest` of vllmgrpc.go in GIE v1.5.0 has an error for all other requests, which
# `processRequestBody` of pkg/epp/requestcontrol/director.go answers with 400; in llm-d-router v0.9.0 and
# v0.10.0 they claim paths of gRPC methods, and `Resolve` of pkg/epp/handlers/parsers.go refuses all
# others, which server.go beside it answers with 400.
_OF_GRPC = ("vllmgrpc-parser", "vertexai-parser")
# `Filter` of request_header_based_filter.go below pkg/epp/framework/plugins/scheduling/test of all pickers.
_TESTING, _TESTING_HEADER = "header-based-testing-filter", "test-epp-endpoint-selection"


def _parsers(config: Mapping[str, Any], types: Mapping[str, str], table: PickerTable) -> Iterator[Finding]:
    """Yield that nothing reads what routes bring, which is HTTP."""
    named: list[tuple[Any, At]] = [
        (parser, ("requestHandler", "parsers", place))
        for place, parser in enumerate(mappings(config.get("requestHandler"), "parsers"))
    ]
    named = named or [(config.get("parser"), ("parser",))]
    found: list[tuple[str, At]] = []
    for parser, at in named:
        name = str(parser.get("pluginRef")) if isinstance(parser, Mapping) else ""
        if types.get(name, name) not in _OF_GRPC:
            return
        found.append((name, (*at, "pluginRef")))
    [(name, at), *_] = found
    # Only a table with a list of parsers adds those that are not among its plugins.
    if name in types or "requestHandler" in table.fields.fields:
        what = f"{shown(name)} reads gRPC alone, and requests of routes, which are HTTP, get status 400"
        step = f"Write {table.defaults.parsers[0]}, or remove it: the picker has parsers by itself"
        yield Finding(Mistake(what, step, at), refused=False)


def _tests(config: Mapping[str, Any], types: Mapping[str, str]) -> Iterator[Finding]:
    """Yield filters by which only requests of tests find pods. Without profiles all plugins are in one."""
    uses: list[tuple[str, At]] = [
        (str(plugin.get("pluginRef")), ("schedulingProfiles", place, "plugins", number, "pluginRef"))
        for place, profile in enumerate(mappings(config, "schedulingProfiles"))
        for number, plugin in enumerate(mappings(profile, "plugins"))
    ]
    if not mappings(config, "schedulingProfiles"):
        uses = [
            (str(plugin.get("name") or plugin.get("type")), ("plugins", place, "type"))
            for place, plugin in enumerate(mappings(config, "plugins"))
        ]
    for name, at in uses:
        if types.get(name) == _TESTING:
            what = f"{shown(name)} lets no pod pass for requests without the header {_TESTING_HEADER}"
            yield Finding(Mistake(what, "Remove it: it is for tests of pickers", at), refused=False)


def _weights(profiles: list[Mapping[str, Any]]) -> Iterator[Finding]:
    """Yield weights of scorers that turn what they say around, or let it count for nothing.

    The score of a pod is the sum of those of all scorers, from 0 to 1, times their weights (runScorerPlugins
    in pkg/epp/scheduling/scheduler_profile.go of all pickers).
    """
    for place, profile in enumerate(profiles):
        for number, plugin in enumerate(mappings(profile, "plugins")):
            weight = plugin.get("weight")
            if isinstance(weight, bool) or not isinstance(weight, int | float) or weight > 0:
                continue
            name = shown(str(plugin.get("pluginRef")))
            does = (
                f"so {name} counts for nothing"
                if weight == 0
                else f"so the pods that {name} likes best are chosen last"
            )
            at = ("schedulingProfiles", place, "plugins", number, "weight")
            step = "Write a value > 0, or remove the plugin" if weight == 0 else "Write a value > 0"
            yield Finding(Mistake(f"it is {weight}, {does}", step, at), refused=False)


def _port(deployment: ModelDeployment, port: int, at: At, by: str) -> Iterator[tuple[Mistake, At]]:
    kind = deployment.spec.engine.type
    ports = {found for role in serving_roles(deployment) for found in metrics_ports(deployment, role)}
    template = deployment.spec.workers.entry_template
    declared = {
        opened.get("containerPort")
        for container in template.spec.get("containers", ())
        for opened in container.get("ports") or ()
    }
    if port in ports or (port and port in declared):
        return
    where = f"at port {port}" if port else "at the port of requests"
    told = listing(map(str, sorted(ports)))
    what = f"metrics are read {where}{by}, and {kind} serves them at {told}"
    yield Mistake(what, "Remove it" if port else f"Write port: {told} as a parameter of {SOURCE}"), at


def _sources(config: Mapping[str, Any] | None) -> Iterator[tuple[Mapping[str, Any], At]]:
    for at, plugin in enumerate(mappings(config, "plugins")):
        if plugin.get("type") == SOURCE:
            parameters = plugin.get("parameters")
            yield (
                parameters if isinstance(parameters, Mapping) else {},
                ("config", "plugins", at, "parameters"),
            )
