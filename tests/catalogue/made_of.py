"""The catalogue, and a stack with one GKE cluster that has one pool of one of its classes."""

from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.gke import GkeProvisioning
from inferfleet.documents.kinds.inference_class import Device, InferenceClass
from inferfleet.documents.kinds.inference_cluster import CapacityModel, InferenceCluster
from inferfleet.documents.kinds.settings import Settings
from inferfleet.documents.loading.load import load

CATALOGUE = load([]).classes
RECIPES = {name: one for name, one in CATALOGUE.items() if one.spec.provisioning is not None}
GPU_RECIPES = {name: one for name, one in RECIPES.items() if one.spec.devices}
WITH_GPUS = {name: one for name, one in CATALOGUE.items() if one.spec.devices}
TWINS = {name: one for name, one in CATALOGUE.items() if one.spec.provisioning is None}


def gke(one: InferenceClass) -> GkeProvisioning:
    assert one.spec.provisioning
    assert one.spec.provisioning.gke
    return one.spec.provisioning.gke


def gpu(one: InferenceClass) -> Device:
    return next(device for device in one.spec.all_devices if device.name == "gpu")


def product(one: InferenceClass) -> str | None:
    return gpu(one).attributes["productName"].string


_GKE = {
    "project": "acme-prod",
    "region": "us-east5",
    "maintenancePolicy": {"dailyMaintenanceWindow": {"startTime": "09:00"}},
}


def stack(class_name: str, model: CapacityModel) -> Documents:
    """Up to two nodes of the class in one zone, had in that way."""
    capacity = {"model": model} | ({"reservation": {"name": "ours"}} if model == "Reservation" else {})
    pool = {"name": "gpus", "className": class_name, "maxNodeCount": 2, "zones": ["us-east5-a"]}
    cluster = InferenceCluster.model_validate(
        {
            "metadata": {"name": "east"},
            "spec": {
                "cluster": {"source": "GKE", "gke": _GKE},
                "nodePools": [{**pool, "capacity": capacity}],
            },
        }
    )
    return Documents(Settings(stack="prod"), classes=CATALOGUE, clusters={"east": cluster})
