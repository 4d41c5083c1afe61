"""What a plugin is: a function of a pod template and a request, with a config model of its own."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic.alias_generators import to_camel

from inferfleet.documents.problems import Mistake, Mistaken
from inferfleet.fleet import names

PodTemplate = dict[str, Any]

# What tells several companions of one plugin apart: short, so that names keep most of their workload's.
_SUFFIX = re.compile(r"[a-z0-9]([-a-z0-9]{0,18}[a-z0-9])?")


class Config(BaseModel):
    """Base of plugin configs: strict about keys, written in camelCase.

    A config whose fields can contradict each other has a method `mistakes` of its own.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)

    def mistakes(self) -> Iterator[Mistake]:
        """Yield what is wrong with fields that are each right by themselves; all of it is told at once."""
        return iter(())

    @model_validator(mode="after")
    def _check_mistakes(self) -> "Config":
        """Raise Mistaken with all that `mistakes` yields."""
        if mistakes := tuple(self.mistakes()):
            raise Mistaken(*mistakes)
        return self


@dataclass(frozen=True, kw_only=True)
class DeploymentFacts:
    """The ModelDeployment that a pod belongs to.

    `replicas` counts over all clusters, `workers` are the engine instances of the pod's role in each replica.
    `tensor` to `data_local` are their topology, and `pods_per_worker` is by that alone: a worker has more
    pods where a node has fewer GPUs (`Request.group_size`). `port` is the one on which the engine listens.
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
    # Who shares requests among the copies in a worker: its entry (Engine); else every pod serves, on one port
    # (Pod) or on one for each of its copies (Port).
    balance: Literal["Engine", "Pod", "Port"] = "Engine"
    model: str | None = None  # as engine.model declares it: a folder, or a name by which it is downloaded
    connector: Literal["NIXL", "SharedStorage", "Mooncake", "SGLang"] | None = None  # prefill to decode


@dataclass(frozen=True, kw_only=True)
class DeviceFacts:
    """Devices of one kind on a node, as the class describes them: `count` per node.

    `resource` is what containers ask for (`nvidia.com/gpu`), None for devices that only selectors see, and
    on classes whose devices pods claim.
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
    `kit_image` is the image with kit that the cluster names, None where it names none.
    """

    name: str
    source: Literal["Existing", "GKE"]
    state: str
    labels: Mapping[str, str]
    gateway: str
    profile: str
    version: str | None = None
    kit_image: str | None = None


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
    `networks` are names of the `Network` objects of the nodes' extra interfaces, in their order; with
    `claims_cards` pods claim cards instead.
    """

    name: str
    node_labels: Mapping[str, str]
    taints: tuple[TaintFacts, ...]
    zones: tuple[str, ...] = ()
    fabric: str | None = None
    networks: tuple[str, ...] = ()
    claims_cards: bool = False


@dataclass(frozen=True, kw_only=True)
class Request:
    """What a plugin knows about the pod it edits, besides the template itself. Nothing of it can be changed.

    `workload` is the name of the Kubernetes object, a Deployment or a LeaderWorkerSet, and `selector` has
    labels of all its pods. `position` is Entry for the pod of a worker that takes its requests, Worker for
    the others. `group_size` is the number of pods of each worker: with more than one, the object is a
    LeaderWorkerSet. `accelerator` is the device that the pod asks for, `gpus` how many of it; None and 0 for
    a deployment with `accelerator: None`.
    """

    stack: str
    deployment: DeploymentFacts
    role: str
    position: Literal["Entry", "Worker"]
    workload: str
    selector: Mapping[str, str]
    node_class: ClassFacts
    accelerator: DeviceFacts | None
    gpus: int
    cluster: ClusterFacts
    pool: PoolFacts
    group_size: int = 1

    @property
    def namespace(self) -> str:
        return self.deployment.namespace

    def companion_name(self, plugin: str, suffix: str = "", *, contents: Any = None) -> str:
        """Return the name of an object that this plugin adds beside the workload, at most 63 characters.

        Several objects of one kind differ in their suffix. With `contents`, such as the data of a ConfigMap,
        the name ends in a hash of them: others are another object, beside the one that running pods read.
        Raises PluginError for a suffix that cannot end a name, and for contents that are no JSON value.
        """
        if suffix and not is_suffix(suffix):
            raise PluginError(
                f"the suffix {suffix!r:.40} of a companion must be at most 20 lower-case letters, digits and "
                "'-', with a letter or digit at both ends; shorten it"
            )
        ends = [suffix] if suffix else []
        if contents is not None:
            ends.append(_hash(contents))
        return names.companion(self.workload, plugin, "-".join(ends))


