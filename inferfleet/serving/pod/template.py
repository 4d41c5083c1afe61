"""The pod template of a role: the team's own, with what serving and its place in a worker need.

That is the command line of the engine, its ports and probes, devices and nodes; where prefill is apart, how
KV caches find their way, and in decode pods the routing proxy. What a template sets is never changed.
"""

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from inferfleet.documents.kinds.inference_cluster import Serving
from inferfleet.documents.kinds.model_cache import ModelCache
from inferfleet.documents.kinds.model_deployment import Engine, ModelDeployment, RoutingProxy
from inferfleet.documents.kinds.workers import PodTemplate, Position
from inferfleet.documents.pods.template import ROUTING_PROXY, containers_of, engine_container
from inferfleet.documents.wording import path_of
from inferfleet.fleet import names
from inferfleet.fleet.roles import (
    DECODE,
    PREFILL,
    Health,
    active_ports,
    connector,
    engine_ports,
    hands_over,
    health,
    is_disaggregated,
    listening_ports,
    path_of_args,
    path_of_engine,
    path_of_image,
    path_of_role,
    picker_of,
    proxied_port,
    serving_ports,
    serving_roles,
    startup_of,
    target_ports,
    template_path,
    workers_of,
)
from inferfleet.fleet.shapes import Shape
from inferfleet.fleet.spot import Spot
from inferfleet.serving.adapters import load_adapters
from inferfleet.serving.engines.command_line import (
    WorkerPod,
    command_line,
    is_written,
    streams,
    variables,
    written_flags,
)
from inferfleet.serving.engines.drain import ending, grace_of_followers
from inferfleet.serving.pod.hardware import Hardware, ask_for_devices, counted_gpus
from inferfleet.serving.programs import pull_secrets, text, tracing_variables, variable_of_pod
from inferfleet.serving.weights import bucket_url, load_weights
from inferfleet.tables import engines
from inferfleet.tables.engines import BOOTSTRAP_PORT, SGLANG_PROXY_PORT, EngineDefaults, engine
from inferfleet.tables.pickers import HEALTH_PATH, ProxyTable, picker

Spec = Mapping[str, Any]
# Names of the engine's ports that its template does not name: the second where another port has the first.
PORT_NAME, OTHER_PORT_NAME = "http", "engine"
SHM = "dshm"
SHM_PATH = "/dev/shm"
STARTUP_PERIOD = 10
PROBES = ("startupProbe", "readinessProbe", "livenessProbe")
# One second, the default, is less than a busy engine needs to answer while it schedules a large batch.
TIMEOUT = 5
# The variable by which a storage has a place of its own for each revision: the label of the pod.
REVISION = "INFERFLEET_REVISION"
NIXL_PORT_NAME = "nixl-side"
BOOTSTRAP_PORT_NAME = "bootstrap"
_PLAIN_RESOURCES = ("cpu", "memory", "ephemeral-storage")
# Not `http`, so that what selects ports by that name reaches engines of both roles.
PROXY_PORT_NAME = "proxy"
_PROXY_SERVICE = "routing-proxy"
# It listens within moments; until then the engine does not start.
_PROXY_STARTUP_SECONDS = 60
# The API server refuses allowPrivilegeEscalation: false beside it (ValidateSecurityContext in Kubernetes'
# pkg/apis/core/validation/validation.go).
_ADMIN = frozenset(("SYS_ADMIN", "CAP_SYS_ADMIN"))


