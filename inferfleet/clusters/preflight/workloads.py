"""Workloads that run on a cluster, and what an update does to them: which leave, which are scaled by others,
whose pods are replaced, and what changes under pods that run.

A companion that keeps its name is changed before its workload rolls. Until a pod is replaced, the files that
it mounts follow, and a container of it that restarts reads the new data too. An InferencePool has its new
ports from the first second of an update, long before the last old pod has gone.

Pods are replaced though no replica moves where a workload becomes one of the other kind, or its pods others.
placement.lock knows where replicas run and not as what, so a plan without a cluster cannot tell. Nor do
documents and placement.lock say what a picker runs: that follows from the cluster's profile, flags and images
too, and from the version of inferfleet. So it is read where it runs.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from inferfleet.cloud.values import CloudCluster
from inferfleet.clusters.connections.api import Api, ApiKind, RefusedError, served_kinds
from inferfleet.desired.values import DesiredCluster
from inferfleet.documents.pods.template import ENGINE, ROUTING_PROXY
from inferfleet.documents.problems import Problem, cluster_problem
from inferfleet.documents.wording import listing
from inferfleet.fleet.decisions import Leaving
from inferfleet.fleet.names import (
    ACTIVE_PORTS,
    CACHE,
    CLAIMED_GPUS,
    COMPANIONS,
    DEPLOYMENT,
    GPUS,
    MANAGED_BY,
    MANAGER,
    PLACEMENT,
    POOL,
    REPLICAS,
    REVISION,
    ROLE,
    SERVES,
    STACK,
    pool_of,
)
from inferfleet.fleet.roles import path_of_role
from inferfleet.fleet.shapes import pod_of
from inferfleet.fleet.spot import Spot
from inferfleet.serving.adapters import SIDECAR
from inferfleet.serving.comparison import differences, is_applied
from inferfleet.serving.picker import CONTAINER, deployment_of, is_secure
from inferfleet.serving.picker import POOL as INFERENCE_POOL
from inferfleet.serving.scaler import target_of
from inferfleet.serving.weights import FILLER, JOB_NAME
from inferfleet.serving.workload import PATCH_FORCE, WORKER_SET, WORKER_SET_API, bounds, pods_of, templates_of
from inferfleet.tables.devices import is_accelerator
from inferfleet.tables.schedulers import VOLCANO_GROUP_NAME, VOLCANO_QUEUE_NAME

_HASH = re.compile("-[0-9a-f]{6}$")
_DEPLOYMENT: ApiKind = ("apps/v1", "Deployment")
_WORKER_SET: ApiKind = (WORKER_SET_API, WORKER_SET)
Workload = Mapping[str, Any]
# What serves while a workload becomes one of the other kind.
REMADE = (
    "an update makes the new one, waits until it is ready, and then ends all pods of the old one, which "
    "take the requests until then"
)
_DEFAULT_SCHEDULER = "default-scheduler"  # what the API server writes where pods name none
_CONFIGURATION = "config-text"
# It has the name of a revision or an edition.
_POOL = "pool-name"
_PORT = "grpc-port"
_PODS = "its pods"


def running(api: Api, stack: str) -> Iterator[dict[str, Any]]:
    """Yield this stack's Deployments and LeaderWorkerSets on a cluster, of engines and others.

    Items of a list have no kind of their own, and get one here.
    """
    query = {"labelSelector": f"{MANAGED_BY}={MANAGER},{STACK}={stack}"}
    paths = {_DEPLOYMENT: "/apis/apps/v1/deployments"}
    paths |= {kind: resource.path() for kind, resource in served_kinds(api, [_WORKER_SET]).items()}
    for (version, kind), path in paths.items():
        for item in api.items(path, query=query):
            yield {**item, "apiVersion": version, "kind": kind}


def filled(api: Api, cluster: DesiredCluster, stack: str) -> Iterator[tuple[str, str, str | None]]:
    """Yield the Jobs of caches on a cluster, by namespace and name, each with how far it is in its own words:
    None where it has fetched everything.
    """
    if not any(component.kind == "ModelCache" for component in cluster.components):
        return
    query = {"labelSelector": f"{MANAGED_BY}={MANAGER},{STACK}={stack},{CACHE}"}
    jobs = [*api.items("/apis/batch/v1/jobs", query=query)]
    done = {_name_of(job) for job in jobs if (job.get("status") or {}).get("succeeded")}
    pods: list[dict[str, Any]] = []
    if len(done) < len(jobs):
        # How far they are is told where we may read it.
        with suppress(RefusedError):
            pods += api.items("/api/v1/pods", query=query)
    words = dict(last_words(api, pods))
    by_job = {
        (pod["metadata"]["namespace"], (pod["metadata"].get("labels") or {}).get(JOB_NAME, "")): pod
        for pod in pods
    }
    for namespace, name in map(_name_of, jobs):
        pod = by_job.get((namespace, name))
        said = words.get(pod["metadata"]["name"], "") if pod else ""
        yield namespace, name, None if (namespace, name) in done else said


def last_words(api: Api, pods: Iterable[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield the last line of the log of what fetches weights, or has adapters loaded, in each pod that has
    such, where we may read it: how far it is stands nowhere else.
    """
    for pod in pods:
        metadata, phase = pod["metadata"], (pod.get("status") or {}).get("phase")
        container = _speaker(pod)
        if container is None or phase != "Running":
            continue
        path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}/log"
        try:
            yield metadata["name"], api.last_line(path, query={"container": container})
        except RefusedError:
            continue


