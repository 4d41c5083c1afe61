"""`inferfleet plugins`: what chains of a stack may name, and what lies there and is not allowed."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from inferfleet.cli.output import print_line
from inferfleet.cli.report import reporting
from inferfleet.cli.source import AsJson, StackName, outside_plugins
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.settings import Settings
from inferfleet.documents.loading.project import find_root, stacks_of
from inferfleet.documents.loading.schema import config_schema
from inferfleet.documents.loading.stack import load_stack
from inferfleet.documents.problems import InvalidDocuments
from inferfleet.plugins.contract import Plugin
from inferfleet.plugins.loading import found_plugins, stdout_to_stderr
from inferfleet.plugins.registry import Registry


def plugins(stack: StackName = None, as_json: AsJson = False) -> None:
    """List the plugins that chains may name: name, version, purpose, config, and where each comes from.

    Plugins that are found and not allowed are listed by name alone, because they are not imported. Where the
    settings allow one that cannot be used, the command ends with exit code 1 and says why, with --json in
    `problems`. Without a stack, where there are several, no settings count.
    """
    with reporting(as_json=as_json) as report:
        documents, root = _documents(stack)
        with stdout_to_stderr():
            registry = found_plugins(documents.settings, root, outside=outside_plugins())
        report.values |= as_values(registry)
        report.problems += documents.located([*registry.unusable.values(), *registry.remarks])
        if not as_json:
            show(registry)


def _documents(stack: str | None) -> tuple[Documents, Path | None]:
    """Documents and project of the stack, or of the only one; else settings that allow nothing."""
    try:
        root = find_root(Path.cwd())
        names = stacks_of(root)
    except InvalidDocuments:
        if stack is not None:
            raise
        return Documents(settings=Settings(stack="unnamed")), None
    if stack is None and len(names) != 1:
        return Documents(settings=Settings(stack="unnamed")), root
    documents, _ = load_stack(root, stack if stack is not None else names[0])
    return documents, root


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
        return " or ".join(dict.fromkeys(_type(part) for part in field["anyOf"] if part != {"type": "null"}))
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
