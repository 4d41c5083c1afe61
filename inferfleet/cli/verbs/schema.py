"""`inferfleet schema`: the JSON Schema of all documents, and that of a digest."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from inferfleet.cli.output import print_json
from inferfleet.cli.report import reporting
from inferfleet.cli.source import StackName, outside_plugins
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.settings import Settings
from inferfleet.documents.loading.project import find_root
from inferfleet.documents.loading.schema import json_schema, value_schema
from inferfleet.documents.loading.stack import load_stack
from inferfleet.documents.problems import InvalidDocuments
from inferfleet.plugins.loading import found_plugins, stdout_to_stderr
from inferfleet.plugins.registry import MODULES
from inferfleet.review.digest.values import Digest

Of = Annotated[
    Literal["documents", "digest"],
    typer.Option("--of", help="`documents`, or what `inferfleet digest --json` prints."),
]


def schema(stack: StackName = None, of: Of = "documents") -> None:
    """Print the JSON Schema of all documents, for editors that check YAML, or that of a digest.

    With a stack, the one of documents has the configs of the plugins that the stack allows, besides those
    that come with inferfleet.
    """
    with reporting():
        if of == "digest":
            print_json(value_schema(Digest, "A digest of inferfleet", "digest"))
            return
        documents, root = Documents(settings=Settings(stack="unnamed")), None
        if stack is not None:
            root = find_root(Path.cwd())
            documents, _ = load_stack(root, stack)
        outside = outside_plugins()
        with stdout_to_stderr():
            registry = found_plugins(documents.settings, root, wanted=frozenset(MODULES), outside=outside)
        if registry.unusable:
            raise InvalidDocuments(documents.located(registry.unusable.values()))
        result = json_schema({plugin.name: plugin.config for plugin in registry.plugins})
        if stack is not None:
            # With plugins of its own it is another schema than the published one.
            del result["$id"]
        print_json(result)
