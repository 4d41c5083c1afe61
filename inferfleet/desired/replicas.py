"""The replicas of one placement: a workload per role, and the companions its plugins asked for."""

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from inferfleet.cloud.provider import provider_of
from inferfleet.cloud.values import NodeRequest
from inferfleet.desired.clusters import Site
from inferfleet.desired.pods import Pods, Role, by_role
from inferfleet.desired.values import Component, KubeObject, ReadyHook
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.fleet import names
from inferfleet.fleet.decisions import Placement
from inferfleet.fleet.scheduling import Scheduling, scheduling_of
from inferfleet.fleet.spot import Spot
from inferfleet.plugins.chain import in_order
from inferfleet.plugins.contract import Request
from inferfleet.plugins.link import BoundLink
from inferfleet.serving.scaler import OWNED, scaler
from inferfleet.serving.schedulers import pod_groups, scheduled
from inferfleet.serving.workload import (
    WORKER_SET,
    await_seconds,
    awaited,
    bounded,
    progress_deadline,
    templates_of,
    unawaited,
    worker_set,
    workload,
)

# pulumi-kubernetes 4.25 waits for endpoints behind Services and Ingresses (10 minutes), and for a volume of
# claims (5 minutes), which many storage classes make for the first pod alone. Of what else it waits for
# (provider/pkg/await/awaiters.go), a ResourceQuota is ready at once, and the rest are no companions.
_READY_WITH_PODS = frozenset(
    {
        ("", "PersistentVolumeClaim"),
        ("", "Service"),
        ("extensions", "Ingress"),
        ("networking.k8s.io", "Ingress"),
    }
)


@dataclass(frozen=True)
class Workload:
    """The Deployment or LeaderWorkerSet of one role, and the companions before and after it.

    `hooks` are called once its pods are ready.
    """

    before: tuple[KubeObject, ...]
    workload: KubeObject
    after: tuple[KubeObject, ...]
    hooks: tuple[ReadyHook, ...] = ()


