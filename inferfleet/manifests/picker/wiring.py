"""Whether a picker's program would start with a configuration, and if not, why.

Once plugins are made, the program adds what is missing under the name of its type (`applySystemDefaults` of
pkg/epp/config/loader), and then looks up what profiles, the saturation detector, parsers, flow control and
the data layer name.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from inferfleet.api.wording import listing, one_of, shown
from inferfleet.manifests.picker.loading import Loading, Written, load
from inferfleet.manifests.picker.odd import in_fields
from inferfleet.manifests.picker.parameters import At, Finding, seconds
from inferfleet.manifests.picker.rules import reading
from inferfleet.profiles.pickers.tables import PickerTable

_SINGLE, _PICKER = "single-profile-handler", "max-score-picker"


@dataclass(frozen=True)
class _Source:
    """A data source and its extractors, each by name and place."""

    name: str
    at: At
    extractors: list[tuple[str, At]]


# Data whose producer has a name although none is made by itself.
_NAMED = {"UncachedRequestTokens": "inflight-load-producer"}


def findings(
    config: Mapping[str, Any], table: PickerTable, *, who: str, flags: Mapping[str, str]
) -> list[Finding]:
    """Return what a picker of this table refuses or reads over, which messages call `who`.

    `flags` are those that it is started with.
    """
    loading = load(config, table, who=who, flags=flags)
    _scheduling(loading)
    _policies(loading)
    parsers = _parsers(loading)
    detector = _detector(loading)
    sources = _sources(loading)
    _profiles(loading)
    for name, at in parsers:
        loading.look_up(name, "parser", at)
    if detector:
        loading.look_up(detector[0], "detector", detector[1])
    if "flowControl" in loading.gates:
        _flow_control(loading)
    _data(loading, sources)
    _produced(loading)
    loading.found += in_fields(loading.config, table)
    return loading.found


def _scheduling(loading: Loading) -> None:
    """Add what a picker adds to schedule requests."""
    profiles = loading.list("schedulingProfiles")
    if len(profiles) < 2 and not any(loading.has(name, "handler") for name in loading.types):
        loading.add(_SINGLE)
    if not profiles and len(pickers := loading.named("picker")) > 1:
        what = f"without a scheduling profile, all of {listing(pickers)} would pick in the same one"
        loading.refuse(what, "Add schedulingProfiles, or leave one picker", ("plugins",))
    if not any(loading.has(name, "picker") for name in loading.types):
        loading.add(_PICKER)


def _policies(loading: Loading) -> None:
    for policy in loading.table.defaults.policies:
        if policy not in loading.types:
            loading.add(policy)


def _parsers(loading: Loading) -> list[tuple[str, At]]:
    """Return the names of parsers, with their places."""
    own = loading.table.defaults.parsers
    if not own:
        return []
    named: list[tuple[str, At]] = [
        ((parser or {}).get("pluginRef") or "", ("requestHandler", "parsers", place, "pluginRef"))
        for place, parser in enumerate(loading.list("requestHandler", "parsers"))
    ]
    if not named and loading.get("parser") is not None:
        named = [(loading.get("parser", "pluginRef") or "", ("parser", "pluginRef"))]
    named = named or [(name, ()) for name in own]
    added = loading.table.plugins if "requestHandler" in loading.table.fields.fields else own
    for name, _ in named:
        if name not in loading.types and name in added:
            loading.add(name)
    return named


def _detector(loading: Loading) -> tuple[str, At] | None:
    default = loading.table.defaults.detector
    if not default:
        return None
    places: tuple[At, ...] = (("flowControl", "saturationDetector"), ("saturationDetector",))
    at = next((at for at in places if loading.get(*map(str, at)) is not None), ())
    name = loading.get(*map(str, at), "pluginRef") if at else None
    if (name or default) == default and default not in loading.types:
        loading.add(default)
    return name or default, (*at, "pluginRef") if name else at


def _sources(loading: Loading) -> list[_Source] | None:
    """Return the data sources with their extractors; None where there is no such configuration."""
    data, defaults = loading.table.data, loading.table.defaults
    if data.closed_by in loading.gates:
        return None
    sources = [
        _source(source or {}, (data.field, "sources", place))
        for place, source in enumerate(loading.list(data.field, "sources"))
    ]
    adds = loading.get(data.field) is None
    if data.any_plugin:
        inject = loading.get(data.field, "injectDefaults")
        adds = inject is not False and not any(source.name == defaults.source for source in sources)
    if not adds or not defaults.source:
        return None if loading.get(data.field) is None else sources
    for name in (defaults.source, defaults.extractor):
        if name not in loading.types:
            loading.add(name)
    return [*sources, _Source(defaults.source, (), [(defaults.extractor, ())])]


def _source(written: Mapping[str, Any], at: At) -> _Source:
    extractors = [
        ((extractor or {}).get("pluginRef") or "", (*at, "extractors", place, "pluginRef"))
        for place, extractor in enumerate(written.get("extractors") or ())
    ]
    return _Source(written.get("pluginRef") or "", (*at, "pluginRef"), extractors)


def _profiles(loading: Loading) -> None:
    """Find profiles without a name of their own, plugins that are not there, and too many handlers."""
    seen: set[str] = set()
    profiles = loading.list("schedulingProfiles")
    for place, profile in enumerate(profiles):
        at: At = ("schedulingProfiles", place)
        name = (profile or {}).get("name") or ""
        if name and name in seen:
            loading.refuse(f"there are two profiles {shown(name)!r}", "Give one another name", (*at, "name"))
        seen.add(name)
        picking: list[str] = []
        for number, entry in enumerate((profile or {}).get("plugins") or ()):
            named = (entry or {}).get("pluginRef") or ""
            here = (*at, "plugins", number, "pluginRef")
            if named and named not in loading.declared:
                what = f"there is no plugin {shown(named)!r}"
                loading.refuse(what, one_of(named, loading.declared, "Plugins"), here)
            elif (row := loading.row(named)) and "picker" in row.roles:
                picking.append(named)
                if len(picking) == 2:
                    what = f"profile {shown(name)!r} has two pickers, {listing(picking)}"
                    loading.refuse(what, "Remove one", here)
    handlers = loading.named("handler")
    if len(handlers) > 1:
        what = f"{listing(handlers)} are profile handlers, of which there can be one"
        loading.refuse(what, "Leave one of them", ("plugins",))
    elif not any(loading.has(name, "handler") for name in loading.types):
        what = f"there are {len(profiles)} profiles, and no plugin that chooses between them"
        loading.refuse(what, "Add a profile handler, or leave one profile", ("schedulingProfiles",))
    elif (
        handlers and len(profiles) > 1 and "single" in loading.table.plugins[loading.types[handlers[0]]].roles
    ):
        what = f"{handlers[0]} handles one profile, and there are {len(profiles)}"
        loading.refuse(what, "Use another profile handler, or leave one profile", ("schedulingProfiles",))


def _flow_control(loading: Loading) -> None:
    for policy, role in zip(
        loading.table.defaults.policies, ("ordering", "fairness", "usage limit"), strict=False
    ):
        loading.look_up(policy, role, ("plugins",))
    flow = loading.get("flowControl") or {}
    bands: list[tuple[At, Mapping[str, Any]]] = [
        (("flowControl", key), flow[key])
        for key in ("defaultPriorityBand", "defaultNegativePriorityBand")
        if flow.get(key) is not None
    ]
    bands += [
        (("flowControl", "priorityBands", place), band or {})
        for place, band in enumerate(flow.get("priorityBands") or ())
    ]
    for at, band in [(("flowControl",), flow), *bands]:
        for key in ("maxBytes", "maxRequests"):
            if str(band.get(key, "")).startswith("-") and str(band[key]).strip("-0.") != "":
                loading.refuse(f"it is {shown(str(band[key]))}", "Write 0 or more", (*at, key))
        for key, role in (("orderingPolicyRef", "ordering"), ("fairnessPolicyRef", "fairness")):
            if band.get(key):
                loading.look_up(band[key], role, (*at, key))
    if flow.get("usageLimitPolicyPluginRef"):
        here = ("flowControl", "usageLimitPolicyPluginRef")
        loading.look_up(flow["usageLimitPolicyPluginRef"], "usage limit", here)
    if (seconds(flow.get("defaultRequestTTL") or "0") or 0) < 0:
        loading.refuse("it is negative", "Write 0s or more", ("flowControl", "defaultRequestTTL"))
    levels = [(band or {}).get("priority") or 0 for band in flow.get("priorityBands") or ()]
    for place, level in enumerate(levels):
        if level in levels[:place]:
            what = f"there are two bands of priority {level}"
            loading.refuse(what, "Remove one", ("flowControl", "priorityBands", place))


def _data(loading: Loading, sources: list[_Source] | None) -> None:
    """Find sources and extractors that do not fit, and a data layer that is on and has none."""
    data = loading.table.data
    is_on = data.opened_by in loading.gates if data.opened_by else data.closed_by not in loading.gates
    if is_on and not sources and not (data.any_plugin and _brings_sources(loading)):
        what = f"its data layer has no sources, so {loading.who} does not start"
        step = f"Write {data.field}: {{sources: [...]}}, or remove {data.opened_by or data.field}"
        loading.refuse(what, step, (data.field,) if loading.get(data.field) is not None else ())
    kinds: set[str] = set()
    names: set[str] = set()
    for source in sources or ():
        if not loading.look_up(source.name, "source", source.at):
            continue
        if source.name in names and data.once:
            loading.refuse(f"source {shown(source.name)!r} is there twice", "Remove one", source.at)
        names.add(source.name)
        watched = _watched(loading, source.name)
        if watched and watched in kinds:
            loading.refuse(f"another source watches {watched} too", "Remove one", source.at)
        kinds.add(watched or "")
        seen: set[str] = set()
        for extractor, here in source.extractors:
            _extracts(loading, source.name, extractor, seen, here, is_on)
    syncer = loading.get(data.field, "crossReplicaSyncerPluginRef")
    if syncer:
        at = (data.field, "crossReplicaSyncerPluginRef")
        loading.refuse(f"{loading.who} has no plugin that syncs replicas", "Remove it", at)


def _extracts(loading: Loading, source: str, extractor: str, seen: set[str], at: At, is_on: bool) -> None:
    data = loading.table.data
    if not loading.look_up(extractor, "extractor", at):
        return
    giving, taking = loading.row(source), loading.row(extractor)
    if taking is None or giving is None:
        return
    once = loading.types[extractor] if data.any_plugin else extractor
    if once in seen and (data.once or data.any_plugin):
        loading.refuse(f"{once} is there twice", "Remove one", at)
    seen.add(once)
    if taking.takes != giving.gives:
        what = f"{loading.types[extractor]} cannot read what {loading.types[source]} gives"
        loading.refuse(what, "Give the source another extractor", at)
    elif loading.types[extractor] == data.never_without and not is_on:
        what = f"{data.never_without} needs the feature gate {data.opened_by}"
        loading.refuse(what, f"Write featureGates: [{data.opened_by}]", at)


def _watched(loading: Loading, source: str) -> str | None:
    """Return what a source of notifications watches."""
    row = loading.row(source)
    if row is None or row.gives != "notifications":
        return None
    plugin = next((one for one in loading.plugins if one.name == source), None)
    said = plugin.parameters if plugin else {}
    return f"{said.get('group') or ''}/{said.get('version')}, {said.get('kind')}"


def _brings_sources(loading: Loading) -> bool:
    """Return whether a plugin brings a source of its own (RegisterDependencies)."""
    bringing = ("inflight-load-producer", "topology-extractor", "disaggregatedset-rollout-screener")
    needed = {key for plugin in loading.plugins for key in _reads(plugin)}
    return bool({*bringing} & {*loading.types.values()} or {"InFlightLoad", "LatencyPredictionInfo"} & needed)


def _produced(loading: Loading) -> None:
    """Find data that a plugin needs from a producer that is not there."""
    producers = loading.table.producers
    if not producers:
        return
    made = {
        (key, plugin.name if key in _NAMED or key in producers else "")
        for plugin in loading.plugins
        for key in (plugin.row.makes if plugin.row else ())
    }
    if any(plugin.row is None for plugin in loading.plugins):
        return
    for plugin in loading.plugins:
        for key, parameter in _reads(plugin).items():
            named = plugin.parameters.get(parameter) if parameter else ""
            name = named or _NAMED.get(key) or producers.get(key, "")
            if (key, name) in made or name == producers.get(key):
                continue
            at: At = ("plugins", plugin.at, *(("parameters", parameter) if named else ()))
            what = f"{plugin.name} needs {key}" + (f" of {shown(name)!r}" if name else "")
            makers = [type_ for type_, row in loading.table.plugins.items() if key in row.makes]
            called = f" with name: {shown(name)}" if named else ""
            loading.refuse(f"{what}, which no plugin makes", f"Add {listing(makers)}{called}", at)


def _reads(plugin: Written) -> Mapping[str, str]:
    return reading(plugin.type, plugin.row, plugin.parameters) if plugin.row else {}
