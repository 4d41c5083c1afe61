"""Each field of the documents is changed by itself, and the settings show what the table of changes says."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
from small_clouds import clouds, made, resources

from inferfleet.cloud.gke.facts.change_table import ROWS, Effect, Row
from inferfleet.cloud.gke.facts.create_only import LABELS, ZONES, create_only, recreating, without_places
from inferfleet.cloud.gke.facts.schema import CLUSTER, NODE_POOL
from inferfleet.cloud.gke.settings.addresses import BLOCK
from inferfleet.cloud.values import CloudResource
from inferfleet.documents.kinds.inference_class import InferenceClass
from inferfleet.documents.kinds.inference_cluster import InferenceCluster
from inferfleet.fleet.names import POOL

RECIPE, GKE, POOLS = "spec.provisioning.gke", "spec.cluster.gke", "spec.nodePools[]"
CLASS: dict[str, Any] = {
    "metadata": {"name": "x"},
    "spec": {
        "node": {"cpu": "4", "memory": "8Gi"},
        "resources": {"gpu": {"count": 4, "memory": "20Gi"}},
        "provisioning": {
            "provider": "GKE",
            "gke": {"machineType": "g2-standard-48", "accelerator": {"type": "nvidia-l4", "count": 4}},
        },
    },
}
ON: dict[str, Any] = {
    "metadata": {"name": "east"},
    "spec": {
        "cluster": {"source": "GKE", "gke": {"project": "acme-ml", "region": "us-east5"}},
        "nodePools": [{"name": "x", "className": "x", "minNodeCount": 0, "maxNodeCount": 4}],
    },
}
EXISTING = {"name": "n", "subnetwork": "s", "podsRange": "p", "servicesRange": "q"}
KEY = "projects/keys/locations/us-east5/keyRings/gke/cryptoKeys/nodes"
TAINTS = [{"key": "k", "value": "v", "effect": "NoSchedule"}]
# Another class could differ in anything.
BY_CLASS = f"{POOLS}.className"
FIXED = {f"{POOLS}.minNodeCount": None, f"{POOLS}.maxNodeCount": None, f"{POOLS}.nodeCount": 2}
NAMED = [{"network": f"gpu-{place}", "subnetwork": f"gpu-{place}"} for place in range(8)]
Edit = tuple[Any, dict[str, Any]]
# The other value of every field that can be changed by itself, and what must be so before and after.
EDITS: dict[str, Edit] = {
    "metadata.labels": ({"a": "b"}, {}),
    "spec.description": ("x", {}),
    "spec.node.cpu": ("5", {}),
    "spec.node.memory": ("9Gi", {}),
    "spec.node.pods": (64, {}),
    "spec.node.hugepages": ({"2Mi": "2Gi"}, {}),
    "spec.resources": ({"gpu": {"count": 4, "memory": "24Gi"}}, {}),
    "spec.allocation": ("DRA", {}),
    "spec.price": ({"onDemand": "1", "currency": "USD", "asOf": "2026-01-01", "source": "s"}, {}),
    f"{RECIPE}.machineType": ("g2-standard-96", {}),
    f"{RECIPE}.accelerator.type": ("nvidia-t4", {}),
    f"{RECIPE}.accelerator.count": (8, {}),
    f"{RECIPE}.accelerator.partitionSize": ("1g.10gb", {}),
    f"{RECIPE}.accelerator.sharing": ({"strategy": "MPS", "maxClientsPerGpu": 2}, {}),
    f"{RECIPE}.diskSizeGb": (300, {}),
    f"{RECIPE}.diskType": ("pd-ssd", {}),
    f"{RECIPE}.localSsd": ({"count": 4}, {}),
    f"{RECIPE}.driver": ("INSTALLATION_DISABLED", {}),
    f"{RECIPE}.imageStreaming": (True, {}),
    f"{RECIPE}.secondaryBootDisks": ([{"diskImage": "global/images/vllm"}], {}),
    f"{RECIPE}.networking.gpuDirect": ("TCPXO", {f"{RECIPE}.machineType": "a3-megagpu-8g"}),
    f"{RECIPE}.networking.acceleratorNetworkProfile": (
        "Auto",
        {f"{RECIPE}.machineType": "a4-highgpu-8g", f"{RECIPE}.networking.gpuDirect": "RDMA"},
    ),
    f"{RECIPE}.compactPlacement": (True, {}),
    f"{RECIPE}.verified": ("by hand, 2026-01-01", {}),
    "spec.state": ("cordoned", {}),
    f"{GKE}.project": ("acme-two", {}),
    f"{GKE}.region": ("us-east1", {}),
    f"{GKE}.zones": (["us-east5-a"], {}),
    f"{GKE}.releaseChannel": ("RAPID", {}),
    f"{GKE}.minVersion": ("1.34", {}),
    f"{GKE}.maintenancePolicy": ({"dailyMaintenanceWindow": {"startTime": "09:00"}}, {}),
    f"{GKE}.network.block": ("10.128.0.0/14", {}),
    f"{GKE}.network.existing": (EXISTING, {}),
    f"{GKE}.network.gpuDirect": ("Stack", {}),
    f"{GKE}.privateNodes": (False, {}),
    f"{GKE}.controlPlaneEndpoint": ("IP", {}),
    f"{GKE}.controlPlaneAccess": ("Private", {f"{GKE}.controlPlaneEndpoint": "IP"}),
    f"{GKE}.connection": ({"proxyUrl": "http://127.0.0.1:8888"}, {}),
    f"{GKE}.authorizedNetworks": (["10.0.0.0/8"], {f"{GKE}.controlPlaneEndpoint": "IP"}),
    f"{GKE}.deletionProtection": (False, {}),
    f"{GKE}.labels": ({"team": "ml"}, {}),
    f"{GKE}.serviceAccount": ("nodes@acme-ml.iam.gserviceaccount.com", {}),
    f"{GKE}.iam": ("None", {}),
    f"{GKE}.networkTags": (["egress"], {}),
    f"{GKE}.databaseEncryption": (KEY, {}),
    f"{GKE}.bootDiskKmsKey": (KEY, {}),
    f"{GKE}.confidentialNodes": (True, {f"{GKE}.systemPool.machineType": "n2d-standard-16"}),
    f"{GKE}.systemPool.maxPodsPerNode": (32, {}),
    f"{GKE}.systemPool.machineType": ("e2-standard-32", {}),
    f"{GKE}.systemPool.diskSizeGb": (200, {}),
    f"{GKE}.replace": ({"order": "DeleteFirst"}, {}),
    "spec.taints": (TAINTS, {}),
    "spec.serving": ({"metricsAuth": False}, {}),
    "spec.serving.images.engine": ({"vLLM": "vllm:v2"}, {}),
    **{f"spec.serving.images.{name}": (f"{name}:v2", {}) for name in ("epp", "prefillEpp", "proxy", "kit")},
    "spec.plugins": ([{"name": "demo-pod-tweaks", "type": "BuiltIn", "config": {}}], {}),
    BY_CLASS: ("h100", {}),
    f"{POOLS}.nodeCount": (3, FIXED),
    f"{POOLS}.minNodeCount": (1, {}),
    f"{POOLS}.maxNodeCount": (9, {}),
    f"{POOLS}.taints": (TAINTS, {}),
    f"{POOLS}.labels": ({"a": "b"}, {}),
    f"{POOLS}.additionalNodeNetworkConfigs": (NAMED, {BY_CLASS: "mega"}),
    f"{POOLS}.resourceLabels": ({"team": "ml"}, {}),
    f"{POOLS}.zones": (["us-east5-a"], {}),
    f"{POOLS}.capacity.model": ("FlexStart", {}),
    f"{POOLS}.capacity.reservation": ({"name": "b"}, {f"{POOLS}.capacity.model": "Reservation"}),
    f"{POOLS}.capacity.hostMaintenance": ("Periodic", {}),
    f"{POOLS}.upgradeSettings": ({"maxSurge": 1}, {}),
    f"{POOLS}.capacity.maxRunDuration": ("24h", {f"{POOLS}.capacity.model": "FlexStart"}),
}
# Fields that cannot be changed by themselves, or that GKE clusters do not have.
ALONE = {
    "apiVersion": "it has one value",
    "kind": "it has one value",
    "metadata.name": "it is the document",
    "spec.devices": "they stand for resources",
    "spec.provisioning.provider": "it goes with its block",
    "spec.provisioning.eks": "it is of another provider",
    "spec.provisioning.aks": "it is of another provider",
    "spec.provisioning.nebius": "it is of another provider",
    "spec.provisioning.vultr": "it is of another provider",
    "spec.cluster.source": "it goes with its block",
    "spec.cluster.existing": "it is of another source",
    POOLS: "it is about whole pools",
    f"{POOLS}.name": "it is the pool",
    f"{POOLS}.nodeSelector": "it is of another source",
    f"{RECIPE}.provider": "it is of each input",
    f"{GKE}.provider": "it is of each input",
    f"{GKE}.systemPool.provider": "it is of each input",
    f"{POOLS}.provider": "it is of each input",
}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.kind} {row.path}")
def test_a_change_of_a_field_does_to_the_settings_what_its_row_says(row: Row) -> None:
    if row.path in ALONE:
        assert row.path not in EDITS
        return
    before, after = _settings(row, edited=False), _settings(row, edited=True)
    changed = sorted(path for path in {*before, *after} if before.get(path) != after.get(path))
    effect = _effect(before, after, changed)
    assert effect == row.effect, changed
    if effect != Effect.REFUSED and row.path != BY_CLASS:
        known = tuple(f"{wire}." for wire in row.wire)
        assert [one for one in changed if not f"{one}.".startswith(known)] == []


def _effect(before: dict[str, Any], after: dict[str, Any], changed: list[str]) -> Effect:
    life = {path for path in changed if (before | after)[path][1] == "life"}
    if any(path.startswith("Cluster.") for path in life):
        return Effect.REFUSED
    if life:
        return Effect.REPLACES
    moved = {path.partition(".")[2] for path in changed if (before | after)[path][1] == "nodes"}
    if moved:
        return Effect.ZONES if moved == {ZONES} else Effect.NODES
    return Effect.IN_PLACE if changed else Effect.NOTHING


def _settings(row: Row, *, edited: bool) -> dict[str, tuple[Any, str]]:
    """Every setting of cluster and pools, places in lists left out, with its value and how long it lasts."""
    value, both = EDITS[row.path]
    documents = {"InferenceClass": deepcopy(CLASS), "InferenceCluster": deepcopy(ON)}
    for path, one in (*both.items(), *([(row.path, value)] if edited else [])):
        _set(documents[row.kind], path, one)
    cloud = made(
        clouds(
            InferenceCluster.model_validate(documents["InferenceCluster"]),
            classes=(InferenceClass.model_validate(documents["InferenceClass"]),),
        )
    )
    found = {}
    for one in resources(cloud).values():
        if one.token == CLUSTER:
            found |= _flat(one, "Cluster")
        elif one.token == NODE_POOL:
            found |= _flat(
                one, "NodePool" if one.inputs["name"] in cloud.pool_names.values() else "SystemPool"
            )
    return found | {f"Cluster.{BLOCK}": (cloud.settings.get(BLOCK), "life")}


def _flat(one: CloudResource, part: str) -> dict[str, tuple[Any, str]]:
    life = {without_places(path) for path in create_only(one.token, one.inputs)}
    nodes = {without_places(path) for path in recreating(one.inputs)} if one.token == NODE_POOL else set()
    found: dict[str, tuple[Any, str]] = {}
    for path, value in _leaves(one.inputs):
        # The pool that Google makes with a cluster is gone, and its settings are ignored.
        if one.token == CLUSTER and path.startswith("nodeConfig."):
            continue
        moved = path in nodes or (one.token == NODE_POOL and path.startswith(f"{LABELS}."))
        lasts = "life" if path in life else "nodes" if moved else "any time"
        found[f"{part}.{path}"] = ([*found.get(f"{part}.{path}", ([],))[0], value], lasts)
    return {path: value for path, value in found.items() if not path.endswith((".name", f".{POOL}"))}


def _leaves(inputs: Any, at: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(inputs, dict):
        for key, value in inputs.items():
            yield from _leaves(value, f"{at}.{key}" if at else key)
    elif isinstance(inputs, list) and inputs and isinstance(inputs[0], dict):
        for item in inputs:
            yield from _leaves(item, at)
    else:
        yield at, inputs


def _set(document: dict[str, Any], path: str, value: Any) -> None:
    *way, last = path.split(".")
    for name in way:
        inner = document.setdefault(name.removesuffix("[]"), {})
        document = inner[0] if name.endswith("[]") else inner
    if value is None:
        document.pop(last, None)
    else:
        document[last] = value
