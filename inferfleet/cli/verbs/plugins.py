"""`inferfleet plugins`: what chains of a stack may name, and what lies there and is not allowed."""

from pathlib import Path

from inferfleet.cli.report import reporting
from inferfleet.cli.show.plugins import as_values, show
from inferfleet.cli.source import AsJson, StackName, outside_plugins
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.settings import Settings
from inferfleet.documents.loading.project import find_root, stacks_of
from inferfleet.documents.loading.stack import load_stack
from inferfleet.documents.problems import InvalidDocuments
from inferfleet.plugins.loading import found_plugins, stdout_to_stderr


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
