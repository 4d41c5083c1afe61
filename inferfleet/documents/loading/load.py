"""From files to Documents, or every problem in them at once."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

from inferfleet.documents.documents import DocumentName, Documents, cache_key
from inferfleet.documents.kinds.inference_class import InferenceClass
from inferfleet.documents.kinds.inference_cluster import InferenceCluster
from inferfleet.documents.kinds.inference_gateway import InferenceGateway
from inferfleet.documents.kinds.model_cache import ModelCache
from inferfleet.documents.kinds.model_deployment import CachedModel, Engine, ModelDeployment
from inferfleet.documents.kinds.model_service import ModelService
from inferfleet.documents.kinds.policy import Policy, Quota, Waiver
from inferfleet.documents.kinds.settings import Settings
from inferfleet.documents.loading.edits import Edit, apply_edits, unknown_document_problems
from inferfleet.documents.loading.files import Source, files_of, of_program, read
from inferfleet.documents.loading.from_program import FromProgram, completed
from inferfleet.documents.loading.project import CATALOGUE
from inferfleet.documents.loading.recognition import kind_of, text_problems
from inferfleet.documents.loading.validation import MOST_PROBLEMS, validated_but_for_links
from inferfleet.documents.problems import InvalidDocuments, Problem, of_severity, part_of
from inferfleet.documents.wording import one_of, path_of, shown
from inferfleet.documents.work import spend
from inferfleet.documents.yaml import Budget
from inferfleet.tables.pickers import names

Document = (
    InferenceClass
    | InferenceCluster
    | InferenceGateway
    | ModelDeployment
    | ModelService
    | ModelCache
    | Quota
    | Policy
    | Waiver
)


# What a stack may have; what it takes together is counted (`documents/work.py`).
MAX_DEPLOYMENTS = 1_500
MAX_REPLICAS = 20_000
_CHAIN = ("spec", "plugins")
NAMESPACED = ("ModelDeployment", "ModelService", "ModelCache", "Quota")
# What holds for all stacks may be in the folder with their policies: anything else would be in each of them.
_OF_ALL_STACKS = ("Policy", "Waiver", "Quota")


KINDS: dict[str, type[Document]] = {
    "InferenceClass": InferenceClass,
    "InferenceCluster": InferenceCluster,
    "InferenceGateway": InferenceGateway,
    "ModelDeployment": ModelDeployment,
    "ModelService": ModelService,
    "ModelCache": ModelCache,
    "Quota": Quota,
    "Policy": Policy,
    "Waiver": Waiver,
}


@dataclass(frozen=True)
class Entry:
    """A document as it was read, valid or not."""

    source: Source
    document: Document | None
    """None when it has problems."""
    catalogued: bool
    """Whether it is in the catalogue of classes."""
    shared: bool = False
    """Whether it is in the folder with the policies of all stacks."""


@dataclass
class Collection:
    """All documents read so far."""

    complete: bool = True
    """False when the name of something is not known, such as in a file with broken syntax."""
    by_name: dict[DocumentName, Entry] = field(default_factory=dict)
    broken_links: dict[tuple[str, str, str], tuple[Problem, ...]] = field(default_factory=dict)

    def add(self, kind: str, key: str, new: Entry) -> Problem | None:
        """Add a document. Return an error if its name is taken, a notice if it hides a catalogue's class."""
        entry = self.by_name.get((kind, key))
        if entry is None or (entry.catalogued and not new.catalogued):
            self.by_name[(kind, key)] = new
        if entry is None:
            return None
        first = entry.source.where("metadata.name")
        if entry.catalogued and not new.catalogued:
            at = "" if entry.source.packaged else f" at {first}"
            what = f"class {key} replaces the one in the catalogue{at}"
            return Problem(what, "Rename it if this is not intended", "metadata.name", severity="notice")
        what = f"another {kind} is already named {key}, at {first}"
        return Problem(what, "Rename or remove one of the two", "metadata.name")

    def keys(self, kind: str) -> set[str]:
        """Return the keys of all documents of a kind."""
        return {key for entry_kind, key in self.by_name if entry_kind == kind}

    def documents(self, settings: Settings) -> Documents:
        """Return all documents by key, sorted. They must all be valid."""
        by_name = dict(sorted(self.by_name.items()))
        caches: dict[str, ModelCache] = _of(by_name, ModelCache)
        return Documents(
            settings,
            classes=_of(by_name, InferenceClass),
            clusters=_of(by_name, InferenceCluster),
            deployments={
                key: with_cached_models(deployment, caches)
                for key, deployment in _of(by_name, ModelDeployment).items()
            },
            services=_of(by_name, ModelService),
            caches=caches,
            quotas=_of(by_name, Quota),
            policies=_of(by_name, Policy),
            waivers=_of(by_name, Waiver),
            gateways=_of(by_name, InferenceGateway),
            positions={name: entry.source.positions() for name, entry in by_name.items()},
            broken_links=self.broken_links,
            sources={name: entry.source.file for name, entry in by_name.items()},
            of_all_stacks=frozenset(name for name, entry in by_name.items() if entry.shared),
        )


