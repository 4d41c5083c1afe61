"""A whole stack: its files, its settings, its documents."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from inferfleet.api.documents import Documents
from inferfleet.api.kinds.inference_cluster import InferenceCluster
from inferfleet.api.loading.load import load
from inferfleet.api.loading.settings import checked, read_settings, readable_secrets, settings_of, unknown
from inferfleet.api.loading.stack_files import (
    Config,
    StackFiles,
    files_of_stack,
    find_root,
    read_config,
    stacks_of,
)
from inferfleet.api.problems import InvalidDocuments, Problem
from inferfleet.api.wording import shown

__all__ = ["StackFiles", "find_root", "load_stack", "read_settings", "settings_of", "stacks_of"]


def load_stack(
    root: Path, stack: str, *, config: Mapping[str, Any] | None = None, base: Path | None = None
) -> tuple[Documents, StackFiles]:
    """Return the documents of a stack with its settings, and where its files are.

    `config` is the namespace `inferfleet` of the Pulumi configuration; without it, the stack's file is read.
    Raises InvalidDocuments with every problem of both.
    """
    base = (base or Path.cwd()).absolute()
    files = files_of_stack(root.absolute(), stack)
    written = given = read_config(files.config_file, base)
    if config is not None:
        given = Config(config, given.lines)
    settings, of_settings = checked(given, stack=stack)
    problems = list(given.problems)
    folder = given.values.get("documents")
    files = replace(files, folder=folder if isinstance(folder, str) else None)
    documents = None
    if files.documents.is_dir():
        try:
            documents = load([files.documents], settings=settings, catalogue=files.catalogue, base=base)
        except InvalidDocuments as error:
            problems += error.problems
    else:
        what = f"the folder of documents {files.documents} does not exist"
        of_settings.append(Problem(what, "Create it, or set inferfleet:documents to another", "documents"))
    if documents is not None:
        problems += documents.located(_unset(documents, given, stack))
    of_settings += unknown(given, _config_keys(documents), sure=documents is not None)
    problems += given.located(of_settings, stack)
    if problems or documents is None:
        raise InvalidDocuments(problems)
    positions = {**documents.positions, ("Settings", stack): given.lines}
    warnings = written.located(readable_secrets(written), stack)
    return replace(documents, positions=positions, notices=(*warnings, *documents.notices)), files


def _config_keys(documents: Documents | None) -> set[str]:
    clusters = documents.clusters.values() if documents else ()
    return {key for cluster in clusters if (key := _config_key(cluster)) is not None}


def _config_key(cluster: InferenceCluster) -> str | None:
    existing = cluster.spec.cluster.existing
    return existing.kubeconfig.config_key if existing else None


def _unset(documents: Documents, given: Config, stack: str) -> Iterator[Problem]:
    """Kubeconfigs that should be in the configuration of the stack and are not."""
    for name, cluster in documents.clusters.items():
        key = _config_key(cluster)
        if key is None or key in given.values:
            continue
        path = "spec.cluster.existing.kubeconfig.configKey"
        what = f"the kubeconfig of cluster {name} is not in the configuration of stack {stack}"
        next_step = f"Set it: pulumi config set --secret inferfleet:{shown(key)} < FILE"
        yield Problem(what, next_step, path, kind="InferenceCluster", key=name)
