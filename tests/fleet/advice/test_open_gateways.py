"""Which gateways digests and doctor name, because anybody can reach them."""

from typing import Any

import pytest
from small_fleet import cluster, fleet

from inferfleet.documents.kinds.inference_cluster import Gateway
from inferfleet.fleet.advice.exposure import open_gateway_problems


def _told(**gateway: Any) -> list[str]:
    documents = fleet(cluster("east", {"l4": ("l4", 1)}))
    east = documents.clusters["east"]
    serving = east.spec.serving.model_copy(update={"gateway": Gateway.model_validate(gateway)})
    spec = east.spec.model_copy(update={"serving": serving})
    documents.clusters["east"] = east.model_copy(update={"spec": spec})
    return [f"{problem.path}: {problem.what}" for problem in open_gateway_problems(documents)]


@pytest.mark.parametrize("provider", ["istio", "envoy"])
def test_a_gateway_that_clouds_make_public_is_named(provider: str) -> None:
    assert _told(className="any", provider=provider, serviceType="LoadBalancer") == [
        "spec.serving.gateway.serviceType: the gateway of cluster east has serviceType: LoadBalancer, for "
        "which most clouds make a public address, and it asks nobody for a key: whoever reaches it uses the "
        "models behind it"
    ]


def test_a_class_of_google_with_an_external_load_balancer_is_named() -> None:
    assert _told(className="gke-l7-regional-external-managed", provider="gke") == [
        "spec.serving.gateway.className: the gateway of cluster east has className: "
        "gke-l7-regional-external-managed, for which Google makes a public address, and it asks nobody for a "
        "key: whoever reaches it uses the models behind it"
    ]


@pytest.mark.parametrize(
    "gateway",
    [
        {"className": "any", "provider": "istio"},
        {
            "className": "any",
            "provider": "istio",
            "serviceType": "Internal",
            "serviceAnnotations": {"a": "b"},
        },
        {
            "className": "any",
            "provider": "istio",
            "serviceType": "LoadBalancer",
            "sourceRanges": ["10.1.0.0/16"],
        },
        {"className": "gke-l7-rilb", "provider": "gke"},
        {"ref": {"name": "shared", "namespace": "infra"}, "provider": "istio"},
        {"className": "any"},
    ],
)
def test_no_gateway_is_named_that_is_closed_or_of_which_nothing_is_known(gateway: dict[str, Any]) -> None:
    assert _told(**gateway) == []
