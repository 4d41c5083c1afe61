"""The chains of a stack: every link bound to its plugin once, however many pods it acts on; and which of them
are called once the pods of a workload are ready.

An update calls a ready hook where the state does not say yet that it was called for the pod template of the
workload. So it runs when the workload is created and when its template changes, not when it is merely scaled;
and again, if it failed or the update was interrupted.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from inferfleet.api.documents import Documents
from inferfleet.api.kinds.plugin_spec import PluginSpec
from inferfleet.api.problems import Problem
from inferfleet.desired.values import KubeObject, ReadyHook
from inferfleet.fleet import names
from inferfleet.fleet.roles import DECODE, roles_of
from inferfleet.fleet.spot import Spot
from inferfleet.manifests.workload import templates_of
from inferfleet.plugins.chain import in_order
from inferfleet.plugins.contract import Request
from inferfleet.plugins.link import BoundLink, Origin, bind
from inferfleet.plugins.link import links as links_of
from inferfleet.plugins.registry import Registry

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
    problems = [*registry.unusable.values()]
    roles = {key: roles_of(deployment) for key, deployment in documents.deployments.items()}
    every = tuple(sorted({DECODE, *(role for of_deployment in roles.values() for role in of_deployment)}))
    for (origin, key), specs in written.items():
        path = "plugins" if origin == "stack" else "spec.plugins"
        chain = links_of(specs, origin, kind=_KINDS[origin], key=key, path=path, where=documents.where)
        sound = [link for link in chain if (link.kind, link.key, link.path) not in documents.broken_links]
        links[origin, key], wrong = bind(
            sound, registry, roles=roles[key] if origin == "deployment" else every
        )
        problems += wrong
    return Chains(links, tuple(problems), stack)


def ready_hooks(
    workload: KubeObject, links: Iterable[BoundLink], requests: tuple[Request, ...], *, held: bool
) -> Iterator[ReadyHook]:
    """Yield a hook for each plugin that has one and in whose scope pods of the workload are.

    `requests` are of its entries, and of its followers if there are any: a plugin is told once, of the first
    that are in its scope.
    `held` hooks are not called, because the update does not wait for the pods.
    """
    by_plugin: dict[str, list[tuple[BoundLink, Request]]] = {}
    for bound in in_order(links):
        asked = next((request for request in requests if bound.link.acts_on(request)), None)
        if bound.plugin.ready is not None and asked is not None:
            by_plugin.setdefault(bound.plugin.name, []).append((bound, asked))
    for plugin, told in by_plugin.items():
        name = names.ready_hook(workload.name, plugin)
        of_plugin, request = [bound for bound, _ in told], told[0][1]
        yield ReadyHook(name, workload, tuple(of_plugin), request, _template(workload), held=held)


def _template(workload: KubeObject) -> str:
    """Return text that is another one for another pod template, and the same for other replicas."""
    texts = (
        json.dumps(template, sort_keys=True, separators=(",", ":"))
        for template in templates_of(workload.manifest)
    )
    return f"template {hashlib.sha256(','.join(texts).encode()).hexdigest()[:12]}"
