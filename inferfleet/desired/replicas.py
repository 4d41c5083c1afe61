"""The component of one placement: a workload per role, and the companions its plugins asked for."""

from typing import Any

from inferfleet.api.documents import Documents
from inferfleet.desired.pods import Pods
from inferfleet.desired.values import Component, KubeObject, kube_object
from inferfleet.fleet import names
from inferfleet.fleet.decisions import Placement
from inferfleet.fleet.spot import Spot
from inferfleet.manifests.workload import budget, progress_deadline, workload


def replicas(
    documents: Documents,
    placement: Placement,
    pods: tuple[Pods, ...],
    *,
    needs: tuple[str, ...],
    before: tuple[str, ...],
    skip_await: bool,
) -> Component:
    """`needs` are the keys of namespace and secrets; `before` those of the placement that rolls first."""
    spot = placement.spot
    deployment = documents.deployments[spot.deployment]
    objects: list[KubeObject] = []
    for one in pods:
        companions = [
            kube_object(spot.cluster, _ours(item, documents, spot), after=needs)
            for item in one.outcome.companions
        ]
        deadline = progress_deadline(
            deployment=deployment, autoscaled=one.autoscaled, template=one.outcome.template
        )
        seconds = budget(deployment=deployment, replicas=placement.replicas, deadline=deadline)
        manifest = workload(
            deployment=deployment,
            spot=spot,
            role=one.role,
            replicas=placement.replicas,
            template=one.outcome.template,
            deadline=deadline,
            stack=documents.settings.stack,
            skip_await=skip_await,
        )
        after = (*needs, *(item.key for item in companions), *before)
        objects += [*companions, kube_object(spot.cluster, manifest, after=after, timeout=seconds)]
    return Component("ModelReplicas", names.replicas_component(spot), tuple(objects))


def _ours(companion: dict[str, Any], documents: Documents, spot: Spot) -> dict[str, Any]:
    """With our labels on top: an object without them would be taken for somebody else's."""
    labels = names.object_labels(documents.settings.stack, deployment=spot.deployment)
    metadata = companion["metadata"]
    return {**companion, "metadata": {**metadata, "labels": {**metadata.get("labels", {}), **labels}}}


def workload_keys(component: Component) -> tuple[str, ...]:
    """The keys of a placement's workloads, without its companions."""
    return tuple(one.key for one in component.objects if one.timeout is not None)