def _speaker(pod: Mapping[str, Any]) -> str | None:
    """Return the container of a pod whose last line is told."""
    if CACHE in (pod["metadata"].get("labels") or {}):
        return FILLER
    first = (pod.get("spec") or {}).get("initContainers") or ()
    return SIDECAR if any(container["name"] == SIDECAR for container in first) else None


def _name_of(item: dict[str, Any]) -> tuple[str, str]:
    return item["metadata"]["namespace"], item["metadata"]["name"]


def owner_of(workload: Workload) -> str:
    """Return the deployment (`namespace/name`) that a workload is of, "/" for one of none."""
    metadata = workload["metadata"]
    return f"{metadata.get('namespace', '')}/{(metadata.get('labels') or {}).get(DEPLOYMENT, '')}"


def scaled(cluster: str, workloads: Iterable[dict[str, Any]]) -> frozenset[tuple[str, str, str]]:
    """Return the workloads whose replicas were somebody else's, by cluster, namespace and name.

    They tell it by their annotation until their number is an update's again, and from then on by that of the
    update.
    """
    return frozenset(
        (cluster, item["metadata"]["namespace"], item["metadata"]["name"])
        for item in workloads
        if {REPLICAS, PATCH_FORCE} & (item["metadata"].get("annotations") or {}).keys()
    )


def scaling_problems(cluster: DesiredCluster, workloads: Iterable[dict[str, Any]]) -> Iterator[Problem]:
    """Yield the workloads that will no longer be scaled, and those of which more run than the plan has space
    for while nothing of the stack ends any.
    """
    name = cluster.connection.cluster
    desired = {(obj.kind, obj.namespace, obj.kubernetes_name): obj for obj in cluster.objects}
    targets = {(obj.namespace, target_of(obj.manifest)) for obj in cluster.objects}
    for item in workloads:
        space, called = item["metadata"]["namespace"], item["metadata"]["name"]
        wanted = desired.get((item["kind"], space, called))
        if wanted is None or not (before := bounds(item)):
            continue
        now, runs = bounds(wanted.manifest), int(item["spec"].get("replicas", 1))
        if now is None:
            number = wanted.manifest["spec"]["replicas"]
            if before == (number, number):
                continue
            yield cluster_problem(
                name,
                f"{item['kind']} {space}/{called} on cluster {name!r} was scaled from {before[0]} to "
                f"{before[1]}, and has {number} from now on; a scaler of this stack ends last and may set "
                "another number until then",
                f"Write replicas: {{min: {number}, max: {number}}} for one update first, or run `pulumi up "
                "--refresh` after this one",
                severity="warning",
            )
        elif runs > now[1] and (space, (item["kind"], called)) not in targets:
            yield cluster_problem(
                name,
                f"{runs} replicas of {item['kind']} {space}/{called} run on cluster {name!r}, and the plan "
                f"has room for {now[1]}: no update ends any, because somebody else scales it",
                f"Have its scaler keep to {now[0]} to {now[1]}, or raise replicas.max",
                severity="warning",
            )


