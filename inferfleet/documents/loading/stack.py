"""A whole stack: its files, its settings, its documents."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.inference_cluster import InferenceCluster
from inferfleet.documents.loading.edits import Edit
from inferfleet.documents.loading.files import PROJECT_FILE, is_inside
from inferfleet.documents.loading.load import load
from inferfleet.documents.loading.project import StackFiles, files_of_stack
from inferfleet.documents.loading.settings import (
    Config,
    checked_settings_and_links,
    hidden_settings,
    names_environment,
    read_config,
    readable_secrets,
    settings_elsewhere,
    unknown_keys,
)
from inferfleet.documents.problems import InvalidDocuments, Problem
from inferfleet.documents.wording import shown


def load_stack(
    root: Path,
    stack: str,
    *,
    config: Mapping[str, Any] | None = None,
    base: Path | None = None,
    edits: tuple[Edit, ...] = (),
) -> tuple[Documents, StackFiles]:
    """Return the documents of a stack with its settings, and where its files are.

    `config` is the namespace `inferfleet` of the Pulumi configuration; without it, the stack's file is read.
    Settings in it that the file does not have are refused, but for secrets and kubeconfigs. Documents are
    taken as the `edits` make them. Raises InvalidDocuments with every problem of both.
    """
    return load_files(files_of_stack(root.absolute(), stack), config=config, base=base, edits=edits)


def load_files(
    files: StackFiles,
    *,
    config: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
    written: Sequence[Mapping[str, Any]] | None = None,
    base: Path | None = None,
    edits: tuple[Edit, ...] = (),
) -> tuple[Documents, StackFiles]:
    """Return what `load_stack` does, of a stack or Fleet whose files are known.

    `settings` are those that a program gives its Fleet, in place of the configuration; `written` are the
    documents that it gives in place of a folder.
    """
    base = (base or Path.cwd()).absolute()
    of_fleet = files.settings is not None
    in_file = given = Config() if settings is not None else read_config(files.config_file, base, files.root)
    if settings is not None or config is not None:
        given = Config((config if settings is None else settings) or {}, given.lines)
    checked, of_settings, links = checked_settings_and_links(given, stack=files.stack)
    problems = list(given.problems)
    # Where there is no project, no command reads its settings.
    if settings is None and (not of_fleet or (files.root / PROJECT_FILE).is_file()):
        for problem in settings_elsewhere(files, base):
            (problems if problem.where else of_settings).append(problem)
        if config is not None and not of_settings:
            of_settings += hidden_settings(in_file, given)
    if not of_fleet:
        folder = given.values.get("documents")
        files = replace(files, folder=folder if isinstance(folder, str) else None)
    documents = None
    if written is None and (no_folder := _no_folder(files)) is not None:
        of_settings.append(no_folder)
    else:
        try:
            documents = load(
                [files.documents] if written is None else [],
                written=written or (),
                settings=checked,
                catalogue=files.catalogue,
                base=base,
                root=files.root,
                edits=edits,
                policies=files.policies,
            )
        except InvalidDocuments as error:
            problems += error.problems
    if documents is not None:
        if config is not None or settings is not None or not names_environment(files):
            problems += documents.located(_unset(documents, given, files.stack))
        if not of_fleet:
            problems += documents.located(_without_kubeconfig(documents))
    # The configuration of a stack may be that of several Fleets.
    sure = documents is not None and not of_fleet
    of_settings += unknown_keys(given, _config_keys(documents), sure=sure)
    problems += given.located(of_settings, files.stack)
    broken = {
        ("Settings", files.stack, path): tuple(given.located(of, files.stack)) for path, of in links.items()
    }
    if problems or documents is None:
        of_documents = documents.broken_links if documents else {}
        raise InvalidDocuments([*problems, *chain.from_iterable([*broken.values(), *of_documents.values()])])
    positions = {**documents.positions, ("Settings", files.stack): given.lines}
    of_others = (replace(warning, key=files.stack) for warning in in_file.readable)
    warnings = [*in_file.located(readable_secrets(in_file), files.stack), *of_others]
    notices = (*warnings, *(() if of_fleet else _misplaced(files)), *documents.notices)
    return replace(
        documents,
        fleet=files.fleet_options,
        positions=positions,
        notices=notices,
        broken_links={**broken, **documents.broken_links},
    ), files


def _misplaced(files: StackFiles) -> Iterator[Problem]:
    """Yield warnings about settings of the stack in places where they are not read."""
    name = files.config_file.name
    for place in (f"stacks/{name.removesuffix('.yaml')}.yml", name, f"{name.removesuffix('.yaml')}.yml"):
        if os.path.isfile(files.root / place):
            what = f"the file {shown(place)} is not read"
            step = f"Settings of the stack belong into stacks/{shown(name)}"
            yield Problem(what, step, severity="warning")


def _no_folder(files: StackFiles) -> Problem | None:
    """Why the stack has no folder of documents inside the project, or None when it has one."""
    name = f"the folder of documents {shown(str(files.documents), 200)}"
    another = "set inferfleet:documents to another" if files.settings is None else "name another folder"
    if not is_inside(files.documents, files.root):
        what = f"{name} is outside of the project {files.root}"
        return Problem(what, f"Move it into the project, or {another}", "documents")
    real = Path(os.path.realpath(files.documents)).relative_to(os.path.realpath(files.root))
    if any(part.startswith(".") for part in (*Path(files.folder or "").parts, *real.parts)):
        return Problem(
            f"{name} is hidden, because of a '.' before a name", f"Rename it, or {another}", "documents"
        )
    if not os.path.exists(files.documents):  # pathlib raises on names that no file can have
        return Problem(f"{name} does not exist", f"Create it, or {another}", "documents")
    if not os.path.isdir(files.documents):
        return Problem(f"{name} is not a folder", f"Name a folder: {another}", "documents")
    if is_inside(files.documents, files.policies):
        what = f"{name} is in the one with the policies of all stacks, whose owners are not a stack's"
        return Problem(what, f"Move the documents into a folder of their own, and {another}", "documents")
    return None


def _config_keys(documents: Documents | None) -> set[str]:
    clusters = documents.clusters.values() if documents else ()
    return {key for cluster in clusters if (key := _config_key(cluster)) is not None}


def _config_key(cluster: InferenceCluster) -> str | None:
    existing = cluster.spec.cluster.existing
    return existing.kubeconfig.config_key if existing else None


def _without_kubeconfig(documents: Documents) -> Iterator[Problem]:
    """Yield a problem for each cluster whose kubeconfig only the program of a Fleet could hand over."""
    for name, cluster in documents.clusters.items():
        existing = cluster.spec.cluster.existing
        if existing and not (existing.kubeconfig.path or existing.kubeconfig.config_key):
            what = f"cluster {name} has no kubeconfig"
            step = "Add kubeconfig: {configKey: KEY} or {path: FILE}; only a Fleet hands one over"
            yield Problem(what, step, "spec.cluster.existing", kind="InferenceCluster", key=name)


def _unset(documents: Documents, given: Config, stack: str) -> Iterator[Problem]:
    """Yield a problem for each kubeconfig that should be in the configuration of the stack and is not."""
    for name, cluster in documents.clusters.items():
        key = _config_key(cluster)
        if key is None or key in given.values:
            continue
        path = "spec.cluster.existing.kubeconfig.configKey"
        what = f"the kubeconfig of cluster {name} is not in the configuration of stack {stack}"
        next_step = f"Set it: pulumi config set --secret inferfleet:{shown(key)} < FILE"
        yield Problem(what, next_step, path, kind="InferenceCluster", key=name)
