from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import yaml
from fake_cluster import FakeCluster, thing
from own_cluster import east_problem

from inferfleet.clusters.preflight.observe import Observation, observe
from inferfleet.desired.values import Component, Connection, Desired, DesiredCluster, KubeObject, ObjectNeed
from inferfleet.fleet.decisions import Leaving, Plan
from inferfleet.serving.gateway import Address

OURS = {"app.kubernetes.io/managed-by": "inferfleet", "inferfleet.dev/stack": "prod"}
Start = Callable[..., FakeCluster]


def desired_on(*clusters: DesiredCluster) -> Desired:
    return Desired("prod", clusters, Plan(), frozenset(), ())


def east(
    *objects: dict[str, Any], state: Any = "active", uid: str | None = None, **more: Any
) -> DesiredCluster:
    components = (Component("ServingStack", "east", tuple(KubeObject("n", wanted) for wanted in objects)),)
    connection = Connection("east", "existing/east", state, config_key="east", uid=uid)
    return DesiredCluster(connection, components, **more)


def need(kind: str, name: str, *keys: str, namespace: str = "ml", **more: Any) -> ObjectNeed:
    readers = more.pop("readers", ("ml/a",))
    document = {"kind": "ModelDeployment", "key": readers[0], "path": "spec", **more}
    return ObjectNeed(kind, namespace, name, keys, readers, **document)


def look(fake: FakeCluster, desired: DesiredCluster) -> Observation:
    return observe(desired_on(desired), {"east": fake.kubeconfig})


def test_a_cluster_where_everything_is_as_it_should_be_only_tells_its_uid(cluster: Start) -> None:
    fake = cluster(
        objects=[
            thing("GatewayClass", "istio", spec={"controllerName": "istio.io/gateway-controller"}),
            thing("Gateway", "inferfleet", "inferfleet-system", labels=OURS),
            thing("Namespace", "ml"),
            thing("Secret", "hf", "ml", data={"token": "c2VjcmV0"}),
        ]
    )
    seen = look(
        fake,
        east(
            thing("Namespace", "ml"),
            thing("Gateway", "inferfleet", "inferfleet-system"),
            thing("HTTPRoute", "coder-svc", "ml"),
            uid="uid-1",
            gateway_class="istio",
            objects_needed=(need("Secret", "hf", "token"),),
        ),
    )
    assert seen == Observation(uids={"east": "uid-1"})


@pytest.mark.parametrize("state", ["lost", "abandoned"])
def test_lost_and_abandoned_clusters_are_asked_nothing(cluster: Start, state: str) -> None:
    fake = cluster()
    assert look(fake, east(state=state)) == Observation()
    assert fake.asked == []


def test_a_cluster_that_is_gone_is_named_with_its_address_and_the_ways_out(cluster: Start) -> None:
    fake = cluster()
    fake.close()
    assert look(fake, east()).problems == (
        east_problem(
            f"cluster 'east' does not answer at {fake.address}: Connection refused",
            "Fix the connection, or write `state: lost` into its document to go on without touching it, or "
            "`state: abandoned` to give it up and place its replicas elsewhere",
            "spec.cluster.existing.kubeconfig",
        ),
    )


def test_a_cluster_that_takes_the_connection_and_says_nothing_is_named_in_time(cluster: Start) -> None:
    fake = cluster(hang=True)
    seen = observe(desired_on(east()), {"east": fake.kubeconfig}, seconds=0.2)
    assert [problem.what for problem in seen.problems] == [
        f"cluster 'east' does not answer at {fake.address}: no answer in time"
    ]


def test_one_dead_cluster_hides_nothing_of_the_others(cluster: Start) -> None:
    dead, alive = cluster(), cluster(uid="uid-2")
    dead.close()
    west = DesiredCluster(Connection("west", "existing/west", "active", config_key="west"), ())
    seen = observe(desired_on(east(), west), {"east": dead.kubeconfig, "west": alive.kubeconfig})
    assert (len(seen.problems), seen.uids) == (1, {"west": "uid-2"})


