"""What pods say while an update waits for their workload: how they ended, why they do not start.

Only pods of the latest template are meant. Old ones serve on while a workload rolls, and what ended them
some day is no news. Pods are marked with their template: those of groups with a revision, and the latest is
that of the group with the highest number. Those of a Deployment are marked with a hash, and the latest are
those whose containers are as the update writes them. Where that holds of several templates, or of none
because a webhook changes pods, it is the template whose first known pod was made last: old pods are made anew
beside new ones where they are evicted or more are wanted. So an old pod counts as the latest where all of
before it were gone before anybody listened, and what tells the templates apart is not in `_TELLING`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from inferfleet.clusters.status.groups import ends_of, held_up, latest_revision, number_of, revision_of
from inferfleet.clusters.status.pods import is_ready, not_started
from inferfleet.clusters.status.routing import selected
from inferfleet.desired.values import KubeObject
from inferfleet.documents.pods.template import ENGINE
from inferfleet.fleet import names
from inferfleet.serving.comparison import differing
from inferfleet.serving.picker import CONTAINER as PICKER
from inferfleet.serving.workload import WORKER_SET

_HASH = "pod-template-hash"
# Fields of containers that nobody adds to when a pod is made, as is done with mounts and tolerations.
_TELLING = ("name", "image", "command", "args", "env")
# Numbers but exit codes: of times, processes and addresses, which differ each time an engine ends alike.
_NUMBERS = re.compile(r"(?<!exit code )\b\d[\d:.,]*")

Event = tuple[str, dict[str, Any]]


class Pods(NamedTuple):
    """Pods of many workloads: the label that tells of which, the selector of all, their main container."""

    label: str
    every: str
    main: str


ENGINES = Pods(names.DEPLOYMENT, names.DEPLOYMENT, ENGINE)
PICKERS = Pods(names.PICKER, f"{names.PICKER},{names.MANAGED_BY}={names.MANAGER}", PICKER)


def pods_of(workload: KubeObject) -> Pods:
    """Return which pods are asked for to hear those of a workload."""
    return ENGINES if names.PLACEMENT in workload.manifest["metadata"]["labels"] else PICKERS


@dataclass(frozen=True)
class _End:
    edition: str
    sentences: tuple[str, ...]


class Heard:
    """What the pods of a workload said: how each ended the last time, and which of them hold it up now.

    One thread takes in, and another reads. What is read is never changed, but replaced.
    """

    def __init__(self, workload: KubeObject) -> None:
        self.workload = workload
        self.asked = pods_of(workload)
        manifest = workload.manifest
        if workload.kind == WORKER_SET:
            self._labels = names.group_selector(workload.kubernetes_name)
        else:
            self._labels = manifest["spec"]["selector"]["matchLabels"]
        self._ends: Mapping[str, _End] = {}
        self._pods: tuple[dict[str, Any], ...] = ()
        # Those that are gone too, by name.
        self._known: Mapping[str, dict[str, Any]] = {}

    @property
    def value(self) -> str:
        """Return the value of the label by which pods are asked for."""
        return str((self.workload.manifest["metadata"]["labels"] | self._labels)[self.asked.label])

    def see(self, events: Iterable[Event]) -> None:
        """Take in how pods ended. Those of groups that are made anew have the names of those before."""
        ends = dict(self._ends)
        for _, pod in events:
            if self._has(pod) and not is_ready(pod) and (sentences := ends_of(pod)):
                ends[pod["metadata"]["name"]] = _End(_edition(pod), sentences)
        self._ends = ends

    def look(self, pods: Iterable[dict[str, Any]]) -> None:
        """Take in the pods that there are."""
        self._pods = tuple(pod for pod in pods if self._has(pod))
        self._known = {**self._known, **{pod["metadata"]["name"]: pod for pod in self._pods}}

    def told(self) -> Iterator[tuple[str, str]]:
        """Yield how pods ended and why they do not start, with what is the same when it happens again."""
        latest = self._latest()
        for name, end in self._of_latest(latest):
            for sentence in end.sentences:
                yield _NUMBERS.sub("", sentence), f"pod {name}: {sentence}"
        for pod in self._pods:
            if _edition(pod) == latest:
                for container, sentence in not_started(pod):
                    yield f"{container} does not start", f"pod {pod['metadata']['name']}: {sentence}"

    def waits(self, now: datetime) -> Iterator[str]:
        """Yield which pods are not ready, and why, and how they ended before where that does not say it."""
        latest = self._latest()
        held = list(
            held_up((pod for pod in self._pods if _edition(pod) == latest), now, main=self.asked.main)
        )
        yield from held
        for name, end in self._of_latest(latest):
            words = [each for each in end.sentences if not any(_same(each, said) for said in held)]
            if words:
                yield f"{name} before: {'; '.join(words)}"

    def serving(self) -> int:
        """Return how many pods of before are ready."""
        latest = self._latest()
        return sum(is_ready(pod) and _edition(pod) != latest for pod in self._pods)

    def _of_latest(self, latest: str) -> list[tuple[str, _End]]:
        return sorted((name, end) for name, end in self._ends.items() if end.edition == latest)

    def _latest(self) -> str:
        """Return the mark of the latest template that there are pods of."""
        known, pods, spec = self._known, self._pods, self.workload.manifest["spec"]
        alive = {pod["metadata"]["name"]: pod for pod in pods if "deletionTimestamp" not in pod["metadata"]}
        if self.workload.kind == WORKER_SET:
            # A group that ended is gone until it is made anew; those above their number stay away.
            return latest_revision(
                pod
                for name, pod in known.items()
                if name in alive or number_of(pod, names.LWS_GROUP) < spec["replicas"]
            )
        written = {_edition(pod) for pod in alive.values() if _is_of(spec["template"], pod)}
        first: dict[str, tuple[str, str]] = {}
        for pod in sorted(known.values(), key=_created):
            first.setdefault(_edition(pod), (_created(pod), _edition(pod)))
        return max(written or map(_edition, alive.values()), key=first.__getitem__, default="")

    def _has(self, pod: Mapping[str, Any]) -> bool:
        if not selected(pod, self.workload.namespace or "", self._labels):
            return False
        return (names.LWS_NAME in pod["metadata"]["labels"]) == (self.workload.kind == WORKER_SET)


def _edition(pod: Mapping[str, Any]) -> str:
    """Return the mark of a pod's template."""
    labels = pod["metadata"].get("labels") or {}
    return str(labels.get(_HASH) or revision_of(pod))


def _created(pod: Mapping[str, Any]) -> str:
    return str(pod["metadata"].get("creationTimestamp", ""))


def _is_of(template: Mapping[str, Any], pod: Mapping[str, Any]) -> bool:
    """Return whether the labels, annotations and containers of a pod are those of a template."""
    wanted = {"metadata": template.get("metadata") or {}, "spec": _telling(template)}
    return not any(differing(wanted, {"metadata": pod["metadata"], "spec": _telling(pod)}))


def _telling(made: Mapping[str, Any]) -> dict[str, Any]:
    """Return of the containers of a pod or template what tells it from others."""
    spec = made.get("spec") or {}
    return {
        key: [
            {field: container[field] for field in _TELLING if field in container}
            for container in spec.get(key) or ()
        ]
        for key in ("containers", "initContainers")
    }


def _same(end: str, said: str) -> bool:
    """Return whether a pod that waits says already how its container ended, in other words before it."""
    return end.partition(" ")[2] in said
