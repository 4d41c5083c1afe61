"""InferenceCluster: a cluster, its pools of nodes, and how it serves."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from inferfleet.api.kinds.base import API_VERSION, ClusterMetadata, Model, Taint
from inferfleet.api.kinds.gke_cluster import Gke
from inferfleet.api.kinds.node_pool import NodePool
from inferfleet.api.kinds.plugin_spec import PluginSpec
from inferfleet.api.kinds.text_rules import SUBDOMAIN, Dns1035, InEditors
from inferfleet.api.problems import Mistake, Mistaken, mistaken


class GatewayRef(Model):
    """A Gateway that exists and belongs to somebody else."""

    name: Annotated[str, SUBDOMAIN]
    namespace: Annotated[str, Dns1035(63)]


class Gateway(Model):
    """A Gateway of our own making (`className`, listening on `port`), or a reference to one that exists."""

    class_name: Annotated[str, SUBDOMAIN] | None = None
    port: int = Field(default=80, ge=1, le=65_535)
    provider: Literal["gke", "istio", "envoy", "none"] = "none"
    ref: GatewayRef | None = None

    @model_validator(mode="after")
    def _one(self) -> "Gateway":
        if (self.class_name is None) == (self.ref is None):
            raise mistaken(
                "a gateway has exactly one of className (inferfleet makes it) and ref (it exists)",
                "Keep one of them",
            )
        if self.ref and "port" in self.model_fields_set:
            raise mistaken(
                "port is of a gateway that inferfleet makes; one that exists listens where it listens",
                "Remove port",
            )
        return self


class Images(Model):
    epp: str | None = Field(default=None, min_length=1)


class Tracing(Model):
    """Where the endpoint pickers send traces."""

    endpoint: str = Field(min_length=1)
    sampler: str = "parentbased_traceidratio"
    sampler_arg: str = "0.01"


class Scheduler(Model):
    type: Annotated[Literal["None", "Volcano", "KAI", "Kueue"], InEditors({"const": "None"})] = "None"

    @model_validator(mode="after")
    def _offered(self) -> "Scheduler":
        if self.type != "None":
            raise mistaken(f"scheduler {self.type} is not yet offered", "Use None")
        return self


# A public, unauthenticated model endpoint must be asked for, so the default is GKE's internal gateway.
INTERNAL_ON_GKE = Gateway(class_name="gke-l7-rilb", provider="gke")


class Serving(Model):
    """How this cluster serves; what is left out comes from the profile. The gateway's default is for GKE."""

    profile: str = "gie-1.5"
    gateway: Gateway = INTERNAL_ON_GKE
    crds: Literal["Preinstalled"] = "Preinstalled"
    images: Images = Images()
    epp_flags: dict[str, str | int | float | bool] = {}
    metrics_auth: bool = True
    tracing: Tracing | None = None
    scheduler: Scheduler = Scheduler()


State = Literal["active", "cordoned", "drained", "lost", "abandoned"]


class KubeconfigRef(Model):
    """A file (relative to the document's folder, `~` allowed) or a key of the stack's configuration."""

    path: str | None = Field(default=None, min_length=1)
    config_key: str | None = Field(default=None, min_length=1)

    @model_validator(mode="after")
    def _one(self) -> "KubeconfigRef":
        if (self.path is None) == (self.config_key is None):
            raise mistaken("a kubeconfig has exactly one of path and configKey", "Keep one of them")
        return self


class Existing(Model):
    kubeconfig: KubeconfigRef
    context: str | None = Field(default=None, min_length=1)


class ClusterSource(Model):
    """Where the cluster comes from: one that exists, or one that the stack creates."""

    source: Literal["Existing", "GKE"]
    existing: Existing | None = None
    gke: Gke | None = None

    @model_validator(mode="after")
    def _its_block(self) -> "ClusterSource":
        if self.source == "Existing" and self.existing is None:
            raise mistaken("source Existing needs a block existing", "Add existing: {kubeconfig: ...}")
        if self.source == "GKE" and self.gke is None:
            raise mistaken("source GKE needs a block gke", "Add gke: {project: ..., region: ...}")
        if self.existing and self.gke:
            raise mistaken(
                f"source {self.source} has both blocks, existing and gke", "Keep the one of its source"
            )
        return self


class InferenceClusterSpec(Model):
    state: State = "active"
    cluster: ClusterSource
    node_pools: Annotated[tuple[NodePool, ...], Field(min_length=1, max_length=64)]
    taints: tuple[Taint, ...] = ()
    serving: Serving = Serving()
    plugins: tuple[PluginSpec, ...] = ()

    @model_validator(mode="after")
    def _of_its_source(self) -> "InferenceClusterSpec":
        if self.cluster.source == "Existing":
            told = "serving" in self.model_fields_set and "gateway" in self.serving.model_fields_set
            found = (
                []
                if told
                else [Mistake("an existing cluster needs serving.gateway", "Add serving: {gateway: ...}")]
            )
            found += [
                one for place, pool in enumerate(self.node_pools) for one in pool.not_on_existing(place)
            ]
        else:
            region = self.cluster.gke.region if self.cluster.gke else ""
            found = [
                one for place, pool in enumerate(self.node_pools) for one in pool.not_on_gke(place, region)
            ]
        if found:
            raise Mistaken(*found)
        return self

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


class InferenceCluster(Model):
    api_version: Literal["inferfleet.dev/v1alpha1"] = API_VERSION
    kind: Literal["InferenceCluster"] = "InferenceCluster"
    metadata: ClusterMetadata
    spec: InferenceClusterSpec