def leaving(cluster: DesiredCluster, workloads: Iterable[dict[str, Any]]) -> Iterator[Leaving]:
    """Yield the running workloads that hold accelerators or cores until the update deletes them, at its end.

    One of the other kind leaves too, though what takes its place has its name.
    """
    desired = {(obj.kind, obj.namespace, obj.kubernetes_name) for obj in cluster.objects}
    for item in workloads:
        metadata, template = item["metadata"], templates_of(item)[0]
        labels = (template.get("metadata") or {}).get("labels") or {}
        # The pods of an endpoint picker have the label of their deployment too, but none of a role.
        is_engine = DEPLOYMENT in labels and ROLE in labels
        if is_engine and (item["kind"], metadata["namespace"], metadata["name"]) not in desired:
            gpus = gpus_of_pod(template)
            yield Leaving(
                cluster=cluster.connection.cluster,
                namespace=metadata["namespace"],
                name=metadata["name"],
                pool=_pool(metadata["name"], labels, template["spec"], cluster.connection.cloud),
                pods=pods_of(item),
                gpus_per_pod=gpus,
                requests=None if gpus else pod_of(template["spec"], gpus=0),
                deployment=f"{metadata['namespace']}/{labels[DEPLOYMENT]}",
                revision=labels.get(REVISION, ""),
            )


def _pool(name: str, labels: dict[str, str], pod: dict[str, Any], cloud: CloudCluster | None) -> str:
    """Return the pool of a workload from its node selector; for a pool with a selector of its own, from the
    label of its pods.
    """
    if label := (pod.get("nodeSelector") or {}).get(POOL):
        return _pool_in_document(str(label), cloud) if cloud else str(label)
    return pool_of(labels.get(PLACEMENT, "")) or name.removeprefix(f"{labels[DEPLOYMENT]}-{labels[ROLE]}-")


def _pool_in_document(label: str, cloud: CloudCluster) -> str:
    """Return the pool's name in its document: nodes carry `<pool>-<hash>`, and another hash once the pool is
    replaced.
    """
    current = {in_cloud: pool for pool, in_cloud in cloud.pool_names.items()}
    return current.get(label) or _HASH.sub("", label)


def gpus_of_pod(template: Mapping[str, Any]) -> int:
    """Return the accelerators that a pod of a template requests or claims."""
    annotations = (template.get("metadata") or {}).get("annotations") or {}
    counted = annotations.get(CLAIMED_GPUS) or annotations.get(GPUS, "")
    if counted.isdecimal():
        return int(counted)
    containers = template["spec"].get("containers") or []
    limits = [(container.get("resources") or {}).get("limits") or {} for container in containers]
    return sum(int(count) for limit in limits for name, count in limit.items() if is_accelerator(name))


def companion_change_problems(
    cluster: DesiredCluster, workloads: Iterable[dict[str, Any]]
) -> Iterator[Problem]:
    """Yield a warning for each workload that runs and reads companions whose contents will be others.

    `workloads` are those on the cluster. What their pods read, with a hash, is in an annotation of theirs.
    """
    desired = {
        (obj.namespace, obj.kubernetes_name): _read(obj.manifest)
        for obj in cluster.objects
        if obj.kind in ("Deployment", WORKER_SET)
    }
    for workload in workloads:
        metadata = workload["metadata"]
        after = desired.get((metadata["namespace"], metadata["name"]), {})
        before = _read(workload)
        if changed_names := sorted(
            name for name in before.keys() & after.keys() if before[name] != after[name]
        ):
            objects = ", ".join(name.replace("/", " ") for name in changed_names)
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


