"""Replicas between two numbers, and who scales them: `replicas: {min, max}` and `scaling` of a deployment."""

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Discriminator, Field, Tag, model_validator

from inferfleet.documents.kinds.base import Model, Quantity
from inferfleet.documents.kinds.quantity import parse_quantity
from inferfleet.documents.problems import Mistake, Mistaken, Steps, mistaken
from inferfleet.documents.wording import shown

_MOST = 10_000
# As Prometheus names metrics: https://prometheus.io/docs/concepts/data_model/.
_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]{0,199}")
# What only grows, and parts of histograms: https://prometheus.io/docs/practices/naming/.


class ReplicaRange(Model):
    """Between which numbers replicas are scaled, over all clusters. Each placement gets its share of both,
    and at least one replica.
    """

    min: int = Field(ge=1, le=_MOST)
    """The fewest replicas that run. Without a pod an engine has no metrics, so nothing would start one again.
    """
    max: int = Field(ge=1, le=_MOST)
    """The most replicas that run: the plan keeps room for so many, and new workloads begin with them."""

    @model_validator(mode="after")
    def _in_order(self) -> "ReplicaRange":
        if self.min > self.max:
            what = f"min {self.min} is more than max {self.max}"
            raise Mistaken(Mistake(what, "Lower min, or raise max", ("min",)))
        return self


def _is_range(value: Any) -> str:
    return "range" if isinstance(value, dict | ReplicaRange) else "number"


Replicas = Annotated[
    Annotated[int, Field(ge=0, le=_MOST), Tag("number")] | Annotated[ReplicaRange, Tag("range")],
    Discriminator(_is_range),
]


def _metric(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise mistaken(
            f"{{field}} {shown(name)!r} is not a name of a metric",
            "Write it as the engine or picker has it, such as vllm:num_requests_waiting",
        )
    return name


def _above_zero(target: str) -> str:
    if parse_quantity(target) <= 0:
        raise mistaken(f"{{field}} {target} must be more than 0", "Write how much one replica should have")
    return target


class ScalingMetric(Model):
    """A metric that replicas are scaled by, and what it should be."""

    name: Annotated[str, AfterValidator(_metric)]
    """Name of a gauge as upstream has it: of the engine, such as `vllm:num_requests_waiting`, or of the
    endpoint picker, such as `inference_pool_average_queue_size`.
    """
    target: Annotated[Quantity, AfterValidator(_above_zero)]
    """What the average over the replicas should be, such as `5` or `0.8`."""


class Scaling(Model):
    """Who decides how many replicas run. Between `min` and `max` no update changes their number."""

    by: Literal["HPA", "KEDA", "External"]
    """`HPA` makes a HorizontalPodAutoscaler for each placement, `KEDA` a ScaledObject; with `External`
    somebody else sets `spec.replicas` of the workloads, between the numbers in their annotation
    `inferfleet.dev/replicas`.
    """
    metrics: Annotated[tuple[ScalingMetric, ...], Field(max_length=8)] = ()
    """What `HPA` and `KEDA` scale by; the metric that wants the most replicas decides. Refused with
    `External`.
    """

    @model_validator(mode="after")
    def _has_what_it_needs(self) -> "Scaling":
        if self.by == "External" and self.metrics:
            what = "by is External, so nothing here reads metrics"
            raise Mistaken(Mistake(what, "Remove metrics, or write by: HPA or KEDA", ("metrics",)))
        if self.by != "External" and not self.metrics:
            what = f"by is {self.by}, and no metric says how many replicas there should be"
            raise Mistaken(Mistake(what, "Add metrics", ("by",)))
        names = [metric.name for metric in self.metrics]
        for place, name in enumerate(names):
            if name in names[:place]:
                what = f"metric {name} is there twice"
                raise Mistaken(Mistake(what, "Keep one of the two", ("metrics", place, "name")))
        return self


def scaling_mistakes(
    replicas: int | ReplicaRange, scaling: Scaling | None, *, parts: dict[str, bool]
) -> list[Mistake]:
    """Return what a deployment's replicas and its scaling contradict.

    `parts` are fields by whether the deployment has them with which a scaler cannot work: it changes the
    number of pods of one workload, one by one, and knows no other.
    """
    if scaling is None:
        if isinstance(replicas, int):
            return []
        what = f"replicas are {replicas.min} to {replicas.max}, and nobody scales them"
        return [Mistake(what, "Add scaling with by: HPA, KEDA or External, or write a number", ("replicas",))]
    if isinstance(replicas, int):
        what = f"replicas is {replicas}, so there is nothing to scale"
        return [Mistake(what, "Write replicas: {min: 1, max: 4}, or remove scaling", ("scaling",))]
    return [
        Mistake(f"replicas are scaled, and {_WHY[part]}", _INSTEAD[part], _AT[part])
        for part, there in parts.items()
        if there
    ]


_WHY = {
    "prefill": "prefill and decode are two workloads: a scaler of each knows nothing of the other's number",
    "roles": "each replica has workers of other roles: a scaler of one workload would leave them behind",
    "count": "a replica is several workers: a scaler adds and ends them one by one, not by replicas",
    "gang": "its gang waits for so many workers at once, fewer than that of a scaler never start",
    "onDemandReplicas": "a scaler ends replicas wherever they run, so no number of them stays on such nodes",
}
_FIXED = "write replicas as a number and remove scaling"
_INSTEAD = {
    "prefill": f"Remove prefill, or {_FIXED}",
    "roles": f"Give the other roles a deployment of their own, or {_FIXED}",
    "count": f"Write workers.count: 1 and multiply min and max, or {_FIXED}",
    "gang": f"Remove scheduler.gang, or {_FIXED}",
    "onDemandReplicas": f"Write capacityModels: [OnDemand] or another deployment for them, or {_FIXED}",
}
_AT: dict[str, Steps] = {
    "prefill": ("prefill",),
    "roles": ("roles",),
    "count": ("workers", "count"),
    "gang": ("scheduler", "gang"),
    "onDemandReplicas": ("onDemandReplicas",),
}
