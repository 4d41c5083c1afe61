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
    """The Deployment or LeaderWorkerSet of one role, and the companions before and after it."""

    before: tuple[KubeObject, ...]
    workload: KubeObject
    after: tuple[KubeObject, ...]
    hooks: tuple[ReadyHook, ...] = ()
    """What is called once its pods are ready."""


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
            item
            for workload in self.workloads
            for item in (*workload.before, workload.workload, *workload.after)
        ]
        hooks = tuple(hook for workload in self.workloads for hook in workload.hooks)
        return Component(
            "ModelReplicas", names.replicas_component(self.spot), (*self.groups, *objects), hooks
        )


def replicas(
    documents: Documents,
    placement: Placement,
    pods: tuple[Pods, ...],
    *,
    site: Site,
    needs: tuple[str, ...],
    before: tuple[str, ...],
    edition: str = "",
) -> Replicas:
    """Return the objects of a placement with these pods.

    `needs` are the keys of namespace and secrets, `before` those of what stands before the workloads: what
    their requests go through, and the placement that rolls first. `edition` is that of their picker.
    """
    spot = placement.spot
    pools = tuple(pool for _, pool in spot.pools)
    roles = list(by_role(pods))
    deadlines = {
        role.entries.role: progress_deadline(
            deployment=documents.deployments[spot.deployment],
            role=role.entries.role,
            autoscaled=role.entries.autoscaled,
            template=role.entries.outcome.template,
        )
        for role in roles
    }
    manifests = {
        role.entries.role: _manifest(documents, placement, role, deadline=deadlines[role.entries.role])
        for role in roles
    }
    scheduling = scheduling_of(documents.deployments[spot.deployment], documents.clusters[spot.cluster])
    groups = tuple(
        site.place(group, after=needs, pools=pools)
        for group in pod_groups(manifests, scheduling, spot=spot, stack=documents.settings.stack)
    )
    workloads = tuple(
        _workload(
            documents,
            placement,
            role,
            scheduled(manifests[role.entries.role], scheduling, spot=spot, role=role.entries.role),
            scheduling,
            deadline=deadlines[role.entries.role],
            site=site,
            needs=needs,
            groups=tuple(group.key for group in groups),
            before=before,
            edition=edition,
        )
        for role in roles
    )
    return Replicas(spot, workloads, groups)


def _manifest(documents: Documents, placement: Placement, role: Role, *, deadline: int) -> dict[str, Any]:
    """Return a LeaderWorkerSet where workers have many pods, and a Deployment otherwise."""
    deployment, pods = documents.deployments[placement.spot.deployment], role.entries
    if role.followers is None:
        return workload(
            deployment=deployment,
            spot=placement.spot,
            role=pods.role,
            replicas=placement.replicas,
            least=placement.least,
            template=pods.outcome.template,
            deadline=deadline,
            stack=documents.settings.stack,
            plugins=role.provenance,
        )
    return worker_set(
        deployment=deployment,
        spot=placement.spot,
        role=pods.role,
        replicas=placement.replicas,
        least=placement.least,
        size=pods.placed.shape.pods,
        entry=pods.outcome.template,
        follower=role.followers.outcome.template,
        stack=documents.settings.stack,
        plugins=role.provenance,
    )


def _workload(
    documents: Documents,
    placement: Placement,
    role: Role,
    manifest: dict[str, Any],
    scheduling: Scheduling | None,
    *,
    deadline: int,
    site: Site,
    needs: tuple[str, ...],
    groups: tuple[str, ...],
    before: tuple[str, ...],
    edition: str,
) -> Workload:
    """Return the workload of a role with its companions. Its `manifest` has what schedulers read.

    What scales it comes after it, so that the first pods are ready before more come.
    """
    spot, pods = placement.spot, role.entries
    deployment, cluster = documents.deployments[spot.deployment], documents.clusters[spot.cluster]
    pools = tuple(pool for _, pool in spot.pools)
    companions = [
        (companion.when, _companion(companion.manifest, documents, spot)) for companion in role.companions
    ]
    first = [*pods.claims.objects, *(each for when, each in companions if when == "before")]
    asking = _asking(documents, manifest, scheduling, spot, pods.role, site)
    requested = [
        replace(item, ignore=asking.immutable.get(item.kind, ()))
        for item in _in_order(asking.objects, site, needs, pools)
    ]
    stand_before = (*_in_order(first, site, needs, pools), *requested)
    manifest = awaited(asking.workload) if manifest["kind"] == WORKER_SET else asking.workload
    # Nodes that are asked for may take days.
    unwaited = documents.settings.await_ == "applied" or bool(requested)
    if unwaited:
        manifest = unawaited(manifest)
    placed = site.place(
        manifest,
        name=names.workload(spot, pods.role),
        after=(*needs, *groups, *(item.key for item in stand_before), *before),
        timeout=await_seconds(
            deployment=deployment,
            role=pods.role,
            replicas=placement.replicas,
            deadline=deadline,
        ),
        pools=pools,
    )
    if placement.least is not None:
        placed = replace(placed, ignore=OWNED)
    scales = scaler(
        deployment=deployment,
        placement=placement,
        workload=manifest,
        serving=cluster.spec.serving,
        pool=names.inference_pool(spot.deployment, names.revised(spot.revision, edition)),
        in_cloud=(site.cloud.cloud_name, site.cloud.region) if site.cloud else None,
        stack=documents.settings.stack,
    )
    last = [*([scales] if scales else []), *(each for when, each in companions if when == "after")]
    requests = tuple(position.request for position in role.positions)
    held = unwaited or documents.holds(spot.deployment, spot.cluster)
    return Workload(
        stand_before,
        placed,
        _in_order(last, site, (*needs, placed.key), pools),
        tuple(_ready_hooks(placed, pods.links, requests, held=held)),
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


def _companion(manifest: dict[str, Any], documents: Documents, spot: Spot) -> dict[str, Any]:
    """Return a companion with the labels of the stack: without them it would count as one of another owner.

    Nothing waits for what is ready only once pods run.
    """
    labels = names.object_labels(documents.settings.stack, deployment=spot.deployment)
    metadata = manifest["metadata"]
    labelled = {**manifest, "metadata": {**metadata, "labels": {**metadata.get("labels", {}), **labels}}}
    group = manifest["apiVersion"].rpartition("/")[0]
    return unawaited(labelled) if (group, manifest["kind"]) in _READY_WITH_PODS else labelled


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
