"""Clusters that the stack creates: what stands on them waits for nodes; what a locked stack says of them."""

from dataclasses import replace
from typing import Any

from small_stack import NOTHING, after, deployment, find, service, stack

from inferfleet.desired import desired
from inferfleet.desired.gate import announced_problems, blocking_problems
from inferfleet.desired.values import Desired
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.inference_class import InferenceClass
from inferfleet.documents.kinds.inference_cluster import InferenceCluster
from inferfleet.plugins.registry import builtin

RECIPE = InferenceClass.model_validate(
    {
        "metadata": {"name": "gke-l4"},
        "spec": {
            "node": {"cpu": "47", "memory": "176Gi"},
            "resources": {"gpu": {"count": 4, "memory": "23034Mi"}},
            "provisioning": {
                "provider": "GKE",
                "gke": {"machineType": "g2-standard-48", "accelerator": {"type": "nvidia-l4", "count": 4}},
            },
        },
    }
)


def on_gke(
    *, pool: dict[str, Any] | None = None, serving: dict[str, Any] | None = None, **gke: Any
) -> Documents:
    """Deployment `a` on pool `l4` of GKE cluster `east`, and service `s` over it."""
    east = InferenceCluster.model_validate(
        {
            "metadata": {"name": "east"},
            "spec": {
                "cluster": {
                    "source": "GKE",
                    "gke": {"project": "acme-prod", "region": "us-east4", "minVersion": "1.35", **gke},
                },
                "nodePools": [{"name": "l4", "className": "gke-l4", "maxNodeCount": 2, **(pool or {})}],
                **({"serving": serving} if serving else {}),
            },
        }
    )
    documents = stack(east, deployment("a"), service("s"))
    return replace(documents, classes={"gke-l4": RECIPE})


def made(documents: Documents) -> Desired:
    return desired(documents, NOTHING)


def test_workloads_wait_for_their_pool_and_everything_for_the_system_pool() -> None:
    found = made(on_gke())
    assert after(found, "Deployment", "east/ml/a-decode-l4") == {
        "NodePool east/system",
        "NodePool east/l4",
        "Namespace east/ml",
        "InferencePool east/ml/a",
    }
    objects = tuple(found.clusters[0].objects)
    system = "gcp:container/nodePool:NodePool east/system"
    assert [one.key for one in objects if system in one.after] == [one.key for one in objects]


def test_all_but_what_holds_a_load_balancer_ends_with_the_cluster() -> None:
    (east,) = made(on_gke()).clusters
    alone = {one.kind for one in east.objects if one.deleted_with is None}
    assert alone == {"Gateway", "Namespace", "Service"}
    assert {one.deleted_with for one in east.objects} - {None} == {"gcp:container/cluster:Cluster east"}


def test_pods_are_drawn_to_the_pool_by_its_name_in_the_cloud() -> None:
    found = made(on_gke())
    cloud = found.clusters[0].connection.cloud
    assert cloud is not None
    pod = find(found, "Deployment", "east/ml/a-decode-l4").manifest["spec"]["template"]["spec"]
    assert pod["nodeSelector"] == {"inferfleet.dev/pool": cloud.pool_names["l4"]}


def test_labels_that_gke_gives_to_nodes_choose_the_pool() -> None:
    """Of two pools of one class the first has room for all; labels alone tell them apart."""
    pools = [
        {"name": "a", "className": "gke-l4", "nodeCount": 2, "zones": ["us-east4-a"]},
        {
            "name": "b",
            "className": "gke-l4",
            "nodeCount": 2,
            "zones": ["us-east4-c"],
            "labels": {"rack": "r"},
        },
    ]
    pools.append({**pools[0], "name": "c", "capacity": {"model": "Spot"}})
    documents = on_gke()
    (east,) = documents.clusters.values()
    spec = east.model_dump(by_alias=True, exclude_unset=True)["spec"] | {"nodePools": pools}
    east = InferenceCluster.model_validate({"metadata": {"name": "east"}, "spec": spec})

    def placed(label: str, value: str) -> tuple[list[str], list[str]]:
        """The pools of a model that selects nodes by a label, and what is said of it."""
        selects = {"nodeSelector": {label: value}}
        model = deployment("a", pod=selects, capacityModels=["OnDemand", "Spot"])
        found = made(
            replace(documents, clusters={"east": east}, deployments=stack(model).deployments, services={})
        )
        said = [one.what for one in found.warnings if "its pods" in one.what]
        return [pool for each in found.plan.placements for _, pool in each.spot.pools], said

    assert placed("topology.kubernetes.io/zone", "us-east4-c") == (["b"], [])
    assert placed("cloud.google.com/gke-spot", "true") == (["c"], [])
    assert placed("cloud.google.com/gke-accelerator", "nvidia-l4") == (["a"], [])
    assert placed("rack", "r") == (["b"], [])
    pools_used, said = placed("disk", "fast")
    assert (pools_used, ["disk=fast" in one for one in said]) == (["a"], [True])


