"""Every built-in plugin with what its module says of it, and the fields of its config, as Markdown."""

import re
import sys
from collections.abc import Iterator
from typing import Any

from bench.pages.fields import tables
from inferfleet.documents.loading.schema import config_schema
from inferfleet.plugins.contract import Plugin
from inferfleet.plugins.registry import Registry

_HEAD = """\
The plugins that come with inferfleet. Chains name them, and give them a `config` with these fields. Guides
show [those for models, traffic and security](../guides/builtin-plugins.md) and [those for
hardware](../guides/builtin-plugins-hardware.md); [Plugins](../guides/plugins.md) says where chains are
written, and how to add plugins of your own."""


def sections(registry: Registry) -> Iterator[str]:
    """Yield the Markdown blocks of all plugins, by name."""
    yield _HEAD
    plugins = sorted(registry.plugins, key=lambda plugin: plugin.name)
    rows = (f"| [{plugin.name}](#{plugin.name}) | {plugin.purpose} |" for plugin in plugins)
    yield "\n".join(["| plugin | purpose |", "|---|---|", *rows])
    for plugin in plugins:
        yield f"## {plugin.name}"
        yield f"Version {plugin.version}. {plugin.purpose}"
        yield from _said(plugin)
        yield from _config(plugin)


def _said(plugin: Plugin) -> Iterator[str]:
    """The docstring of the plugin's module after its first paragraph: limits, reasons and sources."""
    text = sys.modules[plugin.edit.__module__].__doc__ or ""
    for paragraph in text.strip().split("\n\n")[1:]:
        # A list keeps its lines, other text is one line.
        yield paragraph if paragraph.startswith("* ") else _written(" ".join(paragraph.split()))


def _written(text: str) -> str:
    """Return the text in which `<name>` outside of code is no tag of HTML."""
    parts = text.split("`")
    return "`".join(part if place % 2 else part.replace("<", "\\<") for place, part in enumerate(parts))


def _config(plugin: Plugin) -> Iterator[str]:
    schema = config_schema(plugin.config)
    definitions = schema["$defs"]
    if "$ref" in schema:
        schema = definitions[schema["$ref"].rpartition("/")[2]]
    if not schema.get("properties"):
        yield "It takes no config."
        return
    described = {name: _without_kubernetes(inner, definitions) for name, inner in definitions.items()}
    for block in tables(_without_kubernetes(schema, definitions), described, "config"):
        yield re.sub("^## ", "### ", block)


def _without_kubernetes(value: Any, definitions: dict[str, Any]) -> Any:
    """The schema in which types of Kubernetes, whose fields have no texts of ours, are plain maps."""
    if isinstance(value, list):
        return [_without_kubernetes(item, definitions) for item in value]
    if not isinstance(value, dict):
        return value
    name = str(value.get("$ref", "")).rpartition("/")[2]
    fields = definitions.get(name, {}).get("properties", {}).values()
    if any("description" not in field for field in fields):
        return {**{key: text for key, text in value.items() if key != "$ref"}, "type": "object"}
    return {key: _without_kubernetes(inner, definitions) for key, inner in value.items()}
