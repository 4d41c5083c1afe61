"""What pods of engines and of endpoint pickers say while an update waits for them.

The provider knows no more of a LeaderWorkerSet than whether it is available, and what it says of Deployments
is a status line, which nobody sees in the log of a job. Their pods say why they are not ready, and the
controller of LeaderWorkerSets deletes them, with their words, as soon as one has restarted. So they are
watched, by one request at a time per cluster for all engines that are waited for there, and one for all
pickers. Credentials that may not read pods of a whole cluster ask for those of one namespace after another.

No update can end earlier because of what is said. The provider waits until its time is over or the whole
update is cancelled (pulumi-kubernetes v4.25.0, pkg/await/deployment.go: Progressing=False is told and waited
through), and the engine waits for it also when the program has failed (pulumi v3.250.0,
pkg/resource/deploy/step.go calls providers with a context of their own).
"""

import asyncio
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

from inferfleet.clusters.connections.api import Api, Event, RefusedError
from inferfleet.clusters.connections.ask import ask
from inferfleet.clusters.status.pods import (
    ends_of,
    held_up,
    is_ready,
    latest_revision,
    not_started,
    number_of,
    revision_of,
)
from inferfleet.clusters.status.routing import selected
from inferfleet.desired.values import Connection, Desired, KubeObject, Listen, Say
from inferfleet.documents.pods.template import ENGINE
from inferfleet.documents.problems import Problem
from inferfleet.fleet import names
from inferfleet.serving.comparison import differences
from inferfleet.serving.picker import CONTAINER as PICKER
from inferfleet.serving.workload import WORKER_SET

# Seconds that one request follows the pods: so late it may be known that another workload is waited for.
_EVERY = 2
# Seconds between two reports of what was seen.
_REPORT_EVERY = 1.0
# Seconds before the first report: until then the newest pods may be those of an update that
# failed before this one.
_FIRST = 5.0
# Seconds after which a client is made again: tokens end, and a cluster that did not answer may be back.
_SPELL = 300.0
_PAUSE = 10.0
# Seconds before an update gives up at which it is reported what it waited for; later the program has ended.
_BEFORE = 2.0
# More names than that, of 47 characters each, make an address that is too long for some proxies.
_MOST_NAMES = 40
Question = Callable[[Connection, Api], None]
_HASH = "pod-template-hash"
# Fields of containers that nobody adds to when a pod is made, as is done with mounts and tolerations.
_TELLING = ("name", "image", "command", "args", "env")
# Numbers but exit codes: of times, processes and addresses, which differ each time an engine ends alike.
_NUMBERS = re.compile(r"(?<!exit code )\b\d[\d:.,]*")


def pod_listener(desired: Desired, kubeconfigs: Mapping[str, str], *, container_api: str) -> Listen:
    """Return the function that listens to the pods of a workload until it is cancelled.

    `kubeconfigs` holds texts by existing cluster. The Container API at the address `container_api` says where
    the others are.
    """

    def put(only: Desired, question: Question) -> Problem | None:
        answers = ask(only, kubeconfigs, question, container_api=container_api, seconds=_SPELL)
        return next((answer for answer in answers.values() if isinstance(answer, Problem)), None)

    listeners: dict[str, _Listener] = {}
    reported: set[str] = set()
    for cluster in desired.clusters:
        for pods in (ENGINES, PICKERS):
            one_cluster = replace(desired, clusters=(cluster,))
            listener = _Listener(partial(put, one_cluster), cluster.connection.cluster, reported)
            listeners |= {
                obj.key: listener for obj in cluster.objects if obj.watched and pods_of(obj) == pods
            }

    async def listen(workload: KubeObject, warn: Say, fail: Say) -> None:
        watch = PodWatch(workload)
        listener = listeners[workload.key]
        listener.begin(watch)
        try:
            await _tell(watch, listener.unfollowed, warn, fail)
        finally:
            listener.end(watch)

    return listen


class PodSelection(NamedTuple):
    """Pods of many workloads: the label that tells of which, the selector of all, their main container."""

    label: str
    every: str
    main: str


