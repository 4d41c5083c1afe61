"""Generates a pod template: the team's own, with what serving and its place in a worker need."""

import copy
from typing import Any

from inferfleet.documents.kinds.model_deployment import Engine
from inferfleet.documents.pods.template import engine_container
from inferfleet.fleet import names
from inferfleet.fleet.roles import (
    DECODE,
    Health,
    active_ports,
    engine_ports,
    health,
    is_disaggregated,
    serving_ports,
    serving_roles,
    startup_of,
    target_ports,
)
from inferfleet.serving.engines.command_line import WorkerPod, command_line, variables
from inferfleet.serving.engines.drain import ending, grace_of_followers
from inferfleet.serving.pod.disaggregated.proxy import routing_proxy
from inferfleet.serving.pod.disaggregated.transfer import hand_over
from inferfleet.serving.pod.hardware import Hardware, ask_for_devices, claimed_gpus
from inferfleet.serving.pod.stand import Stand
from inferfleet.tables.engines import EngineDefaults, engine

STARTUP_PERIOD = 10
# One second, the default, is less than a busy engine needs to answer while it schedules a large batch.
TIMEOUT = 5


def probes(document: Engine, where: Health, *, listens: int) -> dict[str, Any]:
    """Return the three probes of an engine's container: of its health path, or of its port without one.

    `listens` is the port that has the name by which probes ask.
    """
    return {
        "startupProbe": {
            **_how(where.port, where.path, listens),
            "periodSeconds": STARTUP_PERIOD,
            "timeoutSeconds": TIMEOUT,
            "failureThreshold": -(-startup_of(document) // STARTUP_PERIOD),
        },
        "readinessProbe": {
            **_how(where.port, where.ready, listens),
            "periodSeconds": 5,
            "timeoutSeconds": TIMEOUT,
        },
        "livenessProbe": {
            **_how(where.port, where.path, listens),
            "periodSeconds": 10,
            "timeoutSeconds": TIMEOUT,
            "failureThreshold": 3,
        },
    }


def _how(port: int, path: str | None, listens: int) -> dict[str, Any]:
    asked = PORT_NAME if port == listens else port
    if path is None:
        return {"tcpSocket": {"port": asked}}
    return {"httpGet": {"path": path, "port": asked}}


PORT_NAME = "http"
SHM = "dshm"
SHM_PATH = "/dev/shm"


def labels(stand: Stand) -> dict[str, str]:
    """Return the generated labels of the pods."""
    kind = engine(stand.engine.type)
    serves = stand.role in serving_roles(stand.deployment) and stand.answers
    ours = names.pod_labels(stand.spot, stand.role, serves=serves, engine_type=kind.label)
    unified = stand.role == DECODE and not is_disaggregated(stand.deployment)
    ours |= names.llm_d_labels(stand.spot, unified=unified)
    if not serves and stand.answers:
        ours |= {names.ENTRY: "true"}
    return ours | names.shares_node() if stand.hardware.shares_node else ours


def pod_template(stand: Stand) -> dict[str, Any]:
    """Return the pod template before the plugin chain. The deployment has no `document_contradictions`."""
    template = stand.written
    metadata: dict[str, Any] = {"labels": dict(template.metadata.labels) | labels(stand)}
    own = _active_ports(stand) | claimed_gpus(stand.hardware)
    if annotations := dict(template.metadata.annotations) | own:
        metadata["annotations"] = annotations
    spec = copy.deepcopy(template.spec)
    _, container = engine_container(spec)
    if stand.image:
        container.setdefault("image", stand.image)
    _start(container, stand)
    if stand.answers:
        _serve(container, stand)
        _answer_when_busy(container, engine(stand.engine.type))
    # The pod's status then says why an engine ended, and so does an update.
    container.setdefault("terminationMessagePolicy", "FallbackToLogsOnError")
    _wait_for_copies(container, stand)
    hand_over(container, stand)
    if stand.has_proxy:
        spec.setdefault("initContainers", []).append(routing_proxy(stand))
    _share_memory(spec, container)
    _drain(spec, container, stand)
    _schedule(spec, container, stand.hardware)
    if stand.shape.pods > 1:
        _gather(spec, stand)
    # A Service called "vllm" would otherwise inject VLLM_PORT, which vLLM takes for its own port.
    spec.setdefault("enableServiceLinks", False)
    return {"metadata": metadata, "spec": spec}


def _start(container: dict[str, Any], stand: Stand) -> None:
    """Write the engine's command line where its document declares a model, and its variables."""
    pod = WorkerPod(stand.deployment, stand.role, stand.position, stand.shape.pods)
    line = command_line(pod)
    if line is not None:
        if line.command:
            container["command"] = list(line.command)
        container["args"] = list(line.args)
    there = {variable["name"] for variable in container.get("env", [])}
    if added := [variable for variable in variables(pod) if variable["name"] not in there]:
        # Before the team's own, which may refer to them.
        container["env"] = [*added, *container.get("env", [])]


def _serve(container: dict[str, Any], stand: Stand) -> None:
    """List the ports on which the engine serves, the first by the name that probes use, and probe it."""
    listed = container.setdefault("ports", [])
    ports = engine_ports(stand.deployment, stand.role, stand.shape)
    for i, port in enumerate(ports):
        name = f"{PORT_NAME}-{i}" if i else PORT_NAME
        same = next((each for each in listed if is_port(each, port)), None)
        if same is None:
            listed.append({"name": name, "containerPort": port})
        else:
            same["name"] = name
    if not any(key in container for key in ("startupProbe", "readinessProbe", "livenessProbe")):
        container.update(probes(stand.engine, health(stand.deployment, stand.role), listens=ports[0]))


def _answer_when_busy(container: dict[str, Any], table: EngineDefaults) -> None:
    """Let the engine's health path answer at once, unless the template says otherwise or may."""
    name, variables = table.idle_health, container.get("env", [])
    if name is None or "envFrom" in container or any(one["name"] == name for one in variables):
        return
    container.setdefault("env", []).append({"name": name, "value": "false"})


def _wait_for_copies(container: dict[str, Any], stand: Stand) -> None:
    """Let the engine wait for its own processes as long as its startup probe does.

    An API server of vLLM waits 600 s for the engines of other pods and ports, whatever a startup probe allows
    (VLLM_ENGINE_READY_TIMEOUT_S in vllm/envs.py, read in vllm/v1/engine/core_client.py).
    """
    variable = engine(stand.engine.type).ready_variable
    several = stand.shape.pods > 1 or len(engine_ports(stand.deployment, stand.role, stand.shape)) > 1
    if variable and several and not any(env["name"] == variable for env in container.get("env", [])):
        seconds = str(startup_of(stand.engine))
        container.setdefault("env", []).append({"name": variable, "value": seconds})


def _active_ports(stand: Stand) -> dict[str, str]:
    """Return the annotation by which a picker knows on which of several ports of its pool a pod serves."""
    ports = serving_ports(stand.deployment, stand.role, stand.shape)
    # Pods of prefill and of decode may serve on different numbers of the ports of their one pool.
    fewer = is_disaggregated(stand.deployment) and len(ports) < len(target_ports(stand.deployment))
    several = len(ports) > 1 or fewer
    if stand.role not in serving_roles(stand.deployment) or not several or not stand.answers:
        return {}
    return dict.fromkeys(names.ACTIVE_PORTS, active_ports(ports))


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


def _drain(spec: dict[str, Any], container: dict[str, Any], stand: Stand) -> None:
    """Give running requests time to end, as `engine.drain` says.

    Pods that only compute are deleted once their entry has gone, where it is the entry that ends: with a
    roll, fewer replicas, or its own node. Where one of them is evicted or deleted, its engine ends at once,
    and with it the requests of the group, whose entry the controller deletes then (handleRestartPolicy in
    pkg/controllers/pod_controller.go of LWS v0.9.0). A preStop sleep of theirs would keep it for the entry's
    time, but runs whenever they end: each roll would wait for all of it after the entry has gone.
    """
    if not stand.answers:
        spec["terminationGracePeriodSeconds"] = grace_of_followers(spec)
        return
    end = ending(stand.engine, spec)
    spec["terminationGracePeriodSeconds"] = end.grace
    if end.pause:
        container.setdefault("lifecycle", {}).setdefault("preStop", {"sleep": {"seconds": end.pause}})


def _schedule(spec: dict[str, Any], container: dict[str, Any], hardware: Hardware) -> None:
    ask_for_devices(spec, container, hardware)
    spec["nodeSelector"] = dict(spec.get("nodeSelector", {})) | dict(hardware.node_selector)
    tolerations = spec.setdefault("tolerations", [])
    tolerations += [wanted for wanted in _tolerations(hardware) if wanted not in tolerations]
    if hardware.shares_node:
        affinity = spec.setdefault("affinity", {}).setdefault("podAffinity", {})
        affinity.setdefault("preferredDuringSchedulingIgnoredDuringExecution", []).append(_together())


def _gather(spec: dict[str, Any], stand: Stand) -> None:
    """Keep pods of one worker off each other's nodes, and all of them on nodes that share what they claim.

    LeaderWorkerSets have an annotation for the second, `exclusive-topology`, which also keeps other groups
    away: of a rack of 18 nodes a worker of two would take all.
    """
    affinity = spec.setdefault("affinity", {})
    if 2 * stand.hardware.gpus <= stand.hardware.gpus_per_node:
        _require(affinity, "podAntiAffinity", _same_worker(stand, "kubernetes.io/hostname"))
    for claim in stand.hardware.claims:
        if claim.shared_by:
            _require(affinity, "podAffinity", _same_worker(stand, claim.shared_by))
    if not affinity:
        del spec["affinity"]


def _require(affinity: dict[str, Any], kind: str, term: dict[str, Any]) -> None:
    affinity.setdefault(kind, {}).setdefault("requiredDuringSchedulingIgnoredDuringExecution", []).append(
        term
    )


def _same_worker(stand: Stand, topology_key: str) -> dict[str, Any]:
    return {
        "labelSelector": {"matchLabels": names.workload_selector(stand.spot, stand.role)},
        # The group of the pod itself: another one may have pods on the same nodes.
        "matchLabelKeys": [names.LWS_GROUP_KEY],
        "topologyKey": topology_key,
    }


def _tolerations(hardware: Hardware) -> list[dict[str, Any]]:
    device: dict[str, Any] = {"key": hardware.resource, "operator": "Exists", "effect": "NoSchedule"}
    return ([device] if hardware.resource else []) + [
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