@dataclass(frozen=True)
class PlacedPod:
    """The pods of a role in one position of their worker, placed on a spot: what a template is made for."""

    deployment: ModelDeployment
    spot: Spot
    role: str
    position: Position
    shape: Shape
    """How many pods and GPUs a worker has on the nodes of the spot."""
    hardware: Hardware
    image: str | None = None
    """Image that their cluster has for engines of their type."""
    serving: Serving | None = None
    """What their cluster says of serving. No template of a deployment with prefill apart is made without."""
    cache: ModelCache | None = None
    """From which their engines load."""
    adapter_caches: Mapping[str, ModelCache] = field(default_factory=dict)
    """Those that hold files of adapters, by the names of these."""

    @property
    def worker(self) -> WorkerPod:
        """Return the pods without their placement, by which their command line is written."""
        return WorkerPod(self.deployment, self.role, self.position, self.shape.pods, self.streamed)

    @property
    def streamed(self) -> str | None:
        """Return the folder of a bucket from which the engines stream, None where they do not."""
        streamed = self.cache and streams(self.deployment, self.role, self.position)
        return bucket_url(self.cache) if self.cache and streamed else None

    @property
    def has_proxy(self) -> bool:
        """Return whether a routing proxy takes the requests of these pods."""
        return self.worker.serves and proxied_port(self.deployment, self.role) is not None

    @property
    def path(self) -> str:
        """Return where the template is written in the document."""
        return template_path(self.deployment, self.role, self.position)

    def field(self, at: Sequence[str | int]) -> str:
        """Return where the document says what stands at a place of the template: `spec`, `containers`, ...

        What inferfleet writes is said by fields of the engine, and what no template says by the workers.
        """
        workers = workers_of(self.deployment, self.role)
        place, container = engine_container(self.written.spec)
        rest = tuple(at[3:]) if tuple(at[:3]) == ("spec", "containers", place) else ()
        if rest[:1] == ("image",) and "image" not in container:
            return path_of_image(self.deployment, self.role)
        if rest[:1] == ("args",) and is_written(self.deployment, self.role, self.position):
            own = int(rest[1]) - len(written_flags(self.worker)) if len(rest) > 1 else -1
            path = path_of_args(self.deployment, self.role)
            return f"{path}[{own}]" if own >= 0 else path_of_engine(self.deployment, self.role)
        if workers.template is None and workers.entry is None:
            return f"{path_of_role(self.role)}.workers"
        return f"{self.path}.{path_of(at)}"

    @property
    def written(self) -> PodTemplate:
        """Return the template as written. Raises KeyError for followers without one."""
        template = workers_of(self.deployment, self.role).of(self.position)
        if template is None:
            raise KeyError(f"no template for the {self.position} of {self.role}")
        return template


def pod_template(pod: PlacedPod) -> dict[str, Any]:
    """Return the pod template before the plugin chain. The deployment has no `document_problems`."""
    template = pod.written
    metadata: dict[str, Any] = {"labels": dict(template.metadata.labels) | labels(pod)}
    own = _active_ports(pod) | counted_gpus(pod.hardware)
    if annotations := dict(template.metadata.annotations) | own:
        metadata["annotations"] = annotations
    spec = copy.deepcopy(template.spec)
    _, container = engine_container(spec)
    if pod.image:
        container.setdefault("image", pod.image)
    _start(container, pod)
    if pod.worker.serves:
        _serve(container, pod)
        _answer_when_busy(container, engine(pod.worker.engine.type))
    # The pod's status then says why an engine ended, and so does an update.
    container.setdefault("terminationMessagePolicy", "FallbackToLogsOnError")
    _wait_for_copies(container, pod)
    hand_over(container, pod)
    if pod.has_proxy:
        spec.setdefault("initContainers", []).append(routing_proxy(pod))
    if pod.worker.engine.adapters and is_written(pod.deployment, pod.role, pod.position):
        load_adapters(spec, container, pod.worker, pod.adapter_caches)
    if pod.cache:
        load_weights(spec, pod.cache, mounted=pod.streamed is None)
    _share_memory(spec, container)
    _drain(spec, container, pod)
    if pod.serving and "imagePullSecrets" not in spec:
        spec |= pull_secrets(pod.serving)
    _schedule(spec, container, pod.hardware)
    if pod.shape.pods > 1:
        _gather(spec, pod)
    # A Service called "vllm" would otherwise inject VLLM_PORT, which vLLM takes for its own port.
    spec.setdefault("enableServiceLinks", False)
    return {"metadata": metadata, "spec": spec}


