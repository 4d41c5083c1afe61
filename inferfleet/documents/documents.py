"""All documents and settings of a stack, as one value."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from os.path import normpath
from pathlib import Path
from typing import Any

from inferfleet.documents.kinds.inference_class import InferenceClass
from inferfleet.documents.kinds.inference_cluster import InferenceCluster
from inferfleet.documents.kinds.inference_gateway import InferenceGateway
from inferfleet.documents.kinds.model_cache import ModelCache
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.documents.kinds.model_service import ModelService
from inferfleet.documents.kinds.policy import Policy, Quota, Waiver
from inferfleet.documents.kinds.settings import Settings
from inferfleet.documents.problems import Problem, Where
from inferfleet.documents.wording import nearest_parent
from inferfleet.tables.addons import AddonName

DocumentName = tuple[str, str]  # (kind, key)
# The lines of each document's fields, by path ("" is the document itself).
Positions = Mapping[DocumentName, Mapping[str, Where]]


def cache_key(deployment: str, name: str) -> str:
    """Return the key of a cache that a deployment names: it is in the deployment's namespace."""
    return f"{deployment.partition('/')[0]}/{name}"


@dataclass(frozen=True)
class Rendered:
    """The manifests of one version of an add-on, as they are in the project."""

    digest: str
    """The hash of the module that they were rendered from."""
    values: Mapping[str, Any]
    """The values of documents that they were rendered with."""
    objects: tuple[dict[str, Any], ...]


@dataclass(frozen=True)
class Documents:
    """Valid documents by key: classes, clusters, gateways, policies and waivers by name, deployments,
    services, caches and quotas by `namespace/name`.
    """

    settings: Settings
    classes: Mapping[str, InferenceClass] = field(default_factory=dict)
    clusters: Mapping[str, InferenceCluster] = field(default_factory=dict)
    deployments: Mapping[str, ModelDeployment] = field(default_factory=dict)
    services: Mapping[str, ModelService] = field(default_factory=dict)
    caches: Mapping[str, ModelCache] = field(default_factory=dict)
    positions: Positions = field(default_factory=dict, compare=False)
    """The line of every field, for messages."""
    notices: tuple[Problem, ...] = ()
    """How documents were understood, which secrets are in plain text, and which files beside the documents
    were not read.
    """
    broken_links: Mapping[tuple[str, str, str], tuple[Problem, ...]] = field(default_factory=dict)
    """Links of plugin chains that cannot be read, by kind and key of their document and path: their problems
    are told with those of all other links.
    """
    quotas: Mapping[str, Quota] = field(default_factory=dict)
    sources: Mapping[DocumentName, Path] = field(default_factory=dict, compare=False)
    """The file of every document, for paths relative to it."""
    policies: Mapping[str, Policy] = field(default_factory=dict)
    waivers: Mapping[str, Waiver] = field(default_factory=dict)
    gateways: Mapping[str, InferenceGateway] = field(default_factory=dict)
    of_all_stacks: frozenset[DocumentName] = frozenset()
    """Those from the folder of policies; the others are of this stack alone."""
    fleet: str = field(default="", compare=False)
    """Options by which commands find the documents of a Fleet in somebody's program; "" for a stack."""
    installed: Mapping[AddonName, Mapping[str, Rendered]] | None = None
    """What is rendered of the add-ons that clusters of the stack have installed, by version; None for
    documents that are named by path, which have no such files.
    """

    @cached_property
    def device_resources(self) -> frozenset[str]:
        """Return the extended resources by which pods ask for the accelerators of the classes."""
        devices = (device for document in self.classes.values() for device in document.spec.all_devices)
        return frozenset(device.asked_as for device in devices if device.asked_as)

    def rendered(self, addon: AddonName) -> Mapping[str, Rendered]:
        """Return what is rendered of an add-on, by version."""
        return (self.installed or {}).get(addon, {})

    @property
    def options(self) -> str:
        """Return the options by which commands find these documents."""
        return self.fleet or f"--stack {self.settings.stack}"

    def where(self, kind: str, key: str, path: str = "") -> Where | None:
        """Return the line of a field, or of its nearest parent in the file; None for an unknown document."""
        lines = self.positions.get((kind, key), {})
        return lines.get(nearest_parent(path, lines))

    def located(self, problems: Iterable[Problem]) -> tuple[Problem, ...]:
        """Return the problems with the line of the field that each names, unless it already has one."""
        return tuple(
            problem
            if problem.where or not problem.kind
            else replace(problem, where=self.where(problem.kind, problem.key, problem.path))
            for problem in problems
        )

    def holds(self, deployment: str, cluster: str) -> bool:
        """Return whether nothing of a deployment changes on a cluster, because one of the two is paused or
        the cluster is lost.
        """
        document = self.deployments.get(deployment)
        return self.clusters[cluster].spec.held or (document is not None and document.spec.paused)

    def kubeconfig_path(self, cluster: str) -> Path | None:
        """Return the kubeconfig file of an existing cluster, or None when it is in the configuration."""
        existing = self.clusters[cluster].spec.cluster.existing
        if existing is None or existing.kubeconfig.path is None:
            return None
        path = Path(existing.kubeconfig.path)
        if path.parts[:1] == ("~",):
            return Path.home().joinpath(*path.parts[1:])
        source = self.sources.get(("InferenceCluster", cluster))
        folder = source.parent if source else Path.cwd()
        return Path(normpath(folder / path))
