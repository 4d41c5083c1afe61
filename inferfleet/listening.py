"""What pods say while an update waits for them: of workers of many pods, and of pickers with replicas.

The provider knows no more of a LeaderWorkerSet than whether it is available, nor of a Deployment of which it
waits for one ready pod. Their pods say why they are not, and the controller of LeaderWorkerSets deletes them,
with their words, as soon as one has restarted. So they are watched, by one request at a time per cluster for
all LeaderWorkerSets that are waited for there, and one for all pickers.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from inferfleet.api.kinds.containers import ENGINE
from inferfleet.api.problems import Problem
from inferfleet.desired.values import Connection, Desired, KubeObject, Listen, Say
from inferfleet.fleet import names
from inferfleet.manifests.picker.objects import CONTAINER as PICKER
from inferfleet.manifests.worker_set import KIND as WORKER_SET
from inferfleet.reach.api import Api, Event
from inferfleet.reach.at_once import ask
from inferfleet.status.groups import held_up, last_end

# Seconds that one request follows the pods: so late it may be known that another workload is waited for.
_EVERY = 2
# Seconds between two times at which what was seen is told.
_TOLD_EVERY = 1.0
# Seconds after which a client is made again: tokens end, and a cluster that did not answer may be back.
_SPELL = 300.0
_PAUSE = 10.0
# Seconds before an update gives up at which it is told what it waited for; later the program has ended.
_BEFORE = 2.0
# More names than that, of 47 characters each, make an address that is too long for some proxies.
_MOST_NAMES = 40

Question = Callable[[Connection, Api], None]
_Key = tuple[str | None, str]
# By kind: the label by which pods name their workload, a selector of all such pods, their main container.
_PODS = {
    WORKER_SET: (names.LWS_NAME, names.LWS_NAME, ENGINE),
    "Deployment": (names.PICKER, f"{names.PICKER},{names.MANAGED_BY}={names.MANAGER}", PICKER),
}


def listening(desired: Desired, kubeconfigs: Mapping[str, str], *, container_api: str) -> Listen:
    """Return the function that listens to the pods of a workload until it is cancelled.

    `kubeconfigs` holds texts by existing cluster. The Container API at the address `container_api` says where
    the others are.
    """

    def put(asked: Desired, question: Question) -> Problem | None:
        answers = ask(asked, kubeconfigs, question, container_api=container_api, seconds=_SPELL)
        return next((answer for answer in answers.values() if isinstance(answer, Problem)), None)

    listeners: dict[str, _Listener] = {}
    for cluster in desired.clusters:
        for kind in _PODS:
            listener = _Listener(partial(put, replace(desired, clusters=(cluster,))))
            of_kind = (made for made in cluster.objects if made.heard and made.kind == kind)
            listeners |= {made.key: listener for made in of_kind}

    async def listen(workload: KubeObject, warn: Say, fail: Say) -> None:
        heard = _Heard(workload)
        listener = listeners[workload.key]
        listener.begin(heard)
        try:
            await _tell(heard, listener.deaf, warn, fail)
        finally:
            listener.end(heard)

    return listen


class _Heard:
    """What the pods of a workload said: how each ended the last time, and which of them hold it up now."""

    def __init__(self, workload: KubeObject) -> None:
        self.workload = workload
        self.ends: dict[str, str] = {}
        self.waits: tuple[str, ...] = ()
        self._label, _, self._main = _PODS[workload.kind]

    @property
    def key(self) -> _Key:
        """Return namespace and name of the workload."""
        return self.workload.namespace, self.workload.kubernetes_name

    def see(self, events: Iterable[Event]) -> None:
        """Take in how pods ended. Those that are made anew have the names of those before."""
        for _, pod in events:
            if self._has(pod) and (end := last_end(pod)):
                self.ends[pod["metadata"]["name"]] = end

    def look(self, pods: Iterable[dict[str, Any]]) -> None:
        """Take in what the pods that there are wait for."""
        own = [pod for pod in pods if self._has(pod)]
        self.waits = tuple(held_up(own, datetime.now(UTC), main=self._main))

    def _has(self, pod: Mapping[str, Any]) -> bool:
        metadata = pod["metadata"]
        return (metadata["namespace"], metadata["labels"][self._label]) == self.key


class _Listener:
    """Looks at pods of a cluster in a thread of its own, while it is waited for any workload of a kind."""

    def __init__(self, put: Callable[[Question], Problem | None]) -> None:
        self._put = put
        self._problem: Problem | None = None
        self._told = False
        self._lock = threading.Lock()
        self._heard: tuple[_Heard, ...] = ()
        self._runs = False

    def begin(self, heard: _Heard) -> None:
        with self._lock:
            self._heard += (heard,)
            if not self._runs:
                self._runs = True
                threading.Thread(target=self._follow, daemon=True, name="listen").start()

    def end(self, heard: _Heard) -> None:
        with self._lock:
            self._heard = tuple(other for other in self._heard if other is not heard)

    def deaf(self) -> Problem | None:
        """Return why the pods could not be followed, once for all workloads of the cluster."""
        with self._lock:
            if self._told or self._problem is None:
                return None
            self._told = True
            problem = self._problem
        what = f"what pods say while they are waited for is not known, and is asked for again: {problem.what}"
        return replace(problem, what=what, severity="warning")

    def _follow(self) -> None:
        while True:
            problem = self._put(self._hear)
            with self._lock:
                self._problem = problem
                self._runs = bool(self._heard)
                if not self._runs:
                    return
            time.sleep(_PAUSE)

    def _hear(self, _: Connection, api: Api) -> None:
        """Follow the pods until it is over, or until a new client is due."""
        until = time.monotonic() + _SPELL - _PAUSE
        while (waited := self._heard) and time.monotonic() < until:
            pods: dict[tuple[str, str], dict[str, Any]] = {}
            for events in api.follow("/api/v1/pods", query=_query(waited), seconds=_EVERY):
                for kind, pod in events:
                    key = pod["metadata"]["namespace"], pod["metadata"]["name"]
                    if kind == "DELETED":
                        pods.pop(key, None)
                    else:
                        pods[key] = pod
                for heard in waited:
                    heard.see(events)
                    heard.look(pods.values())
                if self._heard != waited or time.monotonic() >= until:
                    break


def _query(waited: Iterable[_Heard]) -> dict[str, str]:
    """Return the query for the pods of workloads of one kind."""
    [(label, every, _)] = {_PODS[heard.workload.kind] for heard in waited}
    named = sorted({heard.workload.kubernetes_name for heard in waited})
    return {"labelSelector": every if len(named) > _MOST_NAMES else f"{label} in ({','.join(named)})"}


async def _tell(heard: _Heard, deaf: Callable[[], Problem | None], warn: Say, fail: Say) -> None:
    """Tell how pods ended, each end once, and before the update gives up what it waited for. `deaf` says why
    nothing is heard of them.
    """
    thing = f"{heard.workload.kind} {heard.workload.name}"
    until = time.monotonic() + (heard.workload.timeout or float("inf")) - _BEFORE
    told: set[str] = set()
    while time.monotonic() < until:
        if problem := deaf():
            warn(str(problem))
        for pod, end in sorted(heard.ends.items()):
            if end not in told:
                told.add(end)
                warn(f"{thing}: pod {pod}: {end}")
        await asyncio.sleep(_TOLD_EVERY)
    if sentences := [*heard.waits, *(f"{pod} before: {end}" for pod, end in sorted(heard.ends.items()))]:
        fail(f"{thing} is not available after {heard.workload.timeout} s: {'; '.join(sentences)}")