def _of(by_name: dict[DocumentName, Entry], model: type[Any]) -> dict[str, Any]:
    return {key: entry.document for (_, key), entry in by_name.items() if isinstance(entry.document, model)}


def with_cached_models(deployment: ModelDeployment, caches: Mapping[str, ModelCache]) -> ModelDeployment:
    """Return a deployment whose models of caches, which there are, have the repository and commit of these.

    So names of models, revisions of prefill and command lines follow from the cache's fields alone.
    """

    def completed(engine: Engine) -> Engine:
        model = engine.model
        if model is None or model.cache is None:
            return engine
        cache = caches[cache_key(deployment.metadata.key, model.cache)]
        source = cache.spec.source.hugging_face
        cached = CachedModel(
            repository=source.repository,
            revision=source.revision,
            cache=model.cache,
            folder=cache.folder,
            in_bucket=cache.spec.to.bucket is not None,
        )
        return engine.model_copy(update={"model": cached})

    spec = deployment.spec
    roles = {
        name: role.model_copy(update={"engine": completed(role.engine)}) if role.engine else role
        for name, role in spec.roles.items()
    }
    made = spec.model_copy(update={"engine": completed(spec.engine), "roles": roles})
    return deployment if made == spec else deployment.model_copy(update={"spec": made})


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
    from_program: FromProgram | None = None,
) -> Documents:
    """Return all documents in files and folders, and the classes of the catalogue (a folder), if any.

    Documents that a program has `written` come besides; messages name them by their places in that list.

    A class with the name of one in the catalogue replaces it, with a notice. The folder `policies`, which
    there need not be, has those of all stacks and nothing else. Messages name files below `base`
    (the current directory) relative to it. Every file must be inside of the folder `root`; without it, inside
    the project of its path. Documents are taken as the `edits` make them, and completed where they leave
    something to a program. Raises InvalidDocuments with every
    problem; links of plugin chains that cannot be read are told by `desired`, unless there is another.
    """
    base = (base or Path.cwd()).absolute()
    # The catalogue that comes with inferfleet is outside of every other project.
    shipped = catalogue == CATALOGUE
    packaged = shipped and os.path.realpath((root or base) / "classes") != str(CATALOGUE)
    folders = [catalogue] if catalogue is not None and catalogue.is_dir() else []
    classes, problems = files_of(folders, root=None if shipped else root, base=base)
    stack_files, own_problems = files_of(paths, root=root, base=base)
    folders = [policies] if policies is not None and policies.is_dir() else []
    shared, shared_problems = files_of(folders, root=root, base=base)
    problems += [problem for problem in (*own_problems, *shared_problems) if problem not in problems]
    stack_files = _but_for(stack_files, classes)
    # A stack may have its own documents in that folder.
    shared_alone = _but_for(shared, classes | stack_files)
    collection, budget, steps = Collection(), Budget(), 0
    for file, border in (classes | stack_files | shared_alone).items():
        sources, unread = read(file, base, border, budget)
        problems += unread
        collection.complete &= not unread
        limits = _Limits(file in classes, file in shared_alone, file in shared)
        for source in sources:
            source = source.as_packaged() if limits.catalogued and packaged else source
            problems += _add_with_problems(source, collection, edits, limits, from_program)
            if len(problems) > MOST_PROBLEMS:
                problems.append(_too_many(source))
                raise InvalidDocuments(of_severity(problems, "error"))
        spend(budget.steps - steps, f"reading {file.name}")
        steps = budget.steps
        if budget.spent:
            break
    for source in of_program(written, root or base, budget):
        problems += _add_with_problems(source, collection, edits, _Limits(False, False, False), None)
    problems += islice(reference_problems(collection, catalogue), MOST_PROBLEMS)
    if collection.complete:
        given = from_program.given if from_program else ()
        problems += unknown_document_problems((*edits, *given), collection.by_name)
    if errors := of_severity(problems, "error"):
        raise InvalidDocuments([*errors, *chain.from_iterable(collection.broken_links.values())])
    documents = collection.documents(settings or Settings(stack="unnamed"))
    if too_large := list(_limit_problems(documents)):
        raise InvalidDocuments(too_large)
    return replace(documents, notices=of_severity(problems, "warning", "notice"))


