"""Who reaches engines and endpoint pickers on a cluster with a network policy: whole objects."""

from collections.abc import Callable
from typing import Any

import pytest
from one_picker import picker as one_picker
from pydantic import ValidationError

from inferfleet.documents.kinds.inference_cluster import InferenceClusterSpec, Serving
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.serving.network_policy import policies
from inferfleet.tables.pickers import profile

Make = Callable[..., ModelDeployment]
Serve = Callable[..., Serving]

GIE = profile("gie-1.5")
OURS = {
    "app.kubernetes.io/managed-by": "inferfleet",
    "inferfleet.dev/stack": "prod",
    "inferfleet.dev/deployment": "qwen",
}
PICKER = {"app.kubernetes.io/name": "qwen-epp"}
ISTIO = [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "inferfleet-system"}}}]
HEALTH_CHECKS = [{"ipBlock": {"cidr": "130.211.0.0/22"}}, {"ipBlock": {"cidr": "35.191.0.0/16"}}]
MONITORING = [{"namespaceSelector": {"matchLabels": {"team": "monitoring"}}}]


def _policy(name: str, selector: dict[str, str], *ingress: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": name, "namespace": "ml", "labels": OURS},
        "spec": {
            "podSelector": {"matchLabels": selector},
            "policyTypes": ["Ingress"],
            "ingress": list(ingress),
        },
    }


def _both(gateway: Any, *, engine: int = 8000, picker: tuple[int, ...] = (9002,)) -> tuple[Any, Any]:
    """The policies of engines and picker without monitoring."""
    return (
        _policy(
            "qwen",
            {"inferfleet.dev/deployment": "qwen"},
            _rule(gateway, engine),
            {"from": [{"podSelector": {"matchLabels": PICKER}}]},
        ),
        _policy("qwen-epp", PICKER, _rule(gateway, *picker)),
    )


def _rule(peers: Any, *ports: int) -> dict[str, Any]:
    return {"from": peers, "ports": [{"protocol": "TCP", "port": port} for port in ports]}


def _made(document: ModelDeployment, serving: Serving, proxies: str | None = None) -> tuple[Any, ...]:
    return policies(one_picker(document, serving), proxies=proxies)


@pytest.mark.parametrize("provider", ["none", "istio", "envoy", "gke"])
def test_a_cluster_that_asks_for_none_has_none(deployment: Make, serving: Serve, provider: str) -> None:
    assert _made(deployment(), serving(provider), "10.4.0.0/23") == ()


@pytest.mark.parametrize(
    ("provider", "wanted", "gateway"),
    [
        ("istio", {}, ISTIO),
        (
            "istio",
            {"gatewayNamespace": "edge"},
            [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "edge"}}}],
        ),
        (
            "envoy",
            {},
            [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "envoy-gateway-system"}}}],
        ),
        (
            "none",
            {"gatewayNamespace": "edge", "gatewayRanges": ["10.0.0.0/24"]},
            [
                {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "edge"}}},
                {"ipBlock": {"cidr": "10.0.0.0/24"}},
            ],
        ),
        ("none", {"gatewayRanges": ["10.0.0.0/24"]}, [{"ipBlock": {"cidr": "10.0.0.0/24"}}]),
    ],
)
def test_the_gateways_proxies_reach_engines_and_pickers_and_pickers_their_engines(
    deployment: Make, serving: Serve, provider: str, wanted: Any, gateway: Any
) -> None:
    assert _made(deployment(), serving(provider, networkPolicy=wanted)) == _both(gateway)


@pytest.mark.parametrize(
    ("wanted", "ranges"),
    [({}, ["10.4.0.0/23"]), ({"gatewayRanges": ["10.9.0.0/23"]}, ["10.9.0.0/23"])],
)
def test_on_gke_proxies_and_health_checks_come_from_ranges_and_ask_for_the_pickers_health_too(
    deployment: Make, serving: Serve, wanted: Any, ranges: list[str]
) -> None:
    gateway = [*({"ipBlock": {"cidr": cidr}} for cidr in ranges), *HEALTH_CHECKS]
    made = _made(deployment(), serving("gke", networkPolicy=wanted), "10.4.0.0/23")
    assert made == _both(gateway, picker=(9002, 9003))


def test_the_proxies_of_an_existing_istio_gateway_are_in_its_namespace(deployment: Make) -> None:
    serving = Serving.model_validate(
        {
            "gateway": {"provider": "istio", "ref": {"name": "shared", "namespace": "infra"}},
            "networkPolicy": {},
        }
    )
    infra = [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "infra"}}}]
    assert _made(deployment(), serving) == _both(infra)


def test_monitoring_reads_metrics_and_nothing_else(deployment: Make, serving: Serve) -> None:
    wanted = {"monitoring": {"matchLabels": {"team": "monitoring"}}}
    document = deployment(
        engine={"type": "Triton"}, endpointPicker={"port": 7002, "flags": {"metrics-port": 7090}}
    )
    engines, picker = _both(ISTIO, picker=(7002,))
    engines["spec"]["ingress"].append(_rule(MONITORING, 8002))
    picker["spec"]["ingress"].append(_rule(MONITORING, 7090))
    assert _made(document, serving("istio", networkPolicy=wanted)) == (engines, picker)


