"""What Google's controller, as the sandbox plays it, says of the routes that a provider gets."""

from dataclasses import replace
from ipaddress import IPv4Network

import pytest
from gateway_objects import gateway, snapshot

from inferfleet.documents.kinds.inference_cluster import Gateway
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.serving.routes import deployment_route
from inferfleet.tables.pickers import profile
from sandbox.gateway.attachment import NotAccepted
from sandbox.gateway.config import config

POD = {"spec": {"containers": [{"name": "engine", "image": "vllm:1"}]}}
QWEN = ModelDeployment.model_validate(
    {
        "metadata": {"name": "qwen", "namespace": "ml"},
        "spec": {"replicas": 1, "workers": {"count": 1, "topology": {"tensor": 1}, "template": POD}},
    }
)


@pytest.mark.parametrize("provider", ["gke", "none", "istio"])
def test_under_googles_classes_routes_of_another_provider_are_refused(provider: str) -> None:
    asked = Gateway.model_validate({"ref": {"name": "edge", "namespace": "infra"}, "provider": provider})
    ours = deployment_route(deployment=QWEN, gateway=asked, profile=profile("gie-1.5"), stack="prod")
    seen = snapshot(gateway(gatewayClassName="gke-l7-rilb"), ours)
    (attached,) = config(
        replace(seen, classes={"gke-l7-rilb": seen.classes["ours"]}), IPv4Network("127.4.255.0/24")
    ).routes
    taken = [not isinstance(parent.listeners, NotAccepted) for parent in attached.parents]
    assert taken == [provider == "gke"]
