"""A network, a cluster and two pools of Google's, as resources of the tiny program."""

from typing import Any

CLUSTER, POOL = "gcp:container/cluster:Cluster", "gcp:container/nodePool:NodePool"
NETWORK, SUBNET = "gcp:compute/network:Network", "gcp:compute/subnetwork:Subnetwork"
Resource = dict[str, Any]


def network() -> list[Resource]:
    account = "nodes@acme.iam.gserviceaccount.com"
    return [
        {
            "token": NETWORK,
            "name": "net",
            "inputs": {"name": "net", "project": "acme", "autoCreateSubnetworks": False},
        },
        {
            "token": SUBNET,
            "name": "sub",
            "after": ["net"],
            "inputs": {
                "name": "sub",
                "project": "acme",
                "region": "us-east5",
                "network": "projects/acme/global/networks/net",
                "ipCidrRange": "10.0.0.0/20",
                "secondaryIpRanges": [
                    {"rangeName": "pods", "ipCidrRange": "10.4.0.0/14"},
                    {"rangeName": "services", "ipCidrRange": "10.8.0.0/20"},
                ],
            },
        },
        {
            "token": "gcp:serviceaccount/account:Account",
            "name": "nodes",
            "inputs": {"accountId": "if-nodes", "project": "acme", "displayName": "nodes of east"},
        },
        {
            "token": "gcp:projects/iAMMember:IAMMember",
            "name": "nodes-role",
            "after": ["nodes"],
            "inputs": {
                "project": "acme",
                "role": "roles/container.defaultNodeServiceAccount",
                "member": f"serviceAccount:if-{account}",
            },
        },
    ]


def cluster(**changes: Any) -> Resource:
    inputs = {
        "name": "east",
        "project": "acme",
        "location": "us-east5",
        "network": "projects/acme/global/networks/net",
        "subnetwork": "projects/acme/regions/us-east5/subnetworks/sub",
        "ipAllocationPolicy": {"clusterSecondaryRangeName": "pods", "servicesSecondaryRangeName": "services"},
        "gatewayApiConfig": {"channel": "CHANNEL_STANDARD"},
        "removeDefaultNodePool": True,
        "initialNodeCount": 1,
        "deletionProtection": False,
        **changes,
    }
    return {
        "token": CLUSTER,
        "name": "east",
        "after": ["sub", "nodes-role"],
        "inputs": {name: value for name, value in inputs.items() if value is not None},
    }


def pool(name: str, config: dict[str, Any] | None = None, **changes: Any) -> Resource:
    machine = {"machineType": "e2-standard-4", "serviceAccount": "if-nodes@acme.iam.gserviceaccount.com"}
    inputs = {
        "name": name,
        "project": "acme",
        "location": "us-east5",
        "cluster": "east",
        "nodeLocations": ["us-east5-a"],
        "nodeConfig": {**machine, **(config or {})},
        **changes,
    }
    return {"token": POOL, "name": name, "after": ["east"], "inputs": inputs}


def l4(**changes: Any) -> Resource:
    """A pool that grows from nothing."""
    config = {
        "machineType": "g2-standard-48",
        "labels": {"inferfleet.dev/pool": "l4"},
        "guestAccelerators": [
            {
                "type": "nvidia-l4",
                "count": 4,
                "gpuDriverInstallationConfig": {"gpuDriverVersion": "LATEST"},
            }
        ],
        **changes.pop("config", {}),
    }
    scaling = {"totalMinNodeCount": 0, "totalMaxNodeCount": 2, "locationPolicy": "ANY"}
    return pool("l4", config, autoscaling=scaling, **changes)
