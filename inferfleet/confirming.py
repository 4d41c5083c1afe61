"""What gateways say, at the end of an update, of the InferencePools that its routes lead to.

A route to a pool whose endpoint picker cannot be reached is accepted and resolved, and answers 500: Istio
says so in the status of the pool alone, which is empty until a route leads to it, and only when pool or route
changed. So nothing that Pulumi waits for would tell. Every update asks, also one that changes nothing: others
may have broken it meanwhile.
"""

import asyncio
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from inferfleet.api.problems import Problem, cluster_problem
from inferfleet.desired.values import Confirm, Connection, Desired, DesiredCluster, KubeObject
from inferfleet.fleet import names
from inferfleet.manifests.picker.pool import KIND as POOL
from inferfleet.reach.api import Api, RefusedError
from inferfleet.reach.at_once import ask
from inferfleet.reach.gke import NotThere
from inferfleet.reach.resources import ApiKind, ApiResource, known
from inferfleet.reach.unreachable import refusal
from inferfleet.status.read import Key
from inferfleet.status.routing import SILENT, Verdict, led_to, stale, titled
from inferfleet.status.values import Phase

# Seconds that a controller has to take back what it said before it saw all that an update made.
REFUSED_SECONDS = 20.0
# Seconds after which a controller that says nothing of a pool is taken to be none that does, by provider. The
# load balancer of Google's is there by then, as an update waited for its routes, and a reconcile of it takes
# minutes: https://github.com/kubernetes-sigs/gateway-api-inference-extension/pull/959 has one of 112 s.
SILENT_SECONDS = {"gke": 300.0}
ELSEWHERE_SILENT_SECONDS = 10.0
_EVERY = 0.5
# Seconds more that connecting and asking may take.
_ANSWER_SECONDS = 30.0
_NEXT = "What was changed by hand comes back with `pulumi up --refresh`"
_ASK = "Send a request, or look later with `inferfleet status`: some gateways never say"
_UNHEARD: Verdict = (Phase.PENDING, SILENT)
Objects = dict[Key, dict[str, Any]]


@dataclass(frozen=True)
class _Heard:
    """What was heard of pools in the end: a verdict of each, and what was said that is not so any more.

    `refused` are the namespaces whose objects the credentials may not read.
    """

    verdicts: Mapping[Key, Verdict]
    stale: Mapping[Key, str]
    refused: Mapping[str, RefusedError]


def confirming(desired: Desired, kubeconfigs: Mapping[str, str], *, container_api: str) -> Confirm:
    """Return the function that asks a cluster, by its name, what its gateway says of pools with routes.

    It returns an error for each pool that requests do not come through, a warning where a cluster or one of
    its namespaces cannot be asked or a gateway holds on to what is not so any more, and one notice for all
    pools of which it says nothing, as a gateway does that never tells. `kubeconfigs` holds texts by existing
    cluster. The Container API at the address `container_api` says where the others are.
    """
    clusters = {cluster.connection.cluster: cluster for cluster in desired.clusters}

    def confirmed(cluster: DesiredCluster) -> tuple[Problem, ...]:
        gateway, led = _gateway(cluster), dict(_led(cluster))
        if gateway is None or not led:
            return ()
        patience = SILENT_SECONDS.get(cluster.gateway_provider, ELSEWHERE_SILENT_SECONDS)

        def question(_: Connection, api: Api) -> _Heard:
            return _heard(api, gateway, {key: pool for key, (pool, _) in led.items()}, patience)

        asked = replace(desired, clusters=(cluster,))
        seconds = max(REFUSED_SECONDS, patience) + _ANSWER_SECONDS
        name = cluster.connection.cluster
        answers = ask(asked, kubeconfigs, question, container_api=container_api, seconds=seconds)
        answer = answers.get(name)
        if answer is None or isinstance(answer, NotThere):
            return ()
        if isinstance(answer, Problem):
            return (_unknown(answer),)
        refused = [
            _unknown(refusal(cluster.connection, answer.refused[namespace]), f" in namespace {namespace!r}")
            for namespace in sorted(answer.refused)
        ]
        routes = {key: route for key, (_, route) in led.items()}
        return (*refused, *_problems(name, gateway, routes, answer, patience))

    async def confirm(cluster: str) -> tuple[Problem, ...]:
        return await asyncio.to_thread(confirmed, clusters[cluster])

    return confirm


