"""What becomes of models, of their requests, and of what stands beside their pods."""

from dataclasses import dataclass
from typing import Literal

Coming = Literal["added", "removed", "changed"]


@dataclass(frozen=True)
class Place:
    """Replicas of a model on one cluster and its pools."""

    place: str
    """Cluster and pool, as in `east/l4`; of several roles the pool of each."""
    before: int
    """Replicas there now."""
    after: int
    """Replicas there afterwards."""
    why: str
    """Why replicas leave, `""` where they do not or nothing forces them."""
    grace: int
    """Seconds that requests in hand have at most when pods end there; 0 where none end."""
    waits: bool
    """Whether pods start there only once others have left, for which the update does not wait."""


@dataclass(frozen=True)
class Image:
    """An image that is another one, as `repository:tag` or with the first 12 digits of its digest."""

    path: str
    """Field of the pod template, as in `containers[engine].image`."""
    before: str
    """The image now."""
    after: str
    """The image afterwards."""


@dataclass(frozen=True)
class Restart:
    """A workload whose pods are replaced where they are."""

    workload: str
    """Kind, cluster and name, as in `Deployment east/ml/qwen-decode-l4`."""
    role: str
    """Role of its pods."""
    pods: int
    """Pods that are replaced."""
    gpus: int
    """GPUs of these pods."""
    order: int
    """Place among the restarts of the model: those with a higher number wait for those with a lower one."""
    fields: tuple[str, ...]
    """Fields of the pod template that change, sorted, without their values. `kind`: a Deployment becomes a
    LeaderWorkerSet or the other way round. `nodes`: their nodes are replaced.
    """
    serving: str
    """What serves meanwhile."""
    gap: bool
    """Whether nothing serves on the cluster meanwhile."""
    grace: int
    """Seconds that requests in hand have when a pod ends."""
    images: tuple[Image, ...] = ()
    """Images among these fields, those of leaders and followers that are alike once."""


@dataclass(frozen=True)
class Scale:
    """A workload that gets more or fewer pods where its placement has as many replicas as before."""

    workload: str
    """Kind, cluster and name."""
    before: int
    """Pods now."""
    after: int
    """Pods afterwards."""


@dataclass(frozen=True)
class Roll:
    """A new set of pods that takes the place of an old one."""

    place: str
    """Where the new set stands, with its revision."""
    before: tuple[str, ...]
    """Where the old set stands."""
    gap: bool
    """Whether the old set ends before the new one is ready."""


@dataclass(frozen=True)
class Picker:
    """An endpoint picker that is replaced."""

    cluster: str
    """Its cluster."""
    fields: tuple[str, ...]
    """What is another in it: image, configuration, flags, resources or its pods."""
    gap: bool
    """Whether requests fail meanwhile."""


@dataclass(frozen=True)
class Command:
    """The written command line of a role's engines, without plugins and words that look like secrets."""

    role: str
    """The role."""
    before: str
    """The command now, `""` where none is written."""
    after: str
    """The command afterwards, `""` where none is written."""


@dataclass(frozen=True)
class Model:
    """What becomes of one ModelDeployment."""

    deployment: str
    """`<namespace>/<name>`."""
    change: Coming
    """Whether the document is new, gone, or there on both sides."""
    before: int
    """Replicas that have a place now."""
    after: int
    """Replicas that have a place afterwards."""
    gpus: int
    """GPUs of pods that start, end or restart."""
    gap: bool
    """Whether requests fail or nothing serves somewhere meanwhile."""
    places: tuple[Place, ...]
    """Places whose number of replicas changes."""
    restarts: tuple[Restart, ...]
    """Workloads whose pods are replaced where they are."""
    scales: tuple[Scale, ...]
    """Workloads with more or fewer pods in each replica."""
    rolls: tuple[Roll, ...]
    """New sets of pods for old ones."""
    pickers: tuple[Picker, ...]
    """Endpoint pickers that are replaced."""
    told: tuple[str, ...]
    """The same in words, as `inferfleet plan` has them."""
    commands: tuple[Command, ...] = ()
    """Command lines that inferfleet writes and that are new or others, of the pods that serve first."""
    ends: bool = False
    """Whether replicas have a place now and none has one afterwards, as of a document that is removed."""


@dataclass(frozen=True)
class Missing:
    """Replicas without a place."""

    deployment: str
    """`<namespace>/<name>`."""
    replicas: int
    """How many."""
    running: int
    """How many of them run now, and end."""
    refused: bool
    """Whether an update is refused for them."""
    told: str
    """Why, and what would place them."""


@dataclass(frozen=True)
class Drain:
    """A cluster that replicas should leave, or that is given up."""

    cluster: str
    """Its name."""
    state: str
    """`drained`, `lost` or `abandoned`."""
    before: int
    """Replicas there now."""
    after: int
    """Replicas there afterwards."""
    stays: tuple[str, ...]
    """Those that stay, as in `1 replica of ml/qwen on east/l4`; the warnings say why."""


@dataclass(frozen=True)
class Route:
    """How a service splits its requests on one cluster."""

    service: str
    """`<namespace>/<name>`."""
    cluster: str
    """The cluster."""
    before: tuple[str, ...]
    """Endpoints with weights now, as in `ml/qwen 2`; none where the route is new."""
    after: tuple[str, ...]
    """Endpoints with weights afterwards; none where the route goes."""
    fields: tuple[str, ...]
    """Fields of the HTTPRoute that change."""
    ends: bool = False
    """Whether the service has no route on any cluster afterwards."""


@dataclass(frozen=True)
class Plugin:
    """A plugin that makes something else of pods that are there before and after."""

    plugin: str
    """Its name."""
    before: str
    """Its version now, `""` where it did not run."""
    after: str
    """Its version afterwards, `""` where it does not run."""
    workloads: tuple[str, ...]
    """Workloads whose pods it makes otherwise, as `<cluster>/<namespace>/<name>`."""
