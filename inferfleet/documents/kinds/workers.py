"""Workers of a role: how an engine is spread over GPUs and pods, on which nodes, and the pods it runs in."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from inferfleet.documents.kinds.base import Quantity, StrictModel, label_mistakes
from inferfleet.documents.pods.template import engine_container, spec_mistakes, without_nulls
from inferfleet.documents.pods.texts import ANNOTATION_KEY
from inferfleet.documents.problems import Mistake, Mistaken, mistaken
from inferfleet.documents.wording import shown
from inferfleet.tables.schedulers import FRACTIONS


def _check_template(spec: dict[str, Any]) -> dict[str, Any]:
    if mistakes := list(spec_mistakes(spec)):
        raise Mistaken(*mistakes)
    checked_spec: dict[str, Any] = without_nulls(spec)
    return checked_spec


def _check_own_labels(labels: dict[str, str]) -> dict[str, str]:
    if mistakes := label_mistakes(labels, ("inferfleet.dev/", "llm-d.ai/")):
        raise Mistaken(*mistakes)
    return labels


def _check_annotations(annotations: dict[str, str]) -> dict[str, str]:
    mistakes = [
        Mistake(f"the key {shown(key)!r} must be {ANNOTATION_KEY.words}", "Change it", (key,))
        for key in annotations
        if not ANNOTATION_KEY.allows(key)
    ]
    mistakes += fraction_mistakes(annotations)
    if mistakes:
        raise Mistaken(*mistakes)
    return annotations


def fraction_mistakes(annotations: Mapping[str, str]) -> Iterator[Mistake]:
    """Yield annotations by which KAI gives a pod a part of a GPU.

    KAI refuses them beside whole GPUs, which pods ask for by their topology. Without accelerators nothing
    would count the part: the plan sees devices alone, and such pods are on nodes that have none.
    """
    for key in annotations:
        if key in FRACTIONS:
            yield Mistake(
                f"the annotation {key} asks KAI for a part of a GPU, which KAI refuses beside whole GPUs, "
                "and which no plan counts",
                "Remove it; shared GPUs are devices of a class by their resource, such as "
                "nvidia.com/gpu.shared or nvidia.com/mig-1g.10gb, which the engine's resources name",
                (key,),
            )


PodSpec = Annotated[dict[str, Any], AfterValidator(_check_template)]


class TemplateMetadata(StrictModel):
    """Labels and annotations of the pods."""

    labels: Annotated[dict[str, str], AfterValidator(_check_own_labels)] = {}
    """Labels of the pods, beside those that inferfleet adds. Keys under `inferfleet.dev/` and `llm-d.ai/` are
    reserved; default: none.
    """
    annotations: Annotated[dict[str, str], AfterValidator(_check_annotations)] = {}
    """Annotations of the pods. Default: none."""


class PodTemplate(StrictModel):
    """A Kubernetes pod template as the team writes it. Ports, probes, devices and scheduling fields that
    serving needs are added.
    """

    metadata: TemplateMetadata = TemplateMetadata()
    """Labels and annotations of the pods. Default: none."""
    spec: PodSpec
    """A Kubernetes PodSpec with exactly one container named `engine`, which serves the model, by default with
    the image of `serving.images.engine` of its cluster; other containers are kept as sidecars. `command` and
    `args` are never changed.
    """

    @property
    def manifest(self) -> dict[str, Any]:
        """Return the template as Kubernetes has it, to be compared with one that pods have."""
        return {
            "metadata": {"labels": self.metadata.labels, "annotations": self.metadata.annotations},
            "spec": self.spec,
        }

    @property
    def engine(self) -> dict[str, Any]:
        """Return the container of the engine, as written."""
        return engine_container(self.spec)[1]


class ResourceRequirements(StrictModel):
    """Kubernetes resource requests and limits of a container."""

    requests: dict[str, Quantity] = {}
    """Amounts the scheduler reserves, by resource name, such as `cpu: "4"` or `memory: 8Gi`. Default: none.
    """
    limits: dict[str, Quantity] = {}
    """Amounts the container may use at most, by resource name. Default: none."""

    @property
    def written(self) -> dict[str, dict[str, str]]:
        """Return the amounts as a container has them, without what is empty."""
        amounts_by_kind = {"requests": dict(self.requests), "limits": dict(self.limits)}
        return {kind: amounts for kind, amounts in amounts_by_kind.items() if amounts}


# Where a pod stands in its worker: it takes the worker's requests, or it is one of the others.
Position = Literal["Entry", "Follower"]
POSITIONS: tuple[Position, ...] = ("Entry", "Follower")

# Who shares requests among data-parallel copies of a worker: the engine in its entry, or an endpoint picker
# that chooses among pods, or among ports with a copy each.
Balance = Literal["Engine", "Pod", "Port"]

# An InferencePool takes no more: gateway-api-inference-extension, api/v1/inferencepool_types.go.
MOST_PORTS = 8


def positions_of(pods: int) -> tuple[Position, ...]:
    """Return the positions in a worker of so many pods: of one, it is the entry."""
    return POSITIONS if pods > 1 else POSITIONS[:1]


class Topology(StrictModel):
    """How an engine is spread over GPUs: GPUs per pod = tensor x dataLocal; pods per worker = pipeline x data
    / dataLocal. With more `tensor` than the engine's resources name or, where they name none, than a node has
    GPUs, each pod has those, and a worker has pipeline x data x tensor / GPUs per pod pods.
    """

    tensor: int = Field(ge=1, le=1024)
    """Tensor parallelism: the number of GPUs that share each layer of the model. A group of more than a node
    has is slow where the class describes no network between its nodes.
    """
    pipeline: int = Field(default=1, ge=1, le=64)
    """Pipeline parallelism: the number of stages the model's layers are split into."""
    data: int = Field(default=1, ge=1, le=512)
    """Data parallelism: the number of copies of the model's attention in one worker, each for requests of
    its own.
    """
    data_local: int = Field(default=1, ge=1, le=64)
    """How many of the `data` copies run in one pod."""
    attention: int = Field(default=1, ge=1, le=1024)
    """Copies of the attention inside the tensor group, each for requests of its own (SGLang's attention data
    parallelism), which need no further GPUs. `tensor` must be a multiple of it.
    """
    expert: bool = False
    """Whether the experts of a mixture-of-experts model are spread over the GPUs of a worker instead of being
    split.
    """

    @model_validator(mode="after")
    def _check_divisible(self) -> "Topology":
        if self.data % self.data_local:
            what = f"data {self.data} must be a multiple of dataLocal {self.data_local}"
            raise mistaken(what, "Change one of the two")
        if self.tensor % self.attention:
            what = f"tensor {self.tensor} must be a multiple of attention {self.attention}"
            raise mistaken(what, "Change one of the two")
        return self

    @property
    def gpus_per_pod(self) -> int:
        """Number of GPUs that each pod asks for, where a node has that many."""
        return self.tensor * self.data_local

    @property
    def pods_per_worker(self) -> int:
        """Number of pods that make up one engine instance, where a node has the GPUs of a pod."""
        return self.pipeline * self.data // self.data_local

    @property
    def has_copies_apart(self) -> bool:
        """Whether a worker has several pods with whole copies each, where a node has the GPUs of a pod."""
        return self.pipeline == 1 and self.data > self.data_local

    @property
    def gpus_per_worker(self) -> int:
        """Number of GPUs of one engine instance."""
        return self.tensor * self.pipeline * self.data


