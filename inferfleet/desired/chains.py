"""The chains of a stack: every link bound to its plugin once, however many pods it acts on."""

from collections.abc import Mapping
from dataclasses import dataclass

from inferfleet.api.documents import Documents
from inferfleet.api.kinds.plugin_spec import PluginSpec
from inferfleet.api.problems import Problem
from inferfleet.fleet.shapes import DECODE
from inferfleet.fleet.spot import Spot
from inferfleet.plugins.link import BoundLink, Link, Origin, bind
from inferfleet.plugins.registry import Registry

# The roles of a unified deployment, and so of every deployment that a chain can act on.
ROLES = (DECODE,)
_KINDS: Mapping[Origin, str] = {
    "class": "InferenceClass",
    "cluster": "InferenceCluster",
    "stack": "Settings",
    "deployment": "ModelDeployment",
}


@dataclass(frozen=True)
class Chains:
    """The links of every chain that can run, by origin and by name of the document, and why others cannot."""

    links: Mapping[tuple[Origin, str], tuple[BoundLink, ...]]
    problems: tuple[Problem, ...]
    stack: str

    def of(self, spot: Spot, *, class_name: str) -> tuple[BoundLink, ...]:
        """Return every link that may act on pods of the spot on nodes of the class."""
        return (
            *self.links["class", class_name],
            *self.links["cluster", spot.cluster],
            *self.links["stack", self.stack],
            *self.links["deployment", spot.deployment],
        )


def chains(documents: Documents, registry: Registry) -> Chains:
    """Return all chains, also those that act on no pod today, with every problem that needs no pod."""
    stack = documents.settings.stack
    written: dict[tuple[Origin, str], tuple[PluginSpec, ...]] = {
        ("stack", stack): documents.settings.plugins,
        **{("class", name): document.spec.plugins for name, document in documents.classes.items()},
        **{("cluster", name): document.spec.plugins for name, document in documents.clusters.items()},
        **{("deployment", key): document.spec.plugins for key, document in documents.deployments.items()},
    }
    links = {}
    problems = [*registry.refused.values()]
    for (origin, key), specs in written.items():
        chain = [_link(documents, spec, origin, key, index) for index, spec in enumerate(specs)]
        sound = [link for link in chain if (link.kind, link.key, link.path) not in documents.broken_links]
        links[origin, key], wrong = bind(sound, registry, roles=ROLES)
        problems += wrong
    return Chains(links, tuple(problems), stack)


def _link(documents: Documents, spec: PluginSpec, origin: Origin, key: str, index: int) -> Link:
    kind = _KINDS[origin]
    path = f"plugins[{index}]" if origin == "stack" else f"spec.plugins[{index}]"
    return Link(spec, origin, kind, key, path, documents.where(kind, key, path))
