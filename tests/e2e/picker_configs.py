"""Configurations of endpoint pickers from a seed: half of them as they should be, the others damaged."""

import copy
from collections.abc import Iterator
from random import Random
from typing import Any

from inferfleet.profiles.pickers.tables import Field, PickerTable

Config = dict[str, Any]
Place = tuple[str | int, ...]

# Values by the form of a text.
_TEXTS = {"metric": "engine:requests_waiting{state=queued}", "cel": "1", "duration": "5s", "interval": "5s"}
_ODD = (None, "", "odd", -1, 0, 1.5, True, [], {}, ["odd"], {"odd": 1}, "5s", 7)


def picker_configs(
    table: PickerTable, *, version: str, count: int, seed: str, absent: frozenset[str]
) -> Iterator[Config]:
    """Yield configurations. Types in `absent` are in the table, and not in the program they are for."""
    types = sorted(table.plugins.keys() - absent)
    for number in range(count):
        random = Random(f"{seed} {number}")
        config = {"apiVersion": version, "kind": "EndpointPickerConfig", **_config(random, table, types)}
        yield _damaged(random, config) if number % 2 else config


def _config(random: Random, table: PickerTable, types: list[str]) -> Config:
    plugins = [_plugin(random, table, type_) for type_ in random.sample(types, random.randint(1, 5))]
    handlers = [plugin for plugin in plugins if "handler" in table.plugins[plugin["type"]].roles]
    plugins = [plugin for plugin in plugins if plugin not in handlers[1:]]
    config: Config = {"plugins": plugins}
    if random.random() < 0.3:
        config["featureGates"] = random.sample(table.gates, random.randint(0, 2))
    if random.random() < 0.7:
        several = handlers and "single" not in table.plugins[handlers[0]["type"]].roles
        profiles = random.sample(["default", "prefill", "decode"], 2 if several else 1)
        config["schedulingProfiles"] = [_profile(random, name, plugins) for name in profiles]
    if table.defaults.detector and random.random() < 0.3:
        detector = _named(random, table, plugins, "detector") or table.defaults.detector
        config["saturationDetector"] = {"pluginRef": detector}
    if table.defaults.parsers and random.random() < 0.3:
        config["parser"] = {
            "pluginRef": _named(random, table, plugins, "parser") or table.defaults.parsers[0]
        }
    if random.random() < 0.3:
        config[table.data.field] = _data(random, table, plugins)
    if random.random() < 0.3:
        config["flowControl"] = _flow_control(random, table, plugins)
    return config


def _plugin(random: Random, table: PickerTable, type_: str) -> Config:
    row = table.plugins[type_]
    plugin: Config = {"type": type_}
    if random.random() < 0.3:
        plugin["name"] = f"{type_}-{random.randint(1, 2)}"
    needs = row.parameters and any(field.needed for field in row.parameters.fields.values())
    if row.parameters and (needs or random.random() < 0.5):
        plugin["parameters"] = _value(random, row.parameters)
    return plugin


def _profile(random: Random, name: str, plugins: list[Config]) -> Config:
    some = random.sample(plugins, random.randint(0, min(3, len(plugins))))
    return {
        "name": name,
        "plugins": [
            {"pluginRef": _name(plugin), **({"weight": 2} if random.random() < 0.5 else {})}
            for plugin in some
        ],
    }


def _data(random: Random, table: PickerTable, plugins: list[Config]) -> Config:
    source = _named(random, table, plugins, "source") or table.defaults.source or "metrics-data-source"
    extractor = _named(random, table, plugins, "extractor") or table.defaults.extractor
    return {"sources": [{"pluginRef": source, "extractors": [{"pluginRef": extractor}] if extractor else []}]}


def _flow_control(random: Random, table: PickerTable, plugins: list[Config]) -> Config:
    ordering = _named(random, table, plugins, "ordering") or "fcfs-ordering-policy"
    fairness = _named(random, table, plugins, "fairness") or "global-strict-fairness-policy"
    levels = random.sample(range(-2, 3), random.randint(0, 2))
    bands = [
        {"priority": level, "orderingPolicyRef": ordering, "fairnessPolicyRef": fairness} for level in levels
    ]
    return {"maxBytes": 1_000_000, "defaultRequestTTL": "60s", "priorityBands": bands}


def _named(random: Random, table: PickerTable, plugins: list[Config], role: str) -> str | None:
    names = [_name(plugin) for plugin in plugins if role in table.plugins[plugin["type"]].roles]
    return random.choice(names) if names else None


def _name(plugin: Config) -> str:
    name: str = plugin.get("name", plugin["type"])
    return name


def _value(random: Random, field: Field) -> Any:
    if field.type == "object":
        return {
            "example.com/key" if key == "*" else key: _value(random, wanted)
            for key, wanted in field.fields.items()
            if wanted.needed or (not wanted.refers and random.random() < 0.4)
        }
    if field.type == "list":
        assert field.items is not None
        return [_value(random, field.items)]
    if field.type in ("int", "number"):
        amounts = [1, 2, 16, 8000] if field.type == "int" else [0.25, 0.5, 1, 1.0]
        return random.choice([*amounts, -1] if random.random() < 0.1 else amounts)
    if field.type == "text":
        return random.choice(field.choices) if field.choices else _TEXTS.get(field.form, "decode")
    return {"bool": random.random() < 0.5, "duration": "200ms", "quantity": "1Gi"}.get(field.type)


def _damaged(random: Random, config: Config) -> Config:
    config = copy.deepcopy(config)
    places = [place for place in _places(config) if place and place[0] not in ("apiVersion", "kind")]
    *above, last = random.choice(places)
    parent: Any = config
    for step in above:
        parent = parent[step]
    old = parent[last]
    match random.randrange(7):
        case 0:
            parent[last] = random.choice(_ODD)
        case 1:
            del parent[last]
        case 2 if isinstance(parent, dict):
            parent[f"{last}s"] = parent.pop(last)
        case 3 if isinstance(parent, dict):
            parent[str(last).upper()] = parent.pop(last)
        case 4 if isinstance(parent, list):
            parent.append(copy.deepcopy(old))
        case 5 if isinstance(old, dict):
            old["odd"] = 1
        case _:
            parent[last] = f"{old}-gone" if isinstance(old, str) else random.choice(_ODD)
    return config


def _places(value: Any, at: Place = ()) -> Iterator[Place]:
    yield at
    for key, child in value.items() if isinstance(value, dict) else enumerate(value or ()):
        if isinstance(child, dict | list):
            yield from _places(child, (*at, key))
        else:
            yield (*at, key)