def port_problems(cluster: DesiredCluster, workloads: Iterable[dict[str, Any]]) -> Iterator[Problem]:
    """Yield a warning for each workload whose pods lack a port that requests will be sent to.

    Pickers choose among the ports of a pool on each of its pods, or among those that an annotation of the pod
    names.
    """
    pools = {
        _selected(obj.namespace, spec["selector"]["matchLabels"]): [
            port["number"] for port in spec["targetPorts"]
        ]
        for obj in cluster.objects
        if obj.kind == INFERENCE_POOL and (spec := obj.manifest.get("spec"))
    }
    for workload in workloads:
        template, metadata = templates_of(workload)[0], workload["metadata"]
        labels = (template.get("metadata") or {}).get("labels") or {}
        key = (str(metadata["namespace"]), str(labels.get(DEPLOYMENT, "")))
        pool = _selected(key[0], labels)
        if pool not in pools or not pods_of(workload):
            continue
        before, after = _ports(template), pools[pool]
        annotations = (template.get("metadata") or {}).get("annotations") or {}
        gone = [port for port in after if port not in before]
        if gone and before and (gone == after or ACTIVE_PORTS[0] not in annotations):
            yield Problem(
                f"pods of {key[0]}/{metadata['name']} on cluster {cluster.connection.cluster!r} have "
                f"{_listed(before)}, and their InferencePool would send requests to {_listed(gone)} as soon "
                "as the update begins: requests fail until the pods are replaced",
                "If they must not, write a deployment of another name beside this one, let services select "
                "both, and remove this one once the other serves",
                "spec.engine.port" if after[0] in gone else "spec.workers",
                kind="ModelDeployment",
                key="/".join(key),
                severity="warning",
            )


def _selected(namespace: str | None, labels: Mapping[str, str]) -> tuple[str | None, ...]:
    """Return what tells pods of one InferencePool from all others."""
    return namespace, labels.get(DEPLOYMENT), labels.get(SERVES)


def _ports(template: dict[str, Any]) -> list[int]:
    """Return the TCP ports that a pod's routing proxy lists, or else its engine."""
    spec = template["spec"]
    proxies = [each for each in spec.get("initContainers") or () if each["name"] == ROUTING_PROXY]
    serving = proxies or [each for each in spec.get("containers") or () if each["name"] == ENGINE]
    return [
        port["containerPort"]
        for container in serving
        for port in container.get("ports") or ()
        if port.get("protocol", "TCP") == "TCP"
    ]


def _listed(ports: list[int]) -> str:
    return f"port{'' if len(ports) == 1 else 's'} {', '.join(map(str, ports))}"


def remade_workload_problems(cluster: DesiredCluster, workloads: Iterable[Workload]) -> Iterator[Problem]:
    """Yield a warning for each engine workload that becomes one of the other kind, or whose pods are all
    replaced because of its topology, how it gets its GPUs, or its scheduler.

    `workloads` are those on the cluster. Of other changes of a pod template `lone_pod_problems` tells.
    """
    running_by_placement: dict[tuple[str, ...], list[Workload]] = {}
    for workload in workloads:
        if (whose := _whose(workload)) and pods_of(workload):
            running_by_placement.setdefault(whose, []).append(workload)
    for obj in cluster.objects:
        if obj.kind not in ("Deployment", WORKER_SET) or not (whose := _whose(obj.manifest)):
            continue
        running_kinds = {str(workload["kind"]): workload for workload in running_by_placement.get(whose, ())}
        if same := running_kinds.get(obj.kind):
            yield from _rolled_pods_problems(cluster.connection.cluster, same, obj.manifest)
        elif running_kinds:
            yield _another_kind(cluster.connection.cluster, next(iter(running_kinds.values())), obj.manifest)