@dataclass(frozen=True)
class Replicas:
    """The workloads of one placement, in the order of roles, and the PodGroups that their pods belong to."""

    spot: Spot
    workloads: tuple[Workload, ...]
    groups: tuple[KubeObject, ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        """Return the keys of the workloads themselves."""
        return tuple(workload.workload.key for workload in self.workloads)

    @property
    def component(self) -> Component:
        """Return the Pulumi component."""
        objects = [
            made
            for workload in self.workloads
            for made in (*workload.before, workload.workload, *workload.after)
        ]
        hooks = tuple(hook for workload in self.workloads for hook in workload.hooks)
        return Component(
            "ModelReplicas", names.replicas_component(self.spot), (*self.groups, *objects), hooks
        )


def replicas(
    documents: Documents,
    placement: Placement,
    made: tuple[Pods, ...],
    *,
    site: Site,
    needs: tuple[str, ...],
    before: tuple[str, ...],
    edition: str = "",
) -> Replicas:
    """Return the objects of a placement, whose pods are `made`.

    `needs` are the keys of namespace and secrets, `before` those of what stands before the workloads: what
    their requests go through, and the placement that rolls first. `edition` is that of their picker.
    """
    spot = placement.spot
    pools = tuple(pool for _, pool in spot.pools)
    deployment = documents.deployments[spot.deployment]
    roles = list(by_role(made))
    finished = {role.entries.role: _workload(documents, placement, role) for role in roles}
    scheduling = scheduling_of(deployment, documents.clusters[spot.cluster])
    gathered = pod_groups(finished, scheduling, spot=spot, stack=documents.settings.stack)
    groups = tuple(site.place(group, after=needs, pools=pools) for group in gathered)
    workloads: list[Workload] = []
    for role in roles:
        pods = role.entries
        ours = [(companion.when, _ours(companion.manifest, documents, spot)) for companion in role.companions]
        companions = (manifest for when, manifest in ours if when == "before")
        first = _in_order((*pods.claims.objects, *companions), site, needs, pools)
        seconds = await_seconds(
            deployment=deployment,
            role=pods.role,
            replicas=placement.replicas,
            deadline=_deadline(deployment, pods),
        )
        manifest = scheduled(finished[pods.role], scheduling, spot=spot, role=pods.role)
        asking = _asking(documents, manifest, scheduling, spot, pods.role, site)
        requested = _in_order(asking.objects, site, needs, pools)
        first = (
            *first,
            *(replace(item, ignore=asking.immutable.get(item.kind, ())) for item in requested),
        )
        manifest = awaited(asking.workload) if manifest["kind"] == WORKER_SET else asking.workload
        # Nodes that are asked for may take days.
        unwaited = documents.settings.await_ == "applied" or bool(requested)
        if unwaited:
            manifest = unawaited(manifest)
        after = (*needs, *(item.key for item in (*groups, *first)), *before)
        name = names.workload(spot, pods.role)
        deployed = site.place(manifest, name=name, after=after, timeout=seconds, pools=pools)
        if placement.least is not None:
            deployed = replace(deployed, ignore=OWNED)
        last = (manifest for when, manifest in ours if when == "after")
        held = unwaited or documents.clusters[spot.cluster].spec.state == "lost"
        requests = tuple(of_position.request for of_position in role.positions)
        hooks = tuple(_ready_hooks(deployed, pods.links, requests, held=held))
        scales = _scaler(documents, placement, manifest, edition, site)
        rest = _in_order((*scales, *last), site, (*needs, deployed.key), pools)
        workloads.append(Workload(first, deployed, rest, hooks))
    return Replicas(spot, tuple(workloads), groups)


def _workload(documents: Documents, placement: Placement, role: Role) -> dict[str, Any]:
    """Return a LeaderWorkerSet where workers have many pods, and a Deployment otherwise."""
    deployment, pods = documents.deployments[placement.spot.deployment], role.entries
    if role.followers is None:
        made = workload(
            deployment=deployment,
            spot=placement.spot,
            role=pods.role,
            replicas=placement.replicas,
            template=pods.outcome.template,
            deadline=_deadline(deployment, pods),
            stack=documents.settings.stack,
            plugins=role.provenance,
        )
        return _bounded(made, placement)
    made = worker_set(
        deployment=deployment,
        spot=placement.spot,
        role=pods.role,
        replicas=placement.replicas,
        size=pods.placed.shape.pods,
        entry=pods.outcome.template,
        follower=role.followers.outcome.template,
        stack=documents.settings.stack,
        plugins=role.provenance,
    )
    return _bounded(made, placement)


def _bounded(manifest: dict[str, Any], placement: Placement) -> dict[str, Any]:
    """Return the workload as it tells between which numbers its replicas are scaled, where they are."""
    least = placement.least
    return manifest if least is None else bounded(manifest, least, placement.replicas)


def _scaler(
    documents: Documents, placement: Placement, workload: dict[str, Any], edition: str, site: Site
) -> Iterator[dict[str, Any]]:
    """Yield what scales a workload. It comes after it, so that the first pods are ready before more come."""
    spot = placement.spot
    made = scaler(
        deployment=documents.deployments[spot.deployment],
        placement=placement,
        workload=workload,
        serving=documents.clusters[spot.cluster].spec.serving,
        pool=names.inference_pool(spot.deployment, names.revised(spot.revision, edition)),
        in_cloud=(site.cloud.cloud_name, site.cloud.region) if site.cloud else None,
        stack=documents.settings.stack,
    )
    if made:
        yield made


def _deadline(deployment: ModelDeployment, pods: Pods) -> int:
    return progress_deadline(
        deployment=deployment,
        role=pods.role,
        autoscaled=pods.autoscaled,
        template=pods.outcome.template,
    )


def _in_order(
    manifests: Iterable[dict[str, Any]], site: Site, needs: tuple[str, ...], pools: tuple[str, ...]
) -> tuple[KubeObject, ...]:
    """Return companions, each of which is created after the ones before it: a RoleBinding after its Role."""
    placed: list[KubeObject] = []
    for manifest in manifests:
        after = (*needs, *(companion.key for companion in placed))
        placed.append(site.place(manifest, after=after, pools=pools))
    return tuple(placed)


def _asking(
    documents: Documents,
    manifest: dict[str, Any],
    scheduling: Scheduling | None,
    spot: Spot,
    role: str,
    site: Site,
) -> NodeRequest:
    """Return a workload with what asks for its nodes, where its pool is one of the stack's own."""
    if site.cloud is None:
        return NodeRequest(manifest)
    pool = spot.pool(role)
    document = documents.clusters[spot.cluster].spec.pool(pool)
    return provider_of(site.cloud).node_request(
        manifest,
        site.cloud.pools[pool],
        document,
        scheduling,
        spot=spot,
        stack=documents.settings.stack,
    )


def _ours(companion: dict[str, Any], documents: Documents, spot: Spot) -> dict[str, Any]:
    """Add the labels of the stack: an object without them would count as one of another owner.

    Nothing waits for what is ready only once pods run.
    """
    labels = names.object_labels(documents.settings.stack, deployment=spot.deployment)
    metadata = companion["metadata"]
    ours = {**companion, "metadata": {**metadata, "labels": {**metadata.get("labels", {}), **labels}}}
    group = companion["apiVersion"].rpartition("/")[0]
    return unawaited(ours) if (group, companion["kind"]) in _READY_WITH_PODS else ours


def _ready_hooks(
    workload: KubeObject, links: Iterable[BoundLink], requests: tuple[Request, ...], *, held: bool
) -> Iterator[ReadyHook]:
    """Yield a hook for each plugin that has one and in whose scope pods of the workload are.

    An update calls a ready hook where the state does not say yet that it was called for the pod template of
    the workload. So it runs when the workload is created and when its template changes, not when it is merely
    scaled; and again, if it failed or the update was interrupted.

    `requests` are of its entries, and of its followers if there are any: a plugin is told once, of the first
    that are in its scope.
    `held` hooks are not called, because the update does not wait for the pods.
    """
    by_plugin: dict[str, list[tuple[BoundLink, Request]]] = {}
    for bound in in_order(links):
        in_scope = next((request for request in requests if bound.link.acts_on(request)), None)
        if bound.plugin.ready is not None and in_scope is not None:
            by_plugin.setdefault(bound.plugin.name, []).append((bound, in_scope))
    for plugin, calls in by_plugin.items():
        name = names.ready_hook(workload.name, plugin)
        plugin_links = tuple(bound for bound, _ in calls)
        yield ReadyHook(name, workload, plugin_links, calls[0][1], _template_digest(workload), held=held)


def _template_digest(workload: KubeObject) -> str:
    """Return text that is another one for another pod template, and the same for other replicas."""
    texts = (
        json.dumps(template, sort_keys=True, separators=(",", ":"))
        for template in templates_of(workload.manifest)
    )
    return f"template {hashlib.sha256(','.join(texts).encode()).hexdigest()[:12]}"
