"""Which pods are replaced where they are, in which order, and what serves meanwhile.

Pods restart where anything differs in what they are made of: the template of a Deployment, the templates of a
LeaderWorkerSet and the size of its groups. Manifests of both sides say so, and no table of fields.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from inferfleet.clusters.preflight.in_place import REMADE, meanwhile, pods_of_group, stops_serving
from inferfleet.clusters.preflight.leaving import gpus_of_pod
from inferfleet.desired.values import Desired, DesiredCluster, KubeObject
from inferfleet.documents.pods.diff import compared
from inferfleet.fleet.names import DEPLOYMENT, ROLE
from inferfleet.fleet.spot import Spot
from inferfleet.review.digest.resources import fields_of, named
from inferfleet.review.digest.standing import at_least
from inferfleet.review.digest.update import Update
from inferfleet.review.digest.values.models import Image, Restart, Scale
from inferfleet.serving.workload import WORKER_SET, most_of, pods_of, templates_of

# Instead of fields, where pods end with their nodes.
_NODES = ("nodes",)
_SOME_AT_A_TIME = "GKE replaces the nodes of its pool, some at a time, and its pods end with them"
_DELETED_FIRST = "the old nodes of its pool are deleted before new ones are created"
# The one field that differs where a workload becomes a LeaderWorkerSet or a Deployment.
OF_ANOTHER_KIND = ("kind",)
# References of images in a pod template: of containers, and of volumes that are images.
_IMAGE = re.compile(r"(^|\.)(initContainers|containers)\[[^\]]*\]\.image$|\.image\.reference$")
_DIGEST = re.compile(r"(@\w+:[0-9a-fA-F]{12})[0-9a-fA-F]+$")
# Seconds that Kubernetes gives pods to end where their template says nothing.
_GRACE = 30


def restarts(update: Update) -> dict[str, tuple[Restart, ...]]:
    """Return the restarts by deployment, in their order.

    Placements of a deployment roll one after the other, unless updates wait for no pods.
    """
    together = update.head.documents.settings.await_ == "applied"
    made: dict[str, tuple[Restart, ...]] = {}
    nodes = _replaced_nodes(update)
    pairs = {spot: found for cluster in update.remaining for spot, found in _pairs(*cluster) if found}
    at_one_endpoint = Counter(map(_endpoint, pairs))
    for spot in sorted(pairs):
        known = made.get(spot.deployment, ())
        order = 1 if together or not known else known[-1].order + 1
        others = at_one_endpoint[_endpoint(spot)] > 1 and not together
        of_spot = tuple(
            restart
            for was, will in pairs[spot]
            if (restart := _restart(was, will, order, others=others, nodes=nodes.get(_pool(spot, will), "")))
        )
        if of_spot:
            made[spot.deployment] = (*known, *of_spot)
    return made


def scales(update: Update) -> dict[str, tuple[Scale, ...]]:
    """Return by deployment the workloads whose number of pods is another, though no replica comes or goes."""
    changed = {change.spot for change in update.desired.plan.changes}
    made: dict[str, tuple[Scale, ...]] = {}
    for cluster in update.remaining:
        for spot, pairs in _pairs(*cluster):
            for was, will in pairs if spot not in changed else ():
                before, after = pods_of(at_least(was.manifest)), pods_of(will.manifest)
                if before != after and not will.ignore:
                    known = made.get(spot.deployment, ())
                    made[spot.deployment] = (*known, Scale(named(will), before, after))
    return made


def gpus_that_come_or_go(update: Update) -> Counter[str]:
    """Return by deployment the GPUs of pods that workloads get or lose."""
    before, after = _gpus(update.base.desired), _gpus(update.desired)
    changed: Counter[str] = Counter()
    for workload in before.keys() | after.keys():
        changed[workload[0]] += abs(after.get(workload, 0) - before.get(workload, 0))
    return changed


def _gpus(desired: Desired) -> dict[tuple[str, str], int]:
    """Return the GPUs of each workload of an engine, by deployment and name."""
    return {
        (f"{made.namespace}/{labels[DEPLOYMENT]}", made.name): most_of(made.manifest)
        * _gpus_of_group(made.manifest)
        for cluster in desired.clusters
        for made in cluster.objects
        if ROLE in (labels := _labels(made)) and made.kind in ("Deployment", WORKER_SET)
    }


def grace(workload: Mapping[str, Any]) -> int:
    """Return the seconds that requests in hand have at most when a pod of the workload ends."""
    entry = templates_of(workload)[0]
    return int(entry["spec"].get("terminationGracePeriodSeconds", _GRACE))


def _pairs(
    before: DesiredCluster, after: DesiredCluster
) -> Iterator[tuple[Spot, list[tuple[KubeObject, KubeObject]]]]:
    """Yield for each spot of a cluster its workloads that stand and stay, before and after."""
    old = {made.name: made for made in before.objects if ROLE in _labels(made)}
    new = {made.key: made for made in after.objects}
    for spot, keys in after.workloads.items():
        workloads = [new[key] for key in keys if key in new]
        yield spot, [(old[made.name], made) for made in workloads if made.name in old]


def _endpoint(spot: Spot) -> tuple[str, str, str]:
    """Return what spots share whose workloads take requests of one endpoint."""
    return spot.deployment, spot.cluster, spot.revision


def _replaced_nodes(update: Update) -> dict[tuple[str, str], str]:
    """Return the pools whose nodes end before others take their place, with the words for it."""
    words: dict[tuple[str, str], str] = {}
    for change in update.desired.cloud_changes:
        gke = update.head.documents.clusters[change.cluster].spec.cluster.gke if change.pool else None
        if change.kind == "nodes replaced":
            words[change.cluster, change.pool] = _SOME_AT_A_TIME
        elif change.kind == "replaced" and gke and gke.replace.order == "DeleteFirst":
            words[change.cluster, change.pool] = _DELETED_FIRST
    return words


def _pool(spot: Spot, workload: KubeObject) -> tuple[str, str]:
    return spot.cluster, spot.pool(_labels(workload)[ROLE])


def _restart(was: KubeObject, will: KubeObject, order: int, *, others: bool, nodes: str) -> Restart | None:
    """Return the restart of a workload, None for one whose pods run on.

    `others`: more workloads on the cluster take requests of the deployment. `nodes` says how nodes end before
    others take their place, "" for nodes that stay.
    """
    groups = min(most_of(was.manifest), most_of(will.manifest))
    remade = was.kind != will.kind
    fields = OF_ANOTHER_KIND if remade else fields_of(_made_of(was.manifest), _made_of(will.manifest))
    if nodes and not fields:
        fields = _NODES
    if not fields or not groups:
        return None
    serving, gap = REMADE, False
    if nodes:
        serving, gap = nodes, not others and (nodes == _DELETED_FIRST or groups == 1)
    elif not remade:
        stood = at_least(was.manifest)
        stops = stops_serving(stood, will.manifest)
        serving, gap = meanwhile(stood, will.manifest)[0], stops and not others
        if others and stops:
            serving = "other workloads on the cluster take the requests meanwhile"
    return Restart(
        workload=named(will),
        role=_labels(will)[ROLE],
        pods=groups * pods_of_group(was.manifest),
        gpus=groups * _gpus_of_group(was.manifest),
        order=order,
        fields=fields,
        serving=serving,
        gap=gap,
        grace=grace(was.manifest),
        images=() if remade else tuple(_images(was.manifest, will.manifest)),
    )


def _images(was: Mapping[str, Any], will: Mapping[str, Any]) -> Iterator[Image]:
    """Yield the images of containers and volumes that are others, each once."""
    made = (
        Image(below_pod(change.path), short_image(str(change.before)), short_image(str(change.after)))
        for change in compared(_made_of(was), _made_of(will)).changes
        if _IMAGE.search(change.path) and change.before and change.after
    )
    yield from dict.fromkeys(sorted(made, key=lambda image: image.path))


def short_image(reference: str) -> str:
    """Return the reference of an image with 12 of the 64 digits of its digest, if it has one."""
    return _DIGEST.sub(r"\1", reference)


def below_pod(path: str) -> str:
    """Return the path of a field of a pod template as it is below `spec` of the pod."""
    return path.removeprefix("leaderTemplate.").removeprefix("workerTemplate.").removeprefix("spec.")


def _labels(made: KubeObject) -> dict[str, str]:
    labels: dict[str, str] = made.manifest["metadata"].get("labels") or {}
    return labels


def _made_of(workload: Mapping[str, Any]) -> Any:
    spec = workload["spec"]
    return spec.get("leaderWorkerTemplate") or spec["template"]


def _gpus_of_group(workload: Mapping[str, Any]) -> int:
    """Return the GPUs of a pod, or of a group of pods."""
    entry, *followers = templates_of(workload)
    size = pods_of_group(workload)
    return gpus_of_pod(entry) + sum((size - 1) * gpus_of_pod(follower) for follower in followers)
