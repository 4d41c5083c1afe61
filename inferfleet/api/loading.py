"""Loading: files and folders to Documents, or every problem in them at once."""

from collections.abc import Iterable
from pathlib import Path

from inferfleet.api.document import API_VERSION
from inferfleet.api.document_files import Source, files_of, read
from inferfleet.api.documents import Documents
from inferfleet.api.inference_class import InferenceClass
from inferfleet.api.inference_cluster import InferenceCluster
from inferfleet.api.model_deployment import ModelDeployment
from inferfleet.api.model_service import ModelService
from inferfleet.api.nearest import one_of
from inferfleet.api.problems import InvalidDocuments, Problem, Where
from inferfleet.api.references import dangling
from inferfleet.api.settings import Settings
from inferfleet.api.shelf import Document, Shelf
from inferfleet.api.validation import named, validated

CATALOGUE = Path(__file__).resolve().parents[2] / "classes"

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
    if problems:
        raise InvalidDocuments(problems)
    return shelf.documents(settings or Settings(stack="unnamed"))


def _take(source: Source, shelf: Shelf, *, catalogued: bool) -> list[Problem]:
    """Put one document on the shelf; the problems it has."""
    text = source.text
    problems = [
        Problem(flaw.what, flaw.next_step, flaw.path, Where(source.shown, flaw.line)) for flaw in text.flaws
    ]
    lost = [flaw.path for flaw in text.flaws if flaw.lost]
    kind, unknown = _kind(source)
    if kind is None:
        shelf.complete = False
        return problems + [one for one in unknown if one.path not in lost]
    if catalogued and kind != "InferenceClass":
        what = f"a {kind} stands in the catalogue, which holds InferenceClasses only"
        problems.append(Problem(what, "Move it to the documents of a stack", "kind", source.where("kind")))
    document, found = validated(KINDS[kind], text.data, source.where, ignore=lost)
    return problems + found + shelf.put(kind, source, document, catalogued=catalogued)


def _kind(source: Source) -> tuple[str | None, list[Problem]]:
    """The kind of a document, told by apiVersion and kind together, or what keeps it from being known."""
    data = source.text.data
    if not isinstance(data, dict):
        what = f"a document must be a map with apiVersion and kind, not {named(data)}"
        return None, [Problem(what, "Write apiVersion, kind, metadata and spec", "", source.where())]
    problems = []
    version, kind = data.get("apiVersion"), data.get("kind")
    if version != API_VERSION:
        what = (
            "field apiVersion is missing" if version is None else f"apiVersion {named(version)} is not known"
        )
        problems.append(
            Problem(what, f"Write apiVersion: {API_VERSION}", "apiVersion", source.where("apiVersion"))
        )
    if not isinstance(kind, str) or kind not in KINDS:
        what = "field kind is missing" if kind is None else f"kind {named(kind)} is not known"
        next_step = one_of(kind if isinstance(kind, str) else "", KINDS, "Known kinds")
        problems.append(Problem(what, next_step, "kind", source.where("kind")))
    return (None if problems else str(kind)), problems