def _but_for(files: dict[Path, Path], excluded: dict[Path, Path]) -> dict[Path, Path]:
    """Return the files that are not among others, by whatever name."""
    excluded_paths = {os.path.realpath(file) for file in excluded}
    return {file: border for file, border in files.items() if os.path.realpath(file) not in excluded_paths}


def _too_many(source: Source) -> Problem:
    what = f"there are more than {MOST_PROBLEMS:,} problems; nothing after {source.where()} was looked at"
    return Problem(what, "Fix those first")


class _Limits(NamedTuple):
    """Whether a file is in the catalogue, and in the folder of policies: of the stack besides, or not."""

    catalogued: bool
    shared_alone: bool
    shared: bool


def _add_with_problems(
    source: Source,
    collection: Collection,
    edits: tuple[Edit, ...],
    limits: _Limits,
    from_program: FromProgram | None,
) -> list[Problem]:
    """Add one document to the collection, and return its problems."""
    problems = list(islice(text_problems(source), MOST_PROBLEMS))
    missing = [mistake.path for mistake in source.text.mistakes if mistake.missing]
    kind, unknown = kind_of(source.text.data, KINDS)
    if kind is not None and edits:
        key = _key(kind, source.text.data)
        edits_here = [edit for edit in edits if (edit.kind, edit.key) == (kind, key)]
        source, of_edits = apply_edits(source, edits_here)
        problems += of_edits
    if kind == "InferenceCluster" and from_program and (key := _key(kind, source.text.data)):
        source, of_program_fields, lacking = completed(source, key, from_program)
        problems += of_program_fields
        missing += lacking
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
    elif taken := collection.add(kind, key, Entry(source, document, limits.catalogued, limits.shared)):
        problems.append(taken)
    return source.located(problems, kind=kind, key=key or "")


def _key(kind: str, data: Any) -> str | None:
    metadata = data.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
        return None
    if kind not in NAMESPACED:
        return str(metadata["name"])
    return f"{metadata.get('namespace', 'default')}/{metadata['name']}"


def _limit_problems(documents: Documents) -> Iterator[Problem]:
    """Yield a problem for each limit that the documents of a stack exceed together."""
    deployments = len(documents.deployments)
    replicas = sum(deployment.spec.wanted for deployment in documents.deployments.values())
    if deployments > MAX_DEPLOYMENTS:
        what = f"the stack has {deployments:,} deployments, more than {MAX_DEPLOYMENTS:,}"
        yield Problem(what, "Use several stacks")
    if replicas > MAX_REPLICAS:
        what = f"the deployments of the stack want {replicas:,} replicas together, more than {MAX_REPLICAS:,}"
        yield Problem(what, "Lower spec.replicas, or use several stacks")


