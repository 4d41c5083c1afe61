"""ModelDeployment: an engine to run, how many times, and on which hardware."""

import re
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag, model_validator

from inferfleet.documents.kinds.adapters import MOST_ADAPTERS, Adapter, LargestRank
from inferfleet.documents.kinds.base import (
    API_VERSION,
    IMAGE,
    Args,
    Dns1035,
    Duration,
    LabelSelector,
    Name,
    NamespacedMetadata,
    OrText,
    PluginSpec,
    PoolName,
    Quantity,
    RefusedField,
    StrictModel,
    Toleration,
    WantedLabels,
)
from inferfleet.documents.kinds.inference_cluster import CapacityModel
from inferfleet.documents.kinds.model_service import RouteForm
from inferfleet.documents.kinds.scheduler import DeploymentScheduler, check_deployment_scheduler
from inferfleet.documents.kinds.workers import NodeSelector, ResourceRequirements, Workers
from inferfleet.documents.pods.texts import SUBDOMAIN, TextRule
from inferfleet.documents.problems import FieldPath, Mistake, Mistaken, mistaken
from inferfleet.documents.quantity import parse_quantity
from inferfleet.documents.wording import named, nearest, shown
from inferfleet.tables.devices import VendorName
from inferfleet.tables.engines import Connector, EngineType

# Where replicas should be: how they spread, and which clusters and pools come first.

# Nodes that stay until somebody takes them away. Spot nodes are reclaimed at any time, and nodes of the
# Dynamic Workload Scheduler end after seven days at the latest
# (https://cloud.google.com/kubernetes-engine/docs/concepts/dws).
STEADY: frozenset[CapacityModel] = frozenset({"OnDemand", "Reservation"})
UNASKED: tuple[CapacityModel, ...] = ("OnDemand", "FlexStart", "Queued", "Reservation")
_OVER = TextRule(
    r"([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?",
    "cluster, region, zone or the key of a cluster label, such as example.com/site",
    317,
)


class Spread(StrictModel):
    """How evenly replicas are spread, as topologySpreadConstraints of Kubernetes spread pods."""

    over: Annotated[str, _OVER] = "cluster"
    """`cluster`, `region`, `zone` or the key of a label of clusters (Kubernetes: topologyKey). The region of
    a cluster that exists is its label `topology.kubernetes.io/region`, the zone of its pools that of their
    `nodeSelector` or its own, under `topology.kubernetes.io/zone`.
    """
    mode: Literal["Require", "Prefer"] = "Prefer"
    """`Require` leaves a replica unplaced that would make the skew larger than `maxSkew` (Kubernetes:
    DoNotSchedule). `Prefer` places it where the skew is least (ScheduleAnyway).
    """
    max_skew: int = Field(default=1, ge=1, le=10_000)
    """How many more replicas one cluster, region, zone or label value may have than the one with the
    fewest.
    """


class Preference(StrictModel):
    """A preferred part of the fleet: pools that match all of what is written here."""

    cluster_selector: LabelSelector | None = None
    """Clusters of these pools, by the labels of their documents. Default: all clusters."""
    pools: Annotated[tuple[PoolName, ...], Field(max_length=64)] = ()
    """Names of the pools, whichever cluster they are of. Default: all pools."""
    capacity_models: Annotated[tuple[CapacityModel, ...], Field(max_length=5)] = ()
    """Capacity models of the pools (`capacity.model`). Default: all that the deployment runs on."""

    @model_validator(mode="after")
    def _check_not_empty(self) -> "Preference":
        if not (self.cluster_selector or self.pools or self.capacity_models):
            what = "a preference names nothing"
            raise mistaken(what, "Write clusterSelector, pools or capacityModels")
        return self


# `replicas: {min, max}` and `scaling`: between which numbers replicas are scaled, and by whom.

_MOST = 10_000
# As Prometheus names metrics: https://prometheus.io/docs/concepts/data_model/.
_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]{0,199}")


class ReplicaRange(StrictModel):
    """Between which numbers replicas are scaled, over all clusters. Each placement gets its share of both,
    and at least one replica.
    """

    min: int = Field(ge=1, le=_MOST)
    """The fewest replicas that run. Without a pod an engine has no metrics, so nothing would start one again.
    """
    max: int = Field(ge=1, le=_MOST)
    """The most replicas that run: the plan keeps room for so many, and new workloads begin with them."""

    @model_validator(mode="after")
    def _check_order(self) -> "ReplicaRange":
        if self.min > self.max:
            what = f"min {self.min} is more than max {self.max}"
            raise Mistaken(Mistake(what, "Lower min, or raise max", ("min",)))
        return self


