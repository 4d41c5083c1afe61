"""The value of a digest: what changes for people between two versions of a project, stack by stack.

Its fields are what `inferfleet digest --json` prints, and the text under each is its description in the JSON
Schema.
"""

from dataclasses import dataclass
from typing import Literal

from inferfleet.documents.problems import Severity

Presence = Literal["added", "removed", "changed"]
PoolOperation = Literal["added", "created", "replaced", "nodes replaced", "removed", "changed"]
ClusterOperation = Literal["added", "created", "replaced", "removed", "changed"]
ResourceOperation = Literal["create", "update", "replace", "delete"]
FileKind = Literal["program", "packages", "plugin", "policy", "workflow", "submodule", "stack"]
StackState = Literal["unchanged", "added", "removed", "changed", "refused", "not compared"]
ResumedKind = Literal["InferenceCluster", "ModelDeployment"]
DocumentKind = Literal[
    "Settings",
    "Lock",
    "Policy",
    "Quota",
    "InferenceCluster",
    "InferenceClass",
    "InferenceGateway",
    "ModelDeployment",
    "ModelService",
    "ModelCache",
]


@dataclass(frozen=True)
class PlaceChange:
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
class ImageChange:
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
    images: tuple[ImageChange, ...] = ()
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
class NewSet:
    """A new set of pods that takes the place of an old one."""

    place: str
    """Where the new set stands, with its revision."""
    before: tuple[str, ...]
    """Where the old set stands."""
    gap: bool
    """Whether the old set ends before the new one is ready."""


@dataclass(frozen=True)
class PickerChange:
    """An endpoint picker that is replaced."""

    cluster: str
    """Its cluster."""
    fields: tuple[str, ...]
    """What is another in it: image, configuration, flags, resources or its pods."""
    gap: bool
    """Whether requests fail meanwhile."""


@dataclass(frozen=True)
class CommandChange:
    """The written command line of a role's engines, without plugins and words that look like secrets."""

    role: str
    """The role."""
    before: str
    """The command now, `""` where none is written."""
    after: str
    """The command afterwards, `""` where none is written."""


@dataclass(frozen=True)
class ModelChange:
    """What becomes of one ModelDeployment."""

    deployment: str
    """`<namespace>/<name>`."""
    change: Presence
    """Whether the document is new, gone, or there on both sides."""
    before: int
    """Replicas that have a place now."""
    after: int
    """Replicas that have a place afterwards."""
    gpus: int
    """GPUs of pods that start, end or restart."""
    gap: bool
    """Whether requests fail or nothing serves somewhere meanwhile."""
    places: tuple[PlaceChange, ...]
    """Places whose number of replicas changes."""
    restarts: tuple[Restart, ...]
    """Workloads whose pods are replaced where they are."""
    scales: tuple[Scale, ...]
    """Workloads with more or fewer pods in each replica."""
    rolls: tuple[NewSet, ...]
    """New sets of pods for old ones."""
    pickers: tuple[PickerChange, ...]
    """Endpoint pickers that are replaced."""
    lines: tuple[str, ...]
    """The same in words, as `inferfleet plan` has them."""
    commands: tuple[CommandChange, ...] = ()
    """Command lines that inferfleet writes and that are new or others, of the pods that serve first."""
    ends: bool = False
    """Whether replicas have a place now and none has one afterwards, as of a document that is removed."""


@dataclass(frozen=True)
class Resumption:
    """A deployment or cluster of which nothing changed at the base, and that goes on: what was edited of it
    until then takes effect, and shows nowhere else here.
    """

    kind: ResumedKind
    """Kind of its document."""
    name: str
    """Its name, `<namespace>/<name>` of a deployment."""
    state: str
    """What it was: `paused`, or `lost` of a cluster."""
    replicas: int
    """Replicas that may restart: those that the lock has. Of a cluster without those of deployments that are
    listed themselves.
    """
    summary: str
    """The same in words."""


@dataclass(frozen=True)
class MissingReplicas:
    """Replicas without a place."""

    deployment: str
    """`<namespace>/<name>`."""
    replicas: int
    """How many."""
    running: int
    """How many of them run now, and end."""
    refused: bool
    """Whether an update is refused for them."""
    summary: str
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
class RouteChange:
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
class DoorChange:
    """What an InferenceGateway on one of its clusters does otherwise for a service."""

    gateway: str
    """Its name."""
    cluster: str
    """The cluster on which it stands."""
    service: str
    """`<namespace>/<name>`."""
    before: tuple[str, ...]
    """Clusters with weights that requests go to now, as in `us 4` and `eu 1 (fallback)`."""
    after: tuple[str, ...]
    """Clusters with weights that they go to afterwards."""
    names: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    """Names of models by which it is asked, before and after."""
    callers: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    """Entries of keys with which it may be used, before and after."""