ENGINES = PodSelection(names.DEPLOYMENT, names.DEPLOYMENT, ENGINE)
PICKERS = PodSelection(names.PICKER, f"{names.PICKER},{names.MANAGED_BY}={names.MANAGER}", PICKER)


def pods_of(workload: KubeObject) -> PodSelection:
    """Return which pods are asked for to hear those of a workload."""
    return ENGINES if names.PLACEMENT in workload.manifest["metadata"]["labels"] else PICKERS


@dataclass(frozen=True)
class _End:
    """How a pod ended the last time, and the mark of its template."""

    template_mark: str
    sentences: tuple[str, ...]


class PodWatch:
    """What the pods of a workload said: how each ended the last time, and which of them hold it up now.

    Only pods of the latest template are meant. Old ones serve on while a workload rolls, and what ended them
    some day is no news. Pods are marked with their template: those of groups with a revision, and the latest
    is that of the group with the highest number. Those of a Deployment are marked with a hash, and the latest
    are those whose containers are as the update writes them. Where that holds of several templates, or of
    none because a webhook changes pods, it is the template whose first known pod was made last: old pods are
    made anew beside new ones where they are evicted or more are wanted. So an old pod counts as the latest
    where all of before it were gone before anybody listened, and what tells the templates apart is not in
    `_TELLING`.

    One thread takes in, and another reads. What is read is never changed, but replaced.
    """

    def __init__(self, workload: KubeObject) -> None:
        self.workload = workload
        self.selection = pods_of(workload)
        manifest = workload.manifest
        if workload.kind == WORKER_SET:
            self._labels = names.group_selector(workload.kubernetes_name)
        else:
            self._labels = manifest["spec"]["selector"]["matchLabels"]
        self._ends: Mapping[str, _End] = {}
        self._pods: tuple[dict[str, Any], ...] = ()
        # By name, those that are gone too.
        self._seen_pods: Mapping[str, dict[str, Any]] = {}

    @property
    def value(self) -> str:
        """Return the value of the label by which pods are asked for."""
        return str((self.workload.manifest["metadata"]["labels"] | self._labels)[self.selection.label])

    def take_events(self, events: Iterable[Event]) -> None:
        """Take in how pods ended. Those of groups that are made anew have the names of those before."""
        ends = dict(self._ends)
        for _, pod in events:
            if self._has(pod) and not is_ready(pod) and (sentences := ends_of(pod)):
                ends[pod["metadata"]["name"]] = _End(_template_mark(pod), sentences)
        self._ends = ends

    def take_pods(self, pods: Iterable[dict[str, Any]]) -> None:
        """Take in the pods that there are."""
        self._pods = tuple(pod for pod in pods if self._has(pod))
        self._seen_pods = {**self._seen_pods, **{pod["metadata"]["name"]: pod for pod in self._pods}}

    def sentences(self) -> Iterator[tuple[str, str]]:
        """Yield how pods ended and why they do not start, with what is the same when it happens again."""
        latest = self._latest_template_mark()
        for name, end in self._of_latest(latest):
            for sentence in end.sentences:
                yield _NUMBERS.sub("", sentence), f"pod {name}: {sentence}"
        for pod in self._pods:
            if _template_mark(pod) == latest:
                for container, sentence in not_started(pod):
                    yield f"{container} does not start", f"pod {pod['metadata']['name']}: {sentence}"

    def waits(self, now: datetime) -> Iterator[str]:
        """Yield which pods are not ready, and why, and how they ended before where that does not say it."""
        latest = self._latest_template_mark()
        held = list(
            held_up(
                (pod for pod in self._pods if _template_mark(pod) == latest), now, main=self.selection.main
            )
        )
        yield from held
        for name, end in self._of_latest(latest):
            words = [
                sentence for sentence in end.sentences if not any(_same(sentence, said) for said in held)
            ]
            if words:
                yield f"{name} before: {'; '.join(words)}"

    def serving(self) -> int:
        """Return how many pods of before are ready."""
        latest = self._latest_template_mark()
        return sum(is_ready(pod) and _template_mark(pod) != latest for pod in self._pods)

    def _of_latest(self, latest: str) -> list[tuple[str, _End]]:
        return sorted((name, end) for name, end in self._ends.items() if end.template_mark == latest)

    def _latest_template_mark(self) -> str:
        """Return the mark of the latest template that there are pods of, "" where there are none.

        Of a LeaderWorkerSet: the revision of its highest group. Of a Deployment: the mark of live pods that
        match the desired template; where several or none match, the one whose first pod is newest.
        """
        live = {
            pod["metadata"]["name"]: pod for pod in self._pods if "deletionTimestamp" not in pod["metadata"]
        }
        if self.workload.kind == WORKER_SET:
            return self._revision_of_highest_group(live)
        return self._mark_of_latest_pods(live)

    def _revision_of_highest_group(self, live: Mapping[str, dict[str, Any]]) -> str:
        replicas = self.workload.manifest["spec"]["replicas"]
        # A group that ended is gone until it is made anew; those above their number stay away.
        return latest_revision(
            pod
            for name, pod in self._seen_pods.items()
            if name in live or number_of(pod, names.LWS_GROUP) < replicas
        )

    def _mark_of_latest_pods(self, live: Mapping[str, dict[str, Any]]) -> str:
        template = self.workload.manifest["spec"]["template"]
        matching = {_template_mark(pod) for pod in live.values() if _is_of(template, pod)}
        first_pod: dict[str, tuple[str, str]] = {}
        for pod in sorted(self._seen_pods.values(), key=_created):
            first_pod.setdefault(_template_mark(pod), (_created(pod), _template_mark(pod)))
        candidates = matching or {_template_mark(pod) for pod in live.values()}
        return max(candidates, key=first_pod.__getitem__, default="")

    def _has(self, pod: Mapping[str, Any]) -> bool:
        if not selected(pod, self.workload.namespace or "", self._labels):
            return False
        return (names.LWS_NAME in pod["metadata"]["labels"]) == (self.workload.kind == WORKER_SET)


