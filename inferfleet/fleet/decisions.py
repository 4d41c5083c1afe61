"""The values a plan is made of: placements, endpoints, service routes, and replicas without a place."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import NamedTuple

from inferfleet.documents.problems import Problem
from inferfleet.fleet import names
from inferfleet.fleet.demands import Demands
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.shapes import Pod
from inferfleet.fleet.spot import Spot as Spot


@dataclass(frozen=True, order=True)
class Placement:
    """How many replicas of a deployment run on one spot. They are alike and not distinguished."""

    spot: Spot
    replicas: int
    """The most, where they are scaled: there is space for so many, and a new workload starts with them."""
    least: int | None = None
    """The fewest, where somebody else says how many run from then on. None where that is `replicas`."""

    def __str__(self) -> str:
        """Return the replicas as tables have them: `3`, or `1-3` where they are scaled."""
        return str(self.replicas) if self.least is None else f"{self.least}-{self.replicas}"


def shared(placements: Iterable[Placement], least: Mapping[str, int]) -> Iterator[Placement]:
    """Yield the placements, those of deployments in `least` with their shares of the fewest replicas.

    A share is as large as the placement beside the others (the method of D'Hondt), and one replica at least:
    what a gateway leads to must not be empty.
    """
    for deployment, group in groupby(placements, key=lambda placement: placement.spot.deployment):
        of_deployment = tuple(group)
        if deployment not in least:
            yield from of_deployment
            continue
        number = min(least[deployment], sum(placement.replicas for placement in of_deployment))
        shares = _shares([placement.replicas for placement in of_deployment], number)
        for placement, share in zip(of_deployment, shares, strict=True):
            yield replace(placement, least=share)


def _shares(sizes: Sequence[int], number: int) -> list[int]:
    """Share `number` among sizes in their proportion, at least one for each.

    Each further one goes where the size is largest for what it has already.
    """
    shares = [1] * len(sizes)
    for _ in range(number - len(sizes)):
        shares[max(range(len(sizes)), key=lambda place: sizes[place] / (shares[place] + 1))] += 1
    return shares


@dataclass(frozen=True)
class Endpoint:
    """Where a deployment can be reached on one cluster."""

    deployment: str
    cluster: str
    replicas: int
    labels: dict[str, str]
    """Those by which services select endpoints."""
    revision: str = ""
    """That of the deployment's spots on the cluster."""


class ExposedPath(NamedTuple):
    """A path of an engine under which requests reach an endpoint, and the field that exposes it."""

    path: str
    kind: str
    """That of the document: a deployment with a route of its own, or a service."""
    key: str
    field: str


@dataclass(frozen=True)
class Backend:
    """A deployment's share of a service's traffic on one cluster, relative to the other backends there."""

    deployment: str
    weight: int
    revision: str = ""


@dataclass(frozen=True)
class ServiceRoute:
    """A service on one cluster where at least one deployment that it selects has replicas."""

    service: str  # namespace/name
    cluster: str
    backends: tuple[Backend, ...]
    root: bool = False
    """Whether its engines' paths are behind no prefix."""

    @property
    def path(self) -> str:
        """Return the prefix of its engines' paths, with a slash at the end."""
        return "/" if self.root else names.service_path(self.service)


@dataclass(frozen=True, order=True)
class Reason:
    """Why no further replicas go to a cluster, or to one of its pools."""

    cluster: str
    pool: str
    """Empty for a whole cluster."""
    why: str
    short: str = field(default="", compare=False)
    """The same of several clusters at once: `have 4 GPUs per node (8 wanted)`."""
    near: int = field(default=0, compare=False)
    """How little is missing: where only space is, less than where a pool does not suit."""
    step: str = field(default="", compare=False)
    """What would take the reason away without more nodes. Empty where that is not one thing."""


@dataclass(frozen=True)
class Unplaced:
    """How many replicas of a deployment have no place, and why none of the clusters and pools takes them."""

    deployment: str
    replicas: int
    reasons: Sequence[Reason]
    running: int = 0
    """How many of them run by the lock: an update ends these, because their cluster is abandoned."""


@dataclass(frozen=True, order=True)
class MoreNodes:
    """Nodes that a pool would get."""

    cluster: str
    pool: str
    nodes: int
    """How many more."""
    size: int
    """How many the pool has then."""
    per_hour: str = ""
    """What they cost. Empty where the class has no price."""
    currency: str = ""
    price_region: str = ""
    """The region of the price, where the pool is in another one."""


@dataclass(frozen=True)
class Fix:
    """Nodes with which all replicas of a deployment have a place."""

    pools: tuple[MoreNodes, ...]
    first: tuple[str, ...] = ()
    """Other deployments without a place that are served first, and with these nodes too."""


@dataclass(frozen=True)
class RunnerUp:
    """The next best spot for a replica, and why it is on another one."""

    spot: Spot
    why: str


@dataclass(frozen=True, order=True)
class Change:
    """A spot whose number of replicas differs from the lock's."""

    spot: Spot
    before: int
    """0 where the lock does not have the spot."""
    after: int
    """0 where the plan does not."""


def changes(old: Lock, new: Lock) -> tuple[Change, ...]:
    """Return the spots whose number of replicas differs between two locks."""
    return tuple(
        Change(spot, old.placements.get(spot, 0), new.placements.get(spot, 0))
        for spot in sorted({*old.placements, *new.placements})
        if old.placements.get(spot) != new.placements.get(spot)
    )


@dataclass(frozen=True)
class Move:
    """How many replicas of a deployment go from one spot to another, as far as numbers tell."""

    replicas: int
    before: Spot
    after: Spot


def moves(changes: Iterable[Change]) -> tuple[Move, ...]:
    """Return which replicas of a deployment go from which spot to which.

    Replicas are alike, so those that leave a spot are taken for those that come to the spot which shares most
    of their pools, on their own cluster first.
    """
    changed = sorted(changes)
    leave = {change.spot: change.before - change.after for change in changed if change.before > change.after}
    come = {change.spot: change.after - change.before for change in changed if change.after > change.before}
    pairs = [(before, after) for before in leave for after in come]
    moved = []
    for before, after in sorted(pairs, key=lambda pair: (-_shared(*pair), pair)):
        if replicas := min(leave[before], come[after]):
            leave[before] -= replicas
            come[after] -= replicas
            moved.append(Move(replicas, before, after))
    return tuple(sorted(moved, key=lambda move: (move.before, move.after)))


def _shared(spot: Spot, other_spot: Spot) -> int:
    """Return how near two spots are: 0 on different clusters, else one more than the pools they share."""
    return 1 + len({*spot.pools} & {*other_spot.pools}) if spot.cluster == other_spot.cluster else 0


@dataclass(frozen=True)
class Roll:
    """Replicas on a spot whose revision takes the place of others: a new set of pods for an old one."""

    spot: Spot
    replicas: int
    before: tuple[Spot, ...]
    """The spots that the old set leaves."""
    beside: bool
    """Whether pools have space for both, as far as the plan knows: requests move to the new set when it is
    ready. Otherwise the old set ends before the new one starts.
    """


@dataclass(frozen=True)
class Leaving:
    """A workload that still runs on a cluster, has this stack's label, and is no longer desired."""

    cluster: str
    namespace: str
    name: str
    pool: str
    pods: int
    gpus_per_pod: int
    requests: Pod | None = None
    """Those of each pod where it has no accelerators; of others the accelerators alone are known."""
    deployment: str = ""  # namespace/name
    revision: str = ""


@dataclass(frozen=True)
class Plan:
    """Everything the planner decided, sorted, so that equal inputs give equal plans.

    Reasons, fixes and runners-up are worked out when they are asked for.
    """

    placements: tuple[Placement, ...] = ()
    endpoints: tuple[Endpoint, ...] = ()
    services: tuple[ServiceRoute, ...] = ()
    unplaced: tuple[Unplaced, ...] = ()
    changes: tuple[Change, ...] = ()
    """Against the lock that the plan was made from."""
    rolls: tuple[Roll, ...] = ()
    """Of deployments whose revision changes."""
    departure_reasons: Mapping[Spot, str] = field(default_factory=dict)
    """Why replicas that ran had to leave a spot, as far as they had to."""
    reasons: Mapping[str, tuple[Reason, ...]] = field(default_factory=dict)
    """By deployment, why its replicas do not run on the other clusters and pools."""
    fixes: Mapping[str, Fix | None] = field(default_factory=dict)
    """By deployment that lacks a place, what would place all its replicas; None where no nodes do."""
    runners_up: Mapping[Spot, RunnerUp | None] = field(default_factory=dict)
    """By spot the next best one; None where no other has space."""
    problems: tuple[Problem, ...] = ()
    """Of all severities. They name fields without lines: `Documents.located` adds these."""
    lock: Lock = field(default_factory=Lock)
    """What the lock is with this plan."""
    demands: Demands = field(default_factory=Demands)
    """What the plan counted with."""
    paused: tuple[str, ...] = ()
    """Deployments of which nothing changes."""
    routes_to_paused: tuple[ServiceRoute, ...] = ()
    """Routes of services to deployments that are paused alone, on every cluster where they may stand: the
    lock may have their replicas elsewhere.
    """
