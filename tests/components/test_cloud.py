"""Cloud resources as they are handed to the engine, and the way from them into the cluster."""

import json
from dataclasses import replace
from typing import Any, Literal

from recording import Monitor, Recorder, own, run

from inferfleet.cloud.gke.facts.schema import BUCKET, BUCKET_MEMBER, CLUSTER, NODE_POOL
from inferfleet.cloud.values import CloudCluster, CloudComponent, CloudPool, CloudResource
from inferfleet.components.provider import NOWHERE
from inferfleet.desired.clusters import Site
from inferfleet.desired.values import Component, Connection, Desired, DesiredCluster, Resource
from inferfleet.fleet.decisions import Plan

NETWORK = CloudResource("gcp:compute/network:Network", "east", {"name": "east-1a2b3c", "project": "acme"})
CONTROL = CloudResource(
    CLUSTER, "east", {"name": "east-1a2b3c", "location": "us-east5"}, after=(NETWORK.key,), protect=True
)
SYSTEM = CloudResource(
    NODE_POOL, "east/system", {"name": "system-0a0a0a", "cluster": "east-1a2b3c"}, after=(CONTROL.key,)
)
L4 = CloudResource(
    NODE_POOL,
    "east/l4",
    {"name": "l4-1a2b3c", "cluster": "east-1a2b3c", "nodeConfig": {"machineType": "g2-standard-12"}},
    after=(CONTROL.key, SYSTEM.key),
    ignore=("nodeConfig.diskType",),
    delete_first=True,
    timeout=2700,
    deleted_with=CONTROL.key,
)

OF_L4 = CloudComponent("GpuNodePool", "east/l4", (L4,))


def _manifest(kind: str, name: str, api_version: str) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"namespace": "ml", "name": name}}


GATEWAY = _manifest("Gateway", "inferfleet", "gateway.networking.k8s.io/v1")
WORKLOAD = _manifest("Deployment", "x-decode-l4", "apps/v1")
GATEWAY_TOKEN, WORKLOAD_TOKEN = (
    f"kubernetes:{one['apiVersion']}:{one['kind']}" for one in (GATEWAY, WORKLOAD)
)
NAMESPACE_TOKEN = "kubernetes:core/v1:Namespace"
ANSWERS = {
    CLUSTER: {
        "endpoint": "203.0.113.7",
        "masterAuth": {"clusterCaCertificate": "Q0E="},
        "controlPlaneEndpointsConfig": {"dnsEndpointConfig": {"endpoint": "gke-1.us-east5.gke.goog"}},
    }
}


def _desired(endpoint: Literal["DNS", "IP"] = "DNS") -> Desired:
    cloud = CloudCluster(
        cluster="east",
        project="acme",
        region="us-east5",
        cloud_name="east-1a2b3c",
        endpoint=endpoint,
        components=(
            CloudComponent("GkeNetwork", "east", (NETWORK,)),
            CloudComponent("GkeCluster", "east", (CONTROL, SYSTEM)),
            OF_L4,
        ),
        pools={"l4": CloudPool("east", "l4", "l4", "l4-1a2b3c", OF_L4, {})},
        source="GKE",
        key=CONTROL.key,
        system_key=SYSTEM.key,
    )
    site = Site("east", cloud)
    gateway = site.place(GATEWAY)
    workload = site.place(WORKLOAD, after=[gateway.key], pools=("l4",))
    cluster = DesiredCluster(
        Connection("east", "gke/acme/us-east5/east-1a2b3c", "active", cloud=cloud),
        (
            Component("ServingStack", "east", (gateway,)),
            Component("ModelReplicas", "east/ml/x-l4", (workload,)),
        ),
        gateway=gateway,
    )
    return Desired("prod", (cluster,), Plan(), frozenset(), ())


def _run(endpoint: Literal["DNS", "IP"] = "DNS", *, preview: bool = False) -> tuple[Recorder, Monitor]:
    return run(_desired(endpoint), preview=preview, answers=ANSWERS)


def _kubeconfig(recorder: Recorder) -> Any:
    return json.loads(recorder.inputs["pulumi:providers:kubernetes", "east"]["kubeconfig"]["value"])


def test_cloud_resources_stand_under_their_components_with_their_inputs_key_for_key() -> None:
    recorder, monitor = _run()
    parents = {key: own(request.parent) for key, request in monitor.requests.items() if request.parent}
    fleet = ("inferfleet:components:Fleet", "local")
    home = ("inferfleet:components:GkeCluster", "east")
    assert parents == {
        fleet: ("pulumi:pulumi:Stack", "inferfleet-local"),
        ("pulumi:providers:gcp", "gcp"): fleet,
        ("inferfleet:components:GkeNetwork", "east"): fleet,
        (NETWORK.token, "east"): ("inferfleet:components:GkeNetwork", "east"),
        home: fleet,
        (CLUSTER, "east"): home,
        (NODE_POOL, "east/system"): home,
        ("inferfleet:components:GpuNodePool", "east/l4"): fleet,
        (NODE_POOL, "east/l4"): ("inferfleet:components:GpuNodePool", "east/l4"),
        ("pulumi:providers:kubernetes", "east"): fleet,
        ("inferfleet:components:ServingStack", "east"): fleet,
        (GATEWAY_TOKEN, "east/ml/inferfleet"): ("inferfleet:components:ServingStack", "east"),
        ("inferfleet:components:ModelReplicas", "east/ml/x-l4"): fleet,
        (WORKLOAD_TOKEN, "east/ml/x-decode-l4"): ("inferfleet:components:ModelReplicas", "east/ml/x-l4"),
    }
    resources = (NETWORK, CONTROL, SYSTEM, L4)
    assert {one.key: recorder.inputs[one.token, one.name] for one in resources} == {
        one.key: one.inputs for one in resources
    }


