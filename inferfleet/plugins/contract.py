"""What a plugin is: a function of a pod template and a request, with a config model of its own."""

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from inferfleet.fleet import names

PodTemplate = dict[str, Any]


class Config(BaseModel):
    """Base of plugin configs: strict about keys, written in camelCase."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)


@dataclass(frozen=True, kw_only=True)
class DeploymentFacts:
    """The ModelDeployment that a pod belongs to.

    `replicas` counts over all clusters, `workers` are the engine instances of each replica. `tensor` to
    `data_local` are its topology, `port` is the one on which the engine serves.
    """

    namespace: str
    name: str
    labels: Mapping[str, str]
    replicas: int
    workers: int
    pods_per_worker: int
    tensor: int
    pipeline: int
    data: int
    data_local: int
    engine: str  # vLLM | SGLang | TensorRT-LLM | Triton | Other
    port: int


@dataclass(frozen=True, kw_only=True)
class DeviceFacts:
    """Devices of one kind on a node, as the class describes them: `count` per node.

    `resource` is what containers ask for (`nvidia.com/gpu`), None for devices that only selectors see.
    """

    name: str
    driver: str
    count: int
    resource: str | None = None
    attributes: Mapping[str, str | int | bool]
    capacity: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class ClassFacts:
    """The InferenceClass of the pod's nodes."""

    name: str
    labels: Mapping[str, str]
    devices: tuple[DeviceFacts, ...]


@dataclass(frozen=True, kw_only=True)
class ClusterFacts:
    """The InferenceCluster that the pod runs on.

    `gateway` is the provider of its gateway (`gke`, `istio`, `envoy` or `none`), `profile` the version of its
    serving software, and `version` the lowest one of Kubernetes, None where the document does not say.
    """

    name: str
    source: Literal["Existing", "GKE"]
    state: str
    labels: Mapping[str, str]
    gateway: str
    profile: str
    version: str | None = None


@dataclass(frozen=True, kw_only=True)
class TaintFacts:
    """A taint of a pool's nodes."""

    key: str
    value: str
    effect: str


@dataclass(frozen=True, kw_only=True)
class PoolFacts:
    """The node pool that the pod runs on.

    `node_labels` are labels that all its nodes are known to have. `zones` are empty where they are not known.
    `fabric` is the network between GPUs of different nodes (`TCPX`, `TCPXO`, `RDMA`), None without one, and
    `networks` are the names of the nodes' extra networks, in their order on the node.
    """

    name: str
    node_labels: Mapping[str, str]
    taints: tuple[TaintFacts, ...]
    zones: tuple[str, ...] = ()
    fabric: str | None = None
    networks: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Request:
    """What a plugin knows about the pod it edits, besides the template itself. Nothing of it can be changed.

    `workload` is the name of the Kubernetes Deployment, `selector` the labels by which it selects its pods.
    `accelerator` is the device that the pod asks for, `gpus` how many of it.
    """

    stack: str
    deployment: DeploymentFacts
    role: str
    position: Literal["Entry", "Worker"]
    workload: str
    selector: Mapping[str, str]
    node_class: ClassFacts
    accelerator: DeviceFacts
    gpus: int
    cluster: ClusterFacts
    pool: PoolFacts

    @property
    def namespace(self) -> str:
        return self.deployment.namespace

    def companion_name(self, plugin: str) -> str:
        """Return the name that objects which this plugin adds beside the workload must have."""
        return names.companion(self.workload, plugin)


@dataclass(frozen=True)
class Edited:
    """A template together with objects that its pods need, such as a ConfigMap, and remarks for `explain`."""

    template: PodTemplate
    companions: tuple[dict[str, Any], ...] = ()
    remarks: tuple[str, ...] = ()


class PluginError(Exception):
    """Raised by a plugin for something that a person has to fix; the text says what, and how to fix it."""


Edit = Callable[[PodTemplate, Request, Any], PodTemplate | Edited]


@dataclass(frozen=True)
class Plugin:
    """A plugin that chains can name. The first sentence that documents `edit` says what it is for.

    `edit` gets its own copy of the template. It must give the same for the same input, and find nothing to do
    on its own output: each run of a chain tries both.
    """

    name: str
    config: type[BaseModel]
    edit: Edit
    _: KW_ONLY
    version: str

    @property
    def purpose(self) -> str:
        """Return the first paragraph of the docstring of `edit` on one line, "" without one."""
        text = getattr(self.edit, "__doc__", None) or ""
        return " ".join(text.strip().partition("\n\n")[0].split())
