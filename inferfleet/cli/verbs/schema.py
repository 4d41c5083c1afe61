"""`inferfleet schema`: the JSON Schema of all documents."""

from pathlib import Path

from inferfleet.api.documents import Documents
from inferfleet.api.kinds.settings import Settings
from inferfleet.api.loading.schema import json_schema
from inferfleet.api.loading.stack import find_root, load_stack
from inferfleet.api.problems import InvalidDocuments
from inferfleet.cli.output import print_json
from inferfleet.cli.report import reporting
from inferfleet.cli.source import StackName, outside_plugins
from inferfleet.plugins.loading import found_plugins


def schema(stack: StackName = None) -> None:
    """Print the JSON Schema of all documents, for editors that check YAML.

    With a stack, it has the configs of the plugins that the stack allows, besides those that come with
    inferfleet.
    """
    with reporting():
        documents, root = Documents(settings=Settings(stack="unnamed")), None
        if stack is not None:
            root = find_root(Path.cwd())
            documents, _ = load_stack(root, stack)
        outside = outside_plugins()
        registry = found_plugins(documents.settings, root, wanted=frozenset(), outside=outside)
        if registry.unusable:
            raise InvalidDocuments(documents.located(registry.unusable.values()))
        print_json(json_schema({plugin.name: plugin.config for plugin in registry.plugins}))
