"""What pods of workers of many pods say while an update waits for them.

The provider knows no more of a LeaderWorkerSet than whether it is available. Its pods say why it is not, and
its controller deletes them, with their words, as soon as one has restarted. So they are read all the time.
"""

import asyncio
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

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


def listening(desired: Desired, kubeconfigs: Mapping[str, str], *, container_api: str) -> Listen:
    """Return the function that listens to the pods of a LeaderWorkerSet until it is cancelled.

    `kubeconfigs` holds texts by existing cluster. The Container API at the address `container_api` says where
    the others are.
    """
    clusters = {made.key: cluster for cluster in desired.clusters for made in cluster.objects}

    async def listen(workload: KubeObject, warn: Say, fail: Say) -> None:
        asked = replace(desired, clusters=(clusters[workload.key],))
        heard = _Heard(workload)
        question = partial(_hear, heard)

        def follow() -> None:
            while not heard.over.is_set():
                ask(asked, kubeconfigs, question, container_api=container_api, seconds=_SPELL)
                heard.over.wait(_PAUSE)

        threading.Thread(target=follow, daemon=True, name=f"listen {workload.name}").start()
        try:
            await _tell(heard, warn, fail)
        finally:
            heard.over.set()

    return listen


class _Heard:
    """What the pods of a workload said: how each ended the last time, and which of them hold it up now."""

    def __init__(self, workload: KubeObject) -> None:
        self.workload = workload
        self.ends: dict[str, str] = {}
        self.waits: tuple[str, ...] = ()
        self.over = threading.Event()


def _hear(heard: _Heard, connection: Connection, api: Api) -> None:
    """Look at the pods until it is over, or until a new client is due."""
    until = time.monotonic() + _SPELL - _PAUSE
    workload = heard.workload
    labels = names.group_selector(workload.kubernetes_name)
    query = {"labelSelector": ",".join(f"{key}={value}" for key, value in labels.items())}
    path = f"/api/v1/namespaces/{workload.namespace}/pods"
    while not heard.over.is_set() and time.monotonic() < until:
        pods = list(api.items(path, query=query))
        ends = {pod["metadata"]["name"]: last_end(pod) for pod in pods}
        # Pods that are made anew have the names of those before.
        heard.ends.update({name: end for name, end in ends.items() if end})
        heard.waits = tuple(held_up(pods, datetime.now(UTC)))
        heard.over.wait(_EVERY)


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
