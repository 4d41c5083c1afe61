"""Pools whose networks between GPUs GKE makes itself."""

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
