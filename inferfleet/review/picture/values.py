"""The value of a picture. Texts are for people; names of models and services are `<namespace>/<name>`."""

from dataclasses import dataclass

from inferfleet.review.digest.values.stack import Told


@dataclass(frozen=True, order=True)
class Seat:
    """Alike pods of a role on one node. `kept`: no pods, but room that a rollout will need."""

    deployment: str
    role: str
    gpus: int  # of one pod
    kept: bool
    pods: int


@dataclass(frozen=True)
class Nodes:
    """Nodes of a pool that are filled alike: how many, by whom, and GPUs that are free on each."""

    number: int
    seats: tuple[Seat, ...]
    free: int


@dataclass(frozen=True)
class Pool:
    """One pool. `gpus` are those of one node, `held` those that pods of all nodes hold.

    `overfull` counts pods for which no node was found in the drawing. `changes` say what becomes of the pool
    against the base.
    """

    name: str
    class_name: str
    capacity: str
    size: int
    autoscaled: bool
    gpus: int
    held: int
    nodes: tuple[Nodes, ...]
    overfull: int
    changes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Cluster:
    """One cluster. `phase` is "" where nobody asked, `silent` says why one that was asked did not answer."""

    name: str
    state: str
    source: str
    region: str
    pools: tuple[Pool, ...]
    changes: tuple[str, ...] = ()
    phase: str = ""
    silent: str = ""


@dataclass(frozen=True)
class Place:
    """Replicas of a model on one cluster and its pools, and why they are there.

    With `phase`, `ready` of `wanted` pods are ready, and `message` says what is the matter.
    """

    cluster: str
    pools: str
    replicas: str
    gpus: int | None
    why: str
    phase: str = ""
    ready: int = 0
    wanted: int = 0
    message: str = ""
    pods: tuple[tuple[str, str, str], ...] = ()  # name, phase, node


@dataclass(frozen=True)
class Model:
    """One deployment: the replicas that documents ask for, those that have a place, and where.

    `elsewhere` says why no more of them are on other clusters.
    """

    name: str
    wanted: int
    placed: int
    places: tuple[Place, ...]
    elsewhere: str
    missing: str = ""
    changes: tuple[str, ...] = ()
    phase: str = ""


@dataclass(frozen=True)
class Route:
    """How a service splits requests on one cluster: deployments with weights."""

    cluster: str
    backends: tuple[tuple[str, int], ...]
    phase: str = ""
    message: str = ""


@dataclass(frozen=True)
class Service:
    """One service with its routes."""

    name: str
    routes: tuple[Route, ...]
    changes: tuple[str, ...] = ()
    phase: str = ""


@dataclass(frozen=True)
class Paid:
    """Nodes of one class that are paid for, GPUs that replicas hold, cost of an hour ("" for unknown)."""

    class_name: str
    nodes: int
    unpriced: int
    gpus: int
    cost: str
    currency: str
    changes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Picture:
    """The whole of a stack.

    `base` is the commit that it is compared with, `head` the one that it is of, and `merges` the one that
    this merges into the base, "" where nothing is compared or merged. `uncommitted` says whether files differ
    from `head`. `gone` says what the base has and the stack has not. `live` says whether clusters were asked.
    """

    stack: str
    clusters: tuple[Cluster, ...]
    models: tuple[Model, ...]
    services: tuple[Service, ...]
    paid: tuple[Paid, ...]
    totals: tuple[tuple[str, str], ...]  # currency, cost of an hour
    unpriced: int
    problems: tuple[Told, ...]
    base: str = ""
    head: str = ""
    merges: str = ""
    uncommitted: bool = False
    gone: tuple[str, ...] = ()
    live: bool = False
    phase: str = ""
