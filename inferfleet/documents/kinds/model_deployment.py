"""ModelDeployment: an engine to run, how many times, and on which hardware."""

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from inferfleet.documents.kinds.base import (
    API_VERSION,
    Duration,
    LabelSelector,
    Model,
    NamespacedMetadata,
    Toleration,
)
from inferfleet.documents.kinds.node_pool import CapacityModel
from inferfleet.documents.kinds.plugin_spec import PluginSpec
from inferfleet.documents.kinds.pod_template import ResourceRequirements
from inferfleet.documents.kinds.policy.placement import STEADY, UNASKED, Preference, Spread
from inferfleet.documents.kinds.serving.prefill import Prefill
from inferfleet.documents.kinds.serving.route import RouteForm
from inferfleet.documents.kinds.serving.scaling import ReplicaRange, Replicas, Scaling, scaling_mistakes
from inferfleet.documents.kinds.serving.scheduler import DeploymentScheduler, of_deployment
from inferfleet.documents.kinds.text_rules import IMAGE, Args, Dns1035, OrText
from inferfleet.documents.kinds.workers import NodeSelector, Workers
from inferfleet.documents.pods.texts import SUBDOMAIN
from inferfleet.documents.problems import Mistake, Mistaken, mistaken
from inferfleet.documents.wording import shown
from inferfleet.tables.engines import EngineType

_VERSION = re.compile(r"[0-9]{1,4}(\.[0-9]{1,4}){1,3}")


def _version(version: Any) -> Any:
    if isinstance(version, float | int):
        what = f"{{field}} {version} is a number, and 0.30 would be 0.3"
        raise mistaken(what, f'Write it in quotes: "{version}"')
    if isinstance(version, str) and not _VERSION.fullmatch(version):
        raise mistaken(f"{shown(version)!r} is no version", 'Write it like "0.32" or "0.32.1"')
    return version


class SecretRef(Model):
    """One key of a Kubernetes Secret in the namespace of the deployment."""

    name: Annotated[str, SUBDOMAIN]
    """Name of the Secret."""
    key: Annotated[str, Field(min_length=1, max_length=253)] = "token"
    """Key of the value. Default: `token`."""


def _no_token(value: Any) -> Any:
    """A token that stands in a document in place of where it is. It is not told."""
    if isinstance(value, str):
        what = "{field} is a text, and tokens do not stand in documents"
        step = "Put it into a Secret and write token: {secretRef: {name: NAME}}, and rotate it"
        raise mistaken(what, step)
    return value


class ModelToken(Model):
    """Where the token is by which the engine may download the model."""

    secret_ref: Annotated[SecretRef, BeforeValidator(_no_token)]
    """The Secret that holds the token. Its value comes from `inferfleet:secrets` of the stack, or from a
    Secret that exists on the cluster.
    """


_HUB = re.compile(r"(hf|https?)://(huggingface\.co/)?")


def _model_name(name: str) -> str:
    if re.search(r"[\s\x00-\x1f\x7f]", name) or name.startswith("-"):
        what = f"{{field}} {shown(name)!r} has a blank, a control character, or a dash at its beginning"
        raise mistaken(what, "Write the name of a model, or a path")
    if found := _HUB.match(name):
        step = f"Write the name alone, such as {shown(name[found.end() :]) or 'Qwen/Qwen3-8B'}"
        raise mistaken(f"{{field}} {shown(name)!r} is a URL", step)
    return name


class ModelSource(Model):
    """A model and what is needed to load exactly that."""

    repository: Annotated[str, Field(min_length=1, max_length=512), AfterValidator(_model_name)]
    """Name of the model on the Hugging Face Hub, such as `Qwen/Qwen3-32B-AWQ`, or the path of a folder in the
    container.
    """
    revision: Annotated[str, Field(min_length=1, max_length=255)] | None = None
    """Commit, tag or branch of the repository. Default: what its main branch is when a pod starts."""
    token: Annotated[ModelToken | None, BeforeValidator(_no_token)] = None
    """Token for repositories that ask for one; pods get it as `HF_TOKEN`. Default: none."""


def _source(model: Any) -> Any:
    return {"repository": model} if isinstance(model, str) else model


