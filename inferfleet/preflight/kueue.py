"""Which updates of workloads that run Kueue would refuse, by what runs and who wrote it."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from inferfleet.api.problems import Problem, cluster_problem
from inferfleet.api.wording import listing
from inferfleet.desired.values import DesiredCluster
from inferfleet.fleet.names import SPEC
from inferfleet.fleet.scheduling import ON_CLUSTER
from inferfleet.manifests.scheduling.scheduled import counted_by_kueue
from inferfleet.manifests.worker_set import KIND
from inferfleet.profiles import schedulers

_LABELS, _QUEUE = ("f:metadata", "f:labels"), f"f:{schedulers.KUEUE_QUEUE}"


def kueue_refuses(cluster: DesiredCluster, live: Iterable[Mapping[str, Any]]) -> Iterator[Problem]:
    """Yield the workloads of this stack that run, `live`, and of which Kueue would refuse the update.

    Its webhooks refuse another queue of a Deployment or LeaderWorkerSet while pods of it are ready, and to
    take either out of its queue; and of a LeaderWorkerSet in a queue whatever it counts or places pods by
    (ValidateUpdate in deployment_webhook.go and leaderworkerset_webhook.go, commit ff69552e). Pods of a
    Deployment are admitted one by one, so its template may change. A queue that Kueue chose itself, where a
    namespace has a default one, is not ours to take away.
    """
    wanted = {
        (thing.kind, thing.namespace or "", thing.kubernetes_name): thing.manifest
        for thing in cluster.objects
        if thing.kind in ("Deployment", KIND)
    }
    for item in live:
        metadata = item["metadata"]
        after = wanted.get((item["kind"], metadata["namespace"], metadata["name"]))
        if after is None:
            continue
        place, name = f"{metadata['namespace']}/{metadata['name']}", cluster.connection.cluster
        ours = (after["metadata"].get("labels") or {}).get(schedulers.KUEUE_QUEUE)
        theirs = (metadata.get("labels") or {}).get(schedulers.KUEUE_QUEUE)
        ready = (item.get("status") or {}).get("readyReplicas", 0)
        changed = ours is not None and ours != theirs and ready
        ended = ours is None and theirs is not None and _written_by_us(metadata, (*_LABELS, _QUEUE))
        if changed or ended:
            yield _kueue_problem(
                name,
                f"workload {place} on cluster {name!r} is in {_in_words(theirs)} of Kueue and would be in "
                f"{_in_words(ours)}, which Kueue refuses "
                + (
                    f"while pods are ready ({ready} are)" if changed else "for as long as the workload exists"
                ),
                "the queue",
            )
        if item["kind"] == KIND and (ours or theirs) and (others := tuple(_counted_otherwise(item, after))):
            yield _kueue_problem(
                name,
                f"{KIND} {place} on cluster {name!r} is in {_in_words(theirs or ours)} of Kueue, and an "
                f"update would change {listing(others)} of leaderWorkerTemplate, which Kueue refuses for "
                "as long as the workload exists",
                "it",
            )


def _kueue_problem(cluster: str, what: str, change: str) -> Problem:
    return cluster_problem(
        cluster,
        what,
        f"Write replicas: 0 for its deployment, run `pulumi up`, and change {change} then; or give the "
        "deployment another name, and remove the old one once the new one serves",
        ON_CLUSTER,
    )


def _counted_otherwise(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    """Yield what Kueue counts or places a group by and an update would change, by path.

    What somebody else added stays, and is no change: an update removes what it wrote itself.
    """
    before_hash, after_hash = (
        (item["metadata"].get("annotations") or {}).get(SPEC) for item in (before, after)
    )
    if after_hash and before_hash == after_hash:
        return  # of the spec that the last update wrote
    was, will = (item["spec"]["leaderWorkerTemplate"] for item in (before, after))
    if was.get("size", 1) != will.get("size", 1):
        yield "size"
    for template in ("leaderTemplate", "workerTemplate"):
        if (template in was) != (template in will):
            yield template
            continue
        if template not in was:
            continue
        old, new = counted_by_kueue(was[template]["spec"]), counted_by_kueue(will[template]["spec"])
        for path in sorted(old.keys() | new.keys()):
            steps = ["f:spec", "f:leaderWorkerTemplate", f"f:{template}", "f:spec"]
            # Fields of containers are managed below the container's name, and who has one has all of ours.
            of_containers, index, _ = path[0].partition("[")
            steps += [f"f:{of_containers}"] if index else [f"f:{step}" for step in path]
            ended = path not in new and _written_by_us(before["metadata"], tuple(steps))
            if ended or (path in new and old.get(path) != new[path]):
                yield f"{template}.spec.{'.'.join(path)}"


def _in_words(queue: str | None) -> str:
    return f"queue {queue}" if queue else "no queue"


def _written_by_us(metadata: Mapping[str, Any], path: tuple[str, ...]) -> bool:
    """Return whether an update of ours wrote the field."""
    for entry in metadata.get("managedFields") or ():
        field = entry.get("fieldsV1") or {}
        for step in path:
            field = (field or {}).get(step)
        if field is not None and str(entry.get("manager")).startswith("pulumi"):
            return True
    return False
