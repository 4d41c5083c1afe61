"""Which endpoint pickers an update replaces, and where requests fail meanwhile.

Documents and placement.lock do not say what a picker runs: that follows from the cluster's profile, flags
and images too, and from the version of inferfleet. So it is read where it runs, and a plan without a cluster
cannot tell.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from inferfleet.desired.values import DesiredCluster
from inferfleet.documents.problems import Problem, cluster_problem
from inferfleet.documents.wording import listing
from inferfleet.serving.comparison import differing
from inferfleet.serving.picker import CONTAINER, deployment_of, is_secure

Workload = Mapping[str, Any]
_CONFIGURATION = "config-text"
# It has the name of a revision or an edition.
_POOL = "pool-name"
_PORT = "grpc-port"
_PODS = "its pods"


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
    running: dict[str, dict[str, Workload]] = {}
    for workload in workloads:
        if whose := deployment_of(workload):
            running.setdefault(whose, {})[workload["metadata"]["name"]] = workload
    for wanted in cluster.objects:
        whose = deployment_of(wanted.manifest) if wanted.kind == "Deployment" else None
        if whose is None or not (there := running.get(whose)):
            continue
        before = there.get(wanted.kubernetes_name) or next(iter(there.values()))
        if changes := _changes(before, wanted.manifest):
            gaps = tuple(_gap(cluster.connection.cluster, whose, before, wanted.manifest))
            yield ReplacedPicker(whose, changes, gaps)


def _changes(before: Workload, after: Workload) -> tuple[str, ...]:
    """Return what is another in a picker, in words, nothing for one that stays."""
    told = tuple(_told(_container(before), _container(after)))
    if before["metadata"]["name"] != after["metadata"]["name"]:
        return told or (_PODS,)
    return (*told, _PODS) if any(differing(_rest(after), _rest(before))) else told


def _told(was: Mapping[str, Any], will: Mapping[str, Any]) -> Iterator[str]:
    if was.get("image") != will.get("image"):
        yield "image"
    flags_before, flags_after = _flags(was), _flags(will)
    names = {name for name, _ in flags_before.items() ^ flags_after.items()} - {_POOL}
    if _CONFIGURATION in names:
        yield "configuration"
    yield from (f"flag {name}" for name in sorted(names - {_CONFIGURATION}))
    if any(differing(will.get("resources"), was.get("resources"))):
        yield "resources"


def _gap(cluster: str, deployment: str, before: Workload, after: Workload) -> Iterator[Problem]:
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
    told = ("args", "image", "resources")
    container = {key: value for key, value in _container(workload).items() if key not in told}
    return {**workload["spec"]["template"]["spec"], "containers": [container]}


def _flags(container: Mapping[str, Any]) -> dict[str, str]:
    split = (arg.removeprefix("--").partition("=") for arg in container.get("args") or ())
    return {name: value for name, _, value in split}