ModelOf = Annotated[ModelSource, BeforeValidator(_source), OrText()]
ServedName = Annotated[str, Field(min_length=1, max_length=255)]


class Engine(Model):
    """The model server. With `model`, and a template whose container `engine` has neither command nor args,
    inferfleet writes its command line; else that of the template is passed through as it is.
    """

    type: EngineType = "vLLM"
    """The model server in the container `engine`. It decides which command line is written, the default port,
    health path and metrics; for `Other`, health is an open port.
    """
    version: Annotated[str, BeforeValidator(_version)] | None = None
    """Version of the model server, such as `"0.32"`, which decides the default image and the flags by which
    `args` are judged. Default: 0.32 of vLLM and 0.5.23 of SGLang.
    """
    image: Annotated[str, IMAGE] | None = None
    """Container image of the engine. Default: that of the template, else `serving.images.engine` of the
    cluster, else that of its type and version, for vLLM and SGLang on NVIDIA's GPUs.
    """
    program: tuple[Annotated[str, Field(min_length=1)], ...] | Literal["Image"] | None = None
    """The program that the written flags are given to, such as `[vllm, serve]`; `Image` leaves the program
    to the entrypoint of an image that takes the same flags. Default: that of the type.
    """
    model: ModelOf | None = None
    """The model: a name on the Hugging Face Hub, a path in the container, or a map with `repository`,
    `revision` and `token`. Default: none, for images that start themselves and commands of one's own.
    """
    served_names: Annotated[tuple[ServedName, ...], Field(max_length=16)] = ()
    """Names by which requests may call the model. Default: the name of the model itself."""
    port: int | None = Field(default=None, ge=1, le=65_535)
    """TCP port on which the engine serves requests. Default: that of its type, 30000 for SGLang and 8000 for
    all others.
    """
    startup: Duration | None = None
    """Time a pod may take to load its model before its container is restarted, such as `90s`, `30m` or `2h`,
    from 1s to 24h (default: 30m). Where the template has a probe of its own, no probe is generated, and only
    the time that an update waits follows from it.
    """
    drain: Duration | None = None
    """Time that requests in hand have when a pod ends, from which the engine's flag and the grace period
    follow; it should cover the longest. Default: 90s, or what `terminationGracePeriodSeconds` of the template
    leaves.
    """
    args: Args = ()
    """Arguments that are appended to the written command line, none of them a flag that inferfleet writes.
    Default: none.
    """
    revision: Annotated[str, Field(min_length=1, max_length=63)] | None = None
    """With `prefill`, a name for the form of the KV cache in place of args, commands and variables: pods roll
    when these change, and are a new set with another name. Default: args, commands and variables count.
    """


class EndpointPicker(Model):
    """Overrides for the endpoint picker, the program that chooses a pod for each request. Each cluster with
    replicas of the deployment runs one.
    """

    image: Annotated[str, IMAGE] | None = None
    """Container image of the picker. Default: the cluster's `serving.images.epp` (with `prefill`:
    `prefillEpp`), or else that of its profile.
    """
    replicas: int = Field(default=1, ge=1, le=10)
    """Number of picker pods. With more than one they elect a leader, and the others stand by on other nodes
    where there are some.
    """
    resources: ResourceRequirements | None = None
    """Requests and limits of the picker's container, which replace the default as a whole. Default: by
    endpoints, scrape interval and length of prompts, from 500m and 512Mi to 8 cores and 8Gi.
    """
    port: int | None = Field(default=None, ge=1, le=65_535)
    """TCP port on which gateways reach the picker. Default: that of the cluster's profile, 9002."""
    failure_mode: Literal["FailOpen", "FailClose"] = "FailClose"
    """What a gateway does when the picker does not answer: `FailClose` refuses the request, `FailOpen` sends
    it to any pod.
    """
    flags: dict[str, str | int | float | bool] = {}
    """Command-line flags of the picker, by name without dashes, passed on as they are written but for those
    that another field says. They override the cluster's `serving.eppFlags` and the profile's; default: none.
    """
    config: dict[str, Any] | None = None
    """A whole EndpointPickerConfig, used as it is written. Default: one that scores pods by queue, KV cache
    use and prefix cache.
    """