def test_monitoring_without_labels_is_every_namespace(deployment: Make, serving: Serve) -> None:
    engines, _ = _made(deployment(), serving("istio", networkPolicy={"monitoring": {}}))
    assert engines["spec"]["ingress"][-1] == _rule([{"namespaceSelector": {}}], 8000)


@pytest.mark.parametrize(
    ("monitoring", "namespace"),
    [
        (
            {
                "engines": "PodMonitor",
                "scraper": {"namespace": "watch", "serviceAccount": "prometheus"},
            },
            "watch",
        ),
        ({"pickers": "PodMonitoring"}, "gmp-system"),
    ],
)
def test_who_scrapes_is_let_in_where_nobody_else_is_named(
    deployment: Make, serving: Serve, monitoring: Any, namespace: str
) -> None:
    scraper = [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}}}]
    engines, picker = _both(ISTIO)
    engines["spec"]["ingress"].append(_rule(scraper, 8000))
    picker["spec"]["ingress"].append(_rule(scraper, 9090))
    assert _made(deployment(), serving("istio", networkPolicy={}, monitoring=monitoring)) == (engines, picker)
    named = {"monitoring": {"matchLabels": {"team": "monitoring"}}}
    [of_engines, _] = _made(deployment(), serving("istio", networkPolicy=named, monitoring=monitoring))
    assert of_engines["spec"]["ingress"][-1] == _rule(MONITORING, 8000)


@pytest.mark.parametrize(
    ("monitoring", "ports"),
    [({}, (8000,)), ({"monitoring": {"engines": "PodMonitoring"}}, (8000, 30000))],
    ids=["nobody scrapes roles", "roles are scraped"],
)
def test_who_scrapes_further_roles_reaches_their_ports_too(
    deployment: Make, serving: Serve, monitoring: Any, ports: tuple[int, ...]
) -> None:
    template = {"spec": {"containers": [{"name": "engine", "image": "sglang:1"}]}}
    encode = {"engine": {"type": "SGLang"}, "workers": {"topology": {"tensor": 1}, "template": template}}
    policy = {"monitoring": {"matchLabels": {"team": "monitoring"}}}
    [engines, _] = _made(
        deployment(roles={"encode": encode}), serving("istio", networkPolicy=policy, **monitoring)
    )
    assert _rule(MONITORING, *ports) in engines["spec"]["ingress"]


@pytest.mark.parametrize("provider", ["istio", "envoy", "gke"])
def test_no_rule_has_an_empty_list_of_who_may_ask_which_would_be_everybody(
    deployment: Make, serving: Serve, provider: str
) -> None:
    for policy in _made(deployment(), serving(provider, networkPolicy={})):
        assert policy["spec"]["ingress"]
        assert all(rule["from"] for rule in policy["spec"]["ingress"])


def _spec(source: dict[str, Any], provider: str, policy: dict[str, Any]) -> dict[str, Any]:
    pool = {"name": "l4", "className": "l4", "nodeCount": 1}
    gateway = {"className": "any", "provider": provider}
    return {
        "cluster": source,
        "nodePools": [pool],
        "serving": {"gateway": gateway, "networkPolicy": policy},
    }


EXISTING = {"source": "Existing", "existing": {"kubeconfig": {"configKey": "east"}}}
GKE = {"source": "GKE", "gke": {"project": "acme-ml", "region": "us-east4"}}
NETWORK = {"name": "a", "subnetwork": "b", "podsRange": "c", "servicesRange": "d"}
SHARED = {"source": "GKE", "gke": {**GKE["gke"], "network": {"existing": NETWORK}}}  # type: ignore[dict-item]
RANGES = (
    "networkPolicy needs the range of the proxy-only subnetwork: the stack does not create it. "
    "Add gatewayRanges: gcloud compute networks subnets list has it"
)


@pytest.mark.parametrize(
    ("source", "provider", "policy", "said"),
    [
        (
            EXISTING,
            "none",
            {},
            "networkPolicy must say where the gateway's proxies are: its provider is none. "
            "Add gatewayNamespace or gatewayRanges, or name the gateway's provider",
        ),
        (
            GKE,
            "gke",
            {"gatewayNamespace": "edge"},
            "the proxies of a gateway with provider gke are no pods, so they are in no namespace. Remove it",
        ),
        (EXISTING, "gke", {}, RANGES),
        (SHARED, "gke", {}, RANGES),
        (EXISTING, "istio", {"gatewayRanges": ["10.0.0.1/24"]}, "has host bits set"),
    ],
)
def test_a_policy_that_would_shut_the_gateway_out_is_refused(
    source: Any, provider: str, policy: Any, said: str
) -> None:
    with pytest.raises(ValidationError) as raised:
        InferenceClusterSpec.model_validate(_spec(source, provider, policy))
    assert said in str(raised.value)


@pytest.mark.parametrize(
    ("source", "provider", "policy"),
    [
        (GKE, "gke", {}),
        (SHARED, "gke", {"gatewayRanges": ["10.9.0.0/23"]}),
        (EXISTING, "gke", {"gatewayRanges": ["10.9.0.0/23"]}),
        (EXISTING, "istio", {}),
        (EXISTING, "none", {"gatewayNamespace": "edge"}),
    ],
)
def test_a_policy_that_says_enough_is_taken(source: Any, provider: str, policy: Any) -> None:
    spec = InferenceClusterSpec.model_validate(_spec(source, provider, policy))
    assert spec.serving.network_policy is not None
