"""All documents read so far, valid or not, by kind and name."""

from dataclasses import dataclass, field
from typing import Any

from inferfleet.documents.documents import DocumentName, Documents
from inferfleet.documents.kinds.inference_class import InferenceClass
from inferfleet.documents.kinds.inference_cluster import InferenceCluster
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.documents.kinds.model_service import ModelService
from inferfleet.documents.kinds.policy import Policy, Quota, Waiver
from inferfleet.documents.kinds.settings import Settings
from inferfleet.documents.loading.files import Source
from inferfleet.documents.problems import Problem

Document = InferenceClass | InferenceCluster | ModelDeployment | ModelService | Quota | Policy | Waiver


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