def test_plugins_are_told_the_accelerator_label_that_gke_gives_to_nodes() -> None:
    link = {"name": "accelerator", "config": {"productOfClass": True}}
    documents = replace(on_gke(), deployments=stack(deployment("a", plugins=[link])).deployments)
    found = desired(documents, NOTHING, registry=builtin())
    pod = find(found, "Deployment", "east/ml/a-decode-l4").manifest["spec"]["template"]["spec"]
    (term,) = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][
        "nodeSelectorTerms"
    ]
    expression = {"key": "cloud.google.com/gke-accelerator", "operator": "In", "values": ["nvidia-l4"]}
    assert term == {"matchExpressions": [expression]}


def test_the_provider_is_told_by_project_region_and_name_which_cluster_it_is() -> None:
    connection = made(on_gke()).clusters[0].connection
    assert connection.cloud is not None
    assert connection.identifier == f"gke/acme-prod/us-east4/{connection.cloud.cloud_name}"


def test_a_locked_stack_says_which_pool_would_be_replaced() -> None:
    known = made(on_gke()).plan.lock
    allowing = {"allow": ["capacity.model"]}
    documents = on_gke(pool={"capacity": {"model": "Spot"}}, replace=allowing)
    found = desired(documents, known)
    (problem,) = blocking_problems(found, documents, known, locked=True, preview=True)
    assert "pool east/l4 is replaced: capacity.model" in problem.what
    assert blocking_problems(found, documents, known, locked=False, preview=True) == ()


def test_a_cluster_that_is_not_there_yet_is_not_missed_by_its_uid() -> None:
    documents = on_gke()
    found = made(documents)
    told = announced_problems(found, documents, found.plan.lock, locked=True, preview=True)
    assert [one for one in told if "UID" in one.what] == []


def test_a_network_policy_lets_the_proxies_of_the_clusters_own_network_in() -> None:
    documents = on_gke()
    east = documents.clusters["east"]
    serving = {**east.spec.serving.model_dump(by_alias=True, exclude_unset=True), "networkPolicy": {}}
    spec = {**east.spec.model_dump(by_alias=True, exclude_unset=True), "serving": serving}
    limited = InferenceCluster.model_validate({"metadata": {"name": "east"}, "spec": spec})
    found = made(replace(documents, clusters={"east": limited}))
    assert [one.name for one in found.clusters[0].objects if one.kind == "NetworkPolicy"] == [
        "east/ml/a",
        "east/ml/a-epp",
    ]
    cloud = found.clusters[0].connection.cloud
    assert cloud is not None
    (proxies,) = (
        resource.inputs["ipCidrRange"]
        for component in cloud.components
        for resource in component.resources
        if resource.inputs.get("purpose") == "REGIONAL_MANAGED_PROXY"
    )
    engines = find(found, "NetworkPolicy", "east/ml/a").manifest["spec"]["ingress"][0]
    assert engines["from"][0] == {"ipBlock": {"cidr": proxies}}


def test_labels_of_nodes_that_nothing_says_are_looked_at_on_them() -> None:
    """What documents and GKE give to nodes is left out, and counts whatever nodes have now."""
    for unknown, number in (({"disk": "fast"}, 1), ({}, 0)):
        documents = on_gke(pool={"labels": {"tier": "gold"}})
        asked = {"tier": "gold", "kubernetes.io/arch": "amd64", **unknown}
        model = stack(deployment("a", pod={"nodeSelector": asked})).deployments
        pools = made(replace(documents, deployments=model)).clusters[0].pools
        assert [(pool.name, [*pool.conditions.values()], pool.labels["tier"]) for pool in pools] == [
            ("l4", [("ml/a",)], ("gold",))
        ] * number
