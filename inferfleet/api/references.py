"""Names that one document uses and nothing has: classes of pools, profiles of clusters."""

from collections.abc import Iterator
from typing import Any

from inferfleet.api.document_files import Source
from inferfleet.api.nearest import one_of
from inferfleet.api.paths import path_of, shown
from inferfleet.api.problems import Problem
from inferfleet.api.shelf import Shelf
from inferfleet.profiles.table import names


def dangling(shelf: Shelf) -> list[Problem]:
    """Every such name, in documents with other problems too.

    Classes are not missed while something could not be read: they may be there.
    """
    classes = shelf.named("InferenceClass")
    problems: list[Problem] = []
    for (kind, cluster), entry in shelf.entries.items():
        if kind == "InferenceCluster":
            problems += _profile(cluster, entry.source)
            problems += _classes(cluster, entry.source, classes) if shelf.complete else ()
    return problems


def _profile(cluster: str, source: Source) -> Iterator[Problem]:
    wanted = _at(source.text.data, "spec", "serving", "profile")
    if isinstance(wanted, str) and wanted not in names():
        what = f"cluster {cluster} has profile {shown(wanted)!r}, which is not known"
        path = "spec.serving.profile"
        yield Problem(what, one_of(wanted, names(), "Known profiles"), path, source.where(path))


def _classes(cluster: str, source: Source, classes: set[str]) -> Iterator[Problem]:
    pools = _at(source.text.data, "spec", "nodePools")
    for place, pool in enumerate(pools if isinstance(pools, list) else ()):
        wanted, name = _at(pool, "className"), _at(pool, "name")
        if isinstance(wanted, str) and wanted and wanted not in classes:
            of = shown(name) if isinstance(name, str) else f"number {place + 1}"
            what = f"pool {of} of cluster {cluster} has class {shown(wanted)!r}, which is not known"
            path = path_of(("spec", "nodePools", place, "className"))
            yield Problem(what, one_of(wanted, classes, "Known classes"), path, source.where(path))


def _at(data: Any, *steps: str) -> Any:
    for step in steps:
        data = data.get(step) if isinstance(data, dict) else None
    return data