def _is_range(value: Any) -> str:
    return "range" if isinstance(value, dict | ReplicaRange) else "number"


Replicas = Annotated[
    Annotated[int, Field(ge=0, le=_MOST), Tag("number")] | Annotated[ReplicaRange, Tag("range")],
    Discriminator(_is_range),
]


def _check_metric(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise mistaken(
            f"{{field}} {shown(name)!r} is not a name of a metric",
            "Write it as the engine or picker has it, such as vllm:num_requests_waiting",
        )
    return name


def _check_above_zero(target: str) -> str:
    if parse_quantity(target) <= 0:
        raise mistaken(f"{{field}} {target} must be more than 0", "Write how much one replica should have")
    return target


class ScalingMetric(StrictModel):
    """A metric that replicas are scaled by, and what it should be."""

    name: Annotated[str, AfterValidator(_check_metric)]
    """Name of a gauge as upstream has it: of the engine, such as `vllm:num_requests_waiting`, or of the
    endpoint picker, such as `inference_pool_average_queue_size`.
    """
    target: Annotated[Quantity, AfterValidator(_check_above_zero)]
    """What the average over the replicas should be, such as `5` or `0.8`."""


class Scaling(StrictModel):
    """Who decides how many replicas run. Between `min` and `max` no update changes their number."""

    by: Literal["HPA", "KEDA", "External"]
    """`HPA` makes a HorizontalPodAutoscaler for each placement, `KEDA` a ScaledObject; with `External`
    somebody else sets `spec.replicas` of the workloads, between the numbers in their annotation
    `inferfleet.dev/replicas`.
    """
    metrics: Annotated[tuple[ScalingMetric, ...], Field(max_length=8)] = ()
    """What `HPA` and `KEDA` scale by; the metric that wants the most replicas decides. Refused with
    `External`.
    """

    @model_validator(mode="after")
    def _check_needs(self) -> "Scaling":
        if self.by == "External" and self.metrics:
            what = "by is External, so nothing here reads metrics"
            raise Mistaken(Mistake(what, "Remove metrics, or write by: HPA or KEDA", ("metrics",)))
        if self.by != "External" and not self.metrics:
            what = f"by is {self.by}, and no metric says how many replicas there should be"
            raise Mistaken(Mistake(what, "Add metrics", ("by",)))
        names = [metric.name for metric in self.metrics]
        for index, name in enumerate(names):
            if name in names[:index]:
                what = f"metric {name} is there twice"
                raise Mistaken(Mistake(what, "Keep one of the two", ("metrics", index, "name")))
        return self


def scaling_mistakes(
    replicas: int | ReplicaRange, scaling: Scaling | None, *, parts: dict[str, bool]
) -> list[Mistake]:
    """Return what a deployment's replicas and its scaling contradict.

    `parts` are fields by whether the deployment has them with which a scaler cannot work: it changes the
    number of pods of one workload, one by one, and knows no other.
    """
    if scaling is None:
        if isinstance(replicas, int):
            return []
        what = f"replicas are {replicas.min} to {replicas.max}, and nobody scales them"
        return [Mistake(what, "Add scaling with by: HPA, KEDA or External, or write a number", ("replicas",))]
    if isinstance(replicas, int):
        what = f"replicas is {replicas}, so there is nothing to scale"
        return [Mistake(what, "Write replicas: {min: 1, max: 4}, or remove scaling", ("scaling",))]
    return [
        Mistake(f"replicas are scaled, and {_WHY[part]}", _INSTEAD[part], _AT[part])
        for part, has_part in parts.items()
        if has_part
    ]


_WHY = {
    "prefill": "prefill and decode are two workloads: a scaler of each knows nothing of the other's number",
    "roles": "each replica has workers of other roles: a scaler of one workload would leave them behind",
    "count": "a replica is several workers: a scaler adds and ends them one by one, not by replicas",
    "gang": "its gang waits for so many workers at once, fewer than that of a scaler never start",
    "onDemandReplicas": "a scaler ends replicas wherever they run, so no number of them stays on such nodes",
}
_FIXED = "write replicas as a number and remove scaling"
_INSTEAD = {
    "prefill": f"Remove prefill, or {_FIXED}",
    "roles": f"Give the other roles a deployment of their own, or {_FIXED}",
    "count": f"Write workers.count: 1 and multiply min and max, or {_FIXED}",
    "gang": f"Remove scheduler.gang, or {_FIXED}",
    "onDemandReplicas": f"Write capacityModels: [OnDemand] or another deployment for them, or {_FIXED}",
}
_AT: dict[str, FieldPath] = {
    "prefill": ("prefill",),
    "roles": ("roles",),
    "count": ("workers", "count"),
    "gang": ("scheduler", "gang"),
    "onDemandReplicas": ("onDemandReplicas",),
}


# `prefill`: workers of their own that read prompts and hand their KV cache on to those that decode.


def _listed(args: Any) -> Any:
    """Return a list as the tuple that it is held as: below a validator of its own, pydantic takes no list."""
    return tuple(args) if isinstance(args, list) else args


class Decider(StrictModel):
    """Which requests are worth a prefill of their own. All others go to decode pods alone."""

    type: Literal["PrefixBased", "Always"] = "PrefixBased"
    """`PrefixBased` asks how many tokens of the prompt the chosen decode pod does not have in its cache;
    `Always` sends every request to a prefill pod first.
    """
    non_cached_tokens: int | None = Field(default=None, ge=1, le=1_000_000)
    """Tokens of a prompt that are not cached on the decode pod, from which on a prefill pod reads it.
    Default: 16 with `PrefixBased`.
    """

    @model_validator(mode="after")
    def _check_one_way(self) -> "Decider":
        if self.type == "Always" and self.non_cached_tokens is not None:
            what = "nonCachedTokens is for type PrefixBased, and Always asks for no number"
            step = "Remove nonCachedTokens, or write type: PrefixBased"
            raise Mistaken(Mistake(what, step, ("nonCachedTokens",)))
        return self


class RoutingProxy(StrictModel):
    """The program in decode pods that has a prefill pod read the prompt first, llm-d's routing proxy. It
    takes `engine.port`, and passes requests on to the engine within the pod.
    """

    image: Annotated[str, IMAGE] | None = None
    """Container image of the proxy. Default: the cluster's `serving.images.proxy`, or else that of its
    profile.
    """
    engine_port: int | None = Field(default=None, ge=1, le=65_535)
    """TCP port on which the engine listens behind the proxy, in decode pods; a command of your own has it in
    `INFERFLEET_PORT`. Default: 8200.
    """
    resources: ResourceRequirements | None = None
    """Requests and limits of the proxy's container. Default: none."""
    flags: dict[str, str | int | float | bool] = {}
    """Command-line flags of the proxy, by name without dashes; those that follow from other fields are
    refused, and those for TLS, because gateways, pickers and engines speak plain HTTP. Default: none.
    """


class Prefill(StrictModel):
    """Workers of their own for the prefill phase, beside those of `workers`, which then only decode. Both are
    of one engine, and every prefill worker serves every decode worker of the deployment on its cluster.
    """

    workers: Workers
    """The prefill workers of each replica; with `workers.count` of both, any ratio, such as 5 to 3."""
    node_selector: NodeSelector | None = None
    """Condition on the devices of the pool of prefill workers. Default: that of the deployment."""
    connector: Connector | None = None
    """How KV caches are handed on: `NIXL` (from GPU to GPU), `SharedStorage` (by storage that all pods mount,
    or LMCache), `Mooncake`, or `SGLang` (SGLang's own). Default: `SGLang` for that engine, else `NIXL`.
    """
    options: dict[str, Any] = {}
    """Further keys of the connector's configuration, as its engine knows them, such as
    `kv_connector_extra_config` of vLLM; both roles get them. Default: none.
    """
    image: Annotated[str, IMAGE] | None = None
    """Container image of prefill engines. Default: as for decode."""
    args: Annotated[Args | None, BeforeValidator(_listed)] = None
    """Arguments that are appended to the written command line of prefill engines, in place of `engine.args`.
    Default: `engine.args`.
    """
    decider: Decider = Decider()
    """Which requests are prefilled apart. Default: those with 16 or more tokens that are not cached; with the
    connector `SGLang`, whose decode pods refuse all others, every request.
    """
    proxy: RoutingProxy = RoutingProxy()
    """The routing proxy in decode pods. Default: as the cluster's profile says."""


# `engine`: the model server, and the model that it serves.

_VERSION = re.compile(r"[0-9]{1,4}(\.[0-9]{1,4}){1,3}")


def _version(version: Any) -> Any:
    if isinstance(version, float | int):
        what = f"{{field}} {version} is a number, and 0.30 would be 0.3"
        raise mistaken(what, f'Write it in quotes: "{version}"')
    if isinstance(version, str) and not _VERSION.fullmatch(version):
        raise mistaken(f"{shown(version)!r} is no version", 'Write it like "0.32" or "0.32.1"')
    return version


class SecretRef(StrictModel):
    """One key of a Kubernetes Secret in the namespace of the document."""

    name: Annotated[str, SUBDOMAIN]
    """Name of the Secret."""
    key: Annotated[str, Field(min_length=1, max_length=253)] = "token"
    """Key of the value. Default: `token`."""


def no_token(value: Any) -> Any:
    """A token that stands in a document in place of where it is. It is not told."""
    if isinstance(value, str):
        what = "{field} is a text, and tokens do not stand in documents"
        step = "Put it into a Secret and write token: {secretRef: {name: NAME}}, and rotate it"
        raise mistaken(what, step)
    return value


class ModelToken(StrictModel):
    """Where the token is by which the model may be downloaded."""

    secret_ref: Annotated[SecretRef, BeforeValidator(no_token)]
    """The Secret that holds the token. Its value comes from `inferfleet:secrets` of the stack, or from a
    Secret that exists on the cluster.
    """


_HUB = re.compile(r"(hf|https?)://(huggingface\.co/)?")


def _check_model_name(name: str) -> str:
    if re.search(r"[\s\x00-\x1f\x7f]", name) or name.startswith("-"):
        what = f"{{field}} {shown(name)!r} has a blank, a control character, or a dash at its beginning"
        raise mistaken(what, "Write the name of a model, or a path")
    if prefix := _HUB.match(name):
        step = f"Write the name alone, such as {shown(name[prefix.end() :]) or 'Qwen/Qwen3-8B'}"
        raise mistaken(f"{{field}} {shown(name)!r} is a URL", step)
    return name


class ModelSource(StrictModel):
    """A model and what is needed to load exactly that."""

    refused_fields = {
        "artifact": RefusedField(
            "Write repository: NAME instead; the plugin model-cache unpacks and mounts artifacts",
            why="a model is one of the Hugging Face Hub, a folder in the container, or in a ModelCache",
        ),
    }

    repository: (
        Annotated[str, Field(min_length=1, max_length=512), AfterValidator(_check_model_name)] | None
    ) = None
    """Name of the model on the Hugging Face Hub, such as `Qwen/Qwen3-32B-AWQ`, or the path of a folder in the
    container. Either this or `cache` is required.
    """
    cache: Name | None = None
    """Name of a ModelCache in the namespace of the deployment, from which pods load the model: none of them
    downloads it, and replicas run on clusters of the cache alone. Default: none.
    """
    revision: Annotated[str, Field(min_length=1, max_length=255)] | None = None
    """Commit, tag or branch of the repository; that of a cache is its own. Default: what its main branch is
    when a pod starts.
    """
    token: Annotated[ModelToken | None, BeforeValidator(no_token)] = None
    """Token for repositories that ask for one; pods get it as `HF_TOKEN`. Default: none."""

    @model_validator(mode="after")
    def _check_one_source(self) -> "ModelSource":
        if (self.repository is None) == (self.cache is None):
            has = "both" if self.cache else "neither"
            raise mistaken(
                f"a model has a repository or a cache, and this one has {has}", "Write one of the two"
            )
        if self.cache is None:
            return self
        written = [name for name in ("revision", "token") if getattr(self, name)]
        if written:
            raise Mistaken(
                *(
                    Mistake(f"{name} of a model in a cache is that of the cache", f"Remove {name}", (name,))
                    for name in written
                )
            )
        return self

    @property
    def name(self) -> str:
        """The name that an engine has for the model: the repository, or the folder as it is written."""
        return self.repository or ""

    @property
    def loaded_from(self) -> str:
        """What an engine is told to load: the name on the hub, or a folder in its container."""
        return self.name

    @property
    def downloaded_revision(self) -> str | None:
        """The revision that an engine is told to download."""
        return self.revision


class CachedModel(ModelSource):
    """What `cache: NAME` is once the ModelCache has been read: its repository and commit, and the folder of a
    container where the files are. Nobody writes it.
    """

    folder: str
    """Where pods have the files."""
    in_bucket: bool
    """Whether pods mount a bucket for it, for which GKE gives them a sidecar."""

    @model_validator(mode="after")
    def _check_one_source(self) -> "CachedModel":
        return self

    @property
    def loaded_from(self) -> str:
        """The folder, in place of a name by which the engine would download the model."""
        return self.folder

    @property
    def downloaded_revision(self) -> str | None:
        """None: nothing is downloaded."""
        return None


def _source(model: Any) -> Any:
    return {"repository": model} if isinstance(model, str) else model


ModelOf = Annotated[ModelSource, BeforeValidator(_source), OrText()]
ServedName = Annotated[str, Field(min_length=1, max_length=255)]


class Engine(StrictModel):
    """The model server. With `model`, and a template whose container `engine` has neither command nor args,
    inferfleet writes its command line; else that of the template is passed through as it is.
    """

    refused_fields = {
        "protocol": RefusedField(
            "Start the engine's HTTP server (vllm serve without --grpc) and remove protocol",
            why="gateways and probes reach engines by HTTP/1.1, and routes by paths with a prefix",
        )
    }

    type: EngineType = "vLLM"
    """The model server in the container `engine`. It decides which command line is written, the default port,
    health path and metrics; for `Other`, health is an open port, in further roles only one that they declare
    themselves.
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
    `revision` and `token`, or with `cache`. Default: none, for images that start themselves and commands of
    one's own.
    """
    served_names: Annotated[tuple[ServedName, ...], Field(max_length=16)] = ()
    """Names by which requests may call the model, beside a command of one's own those that it serves; the
    deployments of a service have one in common. Default: the name of the model itself.
    """
    adapters: Annotated[tuple[Adapter, ...], Field(max_length=MOST_ADAPTERS)] = ()
    """LoRA adapters that pods serve beside the model, where inferfleet writes the command line: vLLM loads
    and unloads them while it serves, and for SGLang a change is a roll. Default: none.
    """
    max_adapters: int = Field(default=4, ge=1, le=256)
    """How many different adapters requests of one batch may be for; each takes memory of the GPUs. Default:
    4.
    """
    max_cpu_adapters: int = Field(default=16, ge=1, le=MOST_ADAPTERS)
    """How many adapters a pod holds in memory, which is also how many there may be. Default: 16."""
    max_adapter_rank: LargestRank = 16
    """The largest rank of an adapter: 1, 8, 16, 32, 64, 128, 256, 320 or 512. Default: 16."""
    port: int | None = Field(default=None, ge=1, le=65_535)
    """TCP port on which the engine serves requests. Default: that of its type, 30000 for SGLang and 8000 for
    all others.
    """
    startup: Duration | None = None
    """Time a pod may take to load its model before its container is restarted, such as `90s`, `30m` or `2h`,
    from 1s to 24h (default: 30m). Where the template has probes of its own, none is generated but a startup
    probe beside a liveness probe without one, which asks the same.
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


# The picker, the route and further roles of a deployment.


class EndpointPicker(StrictModel):
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
    node_selector: WantedLabels | None = None
    """Labels of the nodes where the picker's pods run. Default: `serving.endpointPicker.nodeSelector` of each
    cluster.
    """
    tolerations: tuple[Toleration, ...] | None = None
    """Taints of nodes that the picker's pods tolerate. Default: `serving.endpointPicker.tolerations` of each
    cluster.
    """


class Route(RouteForm):
    """How the deployment itself is reached through the gateway of a cluster."""

    enabled: bool = True
    """Whether the deployment has a route of its own, under `/<namespace>/deployments/<name>/` unless `path`
    says otherwise. Without it only services reach it.
    """


# Whose accelerators pods ask for, or that they ask for none.
Accelerator = Literal[VendorName, "None"]
_ACCELERATORS = get_args(Accelerator)

_ROLE = Dns1035(12)
_TAKEN = {
    "decode": "spec.workers",
    "prefill": "spec.prefill",
    "epp": "endpoint pickers, whose Service is called <deployment>-epp",
}


def _check_role_names(roles: dict[str, "Role"]) -> dict[str, "Role"]:
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


def _written_accelerator(accelerator: Any) -> Any:
    if accelerator is None:
        what, step = "{field} is there and says nothing", "Remove the line, or write"
    elif isinstance(accelerator, str) and nearest(accelerator, _ACCELERATORS):
        return accelerator
    else:
        what, step = f"{{field}} {named(accelerator)} is not offered", "Write"
    raise mistaken(
        what,
        f"{step} {', '.join(_ACCELERATORS[:-1])} or None; other vendors' are named by the engine's "
        "resources alone",
    )


AcceleratorField = Annotated[Accelerator | None, BeforeValidator(_written_accelerator)]


class Role(StrictModel):
    """Further workers of each replica, beside those that serve its requests: a part of its own of the model's
    work, such as an encoder. They run on the cluster of their replica.
    """

    workers: Workers
    """The workers of this role in each replica."""
    node_selector: NodeSelector | None = None
    """Condition on the devices of the role's pool. Default: that of the deployment."""
    accelerator: AcceleratorField = None
    """Which accelerators pods of the role ask for, `None` for none. Default: as for the deployment, by the
    role's own template.
    """
    engine: Engine | None = None
    """The program in this role's container `engine`. Default: that of the deployment."""


def _filled_in(prefill: Any) -> Any:
    """`prefill:` with nothing behind it, which would end all prefill pods of a fleet without a word."""
    if prefill is None:
        raise mistaken("{field} is there and says nothing", "Fill it in, or remove the line")
    return prefill


class ModelDeploymentSpec(StrictModel):
    """What to run, how many times, and on which hardware."""

    refused_fields = {"state": RefusedField("A deployment is paused by paused: true; states are of clusters")}

    replicas: Replicas
    """Number of complete serving instances over all clusters, or between which numbers they are scaled
    (`{min: 1, max: 4}`, with `scaling`). 0 keeps the document and runs nothing.
    """
    scaling: Scaling | None = None
    """Who scales the replicas. Required where `replicas` has `min` and `max`, and refused beside a number."""
    paused: bool = False
    """Whether nothing of the deployment changes, whatever documents say meanwhile: its replicas stay as many
    as they are and where they are, with their pods, picker and routes. One that does not run yet is not made.
    """
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
    accelerator: AcceleratorField = None
    """Whose accelerators pods ask for: `NVIDIA` (`nvidia.com/gpu`), `AMD` (`amd.com/gpu`), `Gaudi`
    (`habana.ai/gaudi`), `TPU` (`google.com/tpu`) or `Ascend` (`huawei.com/Ascend910`); or `None`: pods ask
    for none, whatever the topology says, and run on pools whose class has none, and nowhere else. Default:
    exactly what the engine's resources name, which may be slices or shares (`nvidia.com/mig-1g.10gb`); else
    the vendor whose driver `nodeSelector` names; else `NVIDIA`.
    """
    tolerations: tuple[Toleration, ...] = ()
    """Taints of whole clusters (`spec.taints` of an InferenceCluster) that the deployment accepts, beside
    those that its templates tolerate; taints of node pools are tolerated without this. Default: none.
    """
    engine: Engine = Engine()
    """The model server. Default: vLLM with its usual port."""
    workers: Workers
    """The workers that serve the requests of each replica. Their role is `decode`."""
    roles: Annotated[dict[str, Role], Field(max_length=8), AfterValidator(_check_role_names)] = {}
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
    scheduler: Annotated[DeploymentScheduler, AfterValidator(check_deployment_scheduler)] = (
        DeploymentScheduler()
    )
    """Who schedules the pods, where that differs from `serving.scheduler` of the cluster: each field that is
    written here takes the place of the cluster's, and with another `type` none of the cluster's count.
    Default: as the cluster says.
    """
    plugins: tuple[PluginSpec, ...] = ()
    """Plugins for the pods of this deployment; they run last. Default: none."""

    @property
    def wanted(self) -> int:
        """The replicas that the plan has space for: their number, or the most of a range."""
        return self.replicas.max if isinstance(self.replicas, ReplicaRange) else self.replicas

    @model_validator(mode="after")
    def _check_on_demand_replicas(self) -> "ModelDeploymentSpec":
        if self.on_demand_replicas and STEADY.isdisjoint(self.capacity_models):
            allowed = ", ".join(self.capacity_models)
            what = f"onDemandReplicas is {self.on_demand_replicas}, and capacityModels allow {allowed} alone"
            next_step = "Add OnDemand or Reservation to capacityModels, or remove onDemandReplicas"
            raise Mistaken(Mistake(what, next_step, ("onDemandReplicas",)))
        return self

    @model_validator(mode="after")
    def _check_scaling(self) -> "ModelDeploymentSpec":
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


class ModelDeployment(StrictModel):
    """A model to serve: so many replicas of an engine, on hardware that meets a condition."""

    api_version: Literal["inferfleet.dev/v1alpha1"] = API_VERSION
    """Version of the document format."""
    kind: Literal["ModelDeployment"] = "ModelDeployment"
    """Kind of the document."""
    metadata: NamespacedMetadata
    """Name, namespace and labels of the deployment."""
    spec: ModelDeploymentSpec
    """What to run, how many times, and on which hardware."""
