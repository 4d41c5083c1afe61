"""A small valid fleet as text (one class, one cluster, one deployment), and the type of a mistake in it."""

from collections.abc import Callable

from inferfleet.documents.problems import Where

# Of a text, what stands in it once and what is written instead: place, path, what is wrong, next step.
Mistake = Callable[[str, str, str], tuple[Where | None, str, str, str]]

BASE = """\
apiVersion: inferfleet.dev/v1alpha1
kind: InferenceClass
metadata: {name: l4}
spec:
  node: {cpu: 8, memory: 32Gi}
  resources: {gpu: {count: 1, memory: 24Gi}}
---
apiVersion: inferfleet.dev/v1alpha1
kind: InferenceCluster
metadata: {name: east, labels: {tier: prod}}
spec:
  cluster: {source: Existing, existing: {kubeconfig: {path: x}}}
  nodePools:
    - {name: l4, className: l4, nodeCount: 3}
  serving: {gateway: {className: istio}}
---
apiVersion: inferfleet.dev/v1alpha1
kind: ModelDeployment
metadata: {name: qwen, namespace: ml}
spec:
  replicas: 2
  engine: {type: vLLM}
  workers:
    topology: {tensor: 1}
    template:
      spec:
        containers: [{name: engine, image: x}]
"""
