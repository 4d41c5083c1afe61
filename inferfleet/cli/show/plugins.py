"""Plugins with their configs, as text for people and as values for machines."""

from collections.abc import Iterator
from typing import Any

from inferfleet.cli.output import print_line
from inferfleet.documents.loading.schema import config_schema
from inferfleet.plugins.contract import Plugin
from inferfleet.plugins.registry import Registry


def show(registry: Registry) -> None:
    """Print each plugin with the fields of its config, then the names of those that are not allowed."""
    for plugin in registry.plugins:
        print_line(f"{plugin.name} {plugin.version} ({registry.origin(plugin.name)})")
        if plugin.purpose:
            print_line(f"  {plugin.purpose}")
        for line in _fields(plugin):
            print_line(f"  {line}")
        print_line()
    if registry.not_allowed:
        print_line("found, not allowed, and not imported:")
        for name, origin in sorted(registry.not_allowed.items()):
            print_line(f"  {name} ({origin})")


def _fields(plugin: Plugin) -> Iterator[str]:
    schema = config_schema(plugin.config)
    # A model that holds itself is a definition of its own.
    schema = schema["$defs"].get(schema.get("$ref", "").rpartition("/")[2], schema)
    required = schema.get("required", ())
    for name, field in schema.get("properties", {}).items():
        needed = ", required" if name in required else ""
        description = field.get("description", "")
        yield f"config.{name} ({_type(field)}{needed}){': ' if description else ''}{description}"


def _type(field: dict[str, Any]) -> str:
    """The type of a field in words, from its JSON Schema: `list of text`."""
    if "anyOf" in field:
        return " or ".join(dict.fromkeys(_type(one) for one in field["anyOf"] if one != {"type": "null"}))
    if "enum" in field or "const" in field:
        return ", ".join(map(str, field.get("enum", [field.get("const")])))
    if field.get("type") == "array":
        return f"list of {_type(field.get('items', {}))}"
    words = {"string": "text", "integer": "whole number", "object": "map"}
    word = field.get("type", "map" if "$ref" in field else "anything")
    return str(words.get(word, word))


def as_values(registry: Registry) -> dict[str, Any]:
    """Return the same as values for JSON; `config` is a JSON Schema."""
    return {
        "plugins": [
            {
                "name": plugin.name,
                "version": plugin.version,
                "purpose": plugin.purpose,
                "origin": registry.origin(plugin.name),
                "config": config_schema(plugin.config),
            }
            for plugin in registry.plugins
        ],
        "notAllowed": [
            {"name": name, "origin": origin} for name, origin in sorted(registry.not_allowed.items())
        ],
    }