@dataclass(frozen=True)
class PluginChange:
    """A plugin that makes something else of pods that are there before and after."""

    plugin: str
    """Its name."""
    before: str
    """Its version now, `""` where it did not run."""
    after: str
    """Its version afterwards, `""` where it does not run."""
    workloads: tuple[str, ...]
    """Workloads whose pods it makes otherwise, as `<cluster>/<namespace>/<name>`."""


@dataclass(frozen=True)
class ClusterChange:
    """A cluster that comes, goes, or has other settings."""

    cluster: str
    """Its name."""
    change: ClusterOperation
    """`created` and `replaced` are of Google Cloud, `added` is of clusters that exist."""
    fields: tuple[str, ...]
    """Fields that force a replacement, or those that change in place."""
    summary: str
    """The same in words."""


@dataclass(frozen=True)
class PoolChange:
    """A pool that comes, goes, or has other settings."""

    cluster: str
    """Cluster of the pool."""
    pool: str
    """Its name."""
    change: PoolOperation
    """`replaced`: a new pool is created and the old one deleted. `nodes replaced`: GKE replaces the nodes,
    some at a time.
    """
    before: int
    """Nodes at most now."""
    after: int
    """Nodes at most afterwards."""
    fields: tuple[str, ...]
    """Fields that force a replacement, or those that change in place."""
    summary: str
    """The same in words."""


@dataclass(frozen=True)
class ClassUse:
    """Nodes of one class, and what they cost in an hour."""

    name: str
    """Name of the class."""
    gpus: tuple[int, int]
    """GPUs that replicas hold, before and after."""
    nodes: tuple[int, int]
    """Nodes that are paid for, before and after: all of a pool of fixed size, of others those that replicas
    need.
    """
    cost: tuple[str, str]
    """What these nodes cost in an hour, before and after, as decimal numbers; `""` where no price is
    known.
    """
    currency: str
    """Currency of the price, `""` where none is known."""
    region: str
    """Region of the price where nodes are in another one, else `""`."""


@dataclass(frozen=True)
class CostChange:
    """What all nodes with a price cost in an hour."""

    currency: str
    """Currency of the prices."""
    before: str
    """Sum now, as a decimal number."""
    after: str
    """Sum afterwards."""


@dataclass(frozen=True)
class QuotaNeed:
    """A quota of Google Cloud of which more is needed than before."""

    project: str
    """Google Cloud project."""
    region: str
    """Region, `""` for a quota of the whole project."""
    metric: str
    """Name of the quota."""
    before: int
    """What nodes take now."""
    after: int
    """What they take afterwards."""
    peak: int
    """The most that is taken while the update runs."""


@dataclass(frozen=True)
class ReservationNeed:
    """A reservation of Google Cloud that a new pool needs."""

    project: str
    """Google Cloud project of the reservation."""
    name: str
    """Its name."""
    pool: str
    """`<cluster>/<pool>` that needs it."""
    nodes: int
    """Machines that the pool may need."""


@dataclass(frozen=True)
class ResourceChange:
    """One resource that an update creates, changes or deletes, as Pulumi names it.

    Pulumi's own groups and providers are none.
    """

    resource: str
    """Kind and name, as in `NodePool east/h100`."""
    operation: ResourceOperation
    """What an update does with it."""
    fields: tuple[str, ...]
    """Fields that force a replacement, or those that change in place."""


@dataclass(frozen=True)
class FieldChange:
    """A field with another value. One that may hold a secret is not `shown`, and has no texts."""

    path: str
    """Its path, as in `spec.enforce`; of settings `inferfleet:locked`, of the lock `clusters.dc1.uid`."""
    change: Presence
    """Whether it is new, gone, or there on both sides."""
    before: str
    """Its value now, as JSON, shortened around what differs; `""` where it has none or is not shown."""
    after: str
    """Its value afterwards, in the same form."""
    shown: bool
    """Whether values are shown: not those of secrets, kubeconfigs, pod templates and configs of plugins."""


@dataclass(frozen=True)
class DocumentChange:
    """A document, or the settings of the stack, of which something differs that nothing else here tells."""

    kind: DocumentKind
    """Kind of the document, `Settings`, or `Lock`: lines of `placement.lock` that no plan makes so."""
    name: str
    """Its name, with its namespace where it has one; of settings and the lock the stack."""
    change: Presence
    """Whether it is new, gone, or there on both sides."""
    fields: tuple[FieldChange, ...]
    """Fields with another value, sorted."""