def test_another_cluster_under_the_name_is_refused_and_asked_nothing_more(cluster: Start) -> None:
    fake = cluster(uid="new")
    assert look(fake, east(thing("Namespace", "ml"), uid="old")).problems == (
        east_problem(
            "another cluster answers under the name 'east': its kube-system has UID new, "
            "the lock remembers old",
            "Fix the kubeconfig if two are swapped. If the cluster was rebuilt, give the old one up "
            "(`state: abandoned`, then `pulumi up`, then remove its document) and add it again",
            "spec.cluster.existing.kubeconfig",
        ),
    )
    assert len(fake.asked) == 1


@pytest.mark.parametrize(
    ("there", "what"),
    [
        ([], "cluster 'east' has no GatewayClass 'istio' (it has: none)"),
        (
            [thing("GatewayClass", "gke", spec={"controllerName": "x"})],
            "cluster 'east' has no GatewayClass 'istio' (it has: gke)",
        ),
    ],
)
def test_a_gateway_class_that_nothing_serves_is_refused(cluster: Start, there: list[Any], what: str) -> None:
    seen = look(cluster(objects=there), east(gateway_class="istio"))
    assert [(problem.what, problem.path) for problem in seen.problems] == [
        (what, "spec.serving.gateway.className")
    ]


@pytest.mark.parametrize(
    ("there", "what"),
    [
        ([], "cluster 'east' has no GatewayClass 'eg' (it has: none)"),
        (
            [thing("GatewayClass", "eg", spec={"controllerName": "istio.io/gateway-controller"})],
            "GatewayClass 'eg' on cluster 'east' is of controller istio.io/gateway-controller, and only "
            "Envoy Gateway serves InferenceGateways",
        ),
        (
            [
                thing(
                    "GatewayClass",
                    "eg",
                    spec={"controllerName": "gateway.envoyproxy.io/gatewayclass-controller"},
                )
            ],
            "",
        ),
    ],
)
def test_an_inference_gateway_has_a_class_of_envoy_gateway(
    cluster: Start, there: list[Any], what: str
) -> None:
    door = thing("Gateway", "front-main", "inferfleet-system", spec={"gatewayClassName": "eg"})
    made = east(door)
    made = replace(made, front_doors={"main": next(made.objects)})
    seen = look(cluster(objects=there), made)
    said = [(problem.what, problem.kind, problem.key, problem.path) for problem in seen.problems]
    assert said == ([(what, "InferenceGateway", "main", "spec.className")] if what else [])


ENVOY_GATEWAY = {
    "extensionApis": {"enableBackend": True},
    "rateLimit": {"backend": {"redis": {"url": "redis:6379"}}, "failClosed": False},
}


@pytest.mark.parametrize(
    ("written", "told"),
    [
        (ENVOY_GATEWAY, []),
        ({**ENVOY_GATEWAY, "rateLimit": {"backend": {"redis": {"url": "redis:6379"}}}}, []),
        (
            {"rateLimit": {"backend": {"redis": {"url": "other:6379"}}, "failClosed": True}},
            [
                "error: extensionApis.enableBackend of Envoy Gateway on cluster 'east' is null, and "
                "InferenceGateways there need true",
                "error: rateLimit.backend.redis.url of Envoy Gateway on cluster 'east' is \"other:6379\", "
                'and InferenceGateways there need "redis:6379"',
                "error: rateLimit.failClosed of Envoy Gateway on cluster 'east' is true, and "
                "InferenceGateways there need false",
            ],
        ),
        (
            None,
            [
                "notice: whether Envoy Gateway on cluster 'east' is configured for InferenceGateways is not "
                "known: ConfigMap envoy-gateway-system/envoy-gateway-config is not there, or cannot be read"
            ],
        ),
    ],
)
def test_envoy_gateway_of_somebody_else_is_configured_for_inference_gateways(
    cluster: Start, written: dict[str, Any] | None, told: list[str]
) -> None:
    controller = {"controllerName": "gateway.envoyproxy.io/gatewayclass-controller"}
    there = [thing("GatewayClass", "eg", spec=controller)]
    if written is not None:
        data = {"envoy-gateway.yaml": yaml.safe_dump(written)}
        there.append(thing("ConfigMap", "envoy-gateway-config", "envoy-gateway-system", data=data))
    door = thing("Gateway", "front-main", "inferfleet-system", spec={"gatewayClassName": "eg"})
    made = east(door)
    made = replace(made, front_doors={"main": next(made.objects)}, envoy_gateway=ENVOY_GATEWAY)
    seen = look(cluster(objects=there), made)
    assert [f"{problem.severity}: {problem.what}" for problem in seen.problems] == told


