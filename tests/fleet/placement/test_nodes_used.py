"""How many nodes the replicas of a plan need."""

from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.inference_class import InferenceClass
from inferfleet.documents.kinds.inference_cluster import InferenceCluster
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.documents.kinds.settings import Settings
from inferfleet.fleet.demands import declared_demands
from inferfleet.fleet.placement.ledger import nodes_used
from inferfleet.fleet.spot import Spot

SPEC = {"node": {"cpu": "16", "memory": "64Gi"}, "resources": {"gpu": {"count": 4, "memory": "24Gi"}}}
CLASS = InferenceClass.model_validate({"metadata": {"name": "l4"}, "spec": SPEC})
CLUSTER = InferenceCluster.model_validate(
    {
        "metadata": {"name": "east"},
        "spec": {
            "cluster": {"source": "Existing", "existing": {"kubeconfig": {"path": "east"}}},
            "nodePools": [
                {"name": "l4", "className": "l4", "maxNodeCount": 3},
                {"name": "more", "className": "l4", "nodeCount": 1},
            ],
            "serving": {"gateway": {"className": "istio"}},
        },
    }
)


def used(gpus: int, replicas: int) -> int:
    """Return how many of three nodes with four GPUs are used by so many replicas with so many GPUs."""
    template = {"spec": {"containers": [{"name": "engine", "image": "e"}]}}
    workers = {"topology": {"tensor": gpus}, "template": template}
    deployment = ModelDeployment.model_validate(
        {
            "metadata": {"name": "a", "namespace": "ml"},
            "spec": {"replicas": replicas, "workers": workers, "rollout": "DeleteFirst"},
        }
    )
    documents = Documents(Settings(stack="prod"), {"l4": CLASS}, {"east": CLUSTER}, {"ml/a": deployment})
    used = nodes_used(
        documents, {Spot("ml/a", "east", (("decode", "l4"),)): replicas}, declared_demands(documents)
    )
    assert used["east", "more"] == 0
    return used["east", "l4"]


def test_replicas_share_nodes_as_far_as_they_fit() -> None:
    assert [used(1, 4), used(1, 5), used(2, 3), used(3, 2), used(4, 3)] == [1, 2, 2, 2, 3]


def test_no_more_nodes_are_needed_than_the_pool_may_have() -> None:
    assert used(4, 9) == 3


def test_replicas_of_deployments_that_are_gone_need_none() -> None:
    documents = Documents(Settings(stack="prod"), {"l4": CLASS}, {"east": CLUSTER})
    spot = Spot("ml/gone", "east", (("decode", "l4"),))
    assert nodes_used(documents, {spot: 2}, declared_demands(documents)) == {
        ("east", "l4"): 0,
        ("east", "more"): 0,
    }
