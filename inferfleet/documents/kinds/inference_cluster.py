"""InferenceCluster: a cluster, its pools of nodes, and how it serves."""

from functools import partial
from ipaddress import ip_network
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from inferfleet.documents.kinds.addons import Addon, Addons, Stack
from inferfleet.documents.kinds.base import (
    API_VERSION,
    DAY,
    IMAGE,
    WRITTEN_DURATION,
    ClusterMetadata,
    Dns1035,
    Duration,
    Labels,
    LabelSelector,
    PluginSpec,
    PoolName,
    RefusedField,
    StrictModel,
    Taint,
    Toleration,
    WantedLabels,
    label_mistakes,
    seconds,
)
from inferfleet.documents.kinds.gke import (
    PROJECT,
    ZONE,
    AdditionalNodeNetworkConfig,
    CloudLabels,
    Gke,
    IpRange,
    PassedInputs,
    UpgradeSettings,
    zone_mistakes,
)
from inferfleet.documents.kinds.scheduler import Scheduler, check_cluster_scheduler
from inferfleet.documents.pods.template import POOL_LABEL
from inferfleet.documents.pods.texts import ANNOTATION_KEY, SUBDOMAIN, SUBDOMAIN_PATTERN, TextRule
from inferfleet.documents.problems import Mistake, Mistaken, mistaken
from inferfleet.documents.wording import shown
from inferfleet.tables.addons import AddonName
from inferfleet.tables.engines import EngineType
from inferfleet.tables.pickers import DEFAULT

# `nodePools`: nodes of one class, their number, and how they are bought.

CapacityModel = Literal["OnDemand", "Spot", "FlexStart", "Queued", "Reservation"]
# How somebody else may have bought nodes that exist; the others are ways of asking Google for nodes.
OF_EXISTING: tuple[CapacityModel, ...] = ("OnDemand", "Spot", "Reservation")
# https://cloud.google.com/kubernetes-engine/docs/concepts/dws: at most seven days without interruption.
LONGEST_RUN = 7 * DAY
# Written 30m or 168h; held in seconds.
Run = Annotated[
    int,
    BeforeValidator(partial(seconds, shortest="10m", longest="168h")),
    Field(ge=600, le=LONGEST_RUN),
    WRITTEN_DURATION,
]


class Reservation(StrictModel):
    """A reservation of machines at Google Cloud."""

    name: Annotated[str, TextRule("[a-z]([-a-z0-9]*[a-z0-9])?", "the name of a reservation", 63)]
    """Name of the reservation."""
    project: Annotated[str, PROJECT] | None = None
    """Project that owns a shared reservation. Default: the cluster's project."""
    block: Annotated[str, TextRule("[-a-z0-9]+", "the name of a reservation block", 63)] | None = None
    """Block of the reservation to use. Default: any."""
    sub_block: Annotated[str, TextRule("[-a-z0-9]+", "the name of a reservation sub-block", 63)] | None = None
    """Sub-block of the block to use. Default: any."""

    @model_validator(mode="after")
    def _check_reservation_block(self) -> "Reservation":
        if self.sub_block and self.block is None:
            raise mistaken(f"sub-block {self.sub_block} is of a block, and none is named", "Add block")
        return self


class Capacity(StrictModel):
    """How the nodes of a pool are bought. On an existing cluster `model` says how somebody else buys them."""

    # Which fields go together is checked by cloud/gke/recipes, with all other rules of a pool at once.
    model: CapacityModel = "OnDemand"
    """`OnDemand`, `Spot`, `FlexStart` (nodes come when there is room), `Queued` (nodes come all at once, for
    a ProvisioningRequest) or `Reservation`. Not every machine type is offered in all of them; nodes of an
    existing cluster are `OnDemand`, `Spot` or `Reservation`.
    """
    reservation: Reservation | None = None
    """The reservation at Google Cloud to take nodes from, for model `Reservation`. Default: any that fits."""
    max_run_duration: Run | None = None
    """How long a node of model `FlexStart` or `Queued` may run, from `10m` to `168h`. Default: Google's own
    limit.
    """
    host_maintenance: Literal["Periodic", "AsNeeded"] | None = None
    """How Google maintains the hosts of the nodes, which has to be as the reservation has it. Default: as
    Google decides for the machine type.
    """