@dataclass(frozen=True)
class WaiverChange:
    """A waiver of a policy that comes, goes or says something else."""

    waiver: str
    """Its name."""
    change: Presence
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


@dataclass(frozen=True)
class FileChange:
    """A file by which programs, packages, access or rules of an update become others."""

    path: str
    """Its path in the project; outside of that its path in the repository, after a slash."""
    kind: FileKind
    """`program`: Python, what may be run, links, and `Pulumi.yaml`. `packages`: what is required. `plugin`
    and `policy`: in the folders of these names, waivers too. `workflow`: what CI and tools are told, in files
    or folders whose names begin with a dot. `submodule`: another commit of another repository. `stack`: what
    else is among documents and classes, such as kubeconfigs and `capacity.lock`.
    """
    change: Presence
    """Whether it is new, gone, or there on both sides."""


@dataclass(frozen=True)
class ListedProblem:
    """One problem, warning or notice, at its line."""

    severity: Severity
    """`error`, `warning` or `notice`."""
    what: str
    """What is the matter, in one sentence without a full stop."""
    step: str
    """What to do next."""
    file: str
    """File relative to the project's folder, `""` where no file of the project is to blame."""
    line: int
    """Line in the file, from 1; 0 without a file."""
    path: str
    """Field of the document or setting, `""` for the whole of it."""
    new: bool
    """Whether the base does not say it."""
    catalogue: str = ""
    """Class of the catalogue that comes with inferfleet which it is about, `""` where it is about none. Then
    there is no file.
    """
    missing: bool = False
    """Whether it is about replicas without a place, which `missing` of the stack has too."""


@dataclass(frozen=True)
class StackDigest:
    """What changes for people in one stack."""

    stack: str
    """Its name."""
    state: StackState
    """`refused`: its documents or lock have errors. `not compared`: those of the base have. `removed`: the
    project has it no more, which changes nothing where it runs."""
    models: tuple[ModelChange, ...] = ()
    """Models that come, go, move, restart or change in number, those with gaps and most GPUs first."""
    resumptions: tuple[Resumption, ...] = ()
    """What goes on after a pause, so that edits take effect which are no difference here."""
    missing: tuple[MissingReplicas, ...] = ()
    """Replicas without a place afterwards."""
    drains: tuple[Drain, ...] = ()
    """Clusters that replicas should leave."""
    services: tuple[RouteChange, ...] = ()
    """Routes of services that change."""
    doors: tuple[DoorChange, ...] = ()
    """What InferenceGateways do otherwise."""
    clusters: tuple[ClusterChange, ...] = ()
    """Clusters that change."""
    pools: tuple[PoolChange, ...] = ()
    """Pools that change."""
    uses: tuple[ClassUse, ...] = ()
    """Classes of which other nodes are used or paid for."""
    costs: tuple[CostChange, ...] = ()
    """What all nodes with a price cost, by currency."""
    unpriced: tuple[int, int] = (0, 0)
    """Nodes without a known price, before and after."""
    quotas: tuple[QuotaNeed, ...] = ()
    """Quotas of which more is needed."""
    reservations: tuple[ReservationNeed, ...] = ()
    """Reservations that new pools need."""
    plugins: tuple[PluginChange, ...] = ()
    """Plugins whose output changes."""
    waivers: tuple[WaiverChange, ...] = ()
    """Waivers of policies that come, go or say something else."""
    written: tuple[DocumentChange, ...] = ()
    """Settings, policies, connections and other fields that differ and that nothing else here tells."""
    resources: tuple[ResourceChange, ...] = ()
    """Every resource that an update touches."""
    problems: tuple[ListedProblem, ...] = ()
    """All problems, warnings and notices, those of the base too (not `new`)."""
    gone: tuple[ListedProblem, ...] = ()
    """What the base says and this version does not."""


@dataclass(frozen=True)
class Digest:
    """What changes for people between a commit and the working tree."""

    base: str
    """The commit that is compared with, its whole hash."""
    head: str
    """The commit of HEAD, its whole hash, `""` where there is none yet."""
    merges: str
    """The commit that HEAD merges into the base, as hosts check out what somebody proposes, else `""`."""
    uncommitted: bool
    """Whether tracked files of the project differ from HEAD, or files are new that inferfleet reads."""
    folder: str
    """Folder of the project in its repository, with a slash at the end, `""` for its top."""
    files: tuple[FileChange, ...]
    """Files that differ, and by which programs, packages, access or rules of an update become others."""
    others: int
    """Number of other files of the repository that differ and that a digest does not read."""
    remarks: tuple[ListedProblem, ...]
    """What is odd about the comparison itself."""
    stacks: tuple[StackDigest, ...]
    """All stacks of both sides, by name."""
