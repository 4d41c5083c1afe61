"""Companions that an update changes under pods that run and read them.

A companion that keeps its name is changed before its workload rolls. Until a pod is replaced, the files that
it mounts follow, and a container of it that restarts reads the new data too.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from inferfleet.api.problems import Problem
from inferfleet.desired.values import DesiredCluster
from inferfleet.fleet.names import COMPANIONS
from inferfleet.manifests.worker_set import KIND
from inferfleet.manifests.workload import templates_of
from inferfleet.reach.clusters import cluster_problem


def changed_in_place(cluster: DesiredCluster, workloads: Iterable[dict[str, Any]]) -> Iterator[Problem]:
    """Yield a warning for each workload that runs and reads companions whose contents will be others.

    `workloads` are those on the cluster. What their pods read, with a hash, is in an annotation of theirs.
    """
    desired = {
        (wanted.namespace, wanted.kubernetes_name): _read(wanted.manifest)
        for wanted in cluster.objects
        if wanted.kind in ("Deployment", KIND)
    }
    for workload in workloads:
        metadata = workload["metadata"]
        after = desired.get((metadata["namespace"], metadata["name"]), {})
        before = _read(workload)
        if others := sorted(name for name in before.keys() & after.keys() if before[name] != after[name]):
            objects = ", ".join(name.replace("/", " ") for name in others)
            yield cluster_problem(
                cluster.connection.cluster,
                f"on cluster {cluster.connection.cluster!r} an update changes {objects} while pods of "
                f"{metadata['namespace']}/{metadata['name']} run and read it: they may see what is new "
                "before they are replaced",
                "If they must not, let the plugin name it by its contents: "
                "request.companion_name(..., contents=data)",
                severity="warning",
            )


def _read(workload: Mapping[str, Any]) -> dict[str, str]:
    """Return the hashes of the companions that pods of a workload read, by `<kind>/<name>`."""
    texts = [
        str(((template.get("metadata") or {}).get("annotations") or {}).get(COMPANIONS) or "")
        for template in templates_of(workload)
    ]
    entries = (entry.rpartition("@") for text in texts for entry in text.split(",") if "@" in entry)
    return {name: digest for name, _, digest in entries}
