"""Whatever the value of a field of a cluster on GKE, it is accepted or explained in words."""

import copy
import json
from collections.abc import Iterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from test_any_input import API, DATA, loaded

from inferfleet.documents import Documents

CLASS: dict[str, Any] = {
    "apiVersion": API,
    "kind": "InferenceClass",
    "metadata": {"name": "h100"},
    "spec": {
        "node": {"cpu": "207", "memory": "1800Gi"},
        "resources": {"gpu": {"count": 8, "memory": "79Gi"}},
        "provisioning": {
            "provider": "GKE",
            "gke": {
                "machineType": "a3-highgpu-8g",
                "accelerator": {
                    "type": "nvidia-h100-80gb",
                    "count": 8,
                    "partitionSize": "1g.10gb",
                    "sharing": {"strategy": "MPS", "maxClientsPerGpu": 2},
                },
                "diskSizeGb": 200,
                "diskType": "pd-ssd",
                "localSsd": {"count": 16, "use": "BlockDevice"},
                "driver": "LATEST",
                "imageStreaming": True,
                "networking": {"gpuDirect": "TCPX"},
                "compactPlacement": True,
                "verified": "us-east5, 2026-06-01",
            },
        },
    },
}
CLUSTER: dict[str, Any] = {
    "apiVersion": API,
    "kind": "InferenceCluster",
    "metadata": {"name": "east"},
    "spec": {
        "cluster": {
            "source": "GKE",
            "gke": {
                "project": "acme-prod",
                "region": "us-east5",
                "zones": ["us-east5-a", "us-east5-b"],
                "releaseChannel": "RAPID",
                "minVersion": "1.34",
                "network": {"block": "10.4.0.0/14", "gpuDirect": "Stack"},
                "privateNodes": False,
                "controlPlaneEndpoint": "IP",
                "authorizedNetworks": ["203.0.113.0/24"],
                "deletionProtection": False,
                "labels": {"team": "ml"},
                "systemPool": {"machineType": "e2-standard-8", "diskSizeGb": 50},
                "replace": {"allow": ["spec.zones"], "order": "DeleteFirst"},
            },
        },
        "nodePools": [
            {
                "name": "h100",
                "className": "h100",
                "minNodeCount": 0,
                "maxNodeCount": 2,
                "zones": ["us-east5-a"],
                "labels": {"tier": "prod"},
                "taints": [{"key": "ml", "effect": "NoSchedule"}],
                "capacity": {"model": "FlexStart", "maxRunDuration": "24h"},
            },
            {
                "name": "held",
                "className": "h100",
                "nodeCount": 2,
                "capacity": {"model": "Reservation", "reservation": {"name": "ours", "block": "b1"}},
            },
        ],
    },
}
NETWORK = {"existing": {"name": "n", "subnetwork": "s", "podsRange": "p", "servicesRange": "q"}}
Path = tuple[str | int, ...]


def _paths(value: Any, above: Path = ()) -> Iterator[Path]:
    if above:
        yield above
    inner: Any = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for step, child in inner:
        yield from _paths(child, (*above, step))


def _with(documents: list[dict[str, Any]], path: Path, new: Any) -> bytes:
    changed: Any = copy.deepcopy(documents)
    *way, last = path
    parent = changed
    for step in way:
        parent = parent[step]
    parent[last] = new
    return "\n---\n".join(json.dumps(document) for document in changed).encode()


WHOLE = [CLASS, CLUSTER]


def test_the_documents_are_taken_as_they_are_and_with_a_network_that_exists() -> None:
    gke: Path = (1, "spec", "cluster", "gke", "network")
    assert isinstance(loaded(_with(WHOLE, (0, "kind"), "InferenceClass")), Documents)
    assert isinstance(loaded(_with(WHOLE, gke, NETWORK)), Documents)


@settings(deadline=None, max_examples=300)
@given(st.sampled_from(list(_paths(WHOLE))), DATA)
def test_any_data_in_one_field_of_a_cluster_to_create(path: Path, new: Any) -> None:
    loaded(_with(WHOLE, path, new))