def _gateway(cluster: DesiredCluster) -> Key | None:
    if cluster.gateway_ref:
        return ("Gateway", *cluster.gateway_ref)
    return _key(cluster.gateway) if cluster.gateway else None


def _led(cluster: DesiredCluster) -> Iterator[tuple[Key, tuple[KubeObject, KubeObject]]]:
    """Yield each InferencePool that routes lead to, with the first of them, by its key on the cluster."""
    objects = {made.key: made for made in cluster.objects}
    for served in cluster.served.values():
        routes = [objects[key] for key in served.routes if key in objects]
        pools = (objects[key] for key in served.stands if key in objects and objects[key].kind == POOL)
        yield from ((_key(pool), (pool, routes[0])) for pool in pools if routes)


def _heard(api: Api, gateway: Key, pools: Mapping[Key, KubeObject], patience: float) -> _Heard:
    """Return what is said of pools once no more is to be heard: silence, a busy controller and what is not so
    any more are given `patience` seconds, what is refused its own.
    """
    begun = time.monotonic()
    resources = known(api, {("v1", "Service"), *((pool.api_version, pool.kind) for pool in pools.values())})
    verdicts: dict[Key, Verdict] = {}
    old: dict[Key, str] = {}
    refused: dict[str, RefusedError] = {}
    while True:
        # What serves is not asked about again.
        asked = [key for key in pools if old.get(key) or verdicts.get(key, _UNHEARD)[0] != Phase.READY]
        for namespace in sorted({key[1] for key in asked} - refused.keys()):
            try:
                actual = _actual(api, resources.items(), namespace)
            except RefusedError as error:
                if error.status != 403:
                    raise
                refused[namespace] = error
                continue
            here = [key for key in asked if key[1] == namespace]
            verdicts |= {key: led_to(actual, key, gateway) for key in here}
            old |= {key: stale(actual, key, gateway) for key in here}
        open_ = {phase for phase, _ in verdicts.values() if phase != Phase.READY}
        waits = [patience] if Phase.PENDING in open_ or any(old.values()) else []
        waits += [REFUSED_SECONDS] if open_ - {Phase.PENDING} else []
        if not waits or time.monotonic() > begun + max(waits):
            return _Heard(verdicts, {key: said for key, said in old.items() if said}, refused)
        time.sleep(_EVERY)


def _actual(api: Api, resources: Iterable[tuple[ApiKind, ApiResource]], namespace: str) -> Objects:
    """Return the pools and Services that inferfleet made in a namespace."""
    query = {"labelSelector": f"{names.MANAGED_BY}={names.MANAGER}"}
    return {
        (kind, namespace, item["metadata"]["name"]): item
        for (_, kind), resource in resources
        for item in api.items(resource.path(namespace), query=query)
    }


def _key(made: KubeObject) -> Key:
    return made.kind, made.namespace or "", made.kubernetes_name


def _unknown(why: Problem, where: str = "") -> Problem:
    what = f"what its gateway says of InferencePools{where} is not known: {why.what}"
    return replace(why, what=what, severity="warning")


def _problems(
    cluster: str, gateway: Key, routes: Mapping[Key, KubeObject], heard: _Heard, patience: float
) -> Iterator[Problem]:
    waiting: dict[str, list[str]] = {}
    for pool, (phase, why) in heard.verdicts.items():
        if phase == Phase.PENDING:
            waiting.setdefault(why, []).append(titled(pool))
        elif phase != Phase.READY:
            what = f"{titled(_key(routes[pool]))} leads to {titled(pool)}, which does not serve: {why}"
            yield cluster_problem(cluster, what, _NEXT)
        elif pool in heard.stale:
            says = f"{titled(gateway)} still says {heard.stale[pool]!r}"
            what = f"{titled(pool)}: {says}, but the Service is there"
            yield cluster_problem(cluster, what, "It looks again when the pool changes", severity="warning")
    for why, waited in waiting.items():
        what = f"after {patience:g} s {titled(gateway)} {_said(why)} {', '.join(waited)}"
        yield cluster_problem(cluster, what, _ASK, severity="notice")


def _said(why: str) -> str:
    return "still says nothing of" if why == SILENT else f"still says {why!r} of"
