"""Follows a picker's program while it reads its configuration and makes the plugins in it.

Unlike the program, which ends with the first mistake, it goes on, so that all are found. A plugin of an
unknown type is taken for anything.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from inferfleet.api.problems import Mistake
from inferfleet.api.wording import listing, one_of, shown
from inferfleet.manifests.picker.odd import in_plugin
from inferfleet.manifests.picker.parameters import At, Finding, Reader, read, unfinite
from inferfleet.manifests.picker.rules import broken
from inferfleet.profiles.pickers.tables import Field, PickerTable, PluginType

# What a plugin must be for the place that names it, as messages say it.
_ROLES = {
    "picker": "a picker",
    "detector": "a saturation detector",
    "parser": "a parser",
    "source": "a data source",
    "extractor": "an extractor",
    "ordering": "an ordering policy",
    "fairness": "a fairness policy",
    "usage limit": "a usage limit policy",
    "decider": "a decider",
}
_TRUE = ("1", "t", "true")
_FALSE = ("0", "f", "false")


@dataclass(frozen=True)
class Written:
    """A plugin of the configuration, by its place in the list. `row` is None where its type is unknown."""

    at: int
    name: str
    type: str
    row: PluginType | None
    parameters: Mapping[str, Any]


@dataclass
class Loading:
    """A configuration as far as it is loaded. `types` are those of all plugins by name, and `declared` the
    names that the configuration and the program's own additions give; other plugins cannot be referred to.
    `gates` are the feature gates that are open.
    """

    table: PickerTable
    who: str
    config: Mapping[str, Any]
    plugins: list[Written] = field(default_factory=list)
    types: dict[str, str] = field(default_factory=dict)
    declared: set[str] = field(default_factory=set)
    gates: set[str] = field(default_factory=set)
    found: list[Finding] = field(default_factory=list)

    def refuse(self, what: str, next_step: str, at: At = ()) -> None:
        self.found.append(Finding(Mistake(what, next_step, at)))

    def row(self, name: str) -> PluginType | None:
        return self.table.plugins.get(self.types.get(name, ""))

    def has(self, name: str, role: str) -> bool:
        """Return whether the plugin of this name has the role, as one of an unknown type may."""
        row = self.row(name)
        return name in self.types and (row is None or role in row.roles)

    def named(self, *roles: str) -> list[str]:
        """Return the names of all plugins that surely have one of the roles."""
        return [name for name in self.types if (row := self.row(name)) and row.roles & set(roles)]

    def add(self, name: str) -> None:
        """Add a plugin of the type `name` under this name, as the program does."""
        self.types[name] = name
        self.declared.add(name)

    def look_up(self, name: str, role: str, at: At) -> bool:
        """Return whether there is a plugin of this name and role; a mistake is found where there is none."""
        if self.has(name, role):
            return True
        if name in self.types:
            what = f"plugin {shown(name)!r} is of type {self.types[name]}, which is not {_ROLES[role]}"
        else:
            what = f"there is no plugin {shown(name)!r}"
        fitting = [other for other in self.types if self.has(other, role)]
        step = one_of(name, fitting, "Plugins that fit") if fitting else f"Add {_ROLES[role]} to plugins"
        self.refuse(what, step, at)
        return False

    def list(self, *keys: str) -> list[Any]:
        value = self.get(*keys)
        return value if isinstance(value, list) else []

    def get(self, *keys: str) -> Any:
        value: Any = self.config
        for key in keys:
            value = value.get(key) if isinstance(value, Mapping) else None
        return value


def load(config: Mapping[str, Any], table: PickerTable, *, who: str, flags: Mapping[str, str]) -> Loading:
    """Return the configuration with its plugins made, which `who` reads, as messages call the program.

    `flags` are those that it is started with.
    """
    found: list[Finding] = [Finding(mistake) for mistake in unfinite(config)]
    reader = Reader(who, strict=True, any_case=False)
    loading = Loading(table, who, read(config, table.fields, reader, found) or {}, found=found)
    _open_gates(loading)
    _make(loading, flags)
    return loading


def _open_gates(loading: Loading) -> None:
    table, on = loading.table, loading.gates
    for place, gate in enumerate(loading.list("featureGates")):
        name, equals, value = (gate or "").partition("=") if table.gate_values else (gate or "", "", "")
        value = value.partition("=")[0].strip().lower()
        if name not in table.gates:
            what = f"{loading.who} has no feature gate {shown(name)!r}"
            step = f"Remove it; its feature gates: {listing(table.gates)}"
            loading.refuse(what, step, ("featureGates", place))
        elif equals and value not in (*_TRUE, *_FALSE):
            what = f"{shown(value)!r} is neither true nor false"
            loading.refuse(what, f"Write {name}=true or {name}=false", ("featureGates", place))
        elif not equals or value in _TRUE:
            on.add(name)
        else:
            on.discard(name)


def _make(loading: Loading, flags: Mapping[str, str]) -> None:
    table = loading.table
    made_beside = {
        companion: type_
        for type_, companion in table.companions.items()
        if not any((plugin or {}).get("type") == companion for plugin in loading.list("plugins"))
    }
    for at, plugin in enumerate(loading.list("plugins")):
        type_ = (plugin or {}).get("type") or ""
        name = (plugin or {}).get("name") or type_
        if not type_:
            continue
        row = table.plugins.get(type_)
        if name in loading.types:
            loading.refuse(f"there are two plugins {shown(name)!r}", "Give one another name", ("plugins", at))
        if row is None:
            what = f"{loading.who} has no plugin type {shown(type_)!r}"
            step = one_of(type_, table.plugins, "Known types")
            loading.refuse(what, step, ("plugins", at, "type"))
        elif row.alpha and flags.get(table.alpha_flag) != "true":
            what = f"{type_} is of alpha stability"
            step = f"Write flags: {{{table.alpha_flag}: true}}, or use another plugin"
            loading.refuse(what, step, ("plugins", at, "type"))
        parameters = _parameters(loading, at, plugin, row, made_beside)
        loading.plugins.append(Written(at, name, type_, row, parameters))
        if table.in_order and row:
            _refer(loading, loading.plugins[-1], loading.types)
        loading.types[name] = type_
        loading.declared.add(name)
    for companion in made_beside:
        if any(plugin.type == made_beside[companion] for plugin in loading.plugins):
            loading.types[companion] = companion
    for written in loading.plugins:
        if not table.in_order:
            _refer(loading, written, loading.types)
        if written.row and written.row.never_with in (other.type for other in loading.plugins):
            what = f"{loading.who} does not start with {written.type} and {written.row.never_with} together"
            loading.refuse(what, "Remove one of the two", ("plugins", written.at))


def _parameters(
    loading: Loading,
    at: int,
    plugin: Mapping[str, Any],
    row: PluginType | None,
    made_beside: Mapping[str, str],
) -> Mapping[str, Any]:
    """Return the parameters of a plugin as it has them, or those that its companion is made with."""
    written, here, type_ = plugin.get("parameters"), ("plugins", at, "parameters"), plugin["type"]
    companion = next((one for one, beside in made_beside.items() if beside == type_), None)
    if companion and not any(
        (other or {}).get("type") == type_ for other in loading.list("plugins")[at + 1 :]
    ):
        row = loading.table.plugins[companion]
    if row is None:
        return {}
    if row.parameters is None:
        if written:
            mistake = Mistake(f"{type_} reads no parameters", "Remove them", here)
            loading.found.append(Finding(mistake, refused=False))
        return {}
    reader = Reader(type_, strict=loading.table.strict, any_case=True)
    before = len(loading.found)
    given = read({} if written is None else written, row.parameters, reader, loading.found, here) or {}
    if len(loading.found) == before or not any(one.refused for one in loading.found[before:]):
        mistakes = list(broken(given, row))
        for mistake in mistakes:
            loading.refuse(mistake.what, mistake.next_step, (*here, *mistake.at))
        if not mistakes:
            loading.found += in_plugin(given, row, here)
    return given if isinstance(given, dict) else {}


def _refer(loading: Loading, plugin: Written, known: Mapping[str, str]) -> None:
    """Find names in a plugin's parameters under which there is no plugin, or one of another kind."""
    if plugin.row is None or plugin.row.parameters is None:
        return
    for name, role, at in _references(plugin.row.parameters, plugin.parameters):
        here = ("plugins", plugin.at, "parameters", *at) if at else ("plugins", plugin.at)
        if name in known:
            row = loading.table.plugins.get(known[name])
            if row and role != "any" and role not in row.roles:
                loading.look_up(name, role, here)
        elif name in (other.get("name") or other.get("type") for other in _maps(loading.list("plugins"))):
            what = f"plugin {shown(name)!r} stands after {plugin.name}, which is made first and lacks it"
            loading.refuse(what, f"Move it before {plugin.name}", here)
        else:
            thing = "plugin" if role == "any" else role
            asks = f"names the {thing} {shown(name)!r}" if at else f"asks the {thing} {name!r} by default"
            before = f" before {plugin.name}" if loading.table.in_order else ""
            kinds = [type_ for type_, row in loading.table.plugins.items() if role in row.roles]
            step = f"Add it{before}, of type {' or '.join(kinds)}" if kinds else f"Add it{before}"
            loading.refuse(f"{plugin.name} {asks}, and there is no plugin of this name", step, here)


def _references(field_: Field, given: Mapping[str, Any], at: At = ()) -> Iterator[tuple[str, str, At]]:
    for key, wanted in field_.fields.items():
        value = given.get(key)
        if wanted.type == "object" and isinstance(value, Mapping):
            yield from _references(wanted, value, (*at, key))
        elif wanted.refers and not (wanted.unless and given.get(wanted.unless)):
            if value:
                yield value, wanted.refers, (*at, key)
            elif wanted.default and value is None:
                yield wanted.default, wanted.refers, ()


def _maps(items: list[Any]) -> Iterator[Mapping[str, Any]]:
    return (item for item in items if isinstance(item, Mapping))
