"""What an update in place does to pods that run, where fields that differ do not say it.

A companion that keeps its name is changed before its workload rolls. Until a pod is replaced, the files that
it mounts follow, and a container of it that restarts reads the new data too. An InferencePool has its new
ports from the first second of an update, long before the last old pod has gone. Groups of another size are
all made anew.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from inferfleet.api.kinds.containers import ENGINE
from inferfleet.api.problems import Problem, Severity
from inferfleet.desired.values import DesiredCluster
from inferfleet.fleet.names import ACTIVE_PORTS, COMPANIONS, DEPLOYMENT, ROLE, SERVES
from inferfleet.fleet.roles import path_of_role
from inferfleet.manifests.picker.pool import KIND as POOL
from inferfleet.manifests.pod.template import PORT_NAME
from inferfleet.manifests.worker_set import KIND
from inferfleet.manifests.workload import templates_of
from inferfleet.profiles.schedulers import KUEUE_QUEUE
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


def reshaped(cluster: DesiredCluster, workloads: Iterable[dict[str, Any]]) -> Iterator[Problem]:
    """Yield a warning for each running workload whose groups get another size, or that changes its kind.

    It is an error where Kueue manages the groups: its webhook takes no other size
    (leaderworkerset_webhook.go, commit ff69552e).
    """
    wanted = {
        (made.namespace, made.kubernetes_name): made.manifest
        for made in cluster.objects
        if made.kind in ("Deployment", KIND)
    }
    for workload in workloads:
        metadata = workload["metadata"]
        place = (metadata["namespace"], metadata["name"])
        after = wanted.get(place)
        if after is None or not _replicas(workload):
            continue
        what, next_step, severity = _reshaped(workload, after)
        if what:
            labels = templates_of(workload)[0]["metadata"]["labels"]
            yield Problem(
                f"workload {'/'.join(place)} on cluster {cluster.connection.cluster!r} {what}",
                next_step,
                f"{path_of_role(labels[ROLE])}.workers.topology",
                kind="ModelDeployment",
                key=f"{place[0]}/{labels[DEPLOYMENT]}",
                severity=severity,
            )


def _reshaped(before: dict[str, Any], after: dict[str, Any]) -> tuple[str, str, Severity]:
    """Return what is said of a workload that gets another shape, the next step and how bad it is."""
    if after["kind"] != before["kind"]:
        return (
            f"is {_in_words(before)} and would be {_in_words(after)}: the new pods are made beside the old "
            "ones, which end with the update",
            "Where there is not room for both, this update does not wait for the new pods: run the next "
            "`pulumi up` when the old ones have gone",
            "warning",
        )
    if _size(after) == _size(before):
        return "", "", "notice"
    sizes = f"has {_in_words(before)} and would have {_in_words(after)}"
    if KUEUE_QUEUE in (before["metadata"].get("labels") or {}):
        return (
            f"{sizes}, and Kueue, which manages it, takes no other size",
            "Write replicas: 0 for its deployment, run `pulumi up`, and change the topology then",
            "error",
        )
    replaced = f"{sizes}: every group is replaced, one at a time"
    rolling = after["spec"]["rolloutStrategy"]["rollingUpdateConfiguration"]
    if _replicas(before) == 1 and not rolling["maxSurge"]:
        return (
            f"{replaced}, and nothing serves until the new one is ready",
            "Add a replica in an update before this one, or write rollout: Surge where there is room",
            "warning",
        )
    return replaced, "Wait until the others can serve all requests without one group", "warning"


def ports_ahead(cluster: DesiredCluster, workloads: Iterable[dict[str, Any]]) -> Iterator[Problem]:
    """Yield a warning for each workload whose pods do not serve on the ports that requests will be sent to.

    Pickers choose among the ports of a pool on each of its pods, or among those that an annotation of the pod
    names.
    """
    pools = {
        (made.namespace or "", made.kubernetes_name): [
            port["number"] for port in (made.manifest.get("spec") or {}).get("targetPorts") or ()
        ]
        for made in cluster.objects
        if made.kind == POOL
    }
    for workload in workloads:
        template, metadata = templates_of(workload)[0], workload["metadata"]
        labels = (template.get("metadata") or {}).get("labels") or {}
        key = (str(metadata["namespace"]), str(labels.get(DEPLOYMENT, "")))
        if SERVES not in labels or key not in pools or not _replicas(workload):
            continue
        before, after = _ports(template), pools[key]
        annotations = (template.get("metadata") or {}).get("annotations") or {}
        chosen = set(after) & set(before) if ACTIVE_PORTS[0] in annotations else set(after)
        if before and (not chosen or chosen - set(before)):
            yield Problem(
                f"pods of {key[0]}/{metadata['name']} on cluster {cluster.connection.cluster!r} serve on "
                f"{_listed(before)}, and their InferencePool would send requests to {_listed(after)} as soon "
                "as the update begins: requests fail until the pods are replaced",
                "If they must not, write a deployment of another name beside this one, let services select "
                "both, and remove this one once the other serves",
                "spec.engine.port" if before[0] != after[0] else "spec.workers.topology",
                kind="ModelDeployment",
                key="/".join(key),
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


def _size(workload: dict[str, Any]) -> int:
    return int((workload["spec"].get("leaderWorkerTemplate") or {}).get("size", 1))


def _replicas(workload: dict[str, Any]) -> int:
    return int(workload["spec"].get("replicas", 1))


def _in_words(workload: dict[str, Any]) -> str:
    replicas = _replicas(workload)
    if workload["kind"] != KIND:
        return f"a Deployment of {_counted(replicas, 'pod')}"
    return f"{_counted(replicas, 'group')} of {_counted(_size(workload), 'pod')}"


def _counted(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"


def _ports(template: dict[str, Any]) -> list[int]:
    """Return the ports on which the engine of a pod serves, by their names."""
    return [
        port["containerPort"]
        for container in template["spec"].get("containers") or ()
        if container["name"] == ENGINE
        for port in container.get("ports") or ()
        if str(port.get("name", "")).partition("-")[0] == PORT_NAME
    ]


def _listed(ports: list[int]) -> str:
    return f"port{'' if len(ports) == 1 else 's'} {', '.join(map(str, ports))}"
