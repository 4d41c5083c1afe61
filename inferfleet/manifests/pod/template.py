"""Generates the pod template of a single-pod worker: the team's template with what serving needs."""

import copy
from typing import Any

from inferfleet.api.kinds.containers import ENGINE
from inferfleet.api.kinds.model_deployment import Engine, ModelDeployment
from inferfleet.fleet import names
from inferfleet.fleet.engine_args import port_of, startup_of
from inferfleet.fleet.spot import Spot
from inferfleet.manifests.pod.hardware import Hardware
from inferfleet.profiles.engines import engine

STARTUP_PERIOD = 10
# One second, the default, is less than a busy engine needs to answer while it schedules a large batch.
TIMEOUT = 5


def probes(document: Engine, *, port: str) -> dict[str, Any]:
    """Return the three probes of an engine's container: of its health path, or of its port without one."""
    return {
        "startupProbe": {
            **_how(document, port),
            "periodSeconds": STARTUP_PERIOD,
            "timeoutSeconds": TIMEOUT,
            "failureThreshold": -(-startup_of(document) // STARTUP_PERIOD),
        },
        "readinessProbe": {**_how(document, port), "periodSeconds": 5, "timeoutSeconds": TIMEOUT},
        "livenessProbe": {
            **_how(document, port),
            "periodSeconds": 10,
            "timeoutSeconds": TIMEOUT,
            "failureThreshold": 3,
        },
    }


def _how(document: Engine, port: str) -> dict[str, Any]:
    path = engine(document.type).health_path
    if path is None:
        return {"tcpSocket": {"port": port}}
    return {"httpGet": {"path": path, "port": port}}


PORT_NAME = "http"
SHM = "dshm"
SHM_PATH = "/dev/shm"
# After SIGTERM a gateway may still send requests for some seconds; the sleep outlasts its endpoint updates.
PRE_STOP_SECONDS = 30
# Then running generations end: llm-d's guides and charts use the same 130 s.
GRACE_SECONDS = 130


def labels(*, deployment: ModelDeployment, spot: Spot, role: str, hardware: Hardware) -> dict[str, str]:
    """Return the generated labels of the pods of a role."""
    kind = engine(deployment.spec.engine.type)
    ours = names.pod_labels(spot, role, serves=True, engine_type=kind.label)
    return ours | names.shares_node() if hardware.shares_node else ours


def pod_template(*, deployment: ModelDeployment, spot: Spot, role: str, hardware: Hardware) -> dict[str, Any]:
    """Return the pod template of a role before the plugin chain, for a deployment without `clashes`."""
    template = deployment.spec.workers.template
    metadata: dict[str, Any] = {
        "labels": dict(template.metadata.labels)
        | labels(deployment=deployment, spot=spot, role=role, hardware=hardware)
    }
    if template.metadata.annotations:
        metadata["annotations"] = dict(template.metadata.annotations)
    spec = copy.deepcopy(template.spec)
    container = next(container for container in spec["containers"] if container["name"] == ENGINE)
    _serve(container, deployment)
    _share_memory(spec, container)
    _drain(spec, container)
    _schedule(spec, container, hardware)
    # A Service called "vllm" would otherwise inject VLLM_PORT, which vLLM takes for its own port.
    spec.setdefault("enableServiceLinks", False)
    return {"metadata": metadata, "spec": spec}


def _serve(container: dict[str, Any], deployment: ModelDeployment) -> None:
    port = port_of(deployment.spec.engine)
    ports = container.setdefault("ports", [])
    listed = next((listed for listed in ports if is_port(listed, port)), None)
    if listed is None:
        ports.append({"name": PORT_NAME, "containerPort": port})
    else:
        listed["name"] = PORT_NAME
    if not any(key in container for key in ("startupProbe", "readinessProbe", "livenessProbe")):
        container.update(probes(deployment.spec.engine, port=PORT_NAME))
    # The pod's status then says why an engine ended, and so does Pulumi.
    container.setdefault("terminationMessagePolicy", "FallbackToLogsOnError")


def is_port(listed: dict[str, Any], port: int) -> bool:
    """Return whether an item of a container's `ports` is this TCP port."""
    return bool(listed["containerPort"] == port) and listed.get("protocol", "TCP") == "TCP"


def _share_memory(spec: dict[str, Any], container: dict[str, Any]) -> None:
    """Mount memory at SHM_PATH: NCCL and engines with several processes need more than the default 64 MiB.

    No sizeLimit: pages in use count against the engine's memory limit, which is limit enough, and how much a
    tensor-parallel engine needs is not known.
    """
    if any(mount["mountPath"].rstrip("/") == SHM_PATH for mount in container.get("volumeMounts", [])):
        return
    volumes = spec.setdefault("volumes", [])
    if not any(volume["name"] == SHM for volume in volumes):
        volumes.append({"name": SHM, "emptyDir": {"medium": "Memory"}})
    container.setdefault("volumeMounts", []).append({"name": SHM, "mountPath": SHM_PATH})


def _drain(spec: dict[str, Any], container: dict[str, Any]) -> None:
    grace = spec.setdefault("terminationGracePeriodSeconds", GRACE_SECONDS)
    # The API server refuses a sleep longer than the grace period; half leaves time to finish.
    seconds = min(PRE_STOP_SECONDS, grace // 2)
    if seconds:
        container.setdefault("lifecycle", {}).setdefault("preStop", {"sleep": {"seconds": seconds}})


def _schedule(spec: dict[str, Any], container: dict[str, Any], hardware: Hardware) -> None:
    resources = container.setdefault("resources", {})
    for kind in ("limits", "requests"):
        resources.setdefault(kind, {})[hardware.resource] = str(hardware.gpus)
    spec["nodeSelector"] = dict(spec.get("nodeSelector", {})) | dict(hardware.node_selector)
    tolerations = spec.setdefault("tolerations", [])
    tolerations += [wanted for wanted in _tolerations(hardware) if wanted not in tolerations]
    if hardware.shares_node:
        affinity = spec.setdefault("affinity", {}).setdefault("podAffinity", {})
        affinity.setdefault("preferredDuringSchedulingIgnoredDuringExecution", []).append(_together())


def _tolerations(hardware: Hardware) -> list[dict[str, Any]]:
    device: dict[str, Any] = {"key": hardware.resource, "operator": "Exists", "effect": "NoSchedule"}
    return [device] + [
        {"key": taint.key, "operator": "Equal", "value": taint.value, "effect": taint.effect}
        for taint in hardware.taints
        if (taint.key, taint.effect) != (hardware.resource, "NoSchedule")
    ]


def _together() -> dict[str, Any]:
    """Return an affinity for nodes that already have smaller pods.

    kube-scheduler spreads pods by default, which strands GPUs that others need as whole nodes.
    """
    return {
        "weight": 100,
        "podAffinityTerm": {
            "labelSelector": {"matchLabels": names.shares_node()},
            "namespaceSelector": {},
            "topologyKey": "kubernetes.io/hostname",
        },
    }
