"""Which kind a document is, and of which system where it is none of ours."""

from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from typing import Any

from inferfleet.documents.kinds.base import API_VERSION
from inferfleet.documents.loading.files import Source
from inferfleet.documents.problems import Problem
from inferfleet.documents.wording import named, nearest, one_of, shown
from inferfleet.documents.yaml import YamlMistake

# Systems that people come from, by the end of their API groups. Others are named by their group.
_SYSTEMS = {
    "modelplane.ai": "Modelplane",
    "otterscale.io": "OtterScale",
    "serving.volcano.sh": "Kthena",
    "kserve.io": "KServe",
    "llm-d.ai": "llm-d",
}
_SECRET = (
    "Remove it, and set the values: "
    """pulumi config set --secret --path 'inferfleet:secrets["NAMESPACE/NAME"].KEY'"""
)


def kind_of(data: Any, kinds: Collection[str]) -> tuple[str | None, list[Problem]]:
    """Return the kind of a document by its apiVersion and kind together, or None and why it is not known."""
    if not isinstance(data, dict):
        what = f"a document must be a map with apiVersion and kind, not {named(data)}"
        return None, [Problem(what, "Write apiVersion, kind, metadata and spec")]
    version, kind = data.get("apiVersion"), data.get("kind")
    if (foreign := _foreign(version, kind, kinds)) is not None:
        return None, [foreign]
    if version is None and kind is None and (no_document := _no_document(data)) is not None:
        return None, [no_document]
    problems = []
    if version != API_VERSION:
        wrong = f"apiVersion {named(version)} is not supported"
        what = _missing("apiVersion", data) if version is None else wrong
        problems.append(Problem(what, f"Write apiVersion: {API_VERSION}", "apiVersion"))
    if not isinstance(kind, str) or kind not in kinds:
        what = _missing("kind", data) if kind is None else f"kind {named(kind)} is not known"
        next_step = one_of(kind if isinstance(kind, str) else "", kinds, "Known kinds")
        problems.append(Problem(what, next_step, "kind"))
    return (None if problems else str(kind)), problems


def _missing(name: str, data: dict[str, Any]) -> str:
    close = nearest(name, islice(data, 20))
    return f"field {name} is missing" + (f", and {shown(close)} is not the same" if close else "")


def _foreign(version: Any, kind: Any, kinds: Collection[str]) -> Problem | None:
    """Return the problem of a document of another system, None for what may be meant as one of ours."""
    if not isinstance(version, str) or not isinstance(kind, str) or not kind or version == API_VERSION:
        return None
    group, of_group, _ = version.partition("/")
    system = next((system for end, system in _SYSTEMS.items() if f".{group}".endswith(f".{end}")), "")
    if not system:
        ours = kind in kinds or nearest(version, [API_VERSION]) is not None
        if ours or not (of_group or version == "v1"):
            return None
        system = shown(group) if of_group else "Kubernetes"
    step = _SECRET if (version, kind) == ("v1", "Secret") else "Keep it out of this folder"
    return Problem(f"{shown(kind)} is a kind of {system}, which inferfleet does not read", step, "kind")


def _no_document(data: dict[str, Any]) -> Problem | None:
    """Return the problem of a map that is a file of another tool, as far as its fields tell."""
    if any(nearest(key, ("apiVersion", "kind")) for key in islice(data, 10)):
        return None
    if data.keys() & {"metadata", "spec"} or len(data) < 2:
        return None
    return Problem(
        f"this is no document: it has {named_keys(data)}, and neither apiVersion nor kind",
        f"Begin it with apiVersion: {API_VERSION} and kind, or keep it out of this folder",
    )


def named_keys(data: dict[str, Any]) -> str:
    """Return the first keys of a map, for a message."""
    first = [shown(str(key), 30) for key in list(data)[:3]]
    return ", ".join(first) + (", ..." if len(data) > len(first) else "")


def text_problems(source: Source) -> Iterator[Problem]:
    """Yield what in the text could not be read. Where fields of a whole document are repeated, that is one
    problem: the line `---` between two documents is missing.
    """
    starts = _joined(source.text.mistakes)
    for mistake in starts:
        what = f"a second document begins here ({shown(mistake.path)}), without a line --- before it"
        yield Problem(
            what, "Put a line with --- alone before this one", mistake.path, source.at(mistake.line)
        )
    for problem, mistake in zip(source.problems(), source.text.mistakes, strict=True):
        if not (starts and _begins(mistake)):
            yield problem


def _joined(mistakes: Iterable[YamlMistake]) -> list[YamlMistake]:
    """Return the first repeated field of each document that follows another one without `---`."""
    repeats = [mistake for mistake in mistakes if _begins(mistake)]
    if len({mistake.path for mistake in repeats}) < 2:
        return []  # a single field twice is a field twice
    starts: list[YamlMistake] = []
    fields: set[str] = set()
    for mistake in sorted(repeats, key=lambda mistake: mistake.line):
        if mistake.path in fields or not starts:
            starts.append(mistake)
            fields = set()
        fields.add(mistake.path)
    return starts


def _begins(mistake: YamlMistake) -> bool:
    return mistake.repeats and mistake.path in ("apiVersion", "kind", "metadata", "spec")
