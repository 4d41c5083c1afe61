"""What gateways say, at the end of an update, of the InferencePools that its routes lead to.

A route to a pool whose endpoint picker cannot be reached is accepted and resolved, and answers 500: Istio
says so in the status of the pool alone, which is empty until a route leads to it, and only when pool or route
changed. So nothing that Pulumi waits for would tell. Every update asks, also one that changes nothing: others
may have broken it meanwhile.
"""

import asyncio
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from inferfleet.api.problems import Problem, cluster_problem
from inferfleet.desired.values import Confirm, Connection, Desired, DesiredCluster, KubeObject
from inferfleet.fleet import names
from inferfleet.manifests.picker.pool import KIND as POOL
from inferfleet.reach.api import Api
from inferfleet.reach.at_once import ask
from inferfleet.reach.gke import NotThere
from inferfleet.reach.resources import known
from inferfleet.status.read import Key
from inferfleet.status.routing import Verdict, is_silence, led_to, titled
from inferfleet.status.values import Phase

# Seconds that a controller has to take back what it said before it saw all that an update made.
REFUSED_SECONDS = 20.0
# Seconds after which a controller that says nothing of a pool is taken to be none that does.
SILENT_SECONDS = 10.0
_EVERY = 0.5
# Seconds more that connecting and asking may take.
_ANSWER_SECONDS = 30.0
_NEXT = "What was changed by hand comes back with `pulumi up --refresh`"


def confirming(desired: Desired, kubeconfigs: Mapping[str, str], *, container_api: str) -> Confirm:
    """Return the function that asks a cluster, by its name, what its gateway says of pools with routes.

    It returns an error for each pool that requests do not come through, and a warning where a cluster cannot
    be asked or a gateway holds on to what is not so any more. One that says nothing of a pool is taken to be
    none that does. `kubeconfigs` holds texts by existing cluster. The Container API at the address
    `container_api` says where the others are.
    """
    clusters = {cluster.connection.cluster: cluster for cluster in desired.clusters}

    def confirmed(cluster: DesiredCluster) -> tuple[Problem, ...]:
        gateway, led = _gateway(cluster), dict(_led(cluster))
        if gateway is None or not led:
            return ()

        def question(_: Connection, api: Api) -> dict[Key, Verdict]:
            return _refused(api, gateway, {key: pool for key, (pool, _) in led.items()})

        asked = replace(desired, clusters=(cluster,))
        seconds = REFUSED_SECONDS + _ANSWER_SECONDS
        name = cluster.connection.cluster
        answers = ask(asked, kubeconfigs, question, container_api=container_api, seconds=seconds)
        answer = answers.get(name, {})
        if isinstance(answer, NotThere):
            return ()
        if isinstance(answer, Problem):
            what = f"what its gateway says of InferencePools is not known: {answer.what}"
            return (replace(answer, what=what, severity="warning"),)
        return tuple(_problem(name, key, led[key][1], verdict) for key, verdict in answer.items())

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


def _refused(api: Api, gateway: Key, pools: Mapping[Key, KubeObject]) -> dict[Key, Verdict]:
    """Return the pools that are refused, or of which what is said is old, once no more is to be heard."""
    begun = time.monotonic()
    while True:
        actual = _actual(api, pools)
        verdicts = {key: led_to(actual, key, gateway) for key in pools}
        told = {key: verdict for key, verdict in verdicts.items() if verdict[0] != Phase.READY}
        refused = [phase for phase, _ in told.values() if phase != Phase.PENDING]
        patience = REFUSED_SECONDS if refused else SILENT_SECONDS
        if not told or time.monotonic() > begun + patience:
            return {key: verdict for key, verdict in told.items() if not is_silence(verdict)}
        time.sleep(_EVERY)


def _actual(api: Api, pools: Mapping[Key, KubeObject]) -> dict[Key, dict[str, Any]]:
    """Return the pools and Services that inferfleet made on the cluster."""
    resources = known(api, {("v1", "Service"), *((pool.api_version, pool.kind) for pool in pools.values())})
    query = {"labelSelector": f"{names.MANAGED_BY}={names.MANAGER}"}
    return {
        (kind, item["metadata"]["namespace"], item["metadata"]["name"]): item
        for (_, kind), resource in resources.items()
        for item in api.items(resource.path(), query=query)
    }


def _key(made: KubeObject) -> Key:
    return made.kind, made.namespace or "", made.kubernetes_name


def _problem(cluster: str, pool: Key, route: KubeObject, verdict: Verdict) -> Problem:
    phase, why = verdict
    if phase == Phase.PENDING:
        return cluster_problem(
            cluster, f"{titled(pool)}: {why}", "It looks again when the pool changes", severity="warning"
        )
    what = f"{titled(_key(route))} leads to {titled(pool)}, which does not serve: {why}"
    return cluster_problem(cluster, what, _NEXT)