# Fields of a capacity that say how Google's machines are bought.
_GOOGLES = {
    "reservation": "reservation",
    "max_run_duration": "maxRunDuration",
    "host_maintenance": "hostMaintenance",
}


class NodePool(StrictModel):
    """Nodes of one class. Sizes count the whole pool, over all zones; one of `nodeCount` and `maxNodeCount`
    is required.
    """

    name: PoolName
    """Name of the pool within its cluster. On GKE the node pool's name begins with it."""
    class_name: str = Field(min_length=1)
    """Name of the InferenceClass of the nodes. On GKE it must have a recipe (`provisioning.gke`)."""
    node_count: int | None = Field(default=None, ge=0, le=15_000)
    """Number of nodes of a pool of fixed size. On GKE it must divide evenly over the pool's zones."""
    min_node_count: int | None = Field(default=None, ge=0, le=15_000)
    """Nodes that the autoscaler keeps, once it has started them. Default: 0."""
    max_node_count: int | None = Field(default=None, ge=0, le=15_000)
    """Most nodes of an autoscaled pool; the plan counts on all of them."""
    node_selector: WantedLabels | None = None
    """Labels by which nodes of an existing cluster belong to the pool; refused on GKE. Default:
    `inferfleet.dev/pool: <pool>`.
    """
    taints: tuple[Taint, ...] = ()
    """Taints of the nodes, which pods placed there tolerate. GKE puts them on the nodes; nodes of an existing
    cluster must have them already; default: none.
    """
    labels: Labels = {}
    """Kubernetes labels that GKE puts on the nodes; refused on existing clusters. Default: none beside the
    pool's name.
    """
    zones: Annotated[tuple[Annotated[str, ZONE], ...], Field(max_length=8)] = ()
    """Zones of the nodes, in the cluster's region; refused on existing clusters. Default: the cluster's
    zones, or else those that GKE picks.
    """
    capacity: Capacity = Capacity()
    """How the nodes are bought: on GKE it buys them so, on an existing cluster it says how they are, and has
    `model` alone. Default: on demand.
    """
    upgrade_settings: UpgradeSettings | None = None
    """In which steps GKE replaces nodes when it upgrades them; refused on existing clusters, and for models
    `FlexStart` and `Queued`, for which GKE has a strategy of its own. Default: one node at a time, which is
    missing meanwhile.
    """
    additional_node_network_configs: tuple[AdditionalNodeNetworkConfig, ...] = ()
    """Networks between GPUs that somebody else keeps, one for each extra interface of a node, in the order of
    the interfaces; for classes with `networking.gpuDirect`, in the project of the cluster's network, refused
    on existing clusters. Default: networks that the stack makes.
    """
    resource_labels: CloudLabels = {}
    """Google Cloud labels of the pool's machines and disks beside those of the cluster, for billing and
    search; refused on existing clusters. GKE replaces the nodes when they change.
    """
    provider: PassedInputs = {}
    """Inputs of the node pool (`gcp.container.NodePool`) in the words of Pulumi's provider, passed on as they
    are written: any that inferfleet does not decide itself; refused on existing clusters. They count where
    the class has the same.
    """

    @model_validator(mode="after")
    def _check_one_size(self) -> "NodePool":
        if (self.node_count is None) == (self.max_node_count is None):
            raise mistaken("a pool has either nodeCount (fixed) or maxNodeCount (autoscaled)", "Write one")
        if self.min_node_count is None:
            return self
        if self.max_node_count is None:
            raise mistaken(
                "minNodeCount is for autoscaled pools, this one has nodeCount", "Remove minNodeCount"
            )
        if self.min_node_count > self.max_node_count:
            what = f"minNodeCount {self.min_node_count} is above maxNodeCount {self.max_node_count}"
            raise mistaken(what, "Lower it or raise maxNodeCount")
        return self

    @property
    def node_labels(self) -> dict[str, str]:
        """Labels of its nodes that the document says, by which deployments select pools."""
        return self.labels if self.node_selector is None else self.node_selector

    @property
    def size(self) -> int:
        """Largest number of nodes the pool can have."""
        return self.node_count if self.node_count is not None else self.max_node_count or 0

    @property
    def autoscaled(self) -> bool:
        """True when nodes may have to be started before a pod can run."""
        return self.max_node_count is not None and (self.min_node_count or 0) < self.max_node_count

    def existing_cluster_mistakes(self, index: int) -> list[Mistake]:
        """Return mistakes: fields that only a pool which the stack creates can have."""
        fields = {
            "labels": "labels",
            "zones": "zones",
            "upgrade_settings": "upgradeSettings",
            "additional_node_network_configs": "additionalNodeNetworkConfigs",
            "resource_labels": "resourceLabels",
            "provider": "provider",
        }
        written: list[tuple[str, ...]] = [
            (field,) for name, field in fields.items() if name in self.model_fields_set
        ]
        written += [
            ("capacity", field) for name, field in _GOOGLES.items() if name in self.capacity.model_fields_set
        ]
        mistakes = [
            Mistake(
                f"{'.'.join(steps)} is for pools that inferfleet creates, and this cluster exists already",
                f"Remove {steps[-1]}",
                ("nodePools", index, *steps),
            )
            for steps in written
        ]
        if (model := self.capacity.model) not in OF_EXISTING:
            what = (
                f"capacity model {model} asks Google for nodes, which inferfleet does for pools that it "
                "creates alone, and this cluster exists already"
            )
            step = f"Write {', '.join(OF_EXISTING[:-1])} or {OF_EXISTING[-1]}, whichever its nodes are"
            mistakes.append(Mistake(what, step, ("nodePools", index, "capacity", "model")))
        return mistakes

    def gke_mistakes(self, index: int, region: str) -> list[Mistake]:
        """Return mistakes: fields that only an existing pool can have, and zones of other regions."""
        mistakes = zone_mistakes(self.zones, region, ("nodePools", index, "zones"))
        if self.node_selector is not None:
            what = (
                "nodeSelector is for nodes that exist; inferfleet labels the nodes of pools that it creates"
            )
            mistakes.append(Mistake(what, "Remove nodeSelector", ("nodePools", index, "nodeSelector")))
        return mistakes


