"""The documents found so far, by kind and key: each name once."""

from dataclasses import dataclass, field
from typing import Any

from inferfleet.api.document_files import Source
from inferfleet.api.documents import Documents
from inferfleet.api.inference_class import InferenceClass
from inferfleet.api.inference_cluster import InferenceCluster
from inferfleet.api.model_deployment import ModelDeployment
from inferfleet.api.model_service import ModelService
from inferfleet.api.problems import Problem
from inferfleet.api.settings import Settings

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
    entries: dict[tuple[str, str], Entry] = field(default_factory=dict)
    notices: list[Problem] = field(default_factory=list)

    def put(self, kind: str, source: Source, document: Document | None, *, catalogued: bool) -> list[Problem]:
        """Add a document, valid or not; a problem when its name is taken."""
        key = _key(kind, source.text.data)
        if key is None:
            self.complete = False
            return []
        there = self.entries.get((kind, key))
        here = source.where("metadata.name")
        if there is not None:
            first = there.source.where("metadata.name")
            if not there.catalogued or catalogued:
                what = f"a second {kind} is named {key}; the first stands at {first}"
                return [Problem(what, "Rename or remove one of the two", "metadata.name", here)]
            what = f"class {key} takes the place of the one in the catalogue at {first}"
            next_step = "Rename it if that is not meant"
            self.notices.append(Problem(what, next_step, "metadata.name", here))
        self.entries[(kind, key)] = Entry(source, document, catalogued)
        return []

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
            notices=tuple(self.notices),
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
