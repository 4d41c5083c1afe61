"""The replicas of one placement: a workload per role, and the companions its plugins asked for."""

from dataclasses import dataclass
from typing import Any

from inferfleet.api.documents import Documents
from inferfleet.desired.clusters import Site
from inferfleet.desired.pods import Pods
from inferfleet.desired.values import Component, KubeObject
from inferfleet.fleet import names
from inferfleet.fleet.decisions import Placement
from inferfleet.fleet.spot import Spot
from inferfleet.manifests.workload import budget, progress_deadline, unawaited, workload


@dataclass(frozen=True)
class Workload:
    """The Deployment of one role, after its companions."""

    companions: tuple[KubeObject, ...]
    deployment: KubeObject


@dataclass(frozen=True)
class Replicas:
    """The workloads of one placement, in the order of roles."""

    spot: Spot
    workloads: tuple[Workload, ...]

    @property
    def keys(self) -> tuple[str, ...]:
        """Return the keys of the Deployments."""
        return tuple(workload.deployment.key for workload in self.workloads)

    @property
    def component(self) -> Component:
        """Return the Pulumi component."""
        objects = [
            made for workload in self.workloads for made in (*workload.companions, workload.deployment)
        ]
        return Component("ModelReplicas", names.replicas_component(self.spot), tuple(objects))


def replicas(
    documents: Documents,
    placement: Placement,
    roles: tuple[Pods, ...],
    *,
    site: Site,
    needs: tuple[str, ...],
    before: tuple[str, ...],
) -> Replicas:
    """Return the objects of a placement, whose pods by role are `roles`.

    `needs` are the keys of namespace and secrets, `before` those of the placement that rolls first.
    """
    spot = placement.spot
    pools = tuple(pool for _, pool in spot.pools)
    deployment = documents.deployments[spot.deployment]
    made: list[Workload] = []
    for pods in roles:
        companions = tuple(
            site.place(_ours(item, documents, spot), after=needs, pools=pools)
            for item in pods.outcome.companions
        )
        deadline = progress_deadline(
            deployment=deployment, autoscaled=pods.autoscaled, template=pods.outcome.template
        )
        seconds = budget(deployment=deployment, replicas=placement.replicas, deadline=deadline)
        manifest = workload(
            deployment=deployment,
            spot=spot,
            role=pods.role,
            replicas=placement.replicas,
            template=pods.outcome.template,
            deadline=deadline,
            stack=documents.settings.stack,
        )
        if documents.settings.await_ == "applied":
            manifest = unawaited(manifest)
        after = (*needs, *(item.key for item in companions), *before)
        made.append(Workload(companions, site.place(manifest, after=after, timeout=seconds, pools=pools)))
    return Replicas(spot, tuple(made))


def _ours(companion: dict[str, Any], documents: Documents, spot: Spot) -> dict[str, Any]:
    """Add the labels of the stack: an object without them would count as one of another owner."""
    labels = names.object_labels(documents.settings.stack, deployment=spot.deployment)
    metadata = companion["metadata"]
    return {**companion, "metadata": {**metadata, "labels": {**metadata.get("labels", {}), **labels}}}
