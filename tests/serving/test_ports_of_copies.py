"""With a port for each copy of a model, the pool has them all, and a NetworkPolicy lets gateways in there."""

from collections.abc import Callable

from one_picker import picker as one_picker

from inferfleet.documents.kinds.inference_cluster import Serving
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.serving.network_policy import policies
from inferfleet.serving.picker import inference_pool
from inferfleet.tables.pickers import profile

GIE = profile("gie-1.5")
MONITORED = {"networkPolicy": {"monitoring": {"matchLabels": {"team": "monitoring"}}}}


def _wide(balance: str) -> ModelDeployment:
    topology = {"tensor": 1, "data": 6, "dataLocal": 3}
    return ModelDeployment.model_validate(
        {
            "metadata": {"name": "qwen", "namespace": "ml"},
            "spec": {"replicas": 1, "workers": {"topology": topology, "balance": balance}},
        }
    )


def _ports(document: ModelDeployment, serving: Serving) -> tuple[list[int], list[list[int]]]:
    """Target ports of the pool, and the ports of each rule for engines that has any."""
    pool = inference_pool(one_picker(document))
    engines, _ = policies(one_picker(document, serving))
    return [port["number"] for port in pool["spec"]["targetPorts"]], [
        [port["port"] for port in rule["ports"]] for rule in engines["spec"]["ingress"] if "ports" in rule
    ]


def test_each_copy_is_a_target_and_is_scraped(serving: Callable[..., Serving]) -> None:
    each = [8000, 8001, 8002]
    assert _ports(_wide("Port"), serving("istio", **MONITORED)) == (each, [each, each])


def test_an_engine_that_spreads_requests_in_each_pod_has_one_target(serving: Callable[..., Serving]) -> None:
    assert _ports(_wide("Pod"), serving("istio", **MONITORED)) == ([8000], [[8000], [8000]])