def _template_mark(pod: Mapping[str, Any]) -> str:
    """Return the mark of a pod's template."""
    labels = pod["metadata"].get("labels") or {}
    return str(labels.get(_HASH) or revision_of(pod))


def _created(pod: Mapping[str, Any]) -> str:
    return str(pod["metadata"].get("creationTimestamp", ""))


def _is_of(template: Mapping[str, Any], pod: Mapping[str, Any]) -> bool:
    """Return whether the labels, annotations and containers of a pod are those of a template."""
    wanted = {"metadata": template.get("metadata") or {}, "spec": _telling(template)}
    return not any(differences(wanted, {"metadata": pod["metadata"], "spec": _telling(pod)}))


def _telling(pod_or_template: Mapping[str, Any]) -> dict[str, Any]:
    """Return of the containers of a pod or template what tells it from others."""
    spec = pod_or_template.get("spec") or {}
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


class _Listener:
    """Looks at pods of a cluster in a thread of its own, while any workload of some kind is waited for.

    Listeners of a stack share `reported`, the clusters whose pods could not be followed and which were named.
    """

    def __init__(self, put: Callable[[Question], Problem | None], cluster: str, reported: set[str]) -> None:
        self._put = put
        self._cluster, self._reported = cluster, reported
        self._problem: Problem | None = None
        self._by_namespace = False
        self._lock = threading.Lock()
        self._watches: tuple[PodWatch, ...] = ()
        self._runs = False

    def begin(self, watch: PodWatch) -> None:
        with self._lock:
            self._watches += (watch,)
            if not self._runs:
                self._runs = True
                threading.Thread(target=self._run, daemon=True, name="listen").start()

    def end(self, watch: PodWatch) -> None:
        with self._lock:
            self._watches = tuple(begun for begun in self._watches if begun is not watch)

    def unfollowed(self) -> Problem | None:
        """Return why the pods could not be followed, once for all workloads of the cluster."""
        with self._lock:
            problem = self._problem
        if self._cluster in self._reported or problem is None:
            return None
        self._reported.add(self._cluster)
        what = f"what pods say while they are waited for is not known, and is asked for again: {problem.what}"
        return replace(problem, what=what, severity="warning")

    def _run(self) -> None:
        while True:
            problem = self._put(self._follow_pods)
            with self._lock:
                self._problem = problem
                self._runs = bool(self._watches)
                if not self._runs:
                    return
            time.sleep(_PAUSE)

    def _follow_pods(self, _: Connection, api: Api) -> None:
        """Follow the pods until it is over, or until a new client is due."""
        until = time.monotonic() + _SPELL - _PAUSE
        while (watches := self._watches) and time.monotonic() < until:
            try:
                self._follow_pods_of(watches, api, until)
            except RefusedError as refused:
                if refused.status != 403 or self._by_namespace:
                    raise
                self._by_namespace = True

    def _follow_pods_of(self, watches: tuple[PodWatch, ...], api: Api, until: float) -> None:
        """Follow the pods until others are waited for."""
        paths, query = self._paths(watches), _query(watches)
        pods: dict[tuple[str, str], dict[str, Any]] = {}
        # Of each path what became of its pods, one after another.
        for seen in zip(*(api.follow(path, query=query, seconds=_EVERY) for path in paths), strict=False):
            events = tuple(chain.from_iterable(seen))
            for kind, pod in events:
                key = pod["metadata"]["namespace"], pod["metadata"]["name"]
                if kind == "DELETED":
                    pods.pop(key, None)
                else:
                    pods[key] = pod
            followed, watches = watches, self._watches
            for watch in watches:
                # One that is new here has not seen the events before.
                watch.take_events(events if watch in followed else (("ADDED", pod) for pod in pods.values()))
                watch.take_pods(pods.values())
            if not watches or time.monotonic() >= until:
                break
            if (self._paths(watches), _query(watches)) != (paths, query):
                break

    def _paths(self, watches: Iterable[PodWatch]) -> list[str]:
        if not self._by_namespace:
            return ["/api/v1/pods"]
        namespaces = {watch.workload.namespace for watch in watches}
        return [f"/api/v1/namespaces/{namespace}/pods" for namespace in sorted(filter(None, namespaces))]


