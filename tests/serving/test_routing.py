"""Pool, routes, gateway and what some gateways need besides."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from one_picker import picker as one_picker
from pydantic import ValidationError

from inferfleet.documents.kinds.inference_cluster import INTERNAL_ON_GKE, Gateway, Serving
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.fleet.decisions import Backend, ServiceRoute
from inferfleet.fleet.traffic import Requests
from inferfleet.serving import gateway
from inferfleet.serving.picker import inference_pool
from inferfleet.serving.routes import deployment_route, service_route
from inferfleet.tables.pickers import profile

Make = Callable[..., ModelDeployment]
Serve = Callable[..., Serving]

GIE = profile("gie-1.5")
STACK = {"app.kubernetes.io/managed-by": "inferfleet", "inferfleet.dev/stack": "prod"}
OURS = {**STACK, "inferfleet.dev/deployment": "qwen"}
HERE = {"name": "qwen", "namespace": "ml", "labels": OURS}
POOL = {"group": "inference.networking.k8s.io", "kind": "InferencePool", "name": "qwen"}
ROUTE_WAITS = {
    "pulumi.com/waitFor": (
        '["jsonpath={.status.parents[0].conditions[?(@.type==\\"Accepted\\")].status}=True", '
        '"jsonpath={.status.parents[0].conditions[?(@.type==\\"ResolvedRefs\\")].status}=True"]'
    )
}
PARENT = {
    "group": "gateway.networking.k8s.io",
    "kind": "Gateway",
    "name": "inferfleet",
    "namespace": "inferfleet-system",
}


def _leaves(path: str) -> dict[str, Any]:
    replaced = {"type": "ReplacePrefixMatch", "replacePrefixMatch": path}
    return {"type": "URLRewrite", "urlRewrite": {"path": replaced}}


OWN = Gateway(class_name="any")


def test_a_pool_selects_serving_pods_and_names_their_port_and_picker(deployment: Make) -> None:
    document = deployment(engine={"type": "SGLang"}, endpointPicker={"port": 7002, "failureMode": "FailOpen"})
    assert inference_pool(one_picker(document)) == {
        "apiVersion": "inference.networking.k8s.io/v1",
        "kind": "InferencePool",
        "metadata": HERE,
        "spec": {
            "selector": {
                "matchLabels": {"inferfleet.dev/deployment": "qwen", "inferfleet.dev/serves": "true"}
            },
            "targetPorts": [{"number": 30000}],
            "endpointPickerRef": {
                "group": "",
                "kind": "Service",
                "name": "qwen-epp",
                "port": {"number": 7002},
                "failureMode": "FailOpen",
            },
        },
    }


def test_a_deployment_is_reached_under_a_path_of_its_own(deployment: Make) -> None:
    assert deployment_route(deployment=deployment(), gateway=OWN, profile=GIE, stack="prod") == {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "HTTPRoute",
        "metadata": {**HERE, "annotations": ROUTE_WAITS},
        "spec": {
            "parentRefs": [PARENT],
            "rules": [
                {
                    "matches": [{"path": {"type": "PathPrefix", "value": "/ml/deployments/qwen/v1"}}],
                    "filters": [_leaves("/v1")],
                    "backendRefs": [POOL],
                    "timeouts": {"request": "3600s"},
                }
            ],
        },
    }


def test_hostnames_and_headers_narrow_a_route(deployment: Make) -> None:
    document = deployment(route={"hostnames": ["a.example.com"], "headers": {"X-B": "2", "X-A": "1"}})
    spec = deployment_route(deployment=document, gateway=OWN, profile=GIE, stack="prod")["spec"]
    assert spec["hostnames"] == ["a.example.com"]
    assert spec["rules"][0]["matches"] == [
        {
            "path": {"type": "PathPrefix", "value": "/ml/deployments/qwen/v1"},
            "headers": [
                {"type": "Exact", "name": "X-A", "value": "1"},
                {"type": "Exact", "name": "X-B", "value": "2"},
            ],
        }
    ]


def test_a_service_shares_traffic_by_weight_through_the_gateway_that_exists() -> None:
    route = ServiceRoute("ml/coder", "east", (Backend("ml/qwen", 80), Backend("ml/llama", 20)))
    theirs = Gateway.model_validate({"provider": "gke", "ref": {"name": "shared", "namespace": "infra"}})
    assert service_route(
        route=route, requests=Requests("/ml/coder", ("/v1",)), gateway=theirs, profile=GIE, stack="prod"
    ) == {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "HTTPRoute",
        "metadata": {
            "name": "coder-svc",
            "namespace": "ml",
            "labels": {**STACK, "inferfleet.dev/service": "coder"},
            "annotations": ROUTE_WAITS,
        },
        "spec": {
            "parentRefs": [{**PARENT, "name": "shared", "namespace": "infra"}],
            "rules": [
                {
                    "matches": [{"path": {"type": "PathPrefix", "value": "/ml/coder/v1"}}],
                    "filters": [_leaves("/v1")],
                    "backendRefs": [{**POOL, "weight": 80}, {**POOL, "name": "llama", "weight": 20}],
                }
            ],
        },
    }


def _gateway(annotations: dict[str, str] | None = None, *, port: int = 80, **spec: Any) -> dict[str, Any]:
    annotations = {"pulumi.com/waitFor": "condition=Programmed", **(annotations or {})}
    return {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "Gateway",
        "metadata": {
            "name": "inferfleet",
            "namespace": "inferfleet-system",
            "labels": STACK,
            "annotations": annotations,
        },
        "spec": {
            "gatewayClassName": "any",
            "listeners": [
                {
                    "name": "http",
                    "protocol": "HTTP",
                    "port": port,
                    "allowedRoutes": {
                        "namespaces": {
                            "from": "Selector",
                            "selector": {"matchLabels": {"inferfleet.dev/stack": "prod"}},
                        }
                    },
                }
            ],
            **spec,
        },
    }


def _global_access() -> dict[str, Any]:
    return {
        "apiVersion": "networking.gke.io/v1",
        "kind": "GCPGatewayPolicy",
        "metadata": {"name": "inferfleet", "namespace": "inferfleet-system", "labels": STACK},
        "spec": {
            "targetRef": {"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "inferfleet"},
            "default": {"allowGlobalAccess": True},
        },
    }


@pytest.mark.parametrize(
    ("provider", "objects"),
    [
        ("none", [_gateway()]),
        ("gke", [_global_access(), _gateway(gatewayClassName="gke-l7-rilb")]),
        ("istio", [_gateway({"networking.istio.io/service-type": "ClusterIP"})]),
        (
            "envoy",
            [
                {
                    "apiVersion": "gateway.envoyproxy.io/v1alpha1",
                    "kind": "EnvoyProxy",
                    "metadata": {"name": "inferfleet", "namespace": "inferfleet-system", "labels": STACK},
                    "spec": {
                        "provider": {
                            "type": "Kubernetes",
                            "kubernetes": {"envoyService": {"type": "ClusterIP"}},
                        }
                    },
                },
                _gateway(
                    infrastructure={
                        "parametersRef": {
                            "group": "gateway.envoyproxy.io",
                            "kind": "EnvoyProxy",
                            "name": "inferfleet",
                        }
                    }
                ),
            ],
        ),
    ],
)
def test_a_gateway_of_our_own_gets_no_public_address_unasked(
    serving: Serve, provider: str, objects: list[dict[str, Any]]
) -> None:
    chosen = serving(provider).gateway
    if provider == "gke":
        chosen = INTERNAL_ON_GKE
    own = gateway.own_gateway(gateway=chosen, stack="prod")
    assert own is not None
    assert [*own.parameters, own.gateway] == objects


@pytest.mark.parametrize("provider", ["istio", "envoy"])
def test_a_gateway_gets_a_load_balancer_when_its_document_says_so(provider: str) -> None:
    chosen = Gateway.model_validate({"className": "any", "provider": provider, "serviceType": "LoadBalancer"})
    own = gateway.own_gateway(gateway=chosen, stack="prod")
    assert own is not None
    told = own.gateway["metadata"]["annotations"].get("networking.istio.io/service-type")
    services = [one["spec"]["provider"]["kubernetes"]["envoyService"]["type"] for one in own.parameters]
    assert [told or "", *services] == (["LoadBalancer"] if provider == "istio" else ["", "LoadBalancer"])


@pytest.mark.parametrize(
    ("written", "internal", "annotations"),
    [
        ({}, {"of-the-cloud": "yes"}, {"of-the-cloud": "yes"}),
        ({"internal": "true"}, {}, {"internal": "true"}),
        ({"of-the-cloud": "no"}, {"of-the-cloud": "yes"}, {"of-the-cloud": "no"}),
    ],
)
@pytest.mark.parametrize("provider", ["istio", "envoy"])
def test_an_internal_gateway_has_the_annotations_of_its_cloud(
    provider: str, written: dict[str, str], internal: dict[str, str], annotations: dict[str, str]
) -> None:
    chosen = Gateway.model_validate(
        {
            "className": "any",
            "provider": provider,
            "serviceType": "Internal",
            "serviceAnnotations": written,
        }
    )
    own = gateway.own_gateway(gateway=chosen, stack="prod", internal=internal)
    assert own is not None
    if provider == "istio":
        assert own.gateway["metadata"]["annotations"]["networking.istio.io/service-type"] == "LoadBalancer"
        assert own.gateway["spec"]["infrastructure"] == {"annotations": annotations}
    else:
        service = own.parameters[0]["spec"]["provider"]["kubernetes"]["envoyService"]
        assert service == {"type": "LoadBalancer", "annotations": annotations}


@pytest.mark.parametrize("provider", ["istio", "envoy"])
def test_a_load_balancer_lets_in_the_addresses_of_a_document(provider: str) -> None:
    chosen = Gateway.model_validate(
        {
            "className": "any",
            "provider": provider,
            "serviceType": "LoadBalancer",
            "sourceRanges": ["10.1.0.0/16", "192.0.2.7/32"],
        }
    )
    own = gateway.own_gateway(gateway=chosen, stack="prod")
    assert own is not None
    ranges = {"loadBalancerSourceRanges": ["10.1.0.0/16", "192.0.2.7/32"]}
    [parameters] = own.parameters
    reference = own.gateway["spec"]["infrastructure"]["parametersRef"]
    assert (reference["kind"], reference["name"]) == (parameters["kind"], parameters["metadata"]["name"])
    if provider == "istio":
        assert json.loads(parameters["data"]["service"]) == {"spec": ranges}
    else:
        service = parameters["spec"]["provider"]["kubernetes"]["envoyService"]
        assert service == {"type": "LoadBalancer", **ranges}


@pytest.mark.parametrize(
    ("written", "what"),
    [
        ({"serviceType": "LoadBalancer", "sourceRanges": ["10.1.0.1/16"]}, "is no range of addresses"),
        ({"sourceRanges": ["10.1.0.0/16"]}, "sourceRanges are for a load balancer"),
    ],
)
def test_ranges_that_let_in_nobody_in_particular_are_refused(written: dict[str, Any], what: str) -> None:
    with pytest.raises(ValidationError, match=what):
        Gateway.model_validate({"className": "any", "provider": "istio", **written})


@pytest.mark.parametrize(
    "others",
    [
        {"className": "any"},
        {"className": "gke-l7-rilb", "provider": "gke"},
        {"ref": {"name": "shared", "namespace": "infra"}, "provider": "istio"},
    ],
)
def test_the_type_of_a_service_that_others_make_is_refused(others: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="serviceType is for a gateway that inferfleet creates"):
        Gateway.model_validate({**others, "serviceType": "LoadBalancer"})


def test_a_gateway_listens_on_its_port() -> None:
    chosen = Gateway(class_name="any", port=8080)
    assert gateway.own_gateway(gateway=chosen, stack="prod") == gateway.OwnGateway(_gateway(port=8080))


def test_a_gateway_that_exists_is_not_made() -> None:
    theirs = Gateway.model_validate({"ref": {"name": "shared", "namespace": "infra"}})
    assert gateway.own_gateway(gateway=theirs, stack="prod") is None