# `serving.gateway`: the Gateway through which models are reached.


HOST = TextRule(SUBDOMAIN_PATTERN, "a host name or an IPv4 address")


class GatewayRef(StrictModel):
    """A Gateway that exists and belongs to somebody else."""

    name: Annotated[str, SUBDOMAIN]
    """Name of the Gateway."""
    namespace: Annotated[str, Dns1035(63)]
    """Namespace of the Gateway."""


def _check_annotations(annotations: dict[str, str]) -> dict[str, str]:
    mistakes = [
        Mistake(
            f"{shown(key)!r} is not a Kubernetes annotation key", "Write it like example.com/internal", (key,)
        )
        for key in annotations
        if not ANNOTATION_KEY.allows(key)
    ]
    if mistakes:
        raise Mistaken(*mistakes)
    return annotations


def _check_ranges(ranges: tuple[str, ...]) -> tuple[str, ...]:
    """Return ranges of addresses. Raises Mistaken for those that are none."""
    mistakes = []
    for index, written in enumerate(ranges):
        try:
            ip_network(written)
        except ValueError:
            what = f"{shown(written)!r} is no range of addresses such as 10.1.0.0/16"
            step = "Write it as <address>/<bits>, with no bits of the address set beyond these"
            mistakes.append(Mistake(what, step, (index,)))
    if mistakes:
        raise Mistaken(*mistakes)
    return ranges


ServiceType = Literal["ClusterIP", "Internal", "LoadBalancer"]
# In the words of a cloud.
ServiceAnnotations = Annotated[dict[str, str], AfterValidator(_check_annotations)]


