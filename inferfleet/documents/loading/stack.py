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
from inferfleet.documents.loading.from_program import FromProgram
from inferfleet.documents.loading.installed import read_installed
from inferfleet.documents.loading.load import load
from inferfleet.documents.loading.project import StackFiles, files_of_stack
from inferfleet.documents.loading.settings import (
    Config,
    checked_settings,
    hidden_setting_problems,
    misplaced_setting_problems,
    names_environment,
    read_config,
    readable_secret_problems,
    unknown_key_problems,
)
from inferfleet.documents.problems import InvalidDocuments, Problem, cluster_problem
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
    from_program: FromProgram | None = None,
) -> tuple[Documents, StackFiles]:
    """Return what `load_stack` does, of a stack or Fleet whose files are known.

    `settings` are those that a program gives its Fleet, in place of the configuration; `written` are the
    documents that it gives in place of a folder. `from_program` stands in for what it hands over, where it
    does not run.
    """
    base = (base or Path.cwd()).absolute()
    of_fleet = files.settings is not None
    in_file = given = Config() if settings is not None else read_config(files.config_file, base, files.root)
    if settings is not None or config is not None:
        given = Config((config if settings is None else settings) or {}, given.lines)
    checked, setting_problems, links = checked_settings(given, stack=files.stack)
    problems = list(given.problems)
    # Where there is no project, no command reads its settings.
    if settings is None and (not of_fleet or (files.root / PROJECT_FILE).is_file()):
        for problem in misplaced_setting_problems(files, base):
            (problems if problem.where else setting_problems).append(problem)
        if config is not None and not setting_problems:
            setting_problems += hidden_setting_problems(in_file, given)
    if not of_fleet:
        folder = given.values.get("documents")
        files = replace(files, folder=folder if isinstance(folder, str) else None)
    documents = None
    if written is None and (no_folder := _no_folder(files)) is not None:
        setting_problems.append(no_folder)
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
                from_program=from_program,
            )
        except InvalidDocuments as error:
            problems += error.problems
    if documents is not None:
        configured = config is not None or settings is not None or not names_environment(files)
        problems += documents.located(_kubeconfig_problems(documents, files, given, configured=configured))
        installed, unread = read_installed(documents, files, base)
        documents = replace(documents, installed=installed)
        problems += unread
    # The configuration of a stack may be that of several Fleets.
    sure = documents is not None and not of_fleet
    setting_problems += unknown_key_problems(given, _config_keys(documents), sure=sure)
    problems += given.located(setting_problems, files.stack)
    broken_links = {
        ("Settings", files.stack, path): tuple(given.located(link_problems, files.stack))
        for path, link_problems in links.items()
    }
    if documents is not None:
        broken_links |= documents.broken_links
    if problems or documents is None:
        raise InvalidDocuments([*problems, *chain.from_iterable(broken_links.values())])
    notices = (*_setting_problems(files, in_file), *documents.notices)
    positions = {**documents.positions, ("Settings", files.stack): given.lines}
    return replace(
        documents,
        fleet=files.fleet_options,
        positions=positions,
        notices=notices,
        broken_links=broken_links,
    ), files


def _setting_problems(files: StackFiles, in_file: Config) -> Iterator[Problem]:
    """Yield warnings about readable secrets in the file of settings, and settings that nobody reads."""
    yield from in_file.located(readable_secret_problems(in_file), files.stack)
    yield from (replace(warning, key=files.stack) for warning in in_file.readable)
    if files.settings is None:
        yield from _unread_file_problems(files)


def _unread_file_problems(files: StackFiles) -> Iterator[Problem]:
    """Yield warnings about settings of the stack in places where they are not read."""
    name = files.config_file.name
    for file in (f"stacks/{name.removesuffix('.yaml')}.yml", name, f"{name.removesuffix('.yaml')}.yml"):
        if os.path.isfile(files.root / file):
            what = f"the file {shown(file)} is not read"
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


def _kubeconfig_problems(
    documents: Documents, files: StackFiles, given: Config, *, configured: bool
) -> Iterator[Problem]:
    """Yield a problem for each existing cluster without a kubeconfig: where its key is not in what is
    `configured`, and where only the program of a Fleet could hand it over.
    """
    for name, cluster in documents.clusters.items():
        existing = cluster.spec.cluster.existing
        key = _config_key(cluster)
        if configured and key is not None and key not in given.values:
            path = "spec.cluster.existing.kubeconfig.configKey"
            what = f"the kubeconfig of cluster {name} is not in the configuration of stack {files.stack}"
            next_step = f"Set it: pulumi config set --secret inferfleet:{shown(key)} < FILE"
            yield cluster_problem(name, what, next_step, path)
        if files.settings is None and existing and not (existing.kubeconfig.path or key):
            what = f"cluster {name} has no kubeconfig"
            step = "Add kubeconfig: {configKey: KEY} or {path: FILE}; only a Fleet hands one over"
            yield cluster_problem(name, what, step, "spec.cluster.existing")
