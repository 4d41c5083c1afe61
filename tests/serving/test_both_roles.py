"""What an InferencePool and a NetworkPolicy say where prefill and decode are apart."""

from collections.abc import Callable

from apart import apart
from one_picker import picker as one_picker

from inferfleet.documents.kinds.inference_cluster import Serving
from inferfleet.serving.network_policy import policies
from inferfleet.serving.picker import inference_pool
from inferfleet.tables.pickers import profile

GIE = profile("gie-1.5")


def test_gateways_reach_the_ports_of_the_pool_and_roles_reach_each_other(
    serving: Callable[..., Serving],
) -> None:
    document = apart()
    watched = serving("istio", networkPolicy={"monitoring": {"matchLabels": {"team": "monitoring"}}})
    engines, _ = policies(one_picker(document, watched, revision="3fa01c"))
    pods = {"inferfleet.dev/deployment": "qwen", "inferfleet.dev/revision": "3fa01c"}
    assert engines["spec"] == {
        "podSelector": {"matchLabels": pods},
        "policyTypes": ["Ingress"],
        "ingress": [
            {
                "from": [
                    {
                        "namespaceSelector": {
                            "matchLabels": {"kubernetes.io/metadata.name": "inferfleet-system"}
                        }
                    }
                ],
                "ports": [{"protocol": "TCP", "port": 8000}],
            },
            {"from": [{"podSelector": {"matchLabels": {"app.kubernetes.io/name": "qwen-3fa01c-epp"}}}]},
            {
                "from": [{"namespaceSelector": {"matchLabels": {"team": "monitoring"}}}],
                "ports": [{"protocol": "TCP", "port": 8200}, {"protocol": "TCP", "port": 8000}],
            },
            {"from": [{"podSelector": {"matchLabels": {"inferfleet.dev/deployment": "qwen"}}}]},
        ],
    }


def test_one_pool_has_the_pods_of_both_roles() -> None:
    pool = inference_pool(one_picker(apart(), revision="3fa01c"))
    assert (pool["spec"]["selector"], pool["spec"]["targetPorts"]) == (
        {"matchLabels": {"inferfleet.dev/deployment": "qwen", "inferfleet.dev/serves": "3fa01c"}},
        [{"number": 8000}],
    )
