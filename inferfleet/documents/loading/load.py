"""From files to Documents, or every problem in them at once."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

from inferfleet.documents.documents import DocumentName, Documents
from inferfleet.documents.kinds.inference_class import InferenceClass
from inferfleet.documents.kinds.inference_cluster import InferenceCluster
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.documents.kinds.model_service import ModelService
from inferfleet.documents.kinds.policy import Policy, Quota, Waiver
from inferfleet.documents.kinds.settings import Settings
from inferfleet.documents.loading.edits import Edit, astray, edited
from inferfleet.documents.loading.files import Source, files_of, of_program, read
from inferfleet.documents.loading.project import CATALOGUE
from inferfleet.documents.loading.recognition import kind_of, text_problems
from inferfleet.documents.loading.validation import MOST_PROBLEMS, validated_but_for_links
from inferfleet.documents.problems import InvalidDocuments, Problem, of_severity, part_of
from inferfleet.documents.wording import one_of, path_of, shown
from inferfleet.documents.work import take
from inferfleet.documents.yaml import Budget
from inferfleet.tables.pickers import names

Document = InferenceClass | InferenceCluster | ModelDeployment | ModelService | Quota | Policy | Waiver


# What a stack may have; what it takes together is counted (`documents/work.py`).
MAX_DEPLOYMENTS = 1_500
MAX_REPLICAS = 20_000
_CHAIN = ("spec", "plugins")
NAMESPACED = ("ModelDeployment", "ModelService", "Quota")
# What holds for all stacks may be in the folder with their policies: anything else would be in each of them.
_OF_ALL_STACKS = ("Policy", "Waiver", "Quota")


KINDS: dict[str, type[Document]] = {
    "InferenceClass": InferenceClass,
    "InferenceCluster": InferenceCluster,
    "ModelDeployment": ModelDeployment,
    "ModelService": ModelService,
    "Quota": Quota,
    "Policy": Policy,
    "Waiver": Waiver,
}


@dataclass(frozen=True)
class Collected:
    """A document of a file, valid or not: one of the catalogue of classes, of the folder with the policies of
    all stacks (`shared`), or of the stack.
    """

    source: Source
    document: Document | None  # None when it has problems
    catalogued: bool
    shared: bool = False


@dataclass
class Collection:
    """All documents read so far.

    `complete` is False when the name of something is not known, such as in a file with broken syntax.
    """

    complete: bool = True
    by_name: dict[DocumentName, Collected] = field(default_factory=dict)
    broken_links: dict[tuple[str, str, str], tuple[Problem, ...]] = field(default_factory=dict)

    def add(self, kind: str, key: str, new: Collected) -> Problem | None:
        """Add a document. Return an error if its name is taken, a notice if it hides a catalogue's class."""
        there = self.by_name.get((kind, key))
        if there is None or (there.catalogued and not new.catalogued):
            self.by_name[(kind, key)] = new
        if there is None:
            return None
        first = there.source.where("metadata.name")
        if there.catalogued and not new.catalogued:
            at = "" if there.source.packaged else f" at {first}"
            what = f"class {key} replaces the one in the catalogue{at}"
            return Problem(what, "Rename it if this is not intended", "metadata.name", severity="notice")
        what = f"another {kind} is already named {key}, at {first}"
        return Problem(what, "Rename or remove one of the two", "metadata.name")

    def keys(self, kind: str) -> set[str]:
        """Return the keys of all documents of a kind."""
        return {key for other, key in self.by_name if other == kind}

    def documents(self, settings: Settings) -> Documents:
        """Return all documents by key, sorted. They must all be valid."""
        by_name = dict(sorted(self.by_name.items()))
        return Documents(
            settings,
            classes=_of(by_name, InferenceClass),
            clusters=_of(by_name, InferenceCluster),
            deployments=_of(by_name, ModelDeployment),
            services=_of(by_name, ModelService),
            quotas=_of(by_name, Quota),
            policies=_of(by_name, Policy),
            waivers=_of(by_name, Waiver),
            positions={name: collected.source.positions() for name, collected in by_name.items()},
            broken_links=self.broken_links,
            sources={name: collected.source.file for name, collected in by_name.items()},
            of_all_stacks=frozenset(name for name, collected in by_name.items() if collected.shared),
        )


def _of(by_name: dict[DocumentName, Collected], model: type[Any]) -> dict[str, Any]:
    return {
        key: collected.document
        for (_, key), collected in by_name.items()
        if isinstance(collected.document, model)
    }