class Route(RouteForm):
    """How the deployment itself is reached through the gateway of a cluster."""

    enabled: bool = True
    """Whether the deployment has a route of its own, under `/<namespace>/deployments/<name>/` unless `path`
    says otherwise. Without it only services reach it.
    """


_ROLE = Dns1035(12)
_TAKEN = {
    "decode": "spec.workers",
    "prefill": "spec.prefill",
    "epp": "endpoint pickers, whose Service is called <deployment>-epp",
}


def _role_names(roles: dict[str, "Role"]) -> dict[str, "Role"]:
    """Names of roles, which become parts of names of workloads. Those of inferfleet's own are taken."""
    mistakes = []
    for name in roles:
        if name in _TAKEN:
            what = f"the name {name} of a role is taken: it is that of {_TAKEN[name]}"
            mistakes.append(Mistake(what, "Choose another name", (name,)))
        elif not _ROLE.allows(name):
            mistakes.append(Mistake(f"the role {shown(name)!r} must be {_ROLE.words}", "Change it", (name,)))
    if mistakes:
        raise Mistaken(*mistakes)
    return roles


class Role(Model):
    """Further workers of each replica, beside those that serve its requests: a part of its own of the model's
    work, such as an encoder. They run on the cluster of their replica.
    """

    workers: Workers
    """The workers of this role in each replica."""
    node_selector: NodeSelector | None = None
    """Condition on the devices of the role's pool. Default: that of the deployment."""
    engine: Engine | None = None
    """The program in this role's container `engine`. Default: that of the deployment."""


def _filled_in(prefill: Any) -> Any:
    """`prefill:` with nothing behind it, which would end all prefill pods of a fleet without a word."""
    if prefill is None:
        raise mistaken("{field} is there and says nothing", "Fill it in, or remove the line")
    return prefill


