"""What policies see, as typed values. In conditions their fields are written in camelCase.

Costs are list prices by the hour in the currency of most classes in use; what has no price there counts 0,
and what had one and has none now counts 0 before as well.
`..Before` is what placement.lock has, in a digest what the base leaves behind.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Stack:
    """The stack as a whole, which every condition sees."""

    name: str
    """Name of the stack."""
    currency: str
    """Currency of all costs, `""` where no class has a price."""
    gpus: int
    """GPUs that replicas hold."""
    gpus_before: int
    """GPUs that replicas held."""
    cost: float
    """What nodes cost in an hour: all of pools of fixed size, of others those that replicas need."""
    cost_before: float
    """What nodes cost before."""
    unpriced: int
    """Nodes without a price."""
    unpriced_before: int
    """Nodes that had none."""


@dataclass(frozen=True)
class Team:
    """A namespace with deployments."""

    name: str
    """The namespace."""
    models: int
    """Deployments in it."""
    gpus: int
    """GPUs that its replicas hold."""
    gpus_before: int
    """GPUs that they held."""
    cost: float
    """What its replicas cost in an hour: their part of each node."""
    cost_before: float
    """What they cost before."""


@dataclass(frozen=True)
class Model:
    """A ModelDeployment."""

    namespace: str
    """Its namespace."""
    name: str
    """Its name."""
    labels: Mapping[str, str]
    """Its labels."""
    engine: str
    """Type of its engine, such as `vLLM`."""
    priority: int
    """Its priority."""
    replicas: int
    """Replicas that it asks for."""
    placed: int
    """Replicas that have a place."""
    placed_before: int
    """Replicas that had one."""
    gpus: int
    """GPUs that they hold."""
    gpus_before: int
    """GPUs that they held."""
    cost: float
    """What they cost in an hour."""
    cost_before: float
    """What they cost before."""
    clusters: tuple[str, ...]
    """Clusters that they are on."""
    regions: tuple[str, ...]
    """Regions of these, as far as they are known."""


@dataclass(frozen=True)
class Cluster:
    """An InferenceCluster, or one of Google Cloud that is removed."""

    name: str
    """Its name."""
    labels: Mapping[str, str]
    """Its labels."""
    state: str
    """Its state, such as `active`."""
    source: str
    """`GKE` or `Existing`."""
    region: str
    """Its region: on GKE that of the document, elsewhere the label `topology.kubernetes.io/region`."""
    replicas: int
    """Replicas on it."""
    gpus: int
    """GPUs of all its nodes."""
    free_gpus: int
    """GPUs of these that no replica holds."""
    gke: Mapping[str, str]
    """Fields of `cluster.gke` of its document by path, with defaults, such as `controlPlaneAccess`,
    `authorizedNetworks` or `provider.cluster.enableIntranodeVisibility`; all but texts as JSON.
    """
    change: str
    """What becomes of it in Google Cloud: `created`, `replaced`, `removed`, or `""`."""
    fields: tuple[str, ...]
    """Fields of documents that make it so, as in a digest, or settings that no document has."""


@dataclass(frozen=True)
class Pool:
    """A node pool, or one of Google Cloud that is removed."""

    cluster: str
    """Its cluster."""
    name: str
    """Its name."""
    class_name: str
    """Class of its nodes."""
    capacity: str
    """How its nodes are bought, such as `OnDemand`."""
    region: str
    """Region of its cluster."""
    labels: Mapping[str, str]
    """Labels of its cluster."""
    nodes: int
    """Nodes that it has at most."""
    gpus: int
    """GPUs of these."""
    free_gpus: int
    """GPUs of these that no replica holds."""
    provider: Mapping[str, str]
    """What its class and its document pass on to Google Cloud (`provider`), by path, such as
    `nodeConfig.metadata.startup-script`; lists as JSON.
    """
    change: str
    """What becomes of it in Google Cloud: `created`, `replaced`, `nodes replaced`, `removed`, or `""`."""
    fields: tuple[str, ...]
    """Fields of documents that make it so, as in a digest, or settings that no document has."""


@dataclass(frozen=True)
class Placement:
    """Replicas of a model on a cluster and its pools."""

    model: Model
    """The model."""
    cluster: Cluster
    """The cluster."""
    pools: tuple[str, ...]
    """The pool of each role."""
    capacity: tuple[str, ...]
    """How nodes of these are bought."""
    replicas: int
    """Replicas there."""
    replicas_before: int
    """Replicas that were there."""


@dataclass(frozen=True)
class Image:
    """An image that pods of a model run, or mount as a volume."""

    reference: str
    """All of it, as in `ghcr.io/acme/vllm:v1@sha256:...`."""
    registry: str
    """Host of its registry in lowercase, `docker.io` where it names none or another name of Docker Hub."""
    repository: str
    """Its repository, as in `acme/vllm`."""
    tag: str
    """Its tag, `""` where it names none."""
    digest: str
    """Its digest, as in `sha256:...`, `""` where it names none."""
    container: str
    """Name of the container that runs it, `""` where it is a volume."""
    volume: str
    """Name of the volume that is made of it, `""` where it is a container's."""
    cluster: str
    """The cluster where it is."""
    model: Model
    """The model."""


@dataclass(frozen=True)
class Plugin:
    """A plugin that edits pods of a model."""

    name: str
    """Its name."""
    version: str
    """Its version."""
    model: Model
    """The model."""


@dataclass(frozen=True)
class Loss:
    """What the loss of a cluster, pool or reservation would do, as `plan --n-minus-one` says."""

    kind: str
    """`cluster`, `pool` or `reservation`."""
    name: str
    """Its name, of a pool `<cluster>/<pool>`, of a reservation `<project>/<name>`."""
    replicas: int
    """Replicas that run there."""
    lacking: int
    """Replicas that would have no place."""
    unserved: tuple[str, ...]
    """Deployments of which nothing would run."""
    repairable: bool
    """Whether more nodes would give all of them a place."""
    repair_cost: float
    """What these nodes cost in an hour."""


@dataclass(frozen=True)
class Fleet:
    """All of it, for conditions on sums and pairs."""

    teams: tuple[Team, ...] = ()
    """Namespaces with deployments."""
    models: tuple[Model, ...] = ()
    """Deployments."""
    clusters: tuple[Cluster, ...] = ()
    """Clusters."""
    pools: tuple[Pool, ...] = ()
    """Pools."""
    placements: tuple[Placement, ...] = ()
    """Placements."""
    moves: tuple[str, ...] = ()
    """Deployments of which replicas leave a place."""


# The type of the variable by what a policy is asked of.
TYPES: Mapping[str, type] = {
    "fleet": Fleet,
    "team": Team,
    "model": Model,
    "placement": Placement,
    "image": Image,
    "plugin": Plugin,
    "cluster": Cluster,
    "pool": Pool,
    "loss": Loss,
}
