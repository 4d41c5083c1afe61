"""The smallest fleet that has everything, as text, and a project on disk to hold it."""

from dataclasses import dataclass
from datetime import date
from pathlib import Path

TODAY = date(2026, 11, 23)
CLASS = """\
apiVersion: inferfleet.dev/v1alpha1
kind: InferenceClass
metadata: {name: l4}
spec:
  description: L4, 2 per node
  node: {cpu: "16", memory: 64Gi}
  resources: {gpu: {count: 2, memory: 24Gi}}
"""
CLUSTER = """\
apiVersion: inferfleet.dev/v1alpha1
kind: InferenceCluster
metadata: {name: east}
spec:
  cluster: {source: Existing, existing: {kubeconfig: {path: east.kubeconfig}}}
  nodePools: [{name: l4, className: l4, nodeCount: 1}]
  serving: {gateway: {className: istio}}
"""
# Clusters of a Fleet whose program hands over how one is reached, and where the other is.
CLUSTER_FROM_PROGRAM = CLUSTER.replace("existing: {kubeconfig: {path: east.kubeconfig}}", "existing: {}")
GKE_FROM_PROGRAM = """\
apiVersion: inferfleet.dev/v1alpha1
kind: InferenceCluster
metadata: {name: cloudy}
spec:
  cluster: {source: GKE, gke: {region: us-east5, network: {existing: {}}}}
  nodePools: [{name: l4, className: gke-l4-1x-g2, nodeCount: 1, zones: [us-east5-a]}]
"""
DEPLOYMENT = """\
apiVersion: inferfleet.dev/v1alpha1
kind: ModelDeployment
metadata: {name: qwen, namespace: ml, labels: {family: qwen}}
spec:
  replicas: 1
  workers:
    topology: {tensor: 1}
    template: {spec: {containers: [{name: engine, image: "vllm:1"}]}}
"""
SERVICE = """\
apiVersion: inferfleet.dev/v1alpha1
kind: ModelService
metadata: {name: chat, namespace: ml}
spec: {endpoints: [{selector: {matchLabels: {family: qwen}}}]}
"""
LOCK = """\
version: 1
stack: prod
clusters:
  east: {source: Existing}
pools:
  east/l4: {nodes: 1}
placements:
  ml/qwen east decode=l4: 1
services:
  ml/chat: [east]
"""
UID = "6e0c0d4e-0000-4000-8000-000000000001"


def together(*documents: str) -> str:
    """One file of them all."""
    return "---\n".join(documents)


@dataclass
class OnDisk:
    """A project with the one stack `prod`."""

    root: Path

    def write(self, name: str, text: str) -> Path:
        file = self.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    @property
    def lock_file(self) -> Path:
        return self.root / "stacks/prod/placement.lock"

    @property
    def lock(self) -> str:
        return self.lock_file.read_text()