class NodeSelector(StrictModel):
    """A condition on the devices of a class."""

    cel: str = Field(min_length=1, max_length=10_240)
    """CEL expression over `attributes`, `capacity` and `device` that must be true for a class's pools to be
    used, such as `capacity["gpu.nvidia.com/memory"].compareTo(quantity("75Gi")) >= 0`. An evaluation that
    fails counts as false.
    """


# The pods of workers without a template.
ENGINE_ALONE = PodTemplate(spec={"containers": [{"name": "engine"}]})


class PodsOf(StrictModel):
    """The pods in one position of a worker."""

    template: PodTemplate
    """Template of these pods."""


class Workers(StrictModel):
    """The engine instances of one replica, and the pods they run in."""

    count: int = Field(default=1, ge=1, le=64)
    """Number of engine instances in each replica; all of them run on the same node pool."""
    topology: Topology
    """How each engine instance is spread over GPUs."""
    balance: Balance | None = None
    """Who shares requests among the copies of `topology.data`: the `Engine` in the entry of the worker; the
    endpoint picker among pods, each with one port (`Pod`); or the endpoint picker among all copies, each with
    a port of its own, from `engine.port` on (`Port`, for 2 to 8 copies in a pod). Default: `Engine`, and for
    vLLM with copies in several pods `Port`, or `Pod` where a pod has one copy.
    """
    template: PodTemplate | None = None
    """Template of all pods of an engine instance, where `entry` and `follower` have none of their own.
    Default: a pod with the container `engine` alone.
    """
    entry: PodsOf | None = None
    """The pod of each engine instance that takes its requests. Default: as `template` says."""
    follower: PodsOf | None = None
    """The other pods of each engine instance. Default: as `template` says."""

    @model_validator(mode="after")
    def _check_templates(self) -> "Workers":
        """Raise Mistaken unless all pods of a worker have exactly one template."""
        mistakes = []
        apart = [name for name in ("entry", "follower") if getattr(self, name)]
        if self.template and apart:
            mistakes.append(
                Mistake(
                    f"template is for all pods of a worker, and {' and '.join(apart)} beside it says another",
                    "Keep template alone, or write entry.template and follower.template",
                    (apart[0],),
                )
            )
        elif self.follower and not self.entry:
            mistakes.append(
                Mistake(
                    "follower has a template, and the pods that serve have none",
                    "Write entry.template too, or template for all pods",
                    ("follower",),
                )
            )
        elif self.entry and not self.follower and self.topology.pods_per_worker > 1:
            mistakes.append(
                Mistake(
                    f"workers have {self.topology.pods_per_worker} pods, and only the entry has a template",
                    "Write follower.template, or template for all pods",
                )
            )
        if mistakes:
            raise Mistaken(*mistakes)
        return self

    @model_validator(mode="after")
    def _check_balance(self) -> "Workers":
        topology = self.topology
        mistake = None
        if self.balance not in (None, "Engine") and topology.data == 1:
            mistake = Mistake(
                f"balance is {self.balance}, and topology.data is 1: there is one copy", "Remove balance"
            )
        elif self.balance == "Port" and not 2 <= topology.data_local <= MOST_PORTS:
            mistake = Mistake(
                f"balance Port gives each copy in a pod a port, which is for 2 to {MOST_PORTS} of them, and "
                f"topology.dataLocal is {topology.data_local}",
                "Write balance: Pod, or change topology.dataLocal",
            )
        elif self.balance == "Pod" and not topology.has_copies_apart:
            mistake = Mistake(
                "balance Pod chooses among pods with whole copies, and these workers have none",
                "Remove balance, or lower topology.dataLocal or topology.pipeline",
            )
        if mistake:
            raise Mistaken(replace(mistake, field_path=("balance",)))
        return self

    def of(self, position: Position) -> PodTemplate | None:
        """Return the template of the pods in a position. Followers may have none, and entries have one."""
        if self.entry is None:
            return self.template or ENGINE_ALONE
        apart = self.entry if position == "Entry" else self.follower
        return apart.template if apart else None

    @property
    def entry_template(self) -> PodTemplate:
        """Return the template of the pods that serve."""
        template = self.of("Entry")
        if template is None:
            raise ValueError("workers without a template for their entries are refused when they are read")
        return template

    def path_of(self, position: Position) -> str:
        """Return where the template of the pods in a position is written, below the workers."""
        if self.entry is None:
            return "template"
        return "entry.template" if position == "Entry" else "follower.template"