class Gateway(StrictModel):
    """The Gateway of a cluster: one that inferfleet creates (`className`), or one that exists (`ref`)."""

    class_name: Annotated[str, SUBDOMAIN] | None = None
    """Name of the GatewayClass for a Gateway that inferfleet creates. Either this or `ref` is required."""
    port: int = Field(default=80, ge=1, le=65_535)
    """TCP port on which the Gateway listens for HTTP; refused with `ref`."""
    provider: Literal["gke", "istio", "envoy", "none"] = "none"
    """Whose controller serves the Gateway: `gke`, which classes of Google's need (`gke-l7-...`), `istio` or
    `envoy` add the objects and annotations that they need beside Gateway and routes. `none` adds nothing.
    """
    ref: GatewayRef | None = None
    """A Gateway that exists. Either this or `className` is required."""
    service_type: ServiceType = "ClusterIP"
    """How a Gateway that inferfleet creates with provider `istio` or `envoy` is reached; refused with others.
    `ClusterIP`: from inside of the cluster alone; `Internal`: at an address of a load balancer inside of the
    cluster's network, which `serviceAnnotations` ask the cloud for; `LoadBalancer`: at an address outside,
    which most clouds make public.
    """
    service_annotations: ServiceAnnotations = {}
    """Annotations of the Service of such a Gateway, in the words of its cloud, such as
    `service.beta.kubernetes.io/azure-load-balancer-internal: "true"`. Required for `Internal`, but on
    clusters that inferfleet creates on GKE, where it writes its own; default: none.
    """
    source_ranges: Annotated[tuple[str, ...], AfterValidator(_check_ranges)] = ()
    """Addresses that such a Gateway's load balancer lets in, such as those that InferenceGateways come from:
    `[10.1.0.0/16]`; refused with `ClusterIP`, which has none. Default: all.
    """
    address: Annotated[str, HOST] | None = None
    """Host name or IPv4 address at which InferenceGateways on other clusters reach the Gateway. Default: the
    address that its controller gives it, which must be an IP address then.
    """

    @model_validator(mode="after")
    def _check_exactly_one_field(self) -> "Gateway":
        if (self.class_name is None) == (self.ref is None):
            raise mistaken(
                "a gateway has exactly one of className (inferfleet creates it) and ref (it exists)",
                "Keep one of them" if self.ref else "Write one of them",
            )
        if self.ref and "port" in self.model_fields_set:
            raise mistaken(
                "port is for a gateway that inferfleet creates; one that exists has its own listeners",
                "Remove port",
            )
        made_here = self.ref is None and self.provider in ("istio", "envoy")
        for name, field in (
            ("service_type", "serviceType"),
            ("service_annotations", "serviceAnnotations"),
            ("source_ranges", "sourceRanges"),
        ):
            if name in self.model_fields_set and not made_here:
                raise mistaken(
                    f"{field} is for a gateway that inferfleet creates with provider istio or envoy; that of "
                    "others is up to their controller or owner",
                    f"Remove {field}",
                )
        if self.source_ranges and self.service_type == "ClusterIP":
            raise mistaken(
                "sourceRanges are for a load balancer, and a Gateway with serviceType ClusterIP has none",
                "Write serviceType Internal or LoadBalancer, or remove them",
            )
        return self


# `serving.monitoring`: how metrics of engines and endpoint pickers are scraped, and who may read them.


def _check_labels(labels: dict[str, str]) -> dict[str, str]:
    if mistakes := label_mistakes(labels, ("inferfleet.dev/", "app.kubernetes.io/managed-by")):
        raise Mistaken(*mistakes)
    return labels


# Without a user or password: the address stands in objects that many may read.
_URL = TextRule(
    r"https?://[A-Za-z0-9.:\[\]-]+(/[-A-Za-z0-9._~/]*)?", "an address such as http://prometheus:9090"
)


class Scraper(StrictModel):
    """The account of what scrapes."""

    namespace: Annotated[str, Dns1035(63)]
    """Namespace of its pods and of its ServiceAccount."""
    service_account: Annotated[str, SUBDOMAIN]
    """Name of the ServiceAccount, such as `prometheus-k8s`."""


# Of Google Cloud Managed Service for Prometheus (manifests/operator.yaml of GoogleCloudPlatform/
# prometheus-engine 2ffde4e); Autopilot has it in gke-gmp-system (config/charts/routerlib of llm-d-router
# v0.10.0).
COLLECTOR = Scraper(namespace="gmp-system", service_account="collector")