def labels(pod: PlacedPod) -> dict[str, str]:
    """Return the generated labels of the pods."""
    kind = engine(pod.worker.engine.type)
    serves = pod.role in serving_roles(pod.deployment) and pod.worker.serves
    ours = names.pod_labels(pod.spot, pod.role, serves=serves, engine_type=kind.label)
    unified = pod.role == DECODE and not is_disaggregated(pod.deployment)
    ours |= names.llm_d_labels(pod.spot, unified=unified)
    if not serves and pod.worker.serves:
        ours |= {names.ENTRY: "true"}
    return ours | names.shares_node() if pod.hardware.shares_node else ours


def _start(container: dict[str, Any], pod: PlacedPod) -> None:
    """Write the engine's command line where its document declares a model, and its variables."""
    line = command_line(pod.worker)
    if line is not None:
        if line.command:
            container["command"] = list(line.command)
        container["args"] = list(line.args)
    own_variables = {variable["name"] for variable in container.get("env", [])}
    if added := [variable for variable in variables(pod.worker) if variable["name"] not in own_variables]:
        # Before the team's own, which may refer to them.
        container["env"] = [*added, *container.get("env", [])]


def _serve(container: dict[str, Any], pod: PlacedPod) -> None:
    """List the ports on which the engine serves, each with a name, and probe where it tells its health."""
    ports = engine_ports(pod.deployment, pod.role, pod.shape)
    port_names = names_of_ports(container, ports)
    listed = container.setdefault("ports", [])
    for port, name in port_names.items():
        same = next((each for each in listed if is_port(each, port)), None)
        if same is None:
            listed.append({"name": name, "containerPort": port})
        else:
            same["name"] = name
    where = health(pod.deployment, pod.role)
    if where and not any(key in container for key in PROBES):
        container.update(probes(pod.worker.engine, where, port_names=port_names))
    elif "livenessProbe" in container and "startupProbe" not in container:
        container["startupProbe"] = _while_it_loads(container["livenessProbe"], pod.worker.engine)


def _while_it_loads(liveness: Mapping[str, Any], document: Engine) -> dict[str, Any]:
    """Return what a liveness probe asks, for as long as the engine may load its model.

    By itself it would end an engine that loads longer than it waits (https://github.com/kserve/kserve/issues/5062).
    """
    timing = ("initialDelaySeconds", "periodSeconds", "successThreshold", "failureThreshold")
    asks = {name: value for name, value in liveness.items() if name not in timing}
    return asks | _startup_timing(document)