def _whose(workload: Workload) -> tuple[str, ...] | None:
    """Return namespace, deployment, role and pools of an engine's workload, None for others."""
    metadata = workload["metadata"]
    labels = metadata.get("labels") or {}
    whose = tuple(str(labels.get(label, "")) for label in (DEPLOYMENT, ROLE, PLACEMENT))
    return (str(metadata.get("namespace")), *whose) if all(whose) else None


def _another_kind(cluster: str, before: Workload, after: Workload) -> Problem:
    return _of_deployment(
        after,
        f"{_named(before)} on cluster {cluster!r} is {_shaped(before)} now and will be {_shaped(after)}: "
        f"{REMADE}",
        "Where another warning says that it fits only once others are gone, the update does not wait, and "
        "nothing serves there until the new pods have loaded their model: let another placement serve "
        "meanwhile, or make room for both",
    )


def _rolled_pods_problems(cluster: str, before: Workload, after: Workload) -> Iterator[Problem]:
    was, will = _facts(before), _facts(after)
    if changes := [f"{name} {was[name]} becomes {will[name]}" for name in will if was[name] != will[name]]:
        how, next_step = meanwhile(before, after)
        yield _of_deployment(
            after,
            f"an update replaces all pods of {after['kind']} {_named(after)} on cluster {cluster!r} where "
            f"they are ({'; '.join(changes)}): {how}",
            next_step,
        )


def _facts(workload: Workload) -> dict[str, str]:
    """Return what a workload's pods are, as far as a change replaces all of them, in words by what it is."""
    entry = templates_of(workload)[0]
    annotations = (entry.get("metadata") or {}).get("annotations") or {}
    facts = {
        "size of groups": str(pods_of_group(workload)),
        "GPUs of a pod": _gpus(entry),
        "scheduler": str(entry["spec"].get("schedulerName") or _DEFAULT_SCHEDULER),
    }
    for name, key in (("queue", VOLCANO_QUEUE_NAME), ("PodGroup", VOLCANO_GROUP_NAME)):
        facts[name] = str(annotations.get(key) or "none")
    return facts


def _gpus(template: Workload) -> str:
    claimed = CLAIMED_GPUS in ((template.get("metadata") or {}).get("annotations") or {})
    return f"{gpus_of_pod(template)} by {'claims (DRA)' if claimed else 'an extended resource'}"


def lone_pod_problems(cluster: DesiredCluster, workloads: Iterable[Workload]) -> Iterator[Problem]:
    """Yield one warning where an update replaces pods that serve alone.

    `remade_workload_problems` says nothing of these. `workloads` are those on the cluster; several of one
    deployment there roll one after the other.
    """
    endpoints = Counter((spot.deployment, spot.revision) for spot in cluster.workloads)
    alone = [
        (before, after)
        for spot, before, after in _kept_workloads(cluster, workloads)
        if endpoints[spot.deployment, spot.revision] == 1
        and stops_serving(before, after)
        and _facts(before) == _facts(after)
        and not is_applied(templates_of(after), templates_of(before))
    ]
    if alone:
        how, next_step = meanwhile(*alone[0])
        listed_names = listing((_named(after) for _, after in alone), 5)
        in_words = f"{listed_names} on cluster {cluster.connection.cluster!r} where they are"
        how = how.replace("it has", "each has") if alone[1:] else how
        yield _of_deployment(alone[0][1], f"an update replaces the pods of {in_words}: {how}", next_step)


def ended_first(cluster: DesiredCluster, workloads: Iterable[Workload]) -> tuple[Workload, ...]:
    """Return the engine workloads of which an update ends pods before their successors are ready, as they
    will be. `workloads` are those on the cluster.
    """
    return tuple(
        after
        for _, before, after in _kept_workloads(cluster, workloads)
        if not _surges(after) and not is_applied(templates_of(after), templates_of(before))
    )


