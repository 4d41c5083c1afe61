"""What a reason for a difference is, and what a setting that nobody writes is taken for."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Reason:
    """Why ours is otherwise: for a field (or all that begin as one that ends in `*`), of some recipes and
    capacity models or of all. `source` is an address where the reason rests on somebody else's words.
    """

    field: str
    text: str
    recipes: tuple[str, ...] = ()
    capacities: tuple[str, ...] = ()
    source: str = ""


@dataclass(frozen=True)
class Default:
    """What Google takes a field for that nobody writes, and where that stands."""

    field: str
    value: Any
    source: str


@dataclass(frozen=True)
class Given:
    """A field that is not compared: how it ends, and why both sides have their own."""

    ending: str
    why: str


GIVEN = (
    *(
        Given(ending, "names and places, which are those of the stack or of the deployment")
        for ending in (".name", ".project", ".region", ".location", ".cluster", ".nodeLocations")
    ),
    *(
        Given(ending, "refers to another resource by its name")
        for ending in (
            ".network",
            ".subnetwork",
            ".router",
            ".member",
            ".serviceAccount",
            ".policyName",
            ".accountId",
            ".displayName",
        )
    ),
    *(
        Given(ending, "addresses: theirs are fixed, ours are cut from the cluster's block")
        for ending in (".ipCidrRange", ".sourceRanges")
    ),
    *(
        Given(ending, "sizes are written by whoever deploys")
        for ending in (
            "NodePool.nodeCount",
            "NodePool.autoscaling.totalMinNodeCount",
            "NodePool.autoscaling.totalMaxNodeCount",
        )
    ),
    Given(".resourceLabels", "each has its own, for bills"),
)
