"""What is written otherwise and shows nowhere else: settings, policies, connections, waivers of policies."""

from dataclasses import dataclass
from typing import Literal

from inferfleet.review.digest.values.models import Coming

Kind = Literal[
    "Settings",
    "Lock",
    "Policy",
    "Quota",
    "InferenceCluster",
    "InferenceClass",
    "ModelDeployment",
    "ModelService",
]


@dataclass(frozen=True)
class Field:
    """A field with another value. One that may hold a secret is not `shown`, and has no texts."""

    path: str
    """Its path, as in `spec.enforce`; of settings `inferfleet:locked`, of the lock `clusters.dc1.uid`."""
    change: Coming
    """Whether it is new, gone, or there on both sides."""
    before: str
    """Its value now, as JSON, shortened around what differs; `""` where it has none or is not shown."""
    after: str
    """Its value afterwards, in the same form."""
    shown: bool
    """Whether values are shown: not those of secrets, kubeconfigs, pod templates and configs of plugins."""


@dataclass(frozen=True)
class Written:
    """A document, or the settings of the stack, of which something differs that nothing else here tells."""

    kind: Kind
    """Kind of the document, `Settings`, or `Lock`: lines of `placement.lock` that no plan makes so."""
    name: str
    """Its name, with its namespace where it has one; of settings and the lock the stack."""
    change: Coming
    """Whether it is new, gone, or there on both sides."""
    fields: tuple[Field, ...]
    """Fields with another value, sorted."""


@dataclass(frozen=True)
class Waiver:
    """A waiver of a policy that comes, goes or says something else."""

    waiver: str
    """Its name."""
    change: Coming
    """Whether it is new, gone, or there on both sides."""
    policy: str
    """The policy that it lets something off; of one that goes, as the base has it."""
    of: str
    """What it lets off, `""` for whatever breaks the policy."""
    until: str
    """The last day on which it holds."""
    reason: str
    """Why, as it is written."""
    file: str
    """File relative to the project's folder."""
    line: int
    """Line in the file, from 1; 0 where the base alone has it."""
