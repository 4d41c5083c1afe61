"""Quota: how much the deployments of a namespace may take of the fleet."""

from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from inferfleet.documents.kinds.base import API_VERSION, Model, NamespacedMetadata
from inferfleet.documents.kinds.text_rules import InEditors
from inferfleet.documents.pods.texts import Written
from inferfleet.documents.problems import Mistake, Mistaken


def _amount(value: Any) -> Any:
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


# The exact amount, as a person writes it: 250, 88.49 or "88.49".
Amount = Annotated[
    str,
    BeforeValidator(_amount),
    Written(r"[0-9]{1,9}(\.[0-9]{1,6})?", 'an amount of at least 0 such as "250.00"'),
    InEditors({"anyOf": [{"type": "string"}, {"type": "number", "minimum": 0}]}),
]


class Cost(Model):
    """What GPUs may cost, by the list prices by which pools are chosen too."""

    per_hour: Amount
    """Cost of all replicas per hour: the part of each node that they have, by its GPUs (or cores where it has
    none), times the price of its class: on pools of Spot capacity that of Spot, if the class says it.
    """
    currency: Annotated[str, Written("[A-Z]{3}", "a currency code such as USD")] = "USD"
    """Currency of the amount. Classes whose price is in another one, or that have none, count nothing."""

    @property
    def amount(self) -> Decimal:
        """Return the amount as a number."""
        return Decimal(self.per_hour)


class QuotaSpec(Model):
    """The most that the deployments of a namespace may take together. One of the limits is required."""

    gpus: int | None = Field(default=None, ge=0, le=10_000_000)
    """Number of GPUs, of all classes together. Default: no limit."""
    gpus_by_class: Annotated[
        dict[str, Annotated[int, Field(ge=0, le=10_000_000)]], Field(max_length=256)
    ] = {}
    """Number of GPUs on pools of a class, by the name of the class. Default: no limit for any."""
    cost: Cost | None = None
    """What the GPUs may cost. Default: no limit."""

    @model_validator(mode="after")
    def _limits(self) -> "QuotaSpec":
        if self.gpus is None and not self.gpus_by_class and self.cost is None:
            raise Mistaken(Mistake("a quota has no limit", "Write gpus, gpusByClass or cost"))
        return self


class Quota(Model):
    """How many GPUs the deployments of a namespace may have, and what these may cost. New replicas above it
    stay without a place; replicas that run stay, whatever a quota says.
    """

    api_version: Literal["inferfleet.dev/v1alpha1"] = API_VERSION
    """Version of the document format."""
    kind: Literal["Quota"] = "Quota"
    """Kind of the document."""
    metadata: NamespacedMetadata
    """Name and labels of the quota, and the namespace whose deployments it limits. Of several quotas in a
    namespace all hold.
    """
    spec: QuotaSpec
    """The limits."""
