"""Programs that inferfleet starts itself, pickers and routing proxies: flags, resources, variables."""

from collections.abc import Iterator
from typing import Any

from inferfleet.documents.kinds.inference_cluster import Serving, Tracing
from inferfleet.documents.kinds.workers import ResourceRequirements
from inferfleet.documents.problems import Mistake
from inferfleet.tables.devices import vendor_of

Value = str | int | float | bool


def text(value: Value) -> str:
    """Return the value of a flag as its program reads it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def pull_secrets(serving: Serving) -> dict[str, Any]:
    """Return the field of a pod by which images of a cluster's private registries are pulled; {} for none."""
    names = serving.image_pull_secrets
    return {"imagePullSecrets": [{"name": name} for name in names]} if names else {}


def resource_mistakes(resources: ResourceRequirements | None) -> Iterator[Mistake]:
    """Yield the devices that a program asks for: the plan gives them to engines alone."""
    if resources is None:
        return
    for kind, amounts in (("requests", resources.requests), ("limits", resources.limits)):
        for name in amounts:
            if vendor_of(name):
                what = f"it asks for {amounts[name]} {name}, and the plan counts the devices of engines alone"
                step = "Remove it: only engines get devices, those of their topology"
                yield Mistake(what, step, (kind, name))


def tracing_variables(tracing: Tracing, service: str) -> list[dict[str, Any]]:
    """Return the variables by which a program sends its traces; it has NAMESPACE and POD_NAME besides."""
    pairs = "k8s.namespace.name=$(NAMESPACE),k8s.node.name=$(NODE_NAME),k8s.pod.name=$(POD_NAME)"
    return [
        variable_of_pod("NODE_NAME", "spec.nodeName"),
        {"name": "OTEL_SERVICE_NAME", "value": service},
        {"name": "OTEL_EXPORTER_OTLP_ENDPOINT", "value": tracing.endpoint},
        {"name": "OTEL_TRACES_EXPORTER", "value": "otlp"},
        {"name": "OTEL_TRACES_SAMPLER", "value": tracing.sampler},
        {"name": "OTEL_TRACES_SAMPLER_ARG", "value": tracing.sampler_arg},
        {"name": "OTEL_RESOURCE_ATTRIBUTES", "value": pairs},
    ]


def variable_of_pod(name: str, path: str) -> dict[str, Any]:
    """Return a variable with a field of the pod itself."""
    return {"name": name, "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}}