def _kept_workloads(
    cluster: DesiredCluster, workloads: Iterable[Workload]
) -> Iterator[tuple[Spot, Workload, Workload]]:
    """Yield the engine workloads that have pods and stay: where they are, as they run and as they will be."""
    running = {
        (str(workload["kind"]), _named(workload)): workload for workload in workloads if pods_of(workload)
    }
    spots = {key: spot for spot, keys in cluster.workloads.items() for key in keys}
    for obj in cluster.objects:
        if (spot := spots.get(obj.key)) and (before := running.get((obj.kind, _named(obj.manifest)))):
            yield spot, before, obj.manifest


def _of_deployment(workload: Workload, what: str, next_step: str) -> Problem:
    """Return a warning at the line of the role that a workload is for."""
    metadata = workload["metadata"]
    labels = metadata["labels"]
    return Problem(
        what,
        next_step,
        f"{path_of_role(labels[ROLE])}.workers",
        kind="ModelDeployment",
        key=f"{metadata['namespace']}/{labels[DEPLOYMENT]}",
        severity="warning",
    )


def meanwhile(before: Workload, after: Workload) -> tuple[str, str]:
    """Return what serves while a workload rolls, and the next step. `before` is what runs."""
    what = "group" if after["kind"] == WORKER_SET else "pod"
    number = _rolling(before, after)
    if _surges(after):
        return f"a new {what} is ready before an old one ends", "Look at what changes, and let it run"
    if not stops_serving(before, after):
        return (
            f"one {what} of {number} after another, and the others take the requests meanwhile",
            "Let it run when they suffice",
        )
    return (
        f"it has one {what}, and nothing serves there until the new one has loaded its model",
        "Add a replica first, or write rollout: Surge where there is room for another",
    )


def stops_serving(before: Workload, after: Workload) -> bool:
    """Return whether nothing of a workload serves while its pods are replaced. `before` is what runs."""
    return not _surges(after) and _rolling(before, after) <= 1


def _rolling(before: Workload, after: Workload) -> int:
    """Return how many pods or groups roll: no update sets the number of those that are scaled."""
    return int((before if bounds(after) else after)["spec"].get("replicas", 1))


def _surges(workload: Workload) -> bool:
    spec = workload["spec"]
    rolling = (spec.get("strategy") or {}).get("rollingUpdate") or {}
    rolling = rolling or (spec.get("rolloutStrategy") or {}).get("rollingUpdateConfiguration") or {}
    return bool(rolling.get("maxSurge"))


def pods_of_group(workload: Workload) -> int:
    """Return how many pods a group of a workload has, one of a Deployment."""
    return int((workload["spec"].get("leaderWorkerTemplate") or {}).get("size", 1))


def _shaped(workload: Workload) -> str:
    number, size = int(workload["spec"].get("replicas", 1)), pods_of_group(workload)
    pods = f"{size} pod{'' if size == 1 else 's'}"
    if workload["kind"] == WORKER_SET:
        return f"a {WORKER_SET} of {number} group{'' if number == 1 else 's'} of {pods}"
    return f"a Deployment of {number} pod{'' if number == 1 else 's'}"


def _named(workload: Workload) -> str:
    return f"{workload['metadata']['namespace']}/{workload['metadata']['name']}"


@dataclass(frozen=True)
class ReplacedPicker:
    """The endpoint picker of a deployment that an update replaces by another: what is another in it, in
    words, and the warnings where requests fail meanwhile.
    """

    deployment: str
    changes: tuple[str, ...]
    gaps: tuple[Problem, ...] = ()


def picker_problems(cluster: DesiredCluster, workloads: Iterable[Workload]) -> Iterator[Problem]:
    """Yield which pickers are replaced by others, and a warning for each whose requests fail meanwhile.

    `workloads` are those that run on the cluster.
    """
    name = cluster.connection.cluster
    replaced: dict[tuple[str, ...], list[str]] = {}
    for picker in replaced_pickers(cluster, workloads):
        replaced.setdefault(picker.changes, []).append(picker.deployment)
        yield from picker.gaps
    for changes, deployments in sorted(replaced.items()):
        yield cluster_problem(
            name,
            f"on cluster {name!r} an update replaces the endpoint picker{'s' * (len(deployments) > 1)} of "
            f"{listing(sorted(deployments))} ({', '.join(changes)}): the old one serves until the new one is "
            "ready, and ends then",
            "Nodes need room for both meanwhile",
            severity="notice",
        )