class Monitoring(StrictModel):
    """Which objects tell a monitoring system to scrape engines and endpoint pickers. A cluster that does not
    know their kind gets none of them, and a run says so.
    """

    engines: Literal["PodMonitor", "PodMonitoring"] | None = None
    """Objects for the pods of engines that serve metrics, one for each role of a deployment: `PodMonitor` of
    the Prometheus operator, or `PodMonitoring` of Google Cloud Managed Service for Prometheus; annotations
    are what the plugin `prometheus` writes. Default: none.
    """
    pickers: Literal["PodMonitor", "ServiceMonitor", "PodMonitoring", "Annotations"] | None = None
    """Objects for endpoint pickers: as for engines, `ServiceMonitor`, or `Annotations` of their pods
    (`prometheus.io/scrape`), by which whoever goes by them sends its own token. Default: none.
    """
    interval: Duration = 30
    """How often each pod is scraped, such as `15s`; the default is in seconds."""
    labels: Annotated[dict[str, str], AfterValidator(_check_labels)] = {}
    """Labels of these objects, by which a Prometheus selects its own (`podMonitorSelector`), such as
    `{release: kube-prometheus-stack}`. Default: none beside those of the stack.
    """
    scraper: Scraper | None = None
    """The account that scrapes: it may read the metrics of pickers with its own token, or for `PodMonitoring`
    the Secret with the token to send, and `networkPolicy` lets pods of its namespace in. Required for
    `Annotations` unless `metricsAuth` is false; default: none, for `PodMonitoring` `gmp-system/collector`.
    """

    server: Annotated[str, _URL] | None = None
    """Address of the Prometheus that has the metrics, such as `http://prometheus.monitoring:9090`, as KEDA
    asks it. Default: none, and no deployment of the cluster is scaled by KEDA.
    """

    @model_validator(mode="after")
    def _check_scrapes_something(self) -> "Monitoring":
        if self.engines is None and self.pickers is None and self.server is None:
            raise mistaken(
                "{field} says neither how engines nor how pickers are scraped", "Write one of both"
            )
        if self.labels and self.engines is None and self.pickers == "Annotations":
            what = "labels are for objects, and there are none: pickers are scraped by annotations"
            raise Mistaken(Mistake(what, "Remove them", ("labels",)))
        return self

    @property
    def scraped_by(self) -> Scraper | None:
        """Return the account that scrapes, None where nobody says which."""
        return self.scraper or (COLLECTOR if "PodMonitoring" in (self.engines, self.pickers) else None)


# `serving`: how a cluster serves models.


class Images(StrictModel):
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


class PickerNodes(StrictModel):
    """On which nodes of a cluster the pods of endpoint pickers run."""

    node_selector: WantedLabels = {}
    """Labels of the nodes (Kubernetes: nodeSelector). Default: any, those without accelerators first."""
    tolerations: tuple[Toleration, ...] = ()
    """Taints of the nodes that the pods tolerate. Default: none, so that tainted nodes are left to others."""


class Tracing(StrictModel):
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


class NetworkPolicy(StrictModel):
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


class Serving(StrictModel):
    """How a cluster serves models. What is left out comes from the profile."""

    refused_fields = {
        "crds": RefusedField("Write stack: Managed", why="what serving needs is installed as a whole")
    }

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
    stack: Stack = Addons()
    """Who installs the CRDs of Gateway API and InferencePool, Istio and LeaderWorkerSet on the cluster:
    `Provided`, which is the default: they are there, as GKE has its own of the first two, `Managed`:
    inferfleet installs what documents need, or a map with either for each add-on.
    """
    images: Images = Images()
    """Container images of endpoint pickers, engines and others. Default: those of the profile."""
    image_pull_secrets: Annotated[tuple[Annotated[str, SUBDOMAIN], ...], Field(max_length=8)] = ()
    """Names of Secrets in the namespaces of deployments by which images of private registries are pulled, for
    endpoint pickers and for engines whose templates have no `imagePullSecrets`; other names restart their
    pods. Default: none.
    """
    endpoint_picker: PickerNodes = PickerNodes()
    """On which nodes endpoint pickers run, unless their deployment says otherwise. Default: on any that take
    them.
    """
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
    scheduler: Annotated[Scheduler, AfterValidator(check_cluster_scheduler)] = Scheduler()
    """Who schedules the pods of models, and in which queue they wait. Default: Kubernetes' own scheduler."""

    @model_validator(mode="after")
    def _check_proxies(self) -> "Serving":
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
    def _check_scraper(self) -> "Serving":
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


