"""Parts of a pod's spec by their places, and a contradiction between one of them and something else."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from inferfleet.documents.pods.template import ENGINE
from inferfleet.documents.problems import Steps

Spec = Mapping[str, Any]


@dataclass(frozen=True)
class Contradiction:
    """What a pod says at `at`, which begins with `spec`, and what it contradicts."""

    at: Steps
    theirs: str
    ours: str
    next_step: str

    @property
    def what(self) -> str:
        return f"{self.theirs}, but {self.ours}"


def containers(spec: Spec) -> Iterator[tuple[Steps, dict[str, Any]]]:
    """Yield every container of a pod's spec with its place."""
    for kind in ("containers", "initContainers"):
        for i, container in enumerate(spec.get(kind, [])):
            yield ("spec", kind, i), container


def is_engine(at: Steps, container: Mapping[str, Any]) -> bool:
    """Return whether the container at this place is the one that serves the model."""
    return bool(container["name"] == ENGINE) and at[1] == "containers"
