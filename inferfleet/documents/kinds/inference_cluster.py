"""InferenceCluster: a cluster, its pools of nodes, and how it serves."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from inferfleet.documents.kinds.base import API_VERSION, ClusterMetadata, LabelSelector, Model, Taint
from inferfleet.documents.kinds.containers import POOL_LABEL
from inferfleet.documents.kinds.gke_cluster import Gke, IpRange
from inferfleet.documents.kinds.node_pool import NodePool
from inferfleet.documents.kinds.plugin_spec import PluginSpec
from inferfleet.documents.kinds.serving.gateway import Gateway
from inferfleet.documents.kinds.serving.monitoring import Monitoring
from inferfleet.documents.kinds.serving.scheduler import Scheduler, of_cluster
from inferfleet.documents.kinds.text_rules import IMAGE, Dns1035
from inferfleet.documents.problems import Mistake, Mistaken, mistaken
from inferfleet.tables.engines import EngineType
from inferfleet.tables.pickers import DEFAULT


class Images(Model):
    """Container images of a cluster."""

    epp: Annotated[str, IMAGE] | None = None
    """Image of the endpoint pickers on this cluster. Default: that of the profile."""
    prefill_epp: Annotated[str, IMAGE] | None = None
    """Image of the endpoint pickers of deployments with `prefill`, which on clusters of `gie-1.5` are another
    program. Default: that of the profile, or `epp` where all pickers are one program.
    """
    engine: dict[EngineType, Annotated[str, IMAGE]] = {}
    """Images of engines by their type, such as `{vLLM: docker.io/vllm/vllm-openai:v0.32.0}`, for containers
    `engine` whose template names none; another image restarts their pods. Default: those of vLLM and SGLang
    for NVIDIA's GPUs, in the version of the engine.
    """
    proxy: Annotated[str, IMAGE] | None = None
    """Image of the routing proxy in decode pods of deployments with `prefill`; another image restarts them.
    Default: that of the profile.
    """
    kit: Annotated[str, IMAGE] | None = None
    """Image with kit (https://kitops.org), by which the plugin `model-cache` unpacks models from an OCI
    registry. Default: that of the plugin.
    """


class Tracing(Model):
    """Where endpoint pickers and routing proxies send traces, and how many."""

    endpoint: str = Field(min_length=1)
    """URL of an OpenTelemetry collector, the value of `OTEL_EXPORTER_OTLP_ENDPOINT`, such as
    `http://otel-collector.monitoring:4317`.
    """
    sampler: str = "parentbased_traceidratio"
    """OpenTelemetry sampler, the value of `OTEL_TRACES_SAMPLER`."""
    sampler_arg: str = "0.01"
    """Argument of the sampler, the value of `OTEL_TRACES_SAMPLER_ARG`; with the default sampler, the share of
    requests that are traced.
    """


class NetworkPolicy(Model):
    """Who may reach the pods of models and of endpoint pickers: their gateway, each model's own picker, and
    monitoring. Nobody else may, where the cluster's network enforces NetworkPolicies.
    """

    gateway_namespace: Annotated[str, Dns1035(63)] | None = None
    """Namespace of the pods that are the gateway's proxies; refused with provider `gke`, whose proxies are no
    pods. Default: for `istio` the namespace of the Gateway, for `envoy` `envoy-gateway-system`.
    """
    gateway_ranges: tuple[IpRange, ...] = ()
    """Ranges of IPv4 addresses of the gateway's proxies, where they are no pods of the cluster. For provider
    `gke` it is that of the proxy-only subnetwork, required outside of networks that the stack creates.
    """
    monitoring: LabelSelector | None = None
    """Namespaces whose pods may read the metrics of engines and endpoint pickers, by their labels. Default:
    that of `serving.monitoring.scraper`, or none.
    """


# A public, unauthenticated model endpoint must be asked for, so the default is GKE's internal gateway.
INTERNAL_ON_GKE = Gateway(class_name="gke-l7-rilb", provider="gke")


class Serving(Model):
    """How a cluster serves models. What is left out comes from the profile."""

    profile: str = DEFAULT
    """Versions of the serving software, which decide images, flags and API groups: `gie-1.5`, where
    deployments with `prefill` have the picker and routing proxy of `router-0.10`; `router-0.10`, where all
    have its picker; or, for the sandbox alone, `scheduler-0.7`, where those with `prefill` have those of
    llm-d-inference-scheduler 0.7.1, and all others GIE 1.5.
    """
    gateway: Gateway = INTERNAL_ON_GKE
    """The Gateway through which models are reached. Required on existing clusters; default on GKE: an
    internal one of class `gke-l7-rilb`.
    """
    crds: Literal["Preinstalled"] = "Preinstalled"
    """How the CRDs of Gateway API and InferencePool get onto the cluster. `Preinstalled`, the only value:
    they are on an existing cluster already, and GKE installs them on a new one (InferencePool from version
    1.34.0-gke.1626000 on).
    """
    images: Images = Images()
    """Container images of endpoint pickers, engines and others. Default: those of the profile."""
    epp_flags: dict[str, str | int | float | bool] = {}
    """Command-line flags of all endpoint pickers on the cluster, of every profile, by name without dashes,
    passed on as they are written; flags of a deployment override them. Default: none beside the profile's.
    """
    metrics_auth: bool = True
    """Whether the metrics of endpoint pickers can be read only by accounts that Kubernetes RBAC allows to."""
    monitoring: Monitoring | None = None
    """How the metrics of engines and endpoint pickers are scraped, and by whom. Default: nothing has them
    scraped.
    """
    tracing: Tracing | None = None
    """Where endpoint pickers and routing proxies send traces. Default: tracing is off."""
    network_policy: NetworkPolicy | None = None
    """Who may reach the pods of models and endpoint pickers. Default: everybody on the cluster's network."""
    scheduler: Annotated[Scheduler, AfterValidator(of_cluster)] = Scheduler()
    """Who schedules the pods of models, and in which queue they wait. Default: Kubernetes' own scheduler."""

    @model_validator(mode="after")
    def _knows_the_proxies(self) -> "Serving":
        policy, provider = self.network_policy, self.gateway.provider
        if policy and provider == "gke" and policy.gateway_namespace:
            what = "the proxies of a gateway with provider gke are no pods, so they are in no namespace"
            raise Mistaken(Mistake(what, "Remove it", ("networkPolicy", "gatewayNamespace")))
        if policy and provider == "none" and not policy.gateway_namespace and not policy.gateway_ranges:
            what = "networkPolicy must say where the gateway's proxies are: its provider is none"
            next_step = "Add gatewayNamespace or gatewayRanges, or name the gateway's provider"
            raise Mistaken(Mistake(what, next_step, ("networkPolicy",)))
        return self

    @model_validator(mode="after")
    def _lets_the_scraper_read(self) -> "Serving":
        monitoring, policy, mistakes = self.monitoring, self.network_policy, []
        if monitoring is None:
            return self
        if self.metrics_auth and monitoring.pickers == "Annotations" and monitoring.scraper is None:
            what = "pickers are scraped by annotations, and nobody may read their metrics"
            next_step = "Add monitoring.scraper, or metricsAuth: false"
            mistakes.append(Mistake(what, next_step, ("monitoring",)))
        scrapes = monitoring.engines or monitoring.pickers
        if policy and scrapes and policy.monitoring is None and monitoring.scraped_by is None:
            what = "networkPolicy lets nobody read the metrics that monitoring has scraped"
            next_step = "Add networkPolicy.monitoring or monitoring.scraper"
            mistakes.append(Mistake(what, next_step, ("monitoring",)))
        if mistakes:
            raise Mistaken(*mistakes)
        return self


State = Literal["active", "cordoned", "drained", "lost", "abandoned"]


class KubeconfigRef(Model):
    """Where the kubeconfig of a cluster is. One of the two fields is required."""

    path: str | None = Field(default=None, min_length=1)
    """File with the kubeconfig, relative to the document's folder; `~` is the home folder."""
    config_key: str | None = Field(default=None, min_length=1)
    """Key of the stack's configuration that holds the kubeconfig as text, set with `pulumi config set
    --secret`.
    """

    @model_validator(mode="after")
    def _exactly_one(self) -> "KubeconfigRef":
        if (self.path is None) == (self.config_key is None):
            next_step = "Write one of them" if self.path is None else "Keep one of them"
            raise mistaken("a kubeconfig has exactly one of path and configKey", next_step)
        return self


class Existing(Model):
    """A cluster that exists, and how to reach it."""

    kubeconfig: KubeconfigRef
    """Where the kubeconfig of the cluster is."""
    context: str | None = Field(default=None, min_length=1)
    """Context of the kubeconfig to use. Default: its current context."""


class ClusterSource(Model):
    """Where the cluster comes from, with the block that belongs to the source."""

    source: Literal["Existing", "GKE"]
    """`Existing`: a cluster that exists, on which only Kubernetes objects are created. `GKE`: a cluster that
    the stack creates.
    """
    existing: Existing | None = None
    """How to reach a cluster that exists. Required with source `Existing`, and refused with `GKE`."""
    gke: Gke | None = None
    """The GKE cluster to create. Required with source `GKE`, and refused with `Existing`."""

    @model_validator(mode="after")
    def _its_block(self) -> "ClusterSource":
        if self.source == "Existing" and self.existing is None:
            raise mistaken("source Existing needs a block existing", "Add existing: {kubeconfig: ...}")
        if self.source == "GKE" and self.gke is None:
            raise mistaken("source GKE needs a block gke", "Add gke: {project: ..., region: ...}")
        if self.existing and self.gke:
            raise mistaken(
                f"source {self.source} has both blocks, existing and gke", f"Keep {self.source.lower()}"
            )
        return self


class InferenceClusterSpec(Model):
    """A cluster, its node pools, and how it serves."""

    state: State = "active"
    """`active`: replicas are placed there; `cordoned`: nothing new is placed there; `drained`: its replicas
    move away as far as there is room; `lost`: it does not answer, and what it has stays untouched;
    `abandoned`: it is given up, and its objects leave the state.
    """
    cluster: ClusterSource
    """Where the cluster comes from."""
    node_pools: Annotated[tuple[NodePool, ...], Field(min_length=1, max_length=64)]
    """Node pools for model pods. On GKE each is created; on an existing cluster the nodes are there."""
    taints: tuple[Taint, ...] = ()
    """Taints of the cluster as a whole, which keep away deployments without a toleration. They are for
    placement only and are put on no node; default: none.
    """
    serving: Serving = Serving()
    """How the cluster serves models. Required on existing clusters, which must name a gateway; default on
    GKE: the default profile with an internal gateway.
    """
    plugins: tuple[PluginSpec, ...] = ()
    """Plugins for every pod on this cluster; they run after those of the class. Default: none."""

    @model_validator(mode="after")
    def _of_its_source(self) -> "InferenceClusterSpec":
        if self.cluster.source == "Existing":
            mistakes = []
            if "serving" not in self.model_fields_set or "gateway" not in self.serving.model_fields_set:
                what = "an existing cluster needs serving.gateway"
                mistakes.append(Mistake(what, "Add serving: {gateway: ...}"))
            for place, pool in enumerate(self.node_pools):
                mistakes += pool.not_on_existing(place)
        else:
            region = self.cluster.gke.region if self.cluster.gke else ""
            mistakes = []
            for place, pool in enumerate(self.node_pools):
                mistakes += pool.not_on_gke(place, region)
        if not self._own_network and self._lacks_ranges:
            what = "networkPolicy needs the range of the proxy-only subnetwork: the stack does not create it"
            next_step = "Add gatewayRanges: gcloud compute networks subnets list has it"
            mistakes.append(Mistake(what, next_step, ("serving", "networkPolicy")))
        if mistakes:
            raise Mistaken(*mistakes)
        return self

    def pool(self, name: str) -> NodePool:
        """Return the pool of this name. Raises StopIteration for one that the cluster does not have."""
        return next(pool for pool in self.node_pools if pool.name == name)

    @property
    def _own_network(self) -> bool:
        return self.cluster.gke is not None and self.cluster.gke.network.existing is None

    @property
    def _lacks_ranges(self) -> bool:
        policy = self.serving.network_policy
        return policy is not None and self.serving.gateway.provider == "gke" and not policy.gateway_ranges

    @model_validator(mode="after")
    def _pools_differ(self) -> "InferenceClusterSpec":
        names = [pool.name for pool in self.node_pools]
        if twice := [place for place, name in enumerate(names) if name in names[:place]]:
            raise Mistaken(
                *(
                    Mistake(
                        f"a second pool is named {names[place]}", "Rename one", ("nodePools", place, "name")
                    )
                    for place in twice
                )
            )
        return self

    @model_validator(mode="after")
    def _nodes_differ(self) -> "InferenceClusterSpec":
        """Nodes that two pools select would be counted twice, and half of the pods find no room."""
        selected: dict[tuple[tuple[str, str], ...], str] = {}
        mistakes = []
        for place, pool in enumerate(self.node_pools):
            labels = tuple(sorted((pool.node_selector or {POOL_LABEL: pool.name}).items()))
            first = selected.setdefault(labels, pool.name)
            if first != pool.name:
                what = f"pool {pool.name} selects the same nodes as pool {first}"
                step = "Make them one pool, or write labels that tell their nodes apart"
                mistakes.append(Mistake(what, step, ("nodePools", place, "nodeSelector")))
        if mistakes:
            raise Mistaken(*mistakes)
        return self


class InferenceCluster(Model):
    """A Kubernetes cluster that runs models: one that exists, or one that the stack creates on GKE."""

    api_version: Literal["inferfleet.dev/v1alpha1"] = API_VERSION
    """Version of the document format."""
    kind: Literal["InferenceCluster"] = "InferenceCluster"
    """Kind of the document."""
    metadata: ClusterMetadata
    """Name and labels of the cluster."""
    spec: InferenceClusterSpec
    """The cluster, its node pools, and how it serves."""
