"""Whether models are served, at the end of an update: what gateways say of the InferencePools that its routes
lead to, whether routes, endpoint pickers and workloads are there, and what Envoy Gateway says of the objects
of InferenceGateways, which are asked at their addresses too (`front_doors.py`).

A route to a pool whose endpoint picker cannot be reached is accepted and resolved, and answers 500: Istio
says so in the status of the pool alone, which is empty until a route leads to it, and only when pool or route
changed. And Pulumi compares with its state, which knows of nothing that somebody deleted or scaled to 0. So
every update asks, also one that changes nothing: others may have broken it meanwhile.

A workload that has another pod template than the documents is told too: of what a cancelled update wrote the
state knows nothing (readLiveObject in pulumi-kubernetes v4.25.0, provider/pkg/provider/provider.go), so a
document that is as it was before changes nothing. It is a warning, since a webhook of the cluster may set
such a field, and API servers remember that as ours.
"""

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from inferfleet.cloud.values import Drift
from inferfleet.clusters.connections.api import Api, ApiResource, RefusedError, served_kinds
from inferfleet.clusters.connections.ask import ask, refusal
from inferfleet.clusters.connections.gke import NotThere
from inferfleet.clusters.status.drift import object_drift
from inferfleet.clusters.status.read import Key, key_of
from inferfleet.clusters.status.routing import (
    SILENT,
    Verdict,
    door_judge,
    led_to,
    picker_verdict,
    stale,
    titled,
    workload_verdict,
)
from inferfleet.clusters.status.values import Phase
from inferfleet.clusters.update.front_doors import SECONDS as FRONT_DOOR_SECONDS
from inferfleet.clusters.update.front_doors import front_door_problems
from inferfleet.desired.values import FRONT_DOORS, Confirm, Connection, Desired, DesiredCluster, KubeObject
from inferfleet.documents.problems import Problem, cluster_problem
from inferfleet.documents.wording import listing
from inferfleet.fleet import names
from inferfleet.serving.picker import POOL
from inferfleet.serving.routes import KIND as ROUTE
from inferfleet.serving.workload import WORKER_SET

# Seconds that a controller has to take back what it said before it saw all that an update made.
REFUSED_SECONDS = 20.0
# Seconds after which a controller that says nothing of a pool is taken to be none that does, by provider. The
# load balancer of Google's is there by then, as an update waited for its routes, and a reconcile of it takes
# minutes: https://github.com/kubernetes-sigs/gateway-api-inference-extension/pull/959 has one of 112 s.
SILENT_SECONDS = {"gke": 300.0}
ELSEWHERE_SILENT_SECONDS = 10.0
_EVERY = 0.5
# So many workloads are named of those that differ alike.
_NAMED = 5
# Seconds more that connecting and asking may take.
_ANSWER_SECONDS = 30.0
_NEXT = "What was changed by hand comes back with `pulumi up --refresh`"
_TEMPLATES = ("spec.template.", "spec.leaderWorkerTemplate.")
_REFRESH = (
    "Run `pulumi up --refresh`: this update left it out (--target), one that set it was cancelled, or "
    "somebody changed it by hand. Where it comes back, something on the cluster sets it"
)
_ASK = "Send a request, or look later with `inferfleet status`: some gateways never say"
_SILENT: Verdict = (Phase.PENDING, SILENT)
Objects = dict[Key, dict[str, Any]]
# What is said of one object, of all that was listed.
Judge = Callable[[Mapping[Key, dict[str, Any]]], Verdict]


@dataclass(frozen=True)
class _Question:
    """What a cluster is asked. `pools` are those that routes lead to, each with the first route; `others` are
    the routes, the Deployments of pickers and the workloads. `gateway` is None where there are no pools.
    """

    gateway: Key | None
    pools: Mapping[Key, tuple[KubeObject, KubeObject]]
    others: Mapping[Key, KubeObject]
    judges: Mapping[Key, Judge]


@dataclass(frozen=True)
class _Answers:
    """What was said in the end: a verdict of each object, what was said of pools that is no longer so, and
    in which fields workloads have other pod templates than the documents.

    `refused` are the namespaces in which the credentials may not read all kinds of these objects.
    """

    verdicts: Mapping[Key, Verdict]
    stale: Mapping[Key, str]
    templates: Mapping[Key, tuple[Drift, ...]]
    refused: Mapping[str, RefusedError]


