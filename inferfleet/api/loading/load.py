"""Loading: files and folders to Documents, or every problem in them at once."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from inferfleet.api.documents import DocumentName, Documents
from inferfleet.api.kinds.base import API_VERSION
from inferfleet.api.kinds.inference_class import InferenceClass
from inferfleet.api.kinds.inference_cluster import InferenceCluster
from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.api.kinds.model_service import ModelService
from inferfleet.api.kinds.settings import Settings
from inferfleet.api.loading.files import Source, files_of, read
from inferfleet.api.loading.validation import validated
from inferfleet.api.problems import InvalidDocuments, Problem, of_severity
from inferfleet.api.wording import named, one_of, path_of, shown
from inferfleet.profiles.table import names

Document = InferenceClass | InferenceCluster | ModelDeployment | ModelService
_NAMESPACED = ("ModelDeployment", "ModelService")


@dataclass(frozen=True)
class Entry:
    source: Source
    document: Document | None  # None when it has problems
    catalogued: bool


@dataclass
class Shelf:
    """`complete` is False when something has no name that is known, such as a file of broken syntax."""

    complete: bool = True
    entries: dict[DocumentName, Entry] = field(default_factory=dict)

    def put(self, kind: str, key: str, entry: Entry) -> Problem | None:
        """Add a document, valid or not; an error when its name is taken, a notice when it hides a class."""
        there = self.entries.get((kind, key))
        if there is None or (there.catalogued and not entry.catalogued):
            self.entries[(kind, key)] = entry
        if there is None:
            return None
        first = there.source.where("metadata.name")
        if there.catalogued and not entry.catalogued:
            what = f"class {key} takes the place of the one in the catalogue at {first}"
            return Problem(what, "Rename it if that is not meant", "metadata.name", severity="notice")
        what = f"a second {kind} is named {key}; the first stands at {first}"
        return Problem(what, "Rename or remove one of the two", "metadata.name")

    def named(self, kind: str) -> set[str]:
        return {key for of, key in self.entries if of == kind}

    def documents(self, settings: Settings) -> Documents:
        """The documents, which must all be valid, sorted by key."""
        entries = dict(sorted(self.entries.items()))
        return Documents(
            settings,
            classes=_of(entries, InferenceClass),
            clusters=_of(entries, InferenceCluster),
            deployments=_of(entries, ModelDeployment),
            services=_of(entries, ModelService),
            positions={name: entry.source.positions() for name, entry in entries.items()},
            sources={name: entry.source.file for name, entry in entries.items()},
        )


def _of(entries: dict[tuple[str, str], Entry], model: type[Any]) -> dict[str, Any]:
    return {key: one.document for (_, key), one in entries.items() if isinstance(one.document, model)}


def _key(kind: str, data: Any) -> str | None:
    metadata = data.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
        return None
    if kind not in _NAMESPACED:
        return str(metadata["name"])
    return f"{metadata.get('namespace', 'default')}/{metadata['name']}"


def dangling(shelf: Shelf) -> Iterator[Problem]:
    """Every such name, in documents with other problems too.

    Classes are not missed while something could not be read: they may be there.
    """
    classes = shelf.named("InferenceClass")
    for (kind, cluster), entry in shelf.entries.items():
        if kind == "InferenceCluster":
            data = entry.source.text.data
            problems = [
                *_profile(cluster, data),
                *(_classes(cluster, data, classes) if shelf.complete else ()),
            ]
            yield from entry.source.located(problems, kind=kind, key=cluster)


def _profile(cluster: str, data: Any) -> Iterator[Problem]:
    wanted = _at(data, "spec", "serving", "profile")
    if isinstance(wanted, str) and wanted not in names():
        what = f"cluster {cluster} has profile {shown(wanted)!r}, which is not known"
        yield Problem(what, one_of(wanted, names(), "Known profiles"), "spec.serving.profile")


def _classes(cluster: str, data: Any, classes: set[str]) -> Iterator[Problem]:
    pools = _at(data, "spec", "nodePools")
    for place, pool in enumerate(pools if isinstance(pools, list) else ()):
        wanted, name = _at(pool, "className"), _at(pool, "name")
        if isinstance(wanted, str) and wanted and wanted not in classes:
            of = shown(name) if isinstance(name, str) else f"number {place + 1}"
            what = f"pool {of} of cluster {cluster} has class {shown(wanted)!r}, which is not known"
            path = path_of(("spec", "nodePools", place, "className"))
            yield Problem(what, one_of(wanted, classes, "Known classes"), path)


def _at(data: Any, *steps: str) -> Any:
    for step in steps:
        data = data.get(step) if isinstance(data, dict) else None
    return data


CATALOGUE = Path(__file__).resolve().parents[3] / "classes"

KINDS: dict[str, type[Document]] = {
    "InferenceClass": InferenceClass,
    "InferenceCluster": InferenceCluster,
    "ModelDeployment": ModelDeployment,
    "ModelService": ModelService,
}


def load(
    paths: Iterable[Path | str],
    *,
    settings: Settings | None = None,
    catalogue: Path | None = CATALOGUE,
    base: Path | None = None,
) -> Documents:
    """Everything that stands in the files and folders, and the classes of the catalogue (a folder), if any.

    A class may have the name of one of the catalogue: it takes its place, with a notice. Files below `base`
    (the current directory) are named relative to it. Raises InvalidDocuments with every problem.
    """
    base = (base or Path.cwd()).absolute()
    shelf = Shelf()
    known = files_of([catalogue] if catalogue is not None and catalogue.is_dir() else [])[0]
    own, problems = files_of(paths)
    of_catalogue = {file.resolve() for file in known}
    for file in known + [one for one in own if one.resolve() not in of_catalogue]:
        sources, unread = read(file, base)
        problems += unread
        shelf.complete &= not unread
        for source in sources:
            problems += _take(source, shelf, catalogued=file.resolve() in of_catalogue)
    problems += dangling(shelf)
    if of_severity(problems, "error"):
        raise InvalidDocuments(of_severity(problems, "error"))
    documents = shelf.documents(settings or Settings(stack="unnamed"))
    return replace(documents, notices=of_severity(problems, "notice"))


def _take(source: Source, shelf: Shelf, *, catalogued: bool) -> list[Problem]:
    """Put one document on the shelf; the problems it has."""
    data = source.text.data
    problems = list(source.flaws())
    lost = [flaw.path for flaw in source.text.flaws if flaw.lost]
    kind, unknown = _kind(data)
    if kind is None:
        shelf.complete = False
        return source.located(problems + [one for one in unknown if one.path not in lost])
    if catalogued and kind != "InferenceClass":
        what = f"a {kind} stands in the catalogue, which holds InferenceClasses only"
        problems.append(Problem(what, "Move it to the documents of a stack", "kind"))
    document, invalid = validated(KINDS[kind], data, ignore=lost)
    problems += invalid
    key = _key(kind, data)
    if key is None:
        shelf.complete = False
    elif taken := shelf.put(kind, key, Entry(source, document, catalogued)):
        problems.append(taken)
    return source.located(problems, kind=kind, key=key or "")


def _kind(data: Any) -> tuple[str | None, list[Problem]]:
    """The kind of a document, told by apiVersion and kind together, or what keeps it from being known."""
    if not isinstance(data, dict):
        what = f"a document must be a map with apiVersion and kind, not {named(data)}"
        return None, [Problem(what, "Write apiVersion, kind, metadata and spec")]
    problems = []
    version, kind = data.get("apiVersion"), data.get("kind")
    if version != API_VERSION:
        what = (
            "field apiVersion is missing" if version is None else f"apiVersion {named(version)} is not known"
        )
        problems.append(Problem(what, f"Write apiVersion: {API_VERSION}", "apiVersion"))
    if not isinstance(kind, str) or kind not in KINDS:
        what = "field kind is missing" if kind is None else f"kind {named(kind)} is not known"
        next_step = one_of(kind if isinstance(kind, str) else "", KINDS, "Known kinds")
        problems.append(Problem(what, next_step, "kind"))
    return (None if problems else str(kind)), problems