def is_suffix(text: str) -> bool:
    """Return whether the text can tell companions apart: see `Request.companion_name`."""
    return _SUFFIX.fullmatch(text) is not None


def _hash(contents: Any) -> str:
    """Return 8 hex digits of a JSON value, the same for another order of keys."""
    try:
        return names.digest(contents, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        # Without the value, which a message must not repeat.
        raise PluginCodeError(
            "the contents of a companion's name are no JSON value; give texts, numbers, maps and lists"
        ) from None


@dataclass(frozen=True)
class Companion:
    """An object that a plugin adds beside a workload, created before the workload or after it."""

    manifest: dict[str, Any]
    _: KW_ONLY
    when: Literal["before", "after"] = "before"

    @property
    def title(self) -> str:
        """Return kind and name, such as `ConfigMap qwen-decode-l4-tokenizer`."""
        return f"{self.manifest['kind']} {self.manifest['metadata']['name']}"


@dataclass(frozen=True)
class Edited:
    """A template together with objects that its pods need, such as a ConfigMap, and remarks for `explain`.

    Companions are created in their order. One given as a plain manifest is created before the workload.
    `injected` has what sidecars request that a webhook adds to the pods, by the name of their container, such
    as `{"istio-proxy": {"cpu": "100m", "memory": "128Mi"}}`: the plan counts them.
    """

    template: PodTemplate
    companions: tuple[Companion | dict[str, Any], ...] = ()
    remarks: tuple[str, ...] = ()
    injected: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


class PluginError(Exception):
    """Raised by a plugin for something that a person has to fix; the text says what, and how to fix it."""


@dataclass(frozen=True)
class Ready:
    """A workload whose pods are ready: what its plugins were told of them, and its manifest.

    `manifest` is a copy of the Kubernetes object as its documents and plugins make it. It never holds values
    of Secrets, and not what an update adds by what it sees on the cluster: the annotation for the engine not
    to wait.
    """

    request: Request
    manifest: dict[str, Any]


class PluginCodeError(PluginError):
    """A fault in the code of a plugin, for its author to mend: nothing that a person wrote is wrong.

    Faults of one link with the same `cause` are one, whatever else their texts say, because values that a
    plugin draws differ from pod to pod. Without a cause, the text says whether they are.
    """

    def __init__(self, what: str, *, cause: str = "") -> None:
        super().__init__(what)
        self.cause = cause


Edit = Callable[[PodTemplate, Request, Any], PodTemplate | Edited]
ReadyFunction = Callable[[Ready, Any], str | None]
HoldsFunction = Callable[[PodTemplate, Any], Sequence[Mistake]]


@dataclass(frozen=True)
class Plugin:
    """A plugin that chains can name. The first sentence that documents `edit` says what it is for.

    `edit` gets its own copy of the template. It must give the same for the same input, and find nothing to do
    on its own output: a chain tries both, once for each template before and after that it has not seen yet.

    `ready` is called in an update once the pods of a workload are ready, once for each pod template. What it
    raises fails the update; what it returns, a sentence, is shown there. It may run again after it failed or
    was interrupted.

    `holds` returns what is wrong with a template for a plugin that holds pods to something, whoever breaks
    it. It gets the template that `edit` returned, with which nothing may be wrong, and the one after the
    whole chain: a later link that broke it is refused, or warned of where it has `override: true`.
    """

    name: str
    config: type[BaseModel]
    edit: Edit
    _: KW_ONLY
    version: str
    ready: ReadyFunction | None = None
    holds: HoldsFunction | None = None

    @property
    def purpose(self) -> str:
        """Return the first paragraph of the docstring of `edit` on one line, "" without one."""
        text = getattr(self.edit, "__doc__", None) or ""
        return " ".join(text.strip().partition("\n\n")[0].split())