class ModelDeploymentSpec(Model):
    """What to run, how many times, and on which hardware."""

    replicas: Replicas
    """Number of complete serving instances over all clusters, or between which numbers they are scaled
    (`{min: 1, max: 4}`, with `scaling`). 0 keeps the document and runs nothing.
    """
    scaling: Scaling | None = None
    """Who scales the replicas. Required where `replicas` has `min` and `max`, and refused beside a number."""
    priority: int = Field(default=0, ge=-1_000_000, le=1_000_000)
    """Who is served first where not all replicas have room: those of the highest number. New replicas of a
    higher priority neither move nor end running ones of a lower one.
    """
    unplaced: Literal["Refuse", "Warn"] | None = None
    """What an update does when replicas of this deployment find no place: `Refuse` stops it for the whole
    stack, before anything is changed; `Warn` goes on with those that have a place, even if that is none.
    Default: as the setting `inferfleet:unplaced` of the stack says.
    """
    cluster_selector: LabelSelector = LabelSelector()
    """Clusters that may run replicas, by the labels of their documents. Default: all clusters."""
    pool_selector: LabelSelector = LabelSelector()
    """Pools that may run replicas, by the labels that their documents say of their nodes: `labels` on GKE,
    `nodeSelector` of pools that exist. Default: all pools.
    """
    spread: Spread | None = None
    """How evenly replicas are spread. Default: over clusters, as the stack's `objective` says."""
    prefer: Annotated[tuple[Preference, ...], Field(max_length=16)] = ()
    """Parts of the fleet in order: new replicas go to the first that has room, whatever it costs, and to the
    rest of the fleet last. Default: none.
    """
    capacity_models: Annotated[tuple[CapacityModel, ...], Field(min_length=1, max_length=5)] = UNASKED
    """Capacity models of the pools that take new replicas; those that run elsewhere stay. Default: all but
    `Spot`, whose nodes may be reclaimed at any time.
    """
    on_demand_replicas: int = Field(default=0, ge=0, le=10_000)
    """How many of the replicas run on pools of model `OnDemand` or `Reservation`, at least. Default: 0."""
    node_selector: NodeSelector | None = None
    """Condition on the devices of a pool's class. Default: any class with enough GPUs, cores and memory."""
    accelerator: Literal["Required", "None"] = "Required"
    """`Required`: pods ask for the GPUs of their topology. `None`: they ask for none, whatever the topology
    says, and run on pools whose class has no accelerator, and nowhere else.
    """
    tolerations: tuple[Toleration, ...] = ()
    """Taints of whole clusters (`spec.taints` of an InferenceCluster) that the deployment accepts; taints of
    node pools are tolerated without this. Default: none.
    """
    engine: Engine = Engine()
    """The model server. Default: vLLM with its usual port."""
    workers: Workers
    """The workers that serve the requests of each replica. Their role is `decode`."""
    roles: Annotated[dict[str, Role], Field(max_length=8), AfterValidator(_role_names)] = {}
    """Further roles by their names (lowercase letters, digits and `-`, starting with a letter, at most 12
    characters), each with workers of its own in every replica. Default: none.
    """
    prefill: Annotated[Prefill | None, BeforeValidator(_filled_in)] = None
    """Workers of their own for the prefill phase; those of `workers` then only decode, and all replicas on a
    cluster share their pools. Default: the same workers do both.
    """
    profile: str | None = None
    """Profile of this deployment alone, for its picker and routing proxies. Default: `serving.profile` of
    each cluster.
    """
    endpoint_picker: EndpointPicker = EndpointPicker()
    """Overrides for the endpoint picker of this deployment. Default: what the cluster's profile says."""
    route: Route = Route()
    """How the deployment itself is reached. Default: under `/<namespace>/deployments/<name>/` for all hosts.
    """
    rollout: Literal["DeleteFirst", "Surge"] = "DeleteFirst"
    """How pods are replaced when they change: `DeleteFirst` ends an old pod before its successor starts and
    needs no spare GPUs; `Surge` starts the new one first, and the plan keeps room for it. With `prefill`,
    what changes the KV cache (image, model, `tensor`, connector) comes as a whole new set of pods beside the
    old one: `Surge` keeps room for it; with `DeleteFirst` the old set ends before where there is no room.
    """
    disruption_budget: Literal["One", "None"] = "One"
    """How many of the pods or groups that a role has on a cluster may be drained from their nodes at a time:
    `One`, or any number (`None`), for where somebody else keeps a PodDisruptionBudget.
    """
    scheduler: Annotated[DeploymentScheduler, AfterValidator(of_deployment)] = DeploymentScheduler()
    """Who schedules the pods, where that differs from `serving.scheduler` of the cluster: each field that is
    written here takes the place of the cluster's, and with another `type` none of the cluster's count.
    Default: as the cluster says.
    """
    plugins: tuple[PluginSpec, ...] = ()
    """Plugins for the pods of this deployment; they run last. Default: none."""

    @property
    def wanted(self) -> int:
        """The replicas that the plan has room for: their number, or the most of a range."""
        return self.replicas.max if isinstance(self.replicas, ReplicaRange) else self.replicas

    @model_validator(mode="after")
    def _steady_nodes(self) -> "ModelDeploymentSpec":
        if self.on_demand_replicas and STEADY.isdisjoint(self.capacity_models):
            allowed = ", ".join(self.capacity_models)
            what = f"onDemandReplicas is {self.on_demand_replicas}, and capacityModels allow {allowed} alone"
            next_step = "Add OnDemand or Reservation to capacityModels, or remove onDemandReplicas"
            raise Mistaken(Mistake(what, next_step, ("onDemandReplicas",)))
        return self

    @model_validator(mode="after")
    def _scaled(self) -> "ModelDeploymentSpec":
        parts = {
            "prefill": self.prefill is not None,
            "roles": bool(self.roles),
            "count": self.workers.count > 1,
            "gang": self.scheduler.gang is not None,
            "onDemandReplicas": self.on_demand_replicas > 0,
        }
        if mistakes := scaling_mistakes(self.replicas, self.scaling, parts=parts):
            raise Mistaken(*mistakes)
        return self


class ModelDeployment(Model):
    """A model to serve: so many replicas of an engine, on hardware that meets a condition."""

    api_version: Literal["inferfleet.dev/v1alpha1"] = API_VERSION
    """Version of the document format."""
    kind: Literal["ModelDeployment"] = "ModelDeployment"
    """Kind of the document."""
    metadata: NamespacedMetadata
    """Name, namespace and labels of the deployment."""
    spec: ModelDeploymentSpec
    """What to run, how many times, and on which hardware."""