def test_a_referenced_gateway_must_exist(cluster: Start) -> None:
    desired = east(gateway_ref=("infra", "shared"))
    assert [one.what for one in look(cluster(), desired).problems] == [
        "cluster 'east' has no Gateway infra/shared"
    ]
    assert look(cluster(objects=[thing("Gateway", "shared", "infra")]), desired).problems == ()


def test_the_address_of_a_referenced_gateway_is_told(cluster: Start) -> None:
    listeners = [{"name": "http", "protocol": "HTTP", "port": 80}]
    status = {"addresses": [{"type": "IPAddress", "value": "10.0.0.5"}]}
    shared = thing("Gateway", "shared", "infra", spec={"listeners": listeners}, status=status)
    assert look(cluster(objects=[shared]), east(gateway_ref=("infra", "shared"))) == Observation(
        uids={"east": "uid-1"}, addresses={"east": Address("10.0.0.5", 80)}
    )


def test_kinds_the_api_server_does_not_know_are_named_with_the_versions_it_has(cluster: Start) -> None:
    kinds = {
        "gateway.networking.k8s.io/v1beta1": {"HTTPRoute": ("httproutes", True)},
        "apps/v1": {"Deployment": ("deployments", True)},
    }
    seen = look(
        cluster(kinds=kinds),
        east(thing("HTTPRoute", "x", "ml"), thing("InferencePool", "x", "ml"), gateway_class="istio"),
    )
    assert [problem.what for problem in seen.problems] == [
        "cluster 'east' does not know GatewayClass, HTTPRoute of gateway.networking.k8s.io/v1 "
        "(of this group it serves v1beta1)",
        "cluster 'east' does not know InferencePool of inference.networking.k8s.io/v1",
    ]


def test_foreign_objects_are_named_by_owner_and_namespaces_are_exempt(cluster: Start) -> None:
    helm = {"app.kubernetes.io/managed-by": "Helm"}
    names = ["Gateway inferfleet-system/inferfleet", "Deployment ml/a", "Deployment ml/b", "HTTPRoute ml/c"]
    labels = [helm, OURS | {"inferfleet.dev/stack": "dev"}, OURS, {"app": "shop"}]
    objects = [
        thing(kind, name, namespace, labels=of)
        for (kind, namespace, name), of in zip(
            [name.replace("/", " ").split() for name in names], labels, strict=True
        )
    ]
    for one in objects:
        one["spec"] = {"template": {"spec": {}}}
    wanted = [thing("Namespace", "ml"), *objects]
    seen = look(cluster(objects=[thing("Namespace", "ml", labels=helm), *objects]), east(*wanted))
    assert [problem.what.partition("belongs to ")[2] for problem in seen.problems] == [
        "'Helm' (label app.kubernetes.io/managed-by): Gateway inferfleet-system/inferfleet",
        "somebody else (labels: app=shop): HTTPRoute ml/c",
        "stack 'dev': Deployment ml/a",
    ]
    assert seen.problems[0].next_step.endswith(
        "kubectl label them app.kubernetes.io/managed-by=inferfleet inferfleet.dev/stack=prod"
    )


