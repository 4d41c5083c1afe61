"""What GKE's controllers make in the cloud for objects of a cluster, and what a cluster's end leaves of it.

They delete it with the object. When the cluster is deleted first, it may stay: load balancers and volumes
"not always guaranteed" (docs.cloud.google.com/sdk/gcloud/reference/container/clusters/delete, 2026-11-24),
and here it does. Names of load balancers begin with `gkegw1-` and four characters, as reports of users show.
"""

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any

from sandbox.gcp.rules.names import relative
from sandbox.gcp.store import Record

FORWARDING_RULE, DISK = "gcp:compute/forwardingRule:ForwardingRule", "gcp:compute/disk:Disk"
ENDPOINT_GROUP = "gcp:compute/networkEndpointGroup:NetworkEndpointGroup"
# No resource of the provider, so that nothing of a stack is taken for one.
GKE_FIREWALL = "gke:firewall"
KINDS = "gateways.gateway.networking.k8s.io,persistentvolumes"
_DRIVER = "pd.csi.storage.gke.io"


def outlasting(cluster: Record, objects: Iterable[dict[str, Any]]) -> Iterator[Record]:
    """Yield the load balancers of a cluster's Gateways that have an address, with an endpoint group and a
    firewall for each, and the disks of its volumes. Google's have more of them, in every zone and for every
    Service.
    """
    project = cluster.state["project"]
    for made in objects:
        metadata, spec = made["metadata"], made["spec"]
        if made["kind"] == "Gateway":
            addresses = (made.get("status") or {}).get("addresses") or []
            if not spec["gatewayClassName"].startswith("gke-l7-") or not addresses:
                continue
            digest = hashlib.sha256(
                f"{cluster.id}/{metadata['namespace']}/{metadata['name']}".encode()
            ).hexdigest()
            name = f"gkegw1-{digest[:4]}-{metadata['namespace'][:12]}-{metadata['name'][:12]}-{digest[4:16]}"
            region = cluster.state["location"]
            network = relative(cluster.state["network"])
            state = {"name": name, "project": project, "region": region, "network": network}
            state["IPAddress"] = addresses[0]["value"]
            yield Record(
                FORWARDING_RULE, f"projects/{project}/regions/{region}/forwardingRules/{name}", state
            )
            zone = sorted(cluster.state["nodeLocations"])[0]
            group = f"k8s1-{digest[:8]}-{metadata['namespace'][:12]}-{metadata['name'][:12]}-{digest[16:24]}"
            within = {"project": project, "network": network}
            yield Record(
                ENDPOINT_GROUP,
                f"projects/{project}/zones/{zone}/networkEndpointGroups/{group}",
                {**within, "name": group, "zone": zone},
            )
            firewall = f"gkegw1-{digest[:4]}-l7-{digest[24:36]}"
            yield Record(
                GKE_FIREWALL, f"projects/{project}/global/firewalls/{firewall}", {**within, "name": firewall}
            )
        elif (spec.get("csi") or {}).get("driver") == _DRIVER:
            # projects/<project>/zones/<zone>/disks/<name>
            disk = str(spec["csi"]["volumeHandle"])
            *_, zone, _, name = disk.split("/")
            labels = {"goog-k8s-cluster-name": cluster.name}
            state = {"name": name, "project": project, "zone": zone, "labels": labels}
            yield Record(DISK, disk, state)
