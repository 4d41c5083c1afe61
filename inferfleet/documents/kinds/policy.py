"""Policy, Waiver and Quota: what must hold for a fleet and its changes, what is let off until a day, and how
much of the fleet a namespace may take.
"""

from datetime import date
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from inferfleet.documents.kinds.base import (
    API_VERSION,
    Dns1035,
    InEditors,
    Labels,
    Metadata,
    NamespacedMetadata,
    StrictModel,
)
from inferfleet.documents.pods.texts import TextRule
from inferfleet.documents.problems import Mistake, Mistaken, mistaken

Each = Literal["fleet", "team", "model", "placement", "image", "plugin", "cluster", "pool", "loss"]


def _check_date(day: str) -> str:
    try:
        date.fromisoformat(day)
    except ValueError:
        raise mistaken(f"{{field}} {day} is no day of the calendar", "Write one") from None
    return day


Sentence = Annotated[str, Field(min_length=1, max_length=300)]
Day = Annotated[
    str,
    TextRule("[0-9]{4}-[0-9]{2}-[0-9]{2}", "a date such as 2026-04-14"),
    AfterValidator(_check_date),
]


class PolicyMetadata(Metadata):
    """Name and labels of a policy or waiver."""

    labels: Labels = {}
    """Labels for people: nothing selects policies by them. Default: none."""
    name: Annotated[str, Dns1035(63)]
    """Name by which messages and waivers refer to it."""


class PolicySpec(StrictModel):
    """A condition, what it is about, and what happens where it is false."""

    each: Each
    """What the condition is asked of: the `fleet` as a whole, or each `team` (namespace), `model`,
    `placement`, `image`, `plugin`, `cluster`, `pool` or `loss` by itself. The condition has a variable of
    that name, and `stack`.
    """
    cel: Annotated[str, Field(min_length=1)]
    """The condition, in CEL: it is true where the policy is kept. One that cannot be evaluated is not."""
    message: Sentence
    """What the policy asks for, in words for whoever breaks it."""
    enforce: Literal["Refuse", "Warn"] = "Refuse"
    """`Refuse`: `validate`, `digest` and updates fail where it is not kept. `Warn`: they say so."""


class Policy(StrictModel):
    """A rule about what is planned and what changes, enforced by `validate`, `plan`, `digest` and every
    update. It is read from the stack's folder, and from `policies/` for all stacks.
    """

    api_version: Literal["inferfleet.dev/v1alpha1"] = API_VERSION
    """Version of the document format."""
    kind: Literal["Policy"] = "Policy"
    """Kind of the document."""
    metadata: PolicyMetadata
    """Name and labels of the policy."""
    spec: PolicySpec
    """The rule."""


class WaiverSpec(StrictModel):
    """What is let off, until when, and why."""

    policy: Annotated[str, Field(min_length=1)]
    """Name of the policy. One in the folder `policies/` is let off by waivers in that folder alone."""
    of: Annotated[str, Field(min_length=1)] | None = None
    """What is let off, as messages name it: a model `ml/qwen` (with its placements, images and plugins), a
    team `ml`, a cluster `east`, a pool `east/h100`, a loss `cluster east`, the `fleet`. Default: whatever
    breaks it.
    """
    until: Day
    """The last day on which it holds, such as `2026-12-31`, at most 180 days ahead."""
    reason: Sentence
    """Why, for reviewers."""

    @property
    def last_day(self) -> date:
        """Return the last day on which it holds."""
        return date.fromisoformat(self.until)


class Waiver(StrictModel):
    """An exception from a Policy that ends on a day. After it the policy holds again."""

    api_version: Literal["inferfleet.dev/v1alpha1"] = API_VERSION
    """Version of the document format."""
    kind: Literal["Waiver"] = "Waiver"
    """Kind of the document."""
    metadata: PolicyMetadata
    """Name and labels of the waiver."""
    spec: WaiverSpec
    """The exception."""


def _amount(value: Any) -> Any:
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


# The exact amount, as a person writes it: 250, 88.49 or "88.49".
Amount = Annotated[
    str,
    BeforeValidator(_amount),
    TextRule(r"[0-9]{1,9}(\.[0-9]{1,6})?", 'an amount of at least 0 such as "250.00"'),
    InEditors({"anyOf": [{"type": "string"}, {"type": "number", "minimum": 0}]}),
]


class Cost(StrictModel):
    """What GPUs may cost, by the list prices by which pools are chosen too."""

    per_hour: Amount
    """Cost of all replicas per hour: the part of each node that they have, by its GPUs (or cores where it has
    none), times the price of its class: on pools of Spot capacity that of Spot, if the class says it.
    """
    currency: Annotated[str, TextRule("[A-Z]{3}", "a currency code such as USD")] = "USD"
    """Currency of the amount. Classes whose price is in another one, or that have none, count nothing."""

    @property
    def amount(self) -> Decimal:
        """Return the amount as a number."""
        return Decimal(self.per_hour)


class QuotaSpec(StrictModel):
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
    def _check_limits(self) -> "QuotaSpec":
        if self.gpus is None and not self.gpus_by_class and self.cost is None:
            raise Mistaken(Mistake("a quota has no limit", "Write gpus, gpusByClass or cost"))
        return self


class Quota(StrictModel):
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
