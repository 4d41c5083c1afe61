"""Documents for end-to-end tests: two clusters, and deployments that differ in what a test is about."""

from typing import Any

Document = dict[str, Any]
API = "inferfleet.dev/v1alpha1"
# The time that engines have to end, and pickers with them. By default pickers go on for 95 s, which would be
# most of a test's time; with this they go on for five.
GRACE = 40
IMAGE = "docker.io/vllm/vllm-openai:v0.32.0"
# Pickers ask every engine seven times a second unless told, which is most of what a fleet at rest does, and
# make a key of 4,096 bits before they listen, which is most of what they ever do. Those of test_answers.py
# and of the stacks in stacks/ do both.
FRUGAL = {"flags": {"refresh-metrics-interval": "1s", "secure-serving": "false"}}


def cluster(name: str, *, stack: str = "e2e", pools: dict[str, tuple[str, int]], **spec: Any) -> Document:
    """`pools` are name -> (class, number of nodes)."""
    kubeconfig = {"path": f"../../.sandbox/{stack}/{name}.kubeconfig"}
    return {
        "apiVersion": API,
        "kind": "InferenceCluster",
        "metadata": {"name": name, "labels": {"region": name}},
        "spec": {
            "cluster": {"source": "Existing", "existing": {"kubeconfig": kubeconfig}},
            "nodePools": [
                {"name": pool, "className": kind, "nodeCount": count} for pool, (kind, count) in pools.items()
            ],
            "serving": {"gateway": {"className": "inferfleet-sandbox", "port": 8080}},
            **spec,
        },
    }


def east(**spec: Any) -> Document:
    return cluster("east", pools={"l4": ("nvidia-l4-4x", 2)}, **spec)


def west(**spec: Any) -> Document:
    return cluster("west", pools={"h100": ("nvidia-h100-80gb-8x", 2), "l4": ("nvidia-l4-4x", 1)}, **spec)


def deployment(
    name: str,
    *,
    gpus: int = 1,
    replicas: int = 1,
    on: str | None = None,
    gpu: str | None = None,
    image: str = IMAGE,
    env: list[dict[str, Any]] | None = None,
    **spec: Any,
) -> Document:
    """`on` pins it to a cluster, `gpu` to devices of a product. Its picker looks at engines once a second."""
    engine: dict[str, Any] = {"name": "engine", "image": image}
    # The half minute that pods drain by default would be most of a test's time.
    engine["lifecycle"] = {"preStop": {"sleep": {"seconds": 1}}}
    if env:
        engine["env"] = env
    if on:
        spec["clusterSelector"] = {"matchLabels": {"region": on}}
    spec["endpointPicker"] = FRUGAL | spec.get("endpointPicker", {})
    if gpu:
        spec["nodeSelector"] = {"cel": f'attributes["gpu.nvidia.com/productName"] == "{gpu}"'}
    return {
        "apiVersion": API,
        "kind": "ModelDeployment",
        "metadata": {"name": name, "namespace": "ml", "labels": {"model": name}},
        "spec": {
            "replicas": replicas,
            "engine": {"model": "some/model", **spec.pop("engine", {})},
            "workers": {
                "topology": {"tensor": gpus},
                "template": {"spec": {"containers": [engine], "terminationGracePeriodSeconds": GRACE}},
            },
            **spec,
        },
    }


def service(name: str, **weights: int) -> Document:
    """`weights` by the deployments it selects."""
    return {
        "apiVersion": API,
        "kind": "ModelService",
        "metadata": {"name": name, "namespace": "ml"},
        "spec": {
            "endpoints": [
                {"weight": weight, "selector": {"matchLabels": {"model": model.replace("_", "-")}}}
                for model, weight in weights.items()
            ]
        },
    }


def model(name: str, *, on: str = "east", picker: Document | None = None, **more: Any) -> Document:
    """A deployment that answers to the name `shared`, whose picker asks for little."""
    picker = {"resources": {"requests": {"cpu": "100m"}}, **(picker or {})}
    made = deployment(name, on=on, endpointPicker=picker, **more)
    made["spec"]["engine"]["servedNames"] = ["shared"]
    return made


def annotated(document: Document, **annotations: str) -> Document:
    """`annotations` steer the stand-in for the engine."""
    if annotations:
        document["spec"]["workers"]["template"]["metadata"] = {
            "annotations": {
                f"sandbox.inferfleet.dev/{name.replace('_', '-')}": value
                for name, value in annotations.items()
            }
        }
    return document


def kueue_webhook() -> Document:
    """Stands for the controller of Kueue, of which the sandbox has the kinds alone: nobody makes a Workload,
    so nobody is called.
    """
    rule = {
        "apiGroups": ["kueue.x-k8s.io"],
        "apiVersions": ["v1beta2"],
        "operations": ["CREATE"],
        "resources": ["workloads"],
    }
    webhook = {
        "name": "mworkload.kb.io",
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"url": "https://127.0.0.1:9/"},
        "failurePolicy": "Ignore",
        "rules": [rule],
        "sideEffects": "None",
    }
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": "kueue-mutating-webhook-configuration"},
        "webhooks": [webhook],
    }