def replaced_pickers(cluster: DesiredCluster, workloads: Iterable[Workload]) -> Iterator[ReplacedPicker]:
    """Yield the pickers among the workloads on a cluster that are replaced by others."""
    running_by_deployment: dict[str, dict[str, Workload]] = {}
    for workload in workloads:
        if whose := deployment_of(workload):
            running_by_deployment.setdefault(whose, {})[workload["metadata"]["name"]] = workload
    for obj in cluster.objects:
        whose = deployment_of(obj.manifest) if obj.kind == "Deployment" else None
        if whose is None or not (runs := running_by_deployment.get(whose)):
            continue
        before = runs.get(obj.kubernetes_name) or next(iter(runs.values()))
        if changes := _changes(before, obj.manifest):
            gaps = tuple(_picker_gap_problems(cluster.connection.cluster, whose, before, obj.manifest))
            yield ReplacedPicker(whose, changes, gaps)


def _changes(before: Workload, after: Workload) -> tuple[str, ...]:
    """Return what is another in a picker, in words, nothing for one that stays."""
    changes = tuple(_told(_container(before), _container(after)))
    if before["metadata"]["name"] != after["metadata"]["name"]:
        return changes or (_PODS,)
    return (*changes, _PODS) if any(differences(_rest(after), _rest(before))) else changes


def _told(was: Mapping[str, Any], will: Mapping[str, Any]) -> Iterator[str]:
    if was.get("image") != will.get("image"):
        yield "image"
    flags_before, flags_after = _flags(was), _flags(will)
    names = {name for name, _ in flags_before.items() ^ flags_after.items()} - {_POOL}
    if _CONFIGURATION in names:
        yield "configuration"
    yield from (f"flag {name}" for name in sorted(names - {_CONFIGURATION}))
    if any(differences(will.get("resources"), was.get("resources"))):
        yield "resources"


def _picker_gap_problems(
    cluster: str, deployment: str, before: Workload, after: Workload
) -> Iterator[Problem]:
    """Yield that a picker cannot serve beside the one of before, of which gateways expect another thing."""
    if before["metadata"]["name"] != after["metadata"]["name"]:
        return
    was, will = _flags(_container(before)), _flags(_container(after))
    field = "flags" if is_secure(was) != is_secure(will) else "port"
    what = {
        "flags": f"begins to serve {'TLS' if is_secure(will) else 'plain text'} (secure-serving)",
        "port": f"listens for gateways on port {will.get(_PORT)} instead of {was.get(_PORT)}",
    }
    if field == "flags" or was.get(_PORT) != will.get(_PORT):
        yield Problem(
            f"the endpoint picker of {deployment} on cluster {cluster!r} {what[field]}, and gateways reach "
            "old and new in one way: requests fail until the old one has left",
            "If they must not, write endpointPicker.replicas: 2 in an update before this one: pickers with "
            "several replicas have a Service and an InferencePool of their own after each change",
            f"spec.endpointPicker.{field}",
            kind="ModelDeployment",
            key=deployment,
            severity="warning",
        )


def _container(workload: Workload) -> dict[str, Any]:
    containers = workload["spec"]["template"]["spec"]["containers"]
    return next(container for container in containers if container["name"] == CONTAINER)


def _rest(workload: Workload) -> dict[str, Any]:
    """Return what pods of a picker have besides image, arguments and resources."""
    left_out = ("args", "image", "resources")
    container = {key: value for key, value in _container(workload).items() if key not in left_out}
    return {**workload["spec"]["template"]["spec"], "containers": [container]}


def _flags(container: Mapping[str, Any]) -> dict[str, str]:
    split = (arg.removeprefix("--").partition("=") for arg in container.get("args") or ())
    return {name: value for name, _, value in split}