def test_options_are_those_of_the_plan_and_only_the_cluster_is_protected() -> None:
    _, monitor = _run()
    pool = monitor.requests[NODE_POOL, "east/l4"]
    assert list(pool.ignoreChanges) == ["nodeConfig.diskType"]
    assert pool.deleteBeforeReplace
    assert own(pool.deletedWith) == (CLUSTER, "east")
    assert (pool.customTimeouts.create, pool.customTimeouts.update) == ("2700s", "2700s")
    assert {own(urn) for urn in pool.dependencies} == {(CLUSTER, "east"), (NODE_POOL, "east/system")}
    assert {key for key, request in monitor.requests.items() if request.protect} == {(CLUSTER, "east")}


def test_pods_wait_for_their_pool_and_go_with_the_cluster_but_a_gateway_is_deleted_by_itself() -> None:
    _, monitor = _run()
    workload = monitor.requests[WORKLOAD_TOKEN, "east/ml/x-decode-l4"]
    assert {own(urn) for urn in workload.dependencies} >= {(NODE_POOL, "east/l4"), (NODE_POOL, "east/system")}
    assert own(workload.deletedWith) == (CLUSTER, "east")
    assert monitor.requests[GATEWAY_TOKEN, "east/ml/inferfleet"].deletedWith == ""


def test_what_stands_alone_goes_with_the_cluster_like_what_documents_have() -> None:
    desired = _desired()
    [cluster] = desired.clusters
    places = [(token, "east/ml/old") for token in (WORKLOAD_TOKEN, GATEWAY_TOKEN, NAMESPACE_TOKEN)]
    standing = tuple(Resource("ServingStack", *place) for place in places)
    old = Component("ServingStack", "east", (), held=True, standing=standing)
    alone = replace(cluster, components=(old,), gateway=None)
    _, monitor = run(replace(desired, clusters=(alone,)), preview=False, answers=ANSWERS)
    with_it = [monitor.requests[place].deletedWith for place in places]
    assert (own(with_it[0]), with_it[1:]) == ((CLUSTER, "east"), ["", ""])


def test_a_network_stands_without_its_cluster() -> None:
    desired = _desired()
    [cluster] = desired.clusters
    cloud = cluster.connection.cloud
    assert cloud is not None
    alone = replace(cluster.connection, cloud=replace(cloud, components=cloud.components[:1]))
    clusters = (replace(cluster, connection=alone, components=(), gateway=None),)
    recorder, _ = run(replace(desired, clusters=clusters), preview=False, answers=ANSWERS)
    assert (NETWORK.token, "east") in recorder.inputs
    given = recorder.inputs["pulumi:providers:kubernetes", "east"]["kubeconfig"]["value"]
    assert given == NOWHERE


def test_the_dns_endpoint_needs_no_certificate_and_no_kubeconfig_holds_a_token() -> None:
    recorder, _ = _run("DNS")
    found = _kubeconfig(recorder)
    assert found["clusters"] == [{"name": "east", "cluster": {"server": "https://gke-1.us-east5.gke.goog"}}]
    assert [list(one["user"]) for one in found["users"]] == [["exec"]]


def test_the_ip_endpoint_carries_the_clusters_certificate_authority() -> None:
    recorder, _ = _run("IP")
    cluster = {"server": "https://203.0.113.7", "certificate-authority-data": "Q0E="}
    assert _kubeconfig(recorder)["clusters"] == [{"name": "east", "cluster": cluster}]


def test_who_reads_a_bucket_has_the_number_of_its_project_and_the_bucket_stays() -> None:
    bucket = CloudResource(
        BUCKET, "weights:acme/x/ml", {"name": "w", "location": "X"}, protect=True, retain=True
    )
    inputs = {
        "bucket": "w",
        "role": "roles/storage.objectViewer",
        "member": "principalSet://PROJECT_NUMBER/ml",
    }
    member = CloudResource(
        BUCKET_MEMBER, "weights:acme/x/ml/pods", inputs, after=(bucket.key,), project_number_of=bucket.key
    )
    component = CloudComponent("WeightsBucket", "weights:acme/x/ml", (bucket, member))
    desired = replace(_desired(), buckets=(component,))
    recorder, monitor = run(
        desired, preview=False, answers={**ANSWERS, BUCKET: {"projectNumber": 123456789012}}
    )
    assert recorder.inputs[BUCKET_MEMBER, member.name] == {
        **inputs,
        "member": "principalSet://123456789012/ml",
    }
    request = monitor.requests[BUCKET, bucket.name]
    assert (request.protect, request.retainOnDelete) == (True, True)
    assert own(request.parent) == ("inferfleet:components:WeightsBucket", bucket.name)


def test_the_first_preview_lists_all_that_the_update_makes() -> None:
    previewed, _ = _run(preview=True)
    updated, _ = _run()
    assert previewed.inputs.keys() == updated.inputs.keys()
