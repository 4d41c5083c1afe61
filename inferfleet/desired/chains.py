"""The chains of a stack: every link bound to its plugin once, however many pods it acts on; and which of them
are called once the pods of a workload are ready.

An update calls a ready hook where the state does not say yet that it was called for the pod template of the
workload. So it runs when the workload is created and when its template changes, not when it is merely scaled;
and again, if it failed or the update was interrupted.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from inferfleet.desired.values import KubeObject, ReadyHook
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.base import PluginSpec
from inferfleet.documents.problems import Problem
from inferfleet.documents.wording import listing
from inferfleet.fleet import names
from inferfleet.fleet.roles import DECODE, roles_of, workers_of
from inferfleet.fleet.shapes import accelerator, shape
from inferfleet.fleet.spot import Spot
from inferfleet.plugins.chain import in_order
from inferfleet.plugins.contract import Request
from inferfleet.plugins.link import BoundLink, Link, Origin, bind
from inferfleet.plugins.link import links as links_of
from inferfleet.plugins.registry import Registry
from inferfleet.serving.workload import templates_of

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
    problems = [*registry.unusable.values(), *registry.remarks]
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
        problems += _idle(documents, [bound.link for bound in links[origin, key]])
    return Chains(links, tuple(problems), stack)


def _idle(documents: Documents, links: Iterable[Link]) -> Iterator[Problem]:
    """Yield a warning for each link whose scope no pod of the stack is in: of followers, where none of the
    workers has any on nodes of the stack. Chains of classes are for stacks that have others.
    """
    for link in links:
        if link.origin == "class" or not documents.deployments:
            continue
        whose = [link.key] if link.origin == "deployment" else sorted(documents.deployments)
        roles = {role for key in whose for role in roles_of(documents.deployments[key])}
        if any(link.in_scope(role, "Entry") for role in roles):
            continue
        if any(
            link.in_scope(role, "Worker") and _has_followers(documents, key, role)
            for key in whose
            for role in roles_of(documents.deployments[key])
        ):
            continue
        of = f"role {listing(link.spec.scope.roles)}" if link.spec.scope.roles else "any role"
        in_words = f"deployment {link.key}" if link.origin == "deployment" else "deployments of the stack"
        yield replace(
            link.problem(
                f"scope of plugin {link.spec.name} is target Worker, the followers of workers of several "
                f"pods, and workers of {of} of {in_words} have one pod: the plugin does nothing",
                "Write target: All or Entry, or remove the plugin",
                field="scope.target",
            ),
            severity="warning",
        )


def _has_followers(documents: Documents, key: str, role: str) -> bool:
    """Return whether workers of the role have several pods, on the nodes of some pool of the stack."""
    topology = workers_of(documents.deployments[key], role).topology
    used = {pool.class_name for cluster in documents.clusters.values() for pool in cluster.spec.node_pools}
    devices = [accelerator(document) for name, document in documents.classes.items() if name in used]
    sizes = {device.count for device in devices if device} | {topology.gpus_per_pod}
    return any(shape(topology, size).pods > 1 for size in sizes)


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
