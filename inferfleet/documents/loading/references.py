"""References between documents: classes, profiles and policies exist, and may be named there."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from inferfleet.documents.loading.collection import Collected, Collection
from inferfleet.documents.problems import Problem, part_of
from inferfleet.documents.wording import one_of, path_of, shown
from inferfleet.tables.pickers import names


def dangling(collection: Collection, catalogue: Path | None) -> Iterator[Problem]:
    """Yield references to classes and profiles that do not exist, also of documents with other problems.

    While something could not be read, no class is reported as missing: it may be there. `catalogue` is the
    folder that the classes of all stacks should be in.
    """
    classes = frozenset(collection.keys("InferenceClass"))
    policies = frozenset(collection.keys("Policy"))
    for (kind, cluster), collected in collection.by_name.items():
        if kind == "InferenceCluster":
            data = collected.source.text.data
            problems = [
                *_profile(f"cluster {cluster}", data, "serving", "profile"),
                *(_classes(cluster, data, classes, catalogue) if collection.complete else ()),
            ]
            yield from collected.source.located(problems, kind=kind, key=cluster)
        elif kind == "ModelDeployment":
            unknown = _profile(f"deployment {cluster!r}", collected.source.text.data, "profile")
            yield from collected.source.located(unknown, kind=kind, key=cluster)
        elif kind == "Quota" and collection.complete:
            unknown = _limited(collected.source.text.data, classes, catalogue)
            yield from collected.source.located(unknown, kind=kind, key=cluster)
        elif kind == "Waiver" and collection.complete:
            unknown = _waived(cluster, collected, collection, policies)
            yield from collected.source.located(unknown, kind=kind, key=cluster)


def _waived(
    waiver: str, collected: Collected, collection: Collection, policies: frozenset[str]
) -> Iterator[Problem]:
    """Yield a problem for the policy of a waiver where there is none of that name, or where it is one of all
    stacks and the waiver is of a single one: whoever edits a stack must not end what holds for all.
    """
    wanted = part_of(collected.source.text.data, ("spec", "policy"))
    if not isinstance(wanted, str) or not wanted:
        return
    policy = collection.by_name.get(("Policy", wanted))
    if policy is None:
        what = f"waiver {waiver} is of policy {shown(wanted)!r}, which does not exist"
        step = one_of(wanted, policies, "Known policies") if policies else "Remove the waiver"
        yield Problem(what, step, "spec.policy")
    elif policy.shared and not collected.shared:
        there = policy.source.where("metadata.name")
        what = f"waiver {waiver} is outside of the folder policies, where policy {shown(wanted)} is ({there})"
        yield Problem(what, "Move the waiver there, where the owners of the policy review it", "spec.policy")


def _profile(whose: str, data: Any, *path: str) -> Iterator[Problem]:
    wanted = part_of(data, ("spec", *path))
    if isinstance(wanted, str) and wanted not in names():
        what = f"{whose} has profile {shown(wanted)!r}, which does not exist"
        yield Problem(what, one_of(wanted, names(), "Known profiles"), path_of(("spec", *path)))


def _classes(cluster: str, data: Any, classes: frozenset[str], catalogue: Path | None) -> Iterator[Problem]:
    pools = part_of(data, ("spec", "nodePools"))
    for index, pool in enumerate(pools if isinstance(pools, list) else ()):
        wanted, name = part_of(pool, ("className",)), part_of(pool, ("name",))
        if isinstance(wanted, str) and wanted and wanted not in classes:
            shown_name = shown(name) if isinstance(name, str) else f"number {index + 1}"
            what = f"pool {shown_name} of cluster {cluster} has class {shown(wanted)!r}, which does not exist"
            path = path_of(("spec", "nodePools", index, "className"))
            next_step = one_of(wanted, classes, "Known classes") if classes else _no_classes(catalogue)
            yield Problem(what, next_step, path)


def _limited(data: Any, classes: frozenset[str], catalogue: Path | None) -> Iterator[Problem]:
    """Yield a problem for each class that a quota limits and that does not exist."""
    limits = part_of(data, ("spec", "gpusByClass"))
    for wanted in limits if isinstance(limits, dict) else ():
        if isinstance(wanted, str) and wanted not in classes:
            what = f"a quota limits class {shown(wanted)!r}, which does not exist"
            next_step = one_of(wanted, classes, "Known classes") if classes else _no_classes(catalogue)
            yield Problem(what, next_step, path_of(("spec", "gpusByClass", wanted)))


def _no_classes(catalogue: Path | None) -> str:
    if catalogue is not None and not os.path.isdir(catalogue):
        return "The folder classes is missing: restore it, or write an InferenceClass beside the stack"
    return "There is no class at all: write an InferenceClass into the folder classes"
