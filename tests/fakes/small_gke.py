"""A stack with one GKE cluster: a pool of L4s and one of reserved H100s; and Google's answers about it."""

from pathlib import Path
from typing import Any

from fake_google import FakeGoogle

from inferfleet.cloud.values import CloudCluster
from inferfleet.clusters.connections.google import Addresses
from inferfleet.desired import desired
from inferfleet.desired.values import Desired
from inferfleet.documents import load
from inferfleet.documents.documents import Documents
from inferfleet.fleet.lock.lock import Lock

DOCUMENTS = """\
apiVersion: inferfleet.dev/v1alpha1
kind: InferenceClass
metadata: {name: l4}
spec:
  node: {cpu: "8", memory: 32Gi}
  resources: {gpu: {count: 1, memory: 23034Mi}}
  provisioning: {provider: GKE, gke: {machineType: g2-standard-8, accelerator: {type: nvidia-l4, count: 1}}}
---
apiVersion: inferfleet.dev/v1alpha1
kind: InferenceClass
metadata: {name: h100}
spec:
  node: {cpu: "200", memory: 1500Gi}
  resources: {gpu: {count: 8, memory: 81559Mi}}
  provisioning:
    provider: GKE
    gke: {machineType: a3-megagpu-8g, accelerator: {type: nvidia-h100-mega-80gb, count: 8}}
---
apiVersion: inferfleet.dev/v1alpha1
kind: InferenceCluster
metadata: {name: east}
spec:
  cluster: {source: GKE, gke: {project: acme-ml, region: us-east5}}
  nodePools:
    - {name: l4, className: l4, nodeCount: 2, zones: [us-east5-a, us-east5-b]}
    - name: h100
      className: h100
      nodeCount: 1
      zones: [us-east5-a]
      capacity: {model: Reservation, reservation: {name: big, project: acme-core}}
  serving: {gateway: {className: gke-l7-rilb, provider: gke}}
"""
COMPUTE = "/compute/v1/projects"
REGION, PROJECT = f"{COMPUTE}/acme-ml/regions/us-east5", f"{COMPUTE}/acme-ml"
RESERVATION = f"{COMPUTE}/acme-core/zones/us-east5-a/reservations/big"


RESERVED = "model: Reservation, reservation: {name: big, project: acme-core}"


def written(folder: Path, *, h100: str = RESERVED, gke: str = "", gateway: str = "gke-l7-rilb") -> Documents:
    """`h100` is how the machines with H100s are asked for, `gke` further fields of the cluster, `gateway` the
    class of its gateway.
    """
    region = "region: us-east5"
    text = (
        DOCUMENTS.replace(RESERVED, h100)
        .replace("gke-l7-rilb", gateway)
        .replace(region, f"{region}, {gke}" if gke else region)
    )
    (folder / "documents.yaml").write_text(text)
    return load([folder / "documents.yaml"], catalogue=None)


def decided(documents: Documents) -> tuple[Desired, CloudCluster]:
    found = desired(documents, Lock())
    (cluster,) = found.clusters
    assert cluster.connection.cloud
    return found, cluster.connection.cloud


def at(google: FakeGoogle) -> Addresses:
    return Addresses(google.address, f"{google.address}/compute/v1", google.address, policies=google.address)


def path_of(cloud: CloudCluster) -> str:
    return f"/v1/projects/{cloud.project}/locations/{cloud.region}/clusters/{cloud.cloud_name}"


def limits(**quotas: tuple[int, int]) -> tuple[int, dict[str, Any]]:
    """An answer with limit and usage by metric."""
    listed = [{"metric": name, "limit": limit, "usage": used} for name, (limit, used) in quotas.items()]
    return 200, {"quotas": listed}