def test_what_is_there_costs_one_request_per_kind_and_page(cluster: Start) -> None:
    objects = [thing("ConfigMap", f"c{n}", f"ns{n % 10}", labels=OURS) for n in range(900)]
    fake = cluster(objects=objects)
    assert look(fake, east(*objects)).problems == ()
    lists = [path for path, _ in fake.asked if path.startswith("/api/v1/configmaps")]
    assert lists == [
        "/api/v1/configmaps?limit=500",
        "/api/v1/configmaps?limit=500&continue=500",
    ]
    assert len(fake.asked) == 7


def test_what_is_being_deleted_is_a_warning(cluster: Start) -> None:
    going = thing("Namespace", "ml", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})
    seen = look(cluster(objects=[going]), east(thing("Namespace", "ml")))
    assert [(problem.severity, problem.what) for problem in seen.problems] == [
        ("warning", "on cluster 'east' these are being deleted: Namespace ml"),
    ]


@pytest.mark.parametrize(
    ("path", "status", "what"),
    [
        (
            "/api/v1/namespaces/kube-system",
            401,
            "cluster 'east' refused GET /api/v1/namespaces/kube-system (401): it does not accept the "
            "credentials",
        ),
        (
            "/apis/apps/v1/deployments",
            403,
            "cluster 'east' refused GET /apis/apps/v1/deployments (403): the credentials may not read this",
        ),
        (
            "/apis/apps/v1/deployments",
            500,
            "cluster 'east' refused GET /apis/apps/v1/deployments (500): the API server failed",
        ),
    ],
)
def test_a_refusal_names_the_request(cluster: Start, path: str, status: int, what: str) -> None:
    assert [one.what for one in look(cluster(status={path: status}), east()).problems] == [what]


def engine(name: str, *, labels: dict[str, str], **pod: Any) -> dict[str, Any]:
    limits = {"nvidia.com/gpu": "2", "cpu": "8"}
    pod = {"containers": [{"name": "engine", "resources": {"limits": limits}}, {"name": "log"}], **pod}
    template = {"metadata": {"labels": labels}, "spec": pod}
    return thing("Deployment", name, "ml", labels=OURS, spec={"replicas": 3, "template": template})


def test_leaving_workloads_are_engines_of_this_stack_that_are_no_longer_desired(cluster: Start) -> None:
    role = {"inferfleet.dev/deployment": "a", "inferfleet.dev/role": "decode"}
    kept = engine("a-decode-l4", labels=role)
    other = engine("a-decode-other", labels=role)
    other["metadata"]["labels"] = OURS | {"inferfleet.dev/stack": "dev"}
    fake = cluster(
        objects=[
            kept,
            other,
            engine("a-decode-h100", labels=role, nodeSelector={"inferfleet.dev/pool": "h100-x"}),
            engine("a-decode-a100", labels=role),
            engine("a-epp", labels={"inferfleet.dev/deployment": "a"}),
        ]
    )
    assert look(fake, east(kept)).leaving == (
        Leaving("east", "ml", "a-decode-a100", pool="a100", pods=3, gpus_per_pod=2, deployment="ml/a"),
        Leaving("east", "ml", "a-decode-h100", pool="h100-x", pods=3, gpus_per_pod=2, deployment="ml/a"),
    )


def test_an_object_in_a_namespace_is_of_a_kind_that_the_cluster_has_in_namespaces(cluster: Start) -> None:
    assert look(cluster(), east(thing("GatewayClass", "mine", "ml"))).problems == (
        east_problem(
            "on cluster 'east' a GatewayClass of gateway.networking.k8s.io/v1 belongs to the whole cluster, "
            "and a plugin adds mine to namespace ml",
            "Remove it from the plugin, and create it outside of the stack",
        ),
    )