# The cluster itself: where it comes from, and in which state it is.

# By which nodes say their region, and documents that of a cluster that exists.
REGION_LABEL = "topology.kubernetes.io/region"

State = Literal["active", "cordoned", "drained", "paused", "lost", "abandoned"]
# States in which nothing changes on a cluster, nor in its cloud.
HELD: tuple[State, ...] = ("paused", "lost")
# States in which a cluster is asked nothing, so that its kubeconfig may be gone too.
GIVEN_UP: tuple[State, ...] = ("lost", "abandoned")
# How long documents must say what a cluster has on which nothing changes, by its state: an end of next steps.
UNTIL = {
    "paused": "until the cluster is active again",
    "lost": "until the cluster is reachable again, or set the cluster to state: abandoned",
}


class KubeconfigRef(StrictModel):
    """Where the kubeconfig of a cluster is. One of the two fields is required."""

    path: str | None = Field(default=None, min_length=1)
    """File with the kubeconfig, relative to the document's folder; `~` is the home folder."""
    config_key: str | None = Field(default=None, min_length=1)
    """Key of the stack's configuration that holds the kubeconfig as text, set with `pulumi config set
    --secret`.
    """

    @model_validator(mode="after")
    def _check_exactly_one_field(self) -> "KubeconfigRef":
        if (self.path is None) == (self.config_key is None):
            next_step = "Write one of them" if self.path is None else "Keep one of them"
            raise mistaken("a kubeconfig has exactly one of path and configKey", next_step)
        return self


class Existing(StrictModel):
    """A cluster that exists, and how to reach it."""

    # Without either field: written so by nobody, because that is refused.
    kubeconfig: KubeconfigRef = KubeconfigRef.model_construct()
    """Where the kubeconfig of the cluster is. Default: a program hands it over to its Fleet, as
    `kubeconfigs`.
    """
    context: str | None = Field(default=None, min_length=1)
    """Context of the kubeconfig to use. Default: its current context."""


class ClusterSource(StrictModel):
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
    def _check_source_block(self) -> "ClusterSource":
        if self.source == "Existing" and self.existing is None:
            raise mistaken("source Existing needs a block existing", "Add existing: {kubeconfig: ...}")
        if self.source == "GKE" and self.gke is None:
            raise mistaken("source GKE needs a block gke", "Add gke: {project: ..., region: ...}")
        if self.existing and self.gke:
            raise mistaken(
                f"source {self.source} has both blocks, existing and gke", f"Keep {self.source.lower()}"
            )
        return self


