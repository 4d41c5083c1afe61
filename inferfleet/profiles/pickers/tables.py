"""What the configuration of an endpoint picker may hold, version by version: tables with their sources.

The tables are the files beside this one, one for each program. A field is written as in `int >0`: its type,
then what its value must be. Types are those of Go, as its decoders of JSON take them:

    text, bool, any; int, number   with >0, >=0, <1, <=1
    duration                       such as 200ms, in metav1.Duration; with >0
    quantity                       such as 1Gi or 1000
    text in=a|b                    one of these values; `in=|a` also takes the empty text
    text as=metric                 a form: metric (PromQL selector), cel, duration, interval (not negative)
    text ref=decider               the name of a plugin that is a decider, or of any; where the field is not
                                   given it is `default=name`, and it is not read if there is a value of
                                   the field `unless=name` beside it

A list with one entry is a list of such entries, a map holds the fields of an object, and the key `*` stands
for all other keys. With `!` at its end a key must be given and not be empty; with `+` it must not be empty
where it is given. An object that must be given is checked as an empty one where it is not.

What a program takes and does nothing with that anybody could mean is under `odd`, by parameters or by fields
with dots: `>=1, so 1 is taken instead`, which is not read if there is a value of more than 0 of `unless=name`
beside it, `default=` where it is not given. Under `ends` is what the program starts with too, and ends with
once it has pods or requests.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml

_FOLDER = Path(__file__).parent
_NONE: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True)
class Field:
    """A field: see the notation. `type` is also `list`, of `items`, and `object`, with `fields`."""

    type: str
    limits: tuple[tuple[str, float], ...] = ()
    choices: tuple[str, ...] = ()
    form: str = ""
    refers: str = ""
    default: str = ""
    unless: str = ""
    items: "Field | None" = None
    fields: Mapping[str, "Field"] = field(default_factory=dict)
    needed: bool = False
    filled: bool = False


@dataclass(frozen=True)
class Odd:
    """What a number must be for anybody to mean it, and what the program makes of others."""

    limits: tuple[tuple[str, float], ...]
    effect: str
    unless: str = ""
    otherwise: float = 0


@dataclass(frozen=True)
class PluginType:
    """One type of plugin. `file` is where its parameters are read, None for `parameters`: it reads none.

    `roles` are what a configuration may use it as. `gives` and `takes` say what a data source hands to its
    extractors. `makes` and `reads` are data of a request: what is read by which parameter names its producer.
    `rule` is checked besides, over several parameters. `alpha` types need a flag, and those with `instead`
    are deprecated. `never_with` is a type beside which the picker does not start.
    """

    file: str
    roles: frozenset[str]
    parameters: Field | None
    rule: str
    gives: str
    takes: str
    makes: tuple[str, ...]
    reads: Mapping[str, str]
    alpha: bool
    instead: str
    never_with: str
    engines: tuple[str, ...]
    odd: Mapping[str, tuple[Odd, ...]]
    ends: Mapping[str, tuple[Odd, ...]]


@dataclass(frozen=True)
class Defaults:
    """Plugins that the picker adds where none is configured, by their type, which is also their name."""

    policies: tuple[str, ...]
    detector: str
    parsers: tuple[str, ...]
    source: str
    extractor: str


@dataclass(frozen=True)
class DataLayer:
    """How the sources of metrics are configured, in the field `field`.

    `opened_by` is the gate without which it is off, `closed_by` the one with which it is. Where it is off,
    the extractor `never_without` must not be used. With `once` a source or extractor is there once. With
    `any_plugin` there are the default source and others, and extractors are looked at when they are bound.
    """

    field: str
    opened_by: str
    closed_by: str
    never_without: str
    once: bool
    any_plugin: bool


@dataclass(frozen=True)
class PickerTable:
    """What one program takes. `strict`: parameters must have no unknown field. `in_order`: a plugin that
    refers to another stands after it. `companions` are made beside a type, with its parameters. `producers`
    are made where what they make is read, and nobody else makes it.
    """

    module: str
    root: str
    fields: Field
    gates: tuple[str, ...]
    gate_values: bool
    alpha_flag: str
    strict: bool
    in_order: bool
    defaults: Defaults
    data: DataLayer
    companions: Mapping[str, str]
    producers: Mapping[str, str]
    plugins: Mapping[str, PluginType]
    odd: Mapping[str, tuple[Odd, ...]]


@cache
def picker_table(name: str) -> PickerTable:
    """Return the table of this name. Raises FileNotFoundError for a name without one."""
    raw = yaml.safe_load((_FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))
    defaults, data = raw["defaults"], raw["data"]
    return PickerTable(
        module=raw["module"],
        root=raw["root"],
        fields=_field({"apiVersion": "text", "kind": "text", **raw["fields"]}),
        gates=tuple(raw["gates"]),
        gate_values=raw.get("gate_values", False),
        alpha_flag=raw.get("alpha_flag", ""),
        strict=raw.get("strict", False),
        in_order=raw.get("in_order", False),
        defaults=Defaults(
            policies=tuple(defaults["policies"]),
            detector=defaults.get("detector", ""),
            parsers=tuple(defaults.get("parsers", ())),
            source=defaults.get("source", ""),
            extractor=defaults.get("extractor", ""),
        ),
        data=DataLayer(
            field=data["field"],
            opened_by=data.get("opened_by", ""),
            closed_by=data.get("closed_by", ""),
            never_without=data.get("never_without", ""),
            once=data.get("once", False),
            any_plugin=data.get("any_plugin", False),
        ),
        companions=raw.get("companions", _NONE),
        producers=raw.get("producers", _NONE),
        plugins={name: _plugin(row) for name, row in raw["plugins"].items()},
        odd=_odds(raw.get("odd", _NONE)),
    )


def _plugin(row: dict[str, Any]) -> PluginType:
    return PluginType(
        file=row["file"],
        roles=frozenset(row.get("is", ())),
        parameters=_field(row["parameters"]) if "parameters" in row else None,
        rule=row.get("rule", ""),
        gives=row.get("gives", ""),
        takes=row.get("takes", ""),
        makes=tuple(row.get("makes", ())),
        reads=row.get("reads", _NONE),
        alpha=row.get("alpha", False),
        instead=row.get("instead", ""),
        never_with=row.get("never_with", ""),
        engines=tuple(row.get("engines", ())),
        odd=_odds(row.get("odd", _NONE)),
        ends=_odds(row.get("ends", _NONE)),
    )


def _odds(written: Mapping[str, str | list[str]]) -> Mapping[str, tuple[Odd, ...]]:
    return {
        key: tuple(_odd(text) for text in ([said] if isinstance(said, str) else said))
        for key, said in written.items()
    }


def _odd(written: str) -> Odd:
    rule, _, effect = written.partition(", ")
    words = rule.split(" ")
    said = dict(_words(words))
    return Odd(tuple(_limits(words)), effect, said.get("unless", ""), float(said.get("default", 0)))


def _field(written: Any, key: str = "") -> Field:
    needed, filled = key.endswith("!"), key.endswith("+")
    if isinstance(written, list):
        return Field("list", items=_field(written[0]), needed=needed, filled=filled)
    if isinstance(written, dict):
        fields = {name.rstrip("!+"): _field(value, name) for name, value in written.items()}
        return Field("object", fields=fields, needed=needed, filled=filled)
    kind, *words = written.split(" ")
    said = dict(_words(words))
    return Field(
        kind,
        limits=tuple(_limits(words)),
        choices=tuple(said["in"].split("|")) if "in" in said else (),
        form=said.get("as", ""),
        refers=said.get("ref", ""),
        default=said.get("default", ""),
        unless=said.get("unless", ""),
        needed=needed,
        filled=filled,
    )


def _words(words: list[str]) -> Iterator[tuple[str, str]]:
    for word in words:
        name, equals, value = word.partition("=")
        if equals and name.isalpha():
            yield name, value


def _limits(words: list[str]) -> Iterator[tuple[str, float]]:
    for word in words:
        if word[0] in "<>":
            sign = word[:2] if word[1] == "=" else word[0]
            yield sign, float(word[len(sign) :])