def confirmer(desired: Desired, kubeconfigs: Mapping[str, str], *, container_api: str) -> Confirm:
    """Return the function that asks a cluster, by its name, whether what the update made serves.

    It returns an error for each pool that requests do not come through, and for each route, picker and
    workload that is gone or at zero; a warning where a cluster or one of its namespaces cannot be asked or a
    gateway holds on to what is not so any more; and one notice for all pools of which the gateway says
    nothing, as one does that never tells. `kubeconfigs` holds texts by existing cluster. The Container API at
    the address `container_api` says where the others are.
    """
    clusters = {cluster.connection.cluster: cluster for cluster in desired.clusters}
    doors = {
        name: [door for door in desired.doors if door.hub == name and door.gateway in cluster.front_doors]
        for name, cluster in clusters.items()
    }

    def cluster_problems(cluster: DesiredCluster) -> tuple[Problem, ...]:
        question = _question(cluster)
        if not question.judges:
            return ()
        patience = SILENT_SECONDS.get(cluster.gateway_provider, ELSEWHERE_SILENT_SECONDS)
        name = cluster.connection.cluster

        def listen(_: Connection, api: Api) -> tuple[_Answers, tuple[Problem, ...]]:
            answers = _answers(api, question, patience)
            found = (problem for door in doors[name] for problem in front_door_problems(api, cluster, door))
            return answers, tuple(found)

        one_cluster = replace(desired, clusters=(cluster,))
        seconds = max(REFUSED_SECONDS, patience) + len(doors[name]) * FRONT_DOOR_SECONDS + _ANSWER_SECONDS
        answers = ask(one_cluster, kubeconfigs, listen, container_api=container_api, seconds=seconds)
        answer = answers.get(name)
        if answer is None or isinstance(answer, NotThere):
            return ()
        if isinstance(answer, Problem):
            return (_unknown(answer),)
        said, at_doors = answer
        refused = [
            _unknown(refusal(cluster.connection, said.refused[namespace]), f" in namespace {namespace!r}")
            for namespace in sorted(said.refused)
        ]
        return (*refused, *_problems(name, question, said, patience), *at_doors)

    async def confirmation_problems(cluster: str) -> tuple[Problem, ...]:
        return await asyncio.to_thread(cluster_problems, clusters[cluster])

    return confirmation_problems


def _question(cluster: DesiredCluster) -> _Question:
    """Return what a cluster is asked at the end of an update, and who judges each answer."""
    gateway = _gateway(cluster)
    pools = dict(_led(cluster)) if gateway else {}
    objects = {obj.key: obj for obj in cluster.objects}
    workloads = [key for keys in cluster.workloads.values() for key in keys]
    routes = [key for served in cluster.served.values() for key in served.routes]
    pickers = {key for served in cluster.served.values() for key in served.members if key not in workloads}
    others = {
        key_of(objects[key]): objects[key]
        for key in dict.fromkeys([*routes, *sorted(pickers), *workloads])
        if key in objects and objects[key].kind in (ROUTE, "Deployment", WORKER_SET)
    }
    judges: dict[Key, Judge] = (
        {key: partial(led_to, key=key, parent=gateway) for key in pools} if gateway else {}
    )
    deployments_of_pickers = {key_of(objects[key]) for key in pickers if key in objects}
    for key, made in others.items():
        judges[key] = partial(
            _verdict,
            key=key,
            wanted=made,
            judge=picker_verdict if key in deployments_of_pickers else workload_verdict,
        )
    for key, made, judge in _of_front_doors(cluster):
        others[key], judges[key] = made, judge
    return _Question(gateway, pools, others, judges)


def _of_front_doors(cluster: DesiredCluster) -> Iterator[tuple[Key, KubeObject, Judge]]:
    """Yield the objects of InferenceGateways that are judged, each with who judges it."""
    for component in cluster.components:
        if component.kind not in FRONT_DOORS or component.held:
            continue
        for made in component.objects:
            if judge := door_judge(made):
                yield key_of(made), made, judge


def _verdict(
    objects: Mapping[Key, dict[str, Any]],
    *,
    key: Key,
    wanted: KubeObject,
    judge: Callable[[Mapping[str, Any] | None, KubeObject], Verdict],
) -> Verdict:
    return judge(objects.get(key), wanted)


def _gateway(cluster: DesiredCluster) -> Key | None:
    if cluster.gateway_ref:
        return ("Gateway", *cluster.gateway_ref)
    return key_of(cluster.gateway) if cluster.gateway else None


def _led(cluster: DesiredCluster) -> Iterator[tuple[Key, tuple[KubeObject, KubeObject]]]:
    """Yield each InferencePool that routes lead to, with the first of them, by its key on the cluster."""
    objects = {obj.key: obj for obj in cluster.objects}
    for served in cluster.served.values():
        routes = [objects[key] for key in served.routes if key in objects]
        pools = (objects[key] for key in served.members if key in objects and objects[key].kind == POOL)
        yield from ((key_of(pool), (pool, routes[0])) for pool in pools if routes)


