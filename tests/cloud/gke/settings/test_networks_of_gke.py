"""Pools whose networks between GPUs GKE makes itself, or somebody else keeps."""

from small_clouds import clouds, cluster, made, node_pool, pool, recipe, resources

from inferfleet.cloud.gke.changes import Setting, pool_settings
from inferfleet.cloud.gke.facts.change_table import Effect
from inferfleet.cloud.gke.facts.schema import CLUSTER
from inferfleet.fleet.names import POOL

AUTO = {"gpuDirect": "RDMA", "acceleratorNetworkProfile": "Auto"}
KIND = recipe("b200", "a4-highgpu-8g", "nvidia-b200", 8, networking=AUTO)


def test_networks_that_gke_makes_are_one_setting_and_a_label_of_the_nodes() -> None:
    documents = clouds(cluster("east", pool("p", "b200", zones=["us-east5-a"])), classes=(KIND,))
    found = node_pool("p", documents)
    assert found.inputs["networkConfig"] == {"acceleratorNetworkProfile": "auto"}
    labels = {"cloud.google.com/gke-networking-dra-driver": "true"}
    assert found.inputs["nodeConfig"]["labels"] == {POOL: found.inputs["name"], **labels}
    everything = resources(made(documents)).values()
    networks = [one.inputs["name"] for one in everything if one.token == "gcp:compute/network:Network"]
    assert networks == ["east-51d4d6-network"]
    assert [one.inputs.get("enableMultiNetworking") for one in everything if one.token == CLUSTER] == [None]


def test_explain_names_the_field_behind_both() -> None:
    cloud = made(clouds(cluster("east", pool("p", "b200", zones=["us-east5-a"])), classes=(KIND,)))
    found = {one.path: one for one in pool_settings(cloud, "p")}
    profile = "networkConfig.acceleratorNetworkProfile"
    name = "networking.acceleratorNetworkProfile"
    assert found[profile] == Setting(profile, "auto", (name,), Effect.REPLACES)
    label = "nodeConfig.labels.cloud.google.com/gke-networking-dra-driver"
    assert name in found[label].names


def test_networks_that_a_pool_names_are_those_of_its_nodes_and_nothing_is_made_of_them() -> None:
    rails = [{"network": "rdma", "subnetwork": f"rdma-{number}"} for number in range(8)]
    named = [{"network": "nic", "subnetwork": "nic-us-east5"}, *rails]
    existing = {"name": "shared", "subnetwork": "nodes", "podsRange": "pods", "servicesRange": "services"}
    network = {"existing": existing | {"project": "acme-net"}}
    wired = pool("p", "h200", zones=["us-east5-a"], additionalNodeNetworkConfigs=named)
    cloud = made(clouds(cluster("east", wired, network=network)))
    assert cloud.pools["p"].resource.inputs["networkConfig"] == {"additionalNodeNetworkConfigs": named}
    assert cloud.pools["p"].networks == ("nic-us-east5", *(rail["subnetwork"] for rail in rails))
    assert cloud.resource(cloud.key).inputs["enableMultiNetworking"] is True
    assert [component.kind for component in cloud.components] == ["GkeCluster", "GpuNodePool"]
    assert "block" not in cloud.settings