# References between documents: classes, caches, profiles and policies exist, and may be named where they are.


def reference_problems(collection: Collection, catalogue: Path | None) -> Iterator[Problem]:
    """Yield references to classes, caches, profiles and policies that do not exist, also of documents with
    other problems.

    While something could not be read, no class, cache or policy is reported as missing: it may be there.
    `catalogue` is the folder that the classes of all stacks should be in.
    """
    classes = frozenset(collection.keys("InferenceClass"))
    policies = frozenset(collection.keys("Policy"))
    caches = frozenset(collection.keys("ModelCache"))
    for (kind, key), entry in collection.by_name.items():
        data = entry.source.text.data
        problems: Iterable[Problem] = ()
        if kind == "InferenceCluster":
            unknown_classes = _class_problems(key, data, classes, catalogue) if collection.complete else ()
            problems = [*_profile_problems(f"cluster {key}", data, "serving", "profile"), *unknown_classes]
        elif kind == "ModelDeployment":
            unknown_caches = _cache_problems(key, data, caches) if collection.complete else ()
            problems = [*_profile_problems(f"deployment {key!r}", data, "profile"), *unknown_caches]
        elif kind == "ModelCache":
            problems = _shared_folder_problems(key, entry, collection)
        elif kind == "InferenceGateway" and collection.complete:
            clusters = frozenset(collection.keys("InferenceCluster"))
            problems = _named_problems(f"gateway {key} stands on cluster", data, "clusters", clusters)
        elif kind == "ModelService" and collection.complete:
            gateways = frozenset(collection.keys("InferenceGateway"))
            problems = _named_problems(f"service {key} names gateway", data, "gateways", gateways)
        elif kind == "Quota" and collection.complete:
            problems = _quota_problems(data, classes, catalogue)
        elif kind == "Waiver" and collection.complete:
            problems = _waiver_problems(key, entry, collection, policies)
        yield from entry.source.located(problems, kind=kind, key=key)


def _waiver_problems(
    waiver: str, entry: Entry, collection: Collection, policies: frozenset[str]
) -> Iterator[Problem]:
    """Yield a problem for the policy of a waiver where there is none of that name, or where it is one of all
    stacks and the waiver is of a single one: whoever edits a stack must not end what holds for all.
    """
    name = part_of(entry.source.text.data, ("spec", "policy"))
    if not isinstance(name, str) or not name:
        return
    policy = collection.by_name.get(("Policy", name))
    if policy is None:
        what = f"waiver {waiver} is of policy {shown(name)!r}, which does not exist"
        step = one_of(name, policies, "Known policies") if policies else "Remove the waiver"
        yield Problem(what, step, "spec.policy")
    elif policy.shared and not entry.shared:
        line = policy.source.where("metadata.name")
        what = f"waiver {waiver} is outside of the folder policies, where policy {shown(name)} is ({line})"
        yield Problem(what, "Move the waiver there, where the owners of the policy review it", "spec.policy")


def _cache_problems(deployment: str, data: Any, caches: frozenset[str]) -> Iterator[Problem]:
    """Yield a problem for each cache that an engine of a deployment loads from and its namespace lacks."""
    roles = part_of(data, ("spec", "roles"))
    further = [("spec", "roles", role, "engine") for role in roles] if isinstance(roles, dict) else []
    paths: list[tuple[str, ...]] = [("spec", "engine"), *further]
    namespace = deployment.partition("/")[0]
    known = sorted(key.partition("/")[2] for key in caches if key.startswith(f"{namespace}/"))
    adapters = part_of(data, ("spec", "engine", "adapters"))
    of_adapters = [
        ("spec", "engine", "adapters", index, "source", "cache")
        for index in range(len(adapters) if isinstance(adapters, list) else 0)
    ]
    for at in (*((*path, "model", "cache") for path in paths), *of_adapters):
        name = part_of(data, at)
        if isinstance(name, str) and name and f"{namespace}/{name}" not in caches:
            what = f"deployment {deployment!r} loads from ModelCache {shown(name)!r}, which namespace "
            step = one_of(name, known, "There are") if known else "Write one beside it"
            yield Problem(f"{what}{namespace} does not have", step, path_of(at))