def _answers(api: Api, question: _Question, patience: float) -> _Answers:
    """Return what is said once no more is to be heard: silence, a busy controller and what is not so any more
    are given `patience` seconds, what is refused, gone or at zero its own.
    """
    begun = time.monotonic()
    wanted = {key: pool for key, (pool, _) in question.pools.items()} | dict(question.others)
    resources = _resources(api, wanted)
    verdicts: dict[Key, Verdict] = {}
    old: dict[Key, str] = {}
    templates: dict[Key, tuple[Drift, ...]] = {}
    refused: dict[str, RefusedError] = {}
    unreadable: set[tuple[str, str]] = set()
    while True:
        # What serves is not asked about again.
        open_keys = [key for key in wanted if old.get(key) or verdicts.get(key, _SILENT)[0] != Phase.READY]
        actual: Objects = {}
        for kind, namespace in sorted({one for key in open_keys for one in _listed(key)} - unreadable):
            try:
                actual |= _actual(api, resources.get(kind), kind, namespace)
            except RefusedError as error:
                if error.status != 403:
                    raise
                refused.setdefault(namespace, error)
                unreadable.add((kind, namespace))
        here = [key for key in open_keys if not unreadable.intersection(_listed(key))]
        verdicts |= {key: question.judges[key](actual) for key in here}
        watched_keys = [key for key in here if key in actual and key in question.others]
        templates |= {key: tuple(_templates(key, question.others[key], actual[key])) for key in watched_keys}
        if question.gateway:
            old |= {key: stale(actual, key, question.gateway) for key in here if key in question.pools}
        open_ = {phase for phase, _ in verdicts.values() if phase != Phase.READY}
        waits = [patience] if Phase.PENDING in open_ or any(old.values()) else []
        waits += [REFUSED_SECONDS] if open_ - {Phase.PENDING} else []
        if not waits or time.monotonic() > begun + max(waits):
            return _Answers(verdicts, {key: said for key, said in old.items() if said}, templates, refused)
        time.sleep(_EVERY)


def _templates(key: Key, wanted: KubeObject, live: Mapping[str, Any]) -> Iterator[Drift]:
    """Yield the fields of pod templates that a workload has differently."""
    if wanted.kind != ROUTE and "spec" not in wanted.ignore:
        for drift in object_drift("", titled(key), wanted.manifest, live, whole=True):
            if drift.field.startswith(_TEMPLATES):
                yield drift


def _listed(key: Key) -> tuple[tuple[str, str], ...]:
    """Return the kinds, each with the namespace, that are listed to judge this object."""
    kind, namespace, _ = key
    return ((kind, namespace), ("Service", namespace)) if kind == POOL else ((kind, namespace),)


def _resources(api: Api, wanted: Mapping[Key, KubeObject]) -> dict[str, ApiResource]:
    kinds = {(obj.api_version, obj.kind) for obj in wanted.values()}
    if any(obj.kind == POOL for obj in wanted.values()):
        kinds.add(("v1", "Service"))
    return {kind: resource for (_, kind), resource in served_kinds(api, kinds).items()}


def _actual(api: Api, resource: ApiResource | None, kind: str, namespace: str) -> Objects:
    """Return the objects of a kind that inferfleet made in a namespace."""
    if resource is None:
        return {}
    query = {"labelSelector": f"{names.MANAGED_BY}={names.MANAGER}"}
    return {
        (kind, namespace, item["metadata"]["name"]): {"kind": kind, **item}
        for item in api.items(resource.path(namespace), query=query)
    }


def _unknown(why: Problem, where: str = "") -> Problem:
    return replace(why, what=f"whether models{where} are served is not known: {why.what}", severity="warning")


def _problems(cluster: str, question: _Question, answers: _Answers, patience: float) -> Iterator[Problem]:
    says = titled(question.gateway) if question.gateway else "Envoy Gateway"
    waiting: dict[str, list[str]] = {}
    for key, (phase, why) in answers.verdicts.items():
        if phase == Phase.PENDING:
            waiting.setdefault(why, []).append(titled(key))
        elif phase != Phase.READY and key in question.pools:
            _, route = question.pools[key]
            what = f"{titled(key_of(route))} leads to {titled(key)}, which does not serve: {why}"
            yield cluster_problem(cluster, f"cluster {cluster!r}: {what}", _NEXT)
        elif phase != Phase.READY:
            yield cluster_problem(cluster, f"cluster {cluster!r}: {titled(key)} {why}", _NEXT)
        elif key in answers.stale:
            what = f"{titled(key)}: {says} still says {answers.stale[key]!r}, but the Service is there"
            yield cluster_problem(cluster, what, "It looks again when the pool changes", severity="warning")
    differ: dict[tuple[str, str, str, int], list[str]] = {}
    for first, *rest in filter(None, answers.templates.values()):
        differ.setdefault((first.field, first.found, first.wanted, len(rest)), []).append(first.thing)
    for (field, found, said, more_fields), things in differ.items():
        besides = f" ({more_fields} more fields differ)" if more_fields else ""
        what = f"{field} of {listing(things, _NAMED)} is {found}, documents say {said}{besides}"
        yield cluster_problem(cluster, f"cluster {cluster!r}: {what}", _REFRESH, severity="warning")
    for why, waited in waiting.items():
        what = f"after {patience:g} s {says} {_said(why)} {', '.join(waited)}"
        yield cluster_problem(cluster, what, _ASK, severity="notice")


def _said(why: str) -> str:
    return "still says nothing of" if why == SILENT else f"still says {why!r} of"
