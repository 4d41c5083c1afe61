"""What gateways say of pools that routes lead to, and what of an update is gone or at zero at its end."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from itertools import chain
from typing import Any

import pytest
from fake_cluster import FakeCluster, thing

from inferfleet.clusters.status.routing import ABSENT
from inferfleet.clusters.update import confirm as module
from inferfleet.desired.values import Component, Connection, Desired, DesiredCluster, KubeObject, Served
from inferfleet.documents.problems import Problem, cluster_problem
from inferfleet.fleet.decisions import Plan
from inferfleet.fleet.spot import Spot

Start = Callable[..., FakeCluster]
LABELS = {"app.kubernetes.io/managed-by": "inferfleet"}
NO_SERVICE = ("ResolvedRefs", "False", "InvalidExtensionRef", "Service ml/one-epp is of no kind")
NOT_FOUND = ("ResolvedRefs", "False", "InvalidExtensionRef", "Service ml/one-epp not found")
RESOLVED = ("ResolvedRefs", "True", "ResolvedRefs", "")
ACCEPTED = ("Accepted", "True", "Accepted", "")
SAID = (
    "cluster 'east': HTTPRoute ml/one leads to InferencePool ml/one, which does not serve: "
    "ResolvedRefs=False (InvalidExtensionRef): Service ml/one-epp is of no kind"
)
NEXT = "What was changed by hand comes back with `pulumi up --refresh`"


def _object(kind: str, name: str, namespace: str = "ml", **more: Any) -> KubeObject:
    return KubeObject(f"east/{namespace}/{name}", thing(kind, name, namespace, **more))


def _workload(name: str, replicas: int = 1, *, kind: str = "Deployment") -> KubeObject:
    return _object(kind, name, spec={"replicas": replicas})


def _desired(
    gateway_ref: tuple[str, str] | None = None, *, others: tuple[str, ...] = (), provider: str = "none"
) -> Desired:
    gateway, pool, route = (
        _object("Gateway", "inferfleet", "system"),
        _object("InferencePool", "one"),
        _object("HTTPRoute", "one"),
    )
    more = {name: (_object("InferencePool", name, name), _object("HTTPRoute", name, name)) for name in others}
    made = (gateway, pool, route, *chain.from_iterable(more.values()))
    cluster = DesiredCluster(
        Connection("east", "existing/east", "active", config_key="east"),
        (Component("ModelEndpoint", "east/ml/one", made),),
        gateway_provider=provider,
        gateway=None if gateway_ref else gateway,
        gateway_ref=gateway_ref,
        served={
            "ml/one": Served((pool.key,), (route.key,)),
            **{name: Served((pool.key,), (route.key,)) for name, (pool, route) in more.items()},
        },
    )
    return Desired("local", (cluster,), Plan(), frozenset(), ())


def _parent(
    *conditions: tuple[str, str, str, str], gateway: str = "inferfleet", of: int = 1
) -> dict[str, Any]:
    return {
        "parentRef": {"kind": "Gateway", "name": gateway, "namespace": "system"},
        "conditions": [
            {"type": kind, "status": status, "reason": reason, "message": said, "observedGeneration": of}
            for kind, status, reason, said in conditions
        ],
    }


SERVICE = thing("Service", "one-epp", "ml", labels=LABELS, spec={"ports": [{"port": 9002}]})


def _pool(*parents: dict[str, Any], name: str = "one", namespace: str = "ml") -> dict[str, Any]:
    picker = {"endpointPickerRef": {"name": "one-epp", "port": {"number": 9002}}}
    pool = thing(
        "InferencePool", name, namespace, labels=LABELS, spec=picker, status={"parents": list(parents)}
    )
    pool["metadata"]["generation"] = 2
    return pool


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SILENT_SECONDS", {"gke": 0.6})
    for name, seconds in (("REFUSED_SECONDS", 0.4), ("ELSEWHERE_SILENT_SECONDS", 0.2), ("_EVERY", 0.02)):
        monkeypatch.setattr(module, name, seconds)


def confirm(fake: FakeCluster, desired: Desired, *, without: tuple[str, ...] = ()) -> tuple[Problem, ...]:
    """What is said where all is there beside the objects of the test but the kinds `without`."""
    there = {(one["kind"], one["metadata"].get("namespace"), one["metadata"]["name"]) for one in fake.objects}
    fake.objects += [
        thing(made.kind, made.kubernetes_name, made.namespace, labels=LABELS)
        for cluster in desired.clusters
        for made in cluster.objects
        if made.kind not in ("InferencePool", "Deployment", *without)
        and (made.kind, made.namespace, made.kubernetes_name) not in there
    ]
    ask = module.confirmer(desired, {"east": fake.kubeconfig}, container_api="")

    async def asked() -> tuple[Problem, ...]:
        return await ask("east")

    return asyncio.run(asked())


def test_a_pool_is_refused_as_its_gateway_says(cluster: Start) -> None:
    refused = cluster(objects=[_pool(_parent(ACCEPTED, NO_SERVICE, of=2)), SERVICE])
    assert confirm(refused, _desired()) == (cluster_problem("east", SAID, NEXT),)
    resolved = cluster(objects=[_pool(_parent(ACCEPTED, RESOLVED, of=2)), SERVICE])
    assert confirm(resolved, _desired()) == ()


@pytest.mark.parametrize(
    ("parents", "said"),
    [
        pytest.param([], "nothing of", id="nobody says anything"),
        pytest.param([_parent(ACCEPTED, NO_SERVICE)], "nothing of", id="it was asked before it changed"),
        pytest.param(
            [_parent(ACCEPTED, NO_SERVICE, gateway="other", of=2)], "nothing of", id="another gateway says so"
        ),
        pytest.param(
            [_parent(("Accepted", "False", "Pending", ""), of=2)],
            "'Accepted=False (Pending)' of",
            id="its gateway is busy",
        ),
    ],
)
@pytest.mark.parametrize(("provider", "seconds"), [("istio", "0.2"), ("gke", "0.6")])
def test_all_pools_that_a_gateway_says_nothing_of_are_told_of_once(
    cluster: Start, parents: list[dict[str, Any]], said: str, provider: str, seconds: str
) -> None:
    objects = [
        _pool(*parents),
        _pool(*parents, name="two", namespace="two"),
        SERVICE,
        thing("Service", "one-epp", "two", labels=LABELS, spec={"ports": [{"port": 9002}]}),
    ]
    what = (
        f"after {seconds} s Gateway system/inferfleet still says {said} InferencePool ml/one, "
        "InferencePool two/two"
    )
    ask = "Send a request, or look later with `inferfleet status`: some gateways never say"
    told = confirm(cluster(objects=objects), _desired(others=("two",), provider=provider))
    assert told == (cluster_problem("east", what, ask, severity="notice"),)


def test_a_service_that_is_back_is_not_missed_for_what_istio_said_before(cluster: Start) -> None:
    pool = _pool(_parent(ACCEPTED, NOT_FOUND, of=2))
    said = (
        "InferencePool ml/one: Gateway system/inferfleet still says 'Service ml/one-epp not found', but the "
        "Service is there"
    )
    again = "It looks again when the pool changes"
    assert confirm(cluster(objects=[pool, SERVICE]), _desired()) == (
        cluster_problem("east", said, again, severity="warning"),
    )


def test_a_service_that_is_not_there_is_missed_in_istio_s_words(cluster: Start) -> None:
    pool = _pool(_parent(ACCEPTED, NOT_FOUND, of=2))
    said = SAID.replace("is of no kind", "not found")
    assert confirm(cluster(objects=[pool]), _desired()) == (cluster_problem("east", said, NEXT),)


def test_what_a_gateway_of_others_says_counts_too(cluster: Start) -> None:
    fake = cluster(objects=[_pool(_parent(ACCEPTED, NO_SERVICE, gateway="theirs", of=2)), SERVICE])
    assert confirm(fake, _desired(("system", "theirs"))) == (cluster_problem("east", SAID, NEXT),)


def test_a_controller_has_time_to_take_back_what_it_said(
    cluster: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = _pool(_parent(ACCEPTED, NO_SERVICE, of=2))
    fake = cluster(objects=[pool, SERVICE])

    def mend(_: float) -> None:
        pool["status"] = {"parents": [_parent(ACCEPTED, RESOLVED, of=2)]}

    monkeypatch.setattr(module, "REFUSED_SECONDS", 60.0)
    monkeypatch.setattr("inferfleet.clusters.update.confirm.time.sleep", mend)
    assert confirm(fake, _desired()) == ()


@pytest.mark.parametrize(
    ("services", "said"),
    [
        ([], "its endpoint picker's Service ml/one-epp does not exist, or lacks this stack's label"),
        (
            [SERVICE | {"spec": {"ports": [{"port": 9003}]}}],
            "Service ml/one-epp has no port 9002, which it names (it has: 9003)",
        ),
    ],
)
def test_a_service_that_went_unnoticed_does_not_serve(
    cluster: Start, services: list[dict[str, Any]], said: str
) -> None:
    fake = cluster(objects=[_pool(_parent(ACCEPTED, RESOLVED, of=2)), *services])
    told = f"cluster 'east': HTTPRoute ml/one leads to InferencePool ml/one, which does not serve: {said}"
    assert confirm(fake, _desired()) == (cluster_problem("east", told, NEXT),)


def test_a_pool_that_is_gone_does_not_serve(cluster: Start) -> None:
    said = (
        "cluster 'east': HTTPRoute ml/one leads to InferencePool ml/one, which does not serve: "
        "does not exist, or lacks this stack's label"
    )
    assert confirm(cluster(), _desired()) == (cluster_problem("east", said, NEXT),)


def test_a_cluster_that_cannot_be_asked_is_warned_of(cluster: Start) -> None:
    fake = cluster(status={"/apis/inference.networking.k8s.io/v1": 403})
    [told] = confirm(fake, _desired())
    assert (told.severity, told.what.partition(": ")[0]) == (
        "warning",
        "whether models are served is not known",
    )


def test_a_namespace_that_may_not_be_read_is_warned_of_and_hides_no_other(cluster: Start) -> None:
    path = "/apis/inference.networking.k8s.io/v1/namespaces/two/inferencepools"
    fake = cluster(
        objects=[_pool(_parent(ACCEPTED, NO_SERVICE, of=2)), SERVICE],
        status={path: 403, "/api/v1/namespaces/two/services": 403},
    )
    [warned, refused] = confirm(fake, _desired(others=("two",)))
    assert (warned.severity, warned.what.partition(": ")[0]) == (
        "warning",
        "whether models in namespace 'two' are served is not known",
    )
    assert refused == cluster_problem("east", SAID, NEXT)


def test_only_namespaces_of_pools_with_routes_are_asked(cluster: Start) -> None:
    fake = cluster(objects=[_pool(_parent(ACCEPTED, RESOLVED, of=2)), SERVICE])
    assert confirm(fake, _desired()) == ()
    listed = [path.partition("?")[0] for path, _ in fake.asked]
    assert sorted(listed) == [
        "/api/v1",
        "/api/v1/namespaces/ml/services",
        "/apis/gateway.networking.k8s.io/v1",
        "/apis/gateway.networking.k8s.io/v1/namespaces/ml/httproutes",
        "/apis/inference.networking.k8s.io/v1",
        "/apis/inference.networking.k8s.io/v1/namespaces/ml/inferencepools",
    ]


def with_workloads(*workloads: KubeObject) -> Desired:
    """The pool and its route, with the picker one-epp and these workloads."""
    desired, picker = _desired(), _workload("one-epp")
    [cluster] = desired.clusters
    served = cluster.served["ml/one"]
    made = Component("ModelReplicas", "east/ml/one/l4", (picker, *workloads))
    cluster = replace(
        cluster,
        components=(*cluster.components, made),
        served={"ml/one": replace(served, members=(*served.members, picker.key))},
        workloads={Spot("ml/one", "east", ()): tuple(workload.key for workload in workloads)},
    )
    return replace(desired, clusters=(cluster,))


def _live(name: str, replicas: int, *, kind: str = "Deployment") -> dict[str, Any]:
    return thing(kind, name, "ml", labels=LABELS, spec={"replicas": replicas})


RESOLVED_POOL = [_pool(_parent(ACCEPTED, RESOLVED, of=2)), SERVICE]


def test_pickers_and_workloads_at_zero_are_told(cluster: Start) -> None:
    live = [_live("one-epp", 1), _live("a", 0), _live("b", 0, kind="LeaderWorkerSet")]
    desired = with_workloads(_workload("a"), _workload("b", 2, kind="LeaderWorkerSet"))
    told = confirm(cluster(objects=[*RESOLVED_POOL, *live]), desired)
    assert [problem.what.removeprefix("cluster 'east': ") for problem in told] == [
        "Deployment ml/one-epp is an endpoint picker without an available replica",
        "Deployment ml/a was scaled to spec.replicas 0, where 1 is desired",
        "LeaderWorkerSet ml/b was scaled to spec.replicas 0, where 2 is desired",
    ]


def test_a_route_and_all_else_that_is_gone_is_told_at_once(cluster: Start) -> None:
    told = confirm(cluster(), with_workloads(_workload("a")), without=("HTTPRoute",))
    gone = ["HTTPRoute ml/one", "Deployment ml/one-epp", "Deployment ml/a"]
    assert [problem.what for problem in told] == [
        f"cluster 'east': HTTPRoute ml/one leads to InferencePool ml/one, which does not serve: {ABSENT}",
        *(f"cluster 'east': {one} {ABSENT}" for one in gone),
    ]


def test_a_kind_that_may_not_be_read_hides_no_other(cluster: Start) -> None:
    path = "/apis/apps/v1/namespaces/ml/deployments"
    fake = cluster(objects=[*RESOLVED_POOL], status={path: 403})
    [warned, gone] = confirm(fake, with_workloads(_workload("a")), without=("HTTPRoute",))
    assert (warned.severity, gone.what) == ("warning", f"cluster 'east': HTTPRoute ml/one {ABSENT}")
