"""InferenceCluster: a cluster, its pools of nodes, and how it serves."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from inferfleet.api.document import API_VERSION, ClusterMetadata, Model, Taint
from inferfleet.api.gke_cluster import Gke
from inferfleet.api.mistakes import Mistake, Mistaken, mistaken
from inferfleet.api.node_pool import NodePool
from inferfleet.api.plugin_spec import PluginSpec
from inferfleet.api.serving import Serving

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
