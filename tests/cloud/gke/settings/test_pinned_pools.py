"""Digests of what deployed clusters and pools were made with: a release that changes one replaces them.

pinned_pools.yaml has them for a cluster with one pool: of each class of the catalogue, and in each capacity
model of one class.
"""

from pathlib import Path
from typing import get_args

import yaml
from small_clouds import clouds, cluster, made, pool, resources

from inferfleet.cloud.gke.described import described_clusters
from inferfleet.cloud.gke.facts.create_only import create_only, digest
from inferfleet.cloud.gke.facts.schema import NODE_POOL
from inferfleet.cloud.gke.names import cloud_resource
from inferfleet.cloud.values import SYSTEM_POOL, CloudCluster
from inferfleet.documents.kinds.inference_class import InferenceClass
from inferfleet.documents.kinds.inference_cluster import CapacityModel
from inferfleet.documents.loading.load import load

PINNED = Path(__file__).with_name("pinned_pools.yaml")
MODEL = "gke-l4-1x-g2-4"  # the class that is pinned in each capacity model
MEANING = """
Settings that cannot change in place are others than they were. Every deployed pool with them would be
replaced by the next update, or the update refused; with others of a cluster it is refused for good. Give new
settings a field of the documents whose default is the old value. Other digests are right only for what nobody
has deployed.
"""


def test_no_release_replaces_what_is_deployed() -> None:
    recipes = {name: one for name, one in load([]).classes.items() if one.spec.provisioning}
    standard = _made(recipes[MODEL])
    system = resources(standard)[f"{NODE_POOL} {cloud_resource('east', SYSTEM_POOL)}"]
    found = {
        "cluster": digest(standard.settings),
        "systemPool": digest(create_only(NODE_POOL, system.inputs)),
        "classes": {name: _made(one).pool_names["gpus"] for name, one in recipes.items()},
        "models": {
            model: _made(recipes[MODEL], model=model).pool_names["gpus"] for model in get_args(CapacityModel)
        },
    }
    pinned = yaml.safe_load(PINNED.read_text(encoding="utf-8"))
    assert found == pinned, f"{MEANING}\nNow:\n{yaml.safe_dump(found)}"


def _made(one: InferenceClass, **capacity: str) -> CloudCluster:
    gpus = pool("gpus", one.metadata.name, zones=["us-east5-a"], capacity=capacity)
    return made(clouds(cluster("east", gpus), classes=(one,)))


def test_new_pools_get_the_driver_in_which_images_of_today_run() -> None:
    documents = load([])
    recipes = {name: one for name, one in documents.classes.items() if one.spec.provisioning}
    drivers = {
        name: described.pools[0].driver
        for name, one in recipes.items()
        for described in described_clusters(
            clouds(cluster("east", pool("gpus", name)), classes=(one,))
        ).values()
    }
    with_default = sorted(name for name, driver in drivers.items() if driver == "DEFAULT")
    assert (with_default, set(drivers.values())) == (
        ["gke-cpu-32", "gke-cpu-80", "gke-gb200-4x", "gke-gb200-4x-dranet", "gke-gb200-4x-rdma"],
        {"DEFAULT", "LATEST"},
    )
