"""What pods of workers of many pods say while an update waits for them.

The provider knows no more of a LeaderWorkerSet than whether it is available. Its pods say why it is not, and
its controller deletes them, with their words, as soon as one has restarted. So they are read all the time,
in one request per cluster for all workloads that are waited for there.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from inferfleet.desired.values import Connection, Desired, KubeObject, Listen, Say
from inferfleet.fleet import names
from inferfleet.reach.at_once import ask
from inferfleet.reach.connect import Api
from inferfleet.status.groups import held_up, last_end

# Seconds between two looks. Pods whose group begins anew are there for as long as their leader drains.
_EVERY = 2.0
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


def listening(desired: Desired, kubeconfigs: Mapping[str, str], *, container_api: str) -> Listen:
    """Return the function that listens to the pods of a LeaderWorkerSet until it is cancelled.

    `kubeconfigs` holds texts by existing cluster. The Container API at the address `container_api` says where
    the others are.
    """

    def put(asked: Desired, question: Question) -> None:
        ask(asked, kubeconfigs, question, container_api=container_api, seconds=_SPELL)

    listeners: dict[str, _Listener] = {}
    for cluster in desired.clusters:
        listener = _Listener(partial(put, replace(desired, clusters=(cluster,))))
        listeners |= {made.key: listener for made in cluster.objects if made.heard}

    async def listen(workload: KubeObject, warn: Say, fail: Say) -> None:
        heard = _Heard(workload)
        listeners[workload.key].begin(heard)
        try:
            await _tell(heard, warn, fail)
        finally:
            listeners[workload.key].end(heard)

    return listen


class _Heard:
    """What the pods of a workload said: how each ended the last time, and which of them hold it up now."""

    def __init__(self, workload: KubeObject) -> None:
        self.workload = workload
        self.ends: dict[str, str] = {}
        self.waits: tuple[str, ...] = ()

    def look(self, pods: Sequence[dict[str, Any]]) -> None:
        """Take in what the pods of the workload say."""
        ends = {pod["metadata"]["name"]: last_end(pod) for pod in pods}
        # Pods that are made anew have the names of those before.
        self.ends.update({name: end for name, end in ends.items() if end})
        self.waits = tuple(held_up(pods, datetime.now(UTC)))


class _Listener:
    """Looks at the pods of a cluster in a thread of its own, while it is waited for any of its workloads."""

    def __init__(self, put: Callable[[Question], None]) -> None:
        self._put = put
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

    def _follow(self) -> None:
        while True:
            self._put(self._hear)
            with self._lock:
                self._runs = bool(self._heard)
                if not self._runs:
                    return
            time.sleep(_PAUSE)

    def _hear(self, _: Connection, api: Api) -> None:
        """Look at the pods until it is over, or until a new client is due."""
        until = time.monotonic() + _SPELL - _PAUSE
        while (waited := self._heard) and time.monotonic() < until:
            pods: dict[tuple[str | None, str], list[dict[str, Any]]] = {}
            for pod in api.items("/api/v1/pods", query={"labelSelector": _selector(waited)}):
                metadata = pod["metadata"]
                pods.setdefault((metadata["namespace"], metadata["labels"][names.LWS_NAME]), []).append(pod)
            for heard in waited:
                workload = heard.workload
                heard.look(pods.get((workload.namespace, workload.kubernetes_name), ()))
            time.sleep(_EVERY)


def _selector(waited: Iterable[_Heard]) -> str:
    sets = sorted({heard.workload.kubernetes_name for heard in waited})
    return f"{names.LWS_NAME} in ({','.join(sets)})" if len(sets) <= _MOST_NAMES else names.LWS_NAME


async def _tell(heard: _Heard, warn: Say, fail: Say) -> None:
    """Tell how pods ended, each end once, and before the update gives up what it waited for."""
    thing = f"{heard.workload.kind} {heard.workload.name}"
    until = time.monotonic() + (heard.workload.timeout or float("inf")) - _BEFORE
    told: set[str] = set()
    while time.monotonic() < until:
        for pod, end in sorted(heard.ends.items()):
            if end not in told:
                told.add(end)
                warn(f"{thing}: pod {pod}: {end}")
        await asyncio.sleep(_TOLD_EVERY)
    if sentences := [*heard.waits, *(f"{pod} before: {end}" for pod, end in sorted(heard.ends.items()))]:
        fail(f"{thing} is not available after {heard.workload.timeout} s: {'; '.join(sentences)}")