def load(
    paths: Iterable[Path | str],
    *,
    settings: Settings | None = None,
    catalogue: Path | None = CATALOGUE,
    base: Path | None = None,
    root: Path | None = None,
    edits: tuple[Edit, ...] = (),
    policies: Path | None = None,
    written: Sequence[Mapping[str, Any]] = (),
) -> Documents:
    """Return all documents in files and folders, and the classes of the catalogue (a folder), if any.

    Documents that a program has `written` come besides; messages name them by their places in that list.

    A class with the name of one in the catalogue replaces it, with a notice. The folder `policies`, which
    there need not be, has those of all stacks and nothing else. Messages name files below `base`
    (the current directory) relative to it. Every file must be inside of the folder `root`; without it, inside
    the project of its path. Documents are taken as the `edits` make them. Raises InvalidDocuments with every
    problem; links of plugin chains that cannot be read are told by `desired`, unless there is another.
    """
    base = (base or Path.cwd()).absolute()
    packaged = catalogue == CATALOGUE and os.path.realpath((root or base) / "classes") != str(CATALOGUE)
    collection = Collection()
    folders = [catalogue] if catalogue is not None and catalogue.is_dir() else []
    # The catalogue that comes with inferfleet is outside of every other project.
    classes, problems = files_of(folders, root=None if catalogue == CATALOGUE else root, base=base)
    own, more = files_of(paths, root=root, base=base)
    shared, of_shared = files_of([policies] if policies and policies.is_dir() else [], root=root, base=base)
    problems += [problem for problem in (*more, *of_shared) if problem not in problems]
    own = _but_for(own, classes)
    # A stack may have its own documents in that folder.
    shared_alone = _but_for(shared, classes | own)
    budget, steps = Budget(), 0
    for file, border in (classes | own | shared_alone).items():
        sources, unread = read(file, base, border, budget)
        problems += unread
        if file in classes and packaged:
            sources = [source.as_packaged() for source in sources]
        collection.complete &= not unread
        for source in sources:
            limits = _Limits(file in classes, file in shared_alone, file in shared)
            problems += _take(source, collection, edits, limits)
            if len(problems) > MOST_PROBLEMS:
                problems.append(_too_many(source))
                raise InvalidDocuments(of_severity(problems, "error"))
        take(budget.steps - steps, f"reading {file.name}")
        steps = budget.steps
        if budget.spent:
            break
    for source in of_program(written, root or base, budget):
        problems += _take(source, collection, edits, _Limits(False, False, False))
    problems += islice(dangling(collection, catalogue), MOST_PROBLEMS)
    if collection.complete:
        problems += astray(edits, collection.by_name)
    if errors := of_severity(problems, "error"):
        raise InvalidDocuments([*errors, *chain.from_iterable(collection.broken_links.values())])
    documents = collection.documents(settings or Settings(stack="unnamed"))
    if too_large := list(_oversize(documents)):
        raise InvalidDocuments(too_large)
    return replace(documents, notices=of_severity(problems, "warning", "notice"))


def _but_for(files: dict[Path, Path], others: dict[Path, Path]) -> dict[Path, Path]:
    """Return the files that are not among others, by whatever name."""
    known = {os.path.realpath(file) for file in others}
    return {file: border for file, border in files.items() if os.path.realpath(file) not in known}


def _too_many(source: Source) -> Problem:
    what = f"there are more than {MOST_PROBLEMS:,} problems; nothing after {source.where()} was looked at"
    return Problem(what, "Fix those first")


class _Limits(NamedTuple):
    """Whether a file is in the catalogue, and in the folder of policies: of the stack besides, or not."""

    catalogued: bool
    shared_alone: bool
    shared: bool


def _take(source: Source, collection: Collection, edits: tuple[Edit, ...], limits: _Limits) -> list[Problem]:
    """Add one document to the collection, and return its problems."""
    problems = list(islice(text_problems(source), MOST_PROBLEMS))
    missing = [mistake.path for mistake in source.text.mistakes if mistake.missing]
    kind, unknown = kind_of(source.text.data, KINDS)
    if kind is not None and edits:
        key = _key(kind, source.text.data)
        own = [edit for edit in edits if (edit.kind, edit.key) == (kind, key)]
        source, misled = edited(source, own)
        problems += misled
    data = source.text.data
    if kind is None:
        collection.complete = False
        return source.located(problems + [problem for problem in unknown if problem.path not in missing])
    if limits.catalogued and kind != "InferenceClass":
        what = f"the catalogue may contain InferenceClasses only, not {kind}s"
        problems.append(Problem(what, "Move it to the documents of a stack", "kind"))
    if limits.shared_alone and kind not in _OF_ALL_STACKS:
        what = f"the folder policies may contain Policies, Waivers and Quotas only, not {kind}s"
        problems.append(Problem(what, "Move it to the documents of a stack", "kind"))
    document, invalid, links = validated_but_for_links(KINDS[kind], data, chain=_CHAIN, ignore=missing)
    problems += invalid
    key = _key(kind, data)
    for path, of_link in links.items():
        located = tuple(source.located(of_link, kind=kind, key=key or ""))
        collection.broken_links[kind, key or "", path] = located
    if key is None:
        collection.complete = False
    elif name_taken := collection.add(
        kind, key, Collected(source, document, limits.catalogued, limits.shared)
    ):
        problems.append(name_taken)
    return source.located(problems, kind=kind, key=key or "")


def _key(kind: str, data: Any) -> str | None:
    metadata = data.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
        return None
    if kind not in NAMESPACED:
        return str(metadata["name"])
    return f"{metadata.get('namespace', 'default')}/{metadata['name']}"


def _oversize(documents: Documents) -> Iterator[Problem]:
    """Yield a problem for each limit that the documents of a stack exceed together."""
    deployments = len(documents.deployments)
    replicas = sum(deployment.spec.wanted for deployment in documents.deployments.values())
    if deployments > MAX_DEPLOYMENTS:
        what = f"the stack has {deployments:,} deployments, more than {MAX_DEPLOYMENTS:,}"
        yield Problem(what, "Use several stacks")
    if replicas > MAX_REPLICAS:
        what = f"the deployments of the stack want {replicas:,} replicas together, more than {MAX_REPLICAS:,}"
        yield Problem(what, "Lower spec.replicas, or use several stacks")


# References between documents: classes, profiles and policies exist, and may be named there.


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
