"""Policy and Waiver: what must hold for a fleet and its changes, and what is let off until a day."""

from datetime import date
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from inferfleet.documents.kinds.base import API_VERSION, Labels, Metadata, Model
from inferfleet.documents.kinds.text_rules import Dns1035
from inferfleet.documents.pods.texts import Written
from inferfleet.documents.problems import mistaken

Each = Literal["fleet", "team", "model", "placement", "image", "plugin", "cluster", "pool", "loss"]


def _of_calendar(written: str) -> str:
    try:
        date.fromisoformat(written)
    except ValueError:
        raise mistaken(f"{{field}} {written} is no day of the calendar", "Write one") from None
    return written


Sentence = Annotated[str, Field(min_length=1, max_length=300)]
Day = Annotated[
    str,
    Written("[0-9]{4}-[0-9]{2}-[0-9]{2}", "a date such as 2026-04-14"),
    AfterValidator(_of_calendar),
]


class PolicyMetadata(Metadata):
    """Name and labels of a policy or waiver."""

    labels: Labels = {}
    """Labels for people: nothing selects policies by them. Default: none."""
    name: Annotated[str, Dns1035(63)]
    """Name by which messages and waivers refer to it."""


class PolicySpec(Model):
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


class Policy(Model):
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


class WaiverSpec(Model):
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


class Waiver(Model):
    """An exception from a Policy that ends on a day. After it the policy holds again."""

    api_version: Literal["inferfleet.dev/v1alpha1"] = API_VERSION
    """Version of the document format."""
    kind: Literal["Waiver"] = "Waiver"
    """Kind of the document."""
    metadata: PolicyMetadata
    """Name and labels of the waiver."""
    spec: WaiverSpec
    """The exception."""