class InferenceClusterSpec(StrictModel):
    """A cluster, its node pools, and how it serves."""

    refused_fields = {"paused": RefusedField("A cluster is paused by state: paused")}

    state: State = "active"
    """`active`: replicas are placed there; `cordoned`: nothing new is placed there; `drained`: its replicas
    move away as far as there is room; `paused`: nothing changes on it, nor in its cloud; `lost`: it does not
    answer, and what it has stays untouched; `abandoned`: it is given up, and its objects leave the state.
    """
    cluster: ClusterSource
    """Where the cluster comes from."""
    node_pools: Annotated[tuple[NodePool, ...], Field(max_length=64)]
    """Node pools for model pods, or `[]` for a cluster that has no models, and where an InferenceGateway
    stands. On GKE each is created; on an existing cluster the nodes are there.
    """
    taints: tuple[Taint, ...] = ()
    """Taints of the cluster as a whole, which keep away deployments without a toleration. They are for
    placement only and are put on no node; default: none.
    """
    serving: Serving = Serving()
    """How the cluster serves models. Required on existing clusters with node pools, which must name a
    gateway; default on GKE: the default profile with an internal gateway, and without node pools none.
    """
    plugins: tuple[PluginSpec, ...] = ()
    """Plugins for every pod on this cluster; they run after those of the class. Default: none."""

    @model_validator(mode="after")
    def _check_fields_of_source(self) -> "InferenceClusterSpec":
        if self.cluster.source == "Existing":
            mistakes = []
            written = "serving" in self.model_fields_set and "gateway" in self.serving.model_fields_set
            if self.node_pools and not written:
                what = "an existing cluster needs serving.gateway"
                mistakes.append(Mistake(what, "Add serving: {gateway: ...}"))
            gateway = self.serving.gateway
            if gateway.service_type == "Internal" and not gateway.service_annotations:
                what = (
                    "serviceType Internal asks the cluster's cloud for an address inside of its network, and "
                    "each cloud has its own words for that"
                )
                step = "Add serviceAnnotations with the annotation of your cloud for internal load balancers"
                mistakes.append(Mistake(what, step, ("serving", "gateway", "serviceType")))
            for index, pool in enumerate(self.node_pools):
                mistakes += pool.existing_cluster_mistakes(index)
        else:
            region = self.cluster.gke.region if self.cluster.gke else ""
            mistakes = []
            for index, pool in enumerate(self.node_pools):
                mistakes += pool.gke_mistakes(index, region)
        if not self._own_network and self._lacks_ranges:
            what = "networkPolicy needs the range of the proxy-only subnetwork: the stack does not create it"
            next_step = "Add gatewayRanges: gcloud compute networks subnets list has it"
            mistakes.append(Mistake(what, next_step, ("serving", "networkPolicy")))
        if mistakes:
            raise Mistaken(*mistakes)
        return self

    @property
    def held(self) -> bool:
        """Whether nothing changes on the cluster, nor in its cloud: it is paused, or it does not answer."""
        return self.state in HELD

    @property
    def addons(self) -> dict[AddonName, Addon]:
        """Return the add-ons that inferfleet installs there where documents need them, in their order."""
        return dict(self.serving.stack.managed(on_gke=self.cluster.source == "GKE"))

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
    def _check_pool_names(self) -> "InferenceClusterSpec":
        names = [pool.name for pool in self.node_pools]
        if twice := [index for index, name in enumerate(names) if name in names[:index]]:
            raise Mistaken(
                *(
                    Mistake(
                        f"a second pool is named {names[index]}", "Rename one", ("nodePools", index, "name")
                    )
                    for index in twice
                )
            )
        return self

    @model_validator(mode="after")
    def _check_node_selectors(self) -> "InferenceClusterSpec":
        """Nodes that two pools select would be counted twice, and half of the pods find no space."""
        selected: dict[tuple[tuple[str, str], ...], str] = {}
        mistakes = []
        for index, pool in enumerate(self.node_pools):
            labels = tuple(sorted((pool.node_selector or {POOL_LABEL: pool.name}).items()))
            first = selected.setdefault(labels, pool.name)
            if first != pool.name:
                what = f"pool {pool.name} selects the same nodes as pool {first}"
                step = "Make them one pool, or write labels that tell their nodes apart"
                mistakes.append(Mistake(what, step, ("nodePools", index, "nodeSelector")))
        if mistakes:
            raise Mistaken(*mistakes)
        return self


class InferenceCluster(StrictModel):
    """A Kubernetes cluster that runs models: one that exists, or one that the stack creates on GKE."""

    api_version: Literal["inferfleet.dev/v1alpha1"] = API_VERSION
    """Version of the document format."""
    kind: Literal["InferenceCluster"] = "InferenceCluster"
    """Kind of the document."""
    metadata: ClusterMetadata
    """Name and labels of the cluster."""
    spec: InferenceClusterSpec
    """The cluster, its node pools, and how it serves."""

    @property
    def region(self) -> str | None:
        """Return its region on GKE, or of an existing cluster the one that its label says."""
        gke = self.spec.cluster.gke
        return gke.region if gke else self.metadata.labels.get(REGION_LABEL)