def _query(watches: Iterable[PodWatch]) -> dict[str, str]:
    """Return the query for the pods of workloads that are asked for together."""
    [(label, every, _)] = {watch.selection for watch in watches}
    values = sorted({watch.value for watch in watches})
    return {"labelSelector": every if len(values) > _MOST_NAMES else f"{label} in ({','.join(values)})"}


async def _tell(watch: PodWatch, unfollowed: Callable[[], Problem | None], warn: Say, fail: Say) -> None:
    """Tell what pods say, each thing once, and before the update gives up what it waited for.

    `unfollowed` says why pods could not be followed.
    """
    thing = f"{watch.workload.kind} {watch.workload.name}"
    until = time.monotonic() + (watch.workload.timeout or float("inf")) - _BEFORE
    said: set[str] = set()
    await asyncio.sleep(_FIRST)
    while (seconds_left := until - time.monotonic()) > 0:
        if problem := unfollowed():
            warn(str(problem))
        for key, sentence in watch.sentences():
            if key not in said:
                how_long = "" if said else f". {_meanwhile(seconds_left + _BEFORE, watch.serving())}"
                warn(f"{thing}: {sentence.removesuffix('.') if how_long else sentence}{how_long}")
                said.add(key)
        await asyncio.sleep(_REPORT_EVERY)
    if sentences := list(watch.waits(datetime.now(UTC))):
        fail(f"{thing} is not available after {watch.workload.timeout} s: {'; '.join(sentences)}")


def _meanwhile(seconds_left: float, serving: int) -> str:
    """Return for how long an update waits still, what serves until then, and how it is ended before.

    The state does not learn of what a cancelled update wrote (readLiveObject in pulumi-kubernetes v4.25.0,
    pkg/provider/provider.go, asks with the context that is cancelled), so a document that is as it was before
    would change nothing without `--refresh`.
    """
    if seconds_left == float("inf"):
        waits = "The update waits until it is ready"
    else:
        time_left = f"{seconds_left / 60:.0f} minutes" if seconds_left >= 120 else f"{seconds_left:.0f} s"
        waits = f"The update waits {time_left} more"
    pods = "1 pod of before serves" if serving == 1 else f"{serving} pods of before serve"
    return (
        f"{waits}{f', and {pods} meanwhile' if serving else ''}. "
        "To end it now, press Ctrl-C once; then mend the document and run `pulumi up --refresh`"
    )
