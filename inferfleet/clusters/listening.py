"""What pods of engines and of endpoint pickers say while an update waits for them.

The provider knows no more of a LeaderWorkerSet than whether it is available, and what it says of Deployments
is a status line, which nobody sees in the log of a job. Their pods say why they are not ready, and the
controller of LeaderWorkerSets deletes them, with their words, as soon as one has restarted. So they are
watched, by one request at a time per cluster for all engines that are waited for there, and one for all
pickers. Credentials that may not read pods of a whole cluster ask for those of one namespace after another.

No update can end earlier because of what is heard. The provider waits until its time is over or the whole
update is cancelled (pulumi-kubernetes v4.25.0, pkg/await/deployment.go: Progressing=False is told and waited
through), and the engine waits for it also when the program has failed (pulumi v3.250.0,
pkg/resource/deploy/step.go calls providers with a context of their own).
"""

import asyncio
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from typing import Any

from inferfleet.clusters.connections.api import Api, RefusedError
from inferfleet.clusters.connections.at_once import ask
from inferfleet.clusters.status.heard import ENGINES, PICKERS, Heard, pods_of
from inferfleet.desired.values import Connection, Desired, KubeObject, Listen, Say
from inferfleet.documents.problems import Problem

# Seconds that one request follows the pods: so late it may be known that another workload is waited for.
_EVERY = 2
# Seconds between two times at which what was seen is told.
_TOLD_EVERY = 1.0
# Seconds after which it is told for the first time: until then the newest pods may be those of an update that
# failed before this one.
_FIRST = 5.0
# Seconds after which a client is made again: tokens end, and a cluster that did not answer may be back.
_SPELL = 300.0
_PAUSE = 10.0
# Seconds before an update gives up at which it is told what it waited for; later the program has ended.
_BEFORE = 2.0
# More names than that, of 47 characters each, make an address that is too long for some proxies.
_MOST_NAMES = 40

Question = Callable[[Connection, Api], None]


def listening(desired: Desired, kubeconfigs: Mapping[str, str], *, container_api: str) -> Listen:
    """Return the function that listens to the pods of a workload until it is cancelled.

    `kubeconfigs` holds texts by existing cluster. The Container API at the address `container_api` says where
    the others are.
    """

    def put(asked: Desired, question: Question) -> Problem | None:
        answers = ask(asked, kubeconfigs, question, container_api=container_api, seconds=_SPELL)
        return next((answer for answer in answers.values() if isinstance(answer, Problem)), None)

    listeners: dict[str, _Listener] = {}
    told: set[str] = set()
    for cluster in desired.clusters:
        for pods in (ENGINES, PICKERS):
            asked = replace(desired, clusters=(cluster,))
            listener = _Listener(partial(put, asked), cluster.connection.cluster, told)
            theirs = (made for made in cluster.objects if made.heard and pods_of(made) == pods)
            listeners |= {made.key: listener for made in theirs}

    async def listen(workload: KubeObject, warn: Say, fail: Say) -> None:
        heard = Heard(workload)
        listener = listeners[workload.key]
        listener.begin(heard)
        try:
            await _tell(heard, listener.deaf, warn, fail)
        finally:
            listener.end(heard)

    return listen


class _Listener:
    """Looks at pods of a cluster in a thread of its own, while any workload of some kind is waited for. Those
    of a stack share `told`, the clusters of which it was told that nothing is heard.
    """

    def __init__(self, put: Callable[[Question], Problem | None], cluster: str, told: set[str]) -> None:
        self._put = put
        self._cluster, self._told = cluster, told
        self._problem: Problem | None = None
        self._by_namespace = False
        self._lock = threading.Lock()
        self._heard: tuple[Heard, ...] = ()
        self._runs = False

    def begin(self, heard: Heard) -> None:
        with self._lock:
            self._heard += (heard,)
            if not self._runs:
                self._runs = True
                threading.Thread(target=self._follow, daemon=True, name="listen").start()

    def end(self, heard: Heard) -> None:
        with self._lock:
            self._heard = tuple(other for other in self._heard if other is not heard)

    def deaf(self) -> Problem | None:
        """Return why the pods could not be followed, once for all workloads of the cluster."""
        with self._lock:
            problem = self._problem
        if self._cluster in self._told or problem is None:
            return None
        self._told.add(self._cluster)
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
            try:
                self._hear_of(waited, api, until)
            except RefusedError as refused:
                if refused.status != 403 or self._by_namespace:
                    raise
                self._by_namespace = True

    def _hear_of(self, waited: tuple[Heard, ...], api: Api, until: float) -> None:
        """Follow the pods until others are waited for."""
        paths, query = self._paths(waited), _query(waited)
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
            known, waited = waited, self._heard
            for heard in waited:
                # One that is new here has not seen the events before.
                heard.see(events if heard in known else (("ADDED", pod) for pod in pods.values()))
                heard.look(pods.values())
            if not waited or time.monotonic() >= until:
                break
            if (self._paths(waited), _query(waited)) != (paths, query):
                break

    def _paths(self, waited: Iterable[Heard]) -> list[str]:
        if not self._by_namespace:
            return ["/api/v1/pods"]
        namespaces = {heard.workload.namespace for heard in waited}
        return [f"/api/v1/namespaces/{namespace}/pods" for namespace in sorted(filter(None, namespaces))]


def _query(waited: Iterable[Heard]) -> dict[str, str]:
    """Return the query for the pods of workloads that are asked for together."""
    [(label, every, _)] = {heard.asked for heard in waited}
    named = sorted({heard.value for heard in waited})
    return {"labelSelector": every if len(named) > _MOST_NAMES else f"{label} in ({','.join(named)})"}


async def _tell(heard: Heard, deaf: Callable[[], Problem | None], warn: Say, fail: Say) -> None:
    """Tell what pods say, each thing once, and before the update gives up what it waited for. `deaf` says why
    nothing is heard of them.
    """
    thing = f"{heard.workload.kind} {heard.workload.name}"
    until = time.monotonic() + (heard.workload.timeout or float("inf")) - _BEFORE
    told: set[str] = set()
    await asyncio.sleep(_FIRST)
    while (left := until - time.monotonic()) > 0:
        if problem := deaf():
            warn(str(problem))
        for key, sentence in heard.told():
            if key not in told:
                more = "" if told else f". {_meanwhile(left + _BEFORE, heard.serving())}"
                warn(f"{thing}: {sentence.removesuffix('.') if more else sentence}{more}")
                told.add(key)
        await asyncio.sleep(_TOLD_EVERY)
    if sentences := list(heard.waits(datetime.now(UTC))):
        fail(f"{thing} is not available after {heard.workload.timeout} s: {'; '.join(sentences)}")


def _meanwhile(left: float, serving: int) -> str:
    """Return for how long an update waits still, what serves until then, and how it is ended before.

    The state does not learn of what a cancelled update wrote (readLiveObject in pulumi-kubernetes v4.25.0,
    pkg/provider/provider.go, asks with the context that is cancelled), so a document that is as it was before
    would change nothing without `--refresh`.
    """
    if left == float("inf"):
        waits = "The update waits until it is ready"
    else:
        waits = f"The update waits {f'{left / 60:.0f} minutes' if left >= 120 else f'{left:.0f} s'} more"
    pods = "1 pod of before serves" if serving == 1 else f"{serving} pods of before serve"
    return (
        f"{waits}{f', and {pods} meanwhile' if serving else ''}. "
        "To end it now, press Ctrl-C once; then mend the document and run `pulumi up --refresh`"
    )