def _startup_timing(document: Engine) -> dict[str, int]:
    return {
        "periodSeconds": STARTUP_PERIOD,
        "failureThreshold": -(-startup_of(document) // STARTUP_PERIOD),
    }


def _answer_when_busy(container: dict[str, Any], table: EngineDefaults) -> None:
    """Let the engine's health path answer at once, unless the template says otherwise or may."""
    name, variables = table.idle_health, container.get("env", [])
    if name is None or "envFrom" in container or any(one["name"] == name for one in variables):
        return
    container.setdefault("env", []).append({"name": name, "value": "false"})


def _wait_for_copies(container: dict[str, Any], pod: PlacedPod) -> None:
    """Let the engine wait for its own processes as long as its startup probe does.

    An API server of vLLM waits 600 s for the engines of other pods and ports, whatever a startup probe allows
    (VLLM_ENGINE_READY_TIMEOUT_S in vllm/envs.py, read in vllm/v1/engine/core_client.py).
    """
    variable = engine(pod.worker.engine.type).ready_variable
    several = pod.shape.pods > 1 or len(engine_ports(pod.deployment, pod.role, pod.shape)) > 1
    if variable and several and not any(env["name"] == variable for env in container.get("env", [])):
        seconds = str(startup_of(pod.worker.engine))
        container.setdefault("env", []).append({"name": variable, "value": seconds})


def _active_ports(pod: PlacedPod) -> dict[str, str]:
    """Return the annotation by which a picker knows on which of several ports of its pool a pod serves."""
    ports = serving_ports(pod.deployment, pod.role, pod.shape)
    # Pods of prefill and of decode may serve on different numbers of the ports of their one pool.
    fewer = is_disaggregated(pod.deployment) and len(ports) < len(target_ports(pod.deployment))
    several = len(ports) > 1 or fewer
    if pod.role not in serving_roles(pod.deployment) or not several or not pod.worker.serves:
        return {}
    return dict.fromkeys(names.ACTIVE_PORTS, active_ports(ports))


def names_of_ports(container: Mapping[str, Any], ports: Sequence[int]) -> dict[int, str]:
    """Return the names of an engine's ports: those that its container lists them under, else `http`,
    `http-1` and so on, or `engine` where another port of the container has such a name.
    """
    listed = container.get("ports", [])
    written = {
        port: each["name"] for port in ports for each in listed if is_port(each, port) and each.get("name")
    }
    others = {each.get("name") for each in listed} - set(written.values())
    for first in (PORT_NAME, OTHER_PORT_NAME):
        usual = {port: f"{first}-{i}" if i else first for i, port in enumerate(ports)}
        if others.isdisjoint(usual.values()):
            break
    return usual | written


def port_names(deployment: ModelDeployment, role: str) -> tuple[str, ...]:
    """Return the names of the ports on which the engine of a role listens, by which other objects refer to
    them.
    """
    ports = listening_ports(deployment, role)
    return tuple(names_of_ports(workers_of(deployment, role).entry_template.engine, ports).values())


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


def _drain(spec: dict[str, Any], container: dict[str, Any], pod: PlacedPod) -> None:
    """Give running requests time to end, as `engine.drain` says.

    Pods that only compute are deleted once their entry has gone, where it is the entry that ends: with a
    roll, fewer replicas, or its own node. Where one of them is evicted or deleted, its engine ends at once,
    and with it the requests of the group, whose entry the controller deletes then (handleRestartPolicy in
    pkg/controllers/pod_controller.go of LWS v0.9.0). A preStop sleep of theirs would keep it for the entry's
    time, but runs whenever they end: each roll would wait for all of it after the entry has gone.
    """
    if not pod.worker.serves:
        spec["terminationGracePeriodSeconds"] = grace_of_followers(spec)
        return
    end = ending(pod.worker.engine, spec)
    spec["terminationGracePeriodSeconds"] = end.grace
    if end.pause:
        container.setdefault("lifecycle", {}).setdefault("preStop", {"sleep": {"seconds": end.pause}})


def _schedule(spec: dict[str, Any], container: dict[str, Any], hardware: Hardware) -> None:
    """Ask for devices and bind the pod to nodes of its pool, those first that already have smaller pods.

    kube-scheduler spreads pods by default, which strands GPUs that others need as whole nodes.
    """
    ask_for_devices(spec, container, hardware)
    spec["nodeSelector"] = dict(spec.get("nodeSelector", {})) | dict(hardware.node_selector)
    tolerations = spec.setdefault("tolerations", [])
    wanted: list[dict[str, Any]] = [
        {"key": key, "operator": "Exists", "effect": "NoSchedule"} for key in hardware.taint_keys
    ]
    wanted += [
        {"key": taint.key, "operator": "Equal", "value": taint.value, "effect": taint.effect}
        for taint in hardware.taints
        if taint.effect != "NoSchedule" or taint.key not in hardware.taint_keys
    ]
    tolerations += [toleration for toleration in wanted if toleration not in tolerations]
    if hardware.shares_node:
        near_smaller_pods = {
            "weight": 100,
            "podAffinityTerm": {
                "labelSelector": {"matchLabels": names.shares_node()},
                "namespaceSelector": {},
                "topologyKey": "kubernetes.io/hostname",
            },
        }
        affinity = spec.setdefault("affinity", {}).setdefault("podAffinity", {})
        affinity.setdefault("preferredDuringSchedulingIgnoredDuringExecution", []).append(near_smaller_pods)


def _gather(spec: dict[str, Any], pod: PlacedPod) -> None:
    """Keep pods of one worker off each other's nodes, and all of them on nodes that share what they claim.

    LeaderWorkerSets have an annotation for the second, `exclusive-topology`, which also keeps other groups
    away: of a rack of 18 nodes a worker of two would take all.
    """
    required: list[tuple[str, str]] = []
    if 2 * pod.hardware.gpus <= pod.hardware.gpus_per_node:
        required.append(("podAntiAffinity", "kubernetes.io/hostname"))
    required += [("podAffinity", claim.shared_by) for claim in pod.hardware.claims if claim.shared_by]
    for kind, topology_key in required:
        terms = spec.setdefault("affinity", {}).setdefault(kind, {})
        terms.setdefault("requiredDuringSchedulingIgnoredDuringExecution", []).append(
            {
                "labelSelector": {"matchLabels": names.workload_selector(pod.spot, pod.role)},
                # The group of the pod itself: another one may have pods on the same nodes.
                "matchLabelKeys": [names.LWS_GROUP_KEY],
                "topologyKey": topology_key,
            }
        )


def probes(document: Engine, where: Health, *, port_names: Mapping[int, str]) -> dict[str, Any]:
    """Return the three probes of an engine's container: of its health path, or of its port without one.

    `port_names` are those of the container's ports, by which probes ask.
    """
    return {
        "startupProbe": {
            **_how(where.port, where.path, port_names),
            **_startup_timing(document),
            "timeoutSeconds": TIMEOUT,
        },
        "readinessProbe": {
            **_how(where.port, where.ready, port_names),
            "periodSeconds": 5,
            "timeoutSeconds": TIMEOUT,
        },
        "livenessProbe": {
            **_how(where.port, where.path, port_names),
            "periodSeconds": 10,
            "timeoutSeconds": TIMEOUT,
            "failureThreshold": 3,
        },
    }


def _how(port: int, path: str | None, port_names: Mapping[int, str]) -> dict[str, Any]:
    asked = port_names.get(port, port)
    if path is None:
        return {"tcpSocket": {"port": asked}}
    return {"httpGet": {"path": path, "port": asked}}


def is_nixl(pod: PlacedPod) -> bool:
    """Return whether vLLM hands KV caches on by NIXL in these pods."""
    return (
        hands_over(pod.deployment, pod.role)
        and pod.worker.engine.type == "vLLM"
        and connector(pod.deployment) == "NIXL"
    )


def bootstraps(pod: PlacedPod) -> bool:
    """Return whether engines of these pods tell the way to them on BOOTSTRAP_PORT: entries of prefill."""
    told = is_disaggregated(pod.deployment) and connector(pod.deployment) in ("SGLang", "Mooncake")
    return told and pod.role == PREFILL and pod.worker.serves


def hand_over(container: dict[str, Any], pod: PlacedPod) -> None:
    """Tell an engine what it needs to hand KV caches on, where its template does not say it."""
    if not hands_over(pod.deployment, pod.role):
        return
    own_variables = {variable["name"] for variable in container.get("env", [])}
    wanted = [
        variable for variable in _transfer_variables(container, pod) if variable["name"] not in own_variables
    ]
    if wanted:
        container.setdefault("env", []).extend(wanted)
    for name, number in _transfer_ports(pod):
        listed = container.setdefault("ports", [])
        if not any(port["containerPort"] == number or port.get("name") == name for port in listed):
            listed.append({"name": name, "containerPort": number})


def _transfer_variables(container: Mapping[str, Any], pod: PlacedPod) -> Iterator[dict[str, Any]]:
    if pod.worker.engine.type == "vLLM" and connector(pod.deployment) == "SharedStorage":
        yield variable_of_pod(REVISION, f"metadata.labels['{names.REVISION}']")
    if is_nixl(pod):
        yield variable_of_pod(engines.NIXL_HOST, "status.podIP")
        yield {"name": engines.NIXL_PORT, "value": str(engines.NIXL_DEFAULT_PORT)}
        if pod.hardware.fabric == "GKE":
            name, value = engines.UCX_ROCE
            yield {"name": name, "value": value}
        elif not _may_have_adapters(container, pod):
            yield {"name": engines.UCX_TLS, "value": engines.UCX_WITHOUT_RDMA}
    if bootstraps(pod) and connector(pod.deployment) == "Mooncake":
        yield {"name": engines.MOONCAKE_PORT, "value": str(engines.BOOTSTRAP_PORT)}


def _may_have_adapters(container: Mapping[str, Any], pod: PlacedPod) -> bool:
    """Return whether the pod may have adapters for RDMA, or GPUs for which UCX has other words."""
    needs, resources = pod.hardware, container.get("resources", {})
    asked = {*resources.get("limits", {}), *resources.get("requests", {})}
    other_resources = [name for name in asked if name not in (*_PLAIN_RESOURCES, needs.resource)]
    described = needs.fabric != "None" or needs.resource != "nvidia.com/gpu"
    return described or bool(other_resources or container.get("envFrom"))


def _transfer_ports(pod: PlacedPod) -> Iterator[tuple[str, int]]:
    if is_nixl(pod):
        yield NIXL_PORT_NAME, engines.NIXL_DEFAULT_PORT
    if bootstraps(pod):
        yield BOOTSTRAP_PORT_NAME, engines.BOOTSTRAP_PORT


def declared_proxy(pod: PlacedPod) -> RoutingProxy:
    """Return what the document says of the proxy. Raises ValueError for pods without one."""
    if pod.deployment.spec.prefill is None:
        raise ValueError(f"pods of {pod.deployment.metadata.key} have no routing proxy")
    return pod.deployment.spec.prefill.proxy


def proxy_table(pod: PlacedPod) -> ProxyTable:
    """Return the version of the proxy on the pods' cluster. Raises ValueError where that is not known."""
    if pod.serving is None:
        raise ValueError(f"the cluster of {pod.spot} says nothing of serving")
    table = picker_of(pod.deployment, pod.serving).proxy
    if table is None:
        raise ValueError(f"pods of {pod.deployment.metadata.key} have no routing proxy")
    return table


def cluster_proxy_image(pod: PlacedPod) -> str | None:
    """Return the image that the pods' cluster has for the proxy, None where it is one of another version."""
    if pod.serving is None:
        return None
    usual = picker(pod.serving.profile, disaggregated=True).proxy
    return pod.serving.images.proxy if usual is proxy_table(pod) else None


def routing_proxy(pod: PlacedPod) -> dict[str, Any]:
    """Return the routing proxy of decode pods: a native sidecar that takes the requests of their engine.

    It asks the prefill pod that the endpoint picker chose to read the prompt, and then its own engine. It
    starts before the engine and ends after it, so that requests that run at the end of a pod are not cut.
    Readiness is the engine's own: the proxy answers /health by itself, and what it passes on may need a key.
    """
    document, table = declared_proxy(pod), proxy_table(pod)
    ports = serving_ports(pod.deployment, pod.role, pod.shape)
    return {
        "name": ROUTING_PROXY,
        "image": document.image or cluster_proxy_image(pod) or table.image,
        "imagePullPolicy": "IfNotPresent",
        "restartPolicy": "Always",
        "args": [
            f"--{name}={value}" for name, value in (*own_proxy_flags(pod).items(), *_more_proxy_flags(pod))
        ],
        "env": list(_proxy_variables(pod)),
        "ports": [
            {"name": f"{PROXY_PORT_NAME}-{rank}" if rank else PROXY_PORT_NAME, "containerPort": port}
            for rank, port in enumerate(ports)
        ],
        "startupProbe": {
            "httpGet": {"path": HEALTH_PATH, "port": PROXY_PORT_NAME},
            "periodSeconds": 1,
            "failureThreshold": _PROXY_STARTUP_SECONDS,
        },
        **({"resources": document.resources.written} if document.resources else {}),
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
            "runAsNonRoot": True,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "terminationMessagePolicy": "FallbackToLogsOnError",
    }


def own_proxy_flags(pod: PlacedPod) -> dict[str, str]:
    """Return the flags that follow from documents: ports, connector, ranks, and tracing where it is one.

    Raises KeyError for a connector that the version does not know.
    """
    table, deployment = proxy_table(pod), pod.deployment
    ports = serving_ports(deployment, pod.role, pod.shape)
    of_engine = engine_ports(deployment, pod.role, pod.shape)
    chosen = connector(deployment)
    flags = {
        "port": str(ports[0]),
        table.engine_port_flag: str(of_engine[0]),
        "kv-connector": table.connectors[chosen],
    }
    if len(ports) > 1:
        flags["data-parallel-size"] = str(len(ports))
    if chosen == "Mooncake" and table.mooncake_port_flag:
        flags[table.mooncake_port_flag] = str(BOOTSTRAP_PORT)
    if table.tracing_flag:
        flags[table.tracing_flag] = text(_tracing(pod) is not None)
    return flags


def _more_proxy_flags(pod: PlacedPod) -> list[tuple[str, str]]:
    table = proxy_table(pod)
    chosen = {**table.flags, **declared_proxy(pod).flags}
    return [(name, text(value)) for name, value in sorted(chosen.items())]


def _proxy_variables(pod: PlacedPod) -> Iterator[dict[str, Any]]:
    yield variable_of_pod("POD_IP", "status.podIP")
    if connector(pod.deployment) == "SGLang":
        yield {"name": SGLANG_PROXY_PORT, "value": str(BOOTSTRAP_PORT)}
    if tracing := _tracing(pod):
        yield variable_of_pod("NAMESPACE", "metadata.namespace")
        yield variable_of_pod("POD_NAME", "metadata.name")
        yield from tracing_variables(tracing, _PROXY_SERVICE)
    elif proxy_table(pod).tracing_flag is None:
        # A proxy without a tracing flag traces by default: it would send a tenth of its requests to a
        # collector in the pod, which is not there.
        yield {"name": "OTEL_TRACES_SAMPLER_ARG", "value": "0"}


def _tracing(pod: PlacedPod) -> Any:
    return pod.serving.tracing if pod.serving else None


def restrained(template: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Return a template with what pods are kept from by default, in the containers of `own`, the template
    before plugins edited it; containers that plugins add are theirs to restrain.

    Level `restricted` of the Pod Security Standards wants the same of containers, and no user root besides,
    whom most images of engines have (plugin `restricted`). What a template says already stays, and whoever
    names an account asks for its token.
    """
    spec: dict[str, Any] = dict(template["spec"])
    if "serviceAccountName" not in spec:
        spec.setdefault("automountServiceAccountToken", False)
    profiled = "seccompProfile" in spec.get("securityContext", {})
    generated_names = {container["name"] for _, container in containers_of(own["spec"])}
    # What is not changed is shared: to copy all of each template takes longer than to make it.
    for part in dict.fromkeys(str(at[1]) for at, _ in containers_of(spec)):
        spec[part] = [
            _restrained_container(container, profiled=profiled)
            if container["name"] in generated_names
            else container
            for container in spec[part]
        ]
    return {**template, "spec": spec}


def _restrained_container(container: Mapping[str, Any], *, profiled: bool) -> dict[str, Any]:
    context = container.get("securityContext", {})
    if context.get("privileged"):
        return dict(container)
    capabilities = context.get("capabilities", {})
    least: dict[str, Any] = {} if profiled else {"seccompProfile": {"type": "RuntimeDefault"}}
    if _ADMIN.isdisjoint(capabilities.get("add", ())):
        least["allowPrivilegeEscalation"] = False
    dropped = {"capabilities": {"drop": ["ALL"], **capabilities}}
    return {**container, "securityContext": least | context | dropped}