def _shared_folder_problems(cache: str, entry: Entry, collection: Collection) -> Iterator[Problem]:
    """Yield a problem where a folder of somebody's claim is to hold other weights by an earlier cache."""
    document = entry.document
    claim = document.spec.to.claim if isinstance(document, ModelCache) else None
    if not isinstance(document, ModelCache) or claim is None or claim.name is None:
        return
    namespace = document.metadata.namespace
    for (kind, key), other in collection.by_name.items():
        if (kind, key) == ("ModelCache", cache):
            return
        same = isinstance(other.document, ModelCache) and (
            other.document.spec.to.claim == claim and other.document.metadata.namespace == namespace
        )
        if same and isinstance(other.document, ModelCache) and other.document.content != document.content:
            folder = f"folder {shown(claim.folder)}" if claim.folder else "the root"
            yield Problem(
                f"{folder} of claim {shown(claim.name)} holds the weights of ModelCache {key} by "
                f"{other.source.where()}, which are others",
                "Write the folder of each",
                "spec.to.claim",
            )


def _profile_problems(whose: str, data: Any, *path: str) -> Iterator[Problem]:
    profile = part_of(data, ("spec", *path))
    if isinstance(profile, str) and profile not in names():
        what = f"{whose} has profile {shown(profile)!r}, which does not exist"
        yield Problem(what, one_of(profile, names(), "Known profiles"), path_of(("spec", *path)))


def _class_problems(
    cluster: str, data: Any, classes: frozenset[str], catalogue: Path | None
) -> Iterator[Problem]:
    pools = part_of(data, ("spec", "nodePools"))
    for index, pool in enumerate(pools if isinstance(pools, list) else ()):
        class_name, name = part_of(pool, ("className",)), part_of(pool, ("name",))
        if isinstance(class_name, str) and class_name and class_name not in classes:
            shown_name = shown(name) if isinstance(name, str) else f"number {index + 1}"
            pool_name = f"pool {shown_name} of cluster {cluster}"
            what = f"{pool_name} has class {shown(class_name)!r}, which does not exist"
            path = path_of(("spec", "nodePools", index, "className"))
            next_step = one_of(class_name, classes, "Known classes") if classes else _no_classes(catalogue)
            yield Problem(what, next_step, path)


def _named_problems(whose: str, data: Any, field: str, known: frozenset[str]) -> Iterator[Problem]:
    """Yield a problem for each name in a list of the spec that no document has."""
    named = part_of(data, ("spec", field))
    for index, name in enumerate(named if isinstance(named, list) else ()):
        if isinstance(name, str) and name and name not in known:
            what = f"{whose} {shown(name)!r}, which does not exist"
            step = one_of(name, known, "There is") if known else "Write its document"
            yield Problem(what, step, path_of(("spec", field, index)))


def _quota_problems(data: Any, classes: frozenset[str], catalogue: Path | None) -> Iterator[Problem]:
    """Yield a problem for each class that a quota limits and that does not exist."""
    limits = part_of(data, ("spec", "gpusByClass"))
    for class_name in limits if isinstance(limits, dict) else ():
        if isinstance(class_name, str) and class_name not in classes:
            what = f"a quota limits class {shown(class_name)!r}, which does not exist"
            next_step = one_of(class_name, classes, "Known classes") if classes else _no_classes(catalogue)
            yield Problem(what, next_step, path_of(("spec", "gpusByClass", class_name)))


def _no_classes(catalogue: Path | None) -> str:
    if catalogue is not None and not os.path.isdir(catalogue):
        return "The folder classes is missing: restore it, or write an InferenceClass beside the stack"
    return "There is no class at all: write an InferenceClass into the folder classes"
