"""Ask all clusters at once whether what is desired can be written there."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeVar

from inferfleet.clusters.connections.api import Api, ApiKind, RefusedError, served_kinds
from inferfleet.clusters.connections.ask import ask, refusal
from inferfleet.clusters.connections.gke import NotThere
from inferfleet.clusters.connections.google import GOOGLE
from inferfleet.clusters.preflight import addons, ownership, prerequisites
from inferfleet.clusters.preflight.dry_run import refused_write_problems
from inferfleet.clusters.preflight.nodes import node_problems
from inferfleet.clusters.preflight.references import future_object_problems, missing_object_problems
from inferfleet.clusters.preflight.volumes import volume_problems
from inferfleet.clusters.preflight.workloads import (
    companion_change_problems,
    filled,
    leaving,
    lone_pod_problems,
    owner_of,
    picker_problems,
    port_problems,
    remade_workload_problems,
    running,
    scaled,
    scaling_problems,
)
from inferfleet.desired.values import Connection, Desired, DesiredCluster
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.documents.problems import Problem
from inferfleet.fleet.decisions import Leaving
from inferfleet.serving.gateway import Address

# A cluster that does not answer is reported within 30 s, the time to load and plan included.
SECONDS = 25.0

T = TypeVar("T")


@dataclass(frozen=True)
class Observation:
    """What the clusters answered. `problems` are of every severity.

    By cluster, `uids` are those of kube-system, and `addresses` those of gateways that are somebody else's,
    where there is one. `scaled` are workloads whose replicas are or were somebody else's, by cluster,
    namespace and name. `absent` are clusters that the stack creates and that do not exist yet. `unknown` are
    kinds of monitoring that a cluster does not know. `filled` are the Jobs of caches that have fetched all,
    by cluster, namespace and name, `filling` says how far others are in their own words, and `running` are
    the deployments that have workloads. `newer` are definitions as they stay, by the keys of desired ones
    that are older.
    """

    problems: tuple[Problem, ...] = ()
    leaving: tuple[Leaving, ...] = ()
    filled: frozenset[tuple[str, str, str]] = frozenset()
    filling: Mapping[tuple[str, str, str], str] = field(default_factory=dict)
    running: frozenset[str] = frozenset()
    uids: Mapping[str, str] = field(default_factory=dict)
    addresses: Mapping[str, Address] = field(default_factory=dict)
    scaled: frozenset[tuple[str, str, str]] = frozenset()
    absent: tuple[str, ...] = ()
    unknown: Mapping[str, frozenset[ApiKind]] = field(default_factory=dict)
    newer: Mapping[str, dict[str, Any]] = field(default_factory=dict)


def observe(
    desired: Desired,
    kubeconfigs: Mapping[str, str],
    *,
    deployments: Mapping[str, ModelDeployment] = MappingProxyType({}),
    container_api: str = GOOGLE.container,
    seconds: float = SECONDS,
) -> Observation:
    """Return what all clusters answered together, as `observations` has it for each."""
    answers = observations(
        desired, kubeconfigs, deployments=deployments, container_api=container_api, seconds=seconds
    ).values()
    return Observation(
        problems=tuple(problem for seen in answers for problem in seen.problems),
        leaving=tuple(workload for seen in answers for workload in seen.leaving),
        filled=frozenset(name for seen in answers for name in seen.filled),
        filling={job: words for seen in answers for job, words in seen.filling.items()},
        running=frozenset(key for seen in answers for key in seen.running),
        uids={name: uid for seen in answers for name, uid in seen.uids.items()},
        addresses={name: address for seen in answers for name, address in seen.addresses.items()},
        scaled=frozenset(name for seen in answers for name in seen.scaled),
        absent=tuple(name for seen in answers for name in seen.absent),
        unknown={name: kinds for seen in answers for name, kinds in seen.unknown.items()},
        newer={key: manifest for seen in answers for key, manifest in seen.newer.items()},
    )


def observations(
    desired: Desired,
    kubeconfigs: Mapping[str, str],
    *,
    deployments: Mapping[str, ModelDeployment],
    container_api: str,
    seconds: float,
) -> dict[str, Observation]:
    """Check every cluster that is neither lost nor abandoned, all at once, within `seconds`.

    `kubeconfigs` holds texts by cluster; clusters that the stack creates need none, because the Container API
    at the address `container_api` says where they are. `deployments` are the documents that pods come from.
    """
    clusters = {cluster.connection.cluster: cluster for cluster in desired.clusters}

    def check(connection: Connection, api: Api) -> Observation:
        return _check(api, clusters[connection.cluster], desired, deployments)

    answers = ask(desired, kubeconfigs, check, container_api=container_api, seconds=seconds)
    of_program = bool(desired.fleet)
    return {
        name: _observation(name, answer, clusters[name], of_program=of_program)
        for name, answer in sorted(answers.items())
    }


def identify(
    desired: Desired,
    kubeconfigs: Mapping[str, str],
    *,
    container_api: str = GOOGLE.container,
    seconds: float,
) -> tuple[dict[str, str], dict[str, Problem]]:
    """Return the kube-system UIDs of clusters that answer within `seconds`, and why the others did not.

    A cluster that does not exist yet is in neither.
    """
    answers = ask(
        desired,
        kubeconfigs,
        lambda _, api: ownership.identity(api),
        container_api=container_api,
        seconds=seconds,
    )
    return (
        {name: answer for name, answer in sorted(answers.items()) if isinstance(answer, str)},
        {name: answer for name, answer in sorted(answers.items()) if isinstance(answer, Problem)},
    )


def _observation(
    name: str, answer: Observation | Problem | NotThere, cluster: DesiredCluster, *, of_program: bool
) -> Observation:
    if isinstance(answer, Problem):
        return Observation(problems=(answer,))
    if isinstance(answer, NotThere):
        notices = (answer.notice,) if answer.notice else ()
        unknown = prerequisites.kinds_to_come(cluster)
        return Observation(
            problems=(
                *notices,
                *prerequisites.future_problems(cluster, of_program=of_program),
                *future_object_problems(cluster),
                *prerequisites.omitted_monitor_problems(cluster, unknown),
            ),
            absent=() if answer.made else (name,),
            unknown={name: unknown} if unknown else {},
        )
    return answer


def _check(
    api: Api, cluster: DesiredCluster, desired: Desired, deployments: Mapping[str, ModelDeployment]
) -> Observation:
    """Run all checks on one cluster. Where another cluster answers than the one meant, ask nothing else, and
    of what is paused nothing but where its gateway is.
    """
    stack, cluster = desired.stack, cluster.changing
    connection = cluster.connection
    uid = ownership.identity(api)
    swapped = tuple(ownership.cluster_identity_problems(cluster, uid))
    if swapped:
        return Observation(problems=swapped, uids={connection.cluster: uid})
    resources = served_kinds(api, prerequisites.kinds_needed(cluster))
    if connection.state == "paused":
        unreadable: list[Problem] = []
        addresses = _permitted(
            connection, prerequisites.referenced_gateway_address(api, cluster, resources), unreadable
        )
        address = {connection.cluster: addresses[0]} if addresses else {}
        return Observation(tuple(unreadable), uids={connection.cluster: uid}, addresses=address)
    problems = [
        *prerequisites.missing_kind_problems(api, cluster, resources),
        *prerequisites.namespace_problems(cluster, resources),
    ]
    for check in (
        prerequisites.gateway_class_problems(api, cluster, resources),
        prerequisites.envoy_gateway_problems(api, cluster),
        prerequisites.gateway_ref_problems(api, cluster, resources),
        prerequisites.device_class_problems(api, cluster, resources),
        prerequisites.unlabelled_node_problems(api, cluster),
        missing_object_problems(api, cluster),
        prerequisites.ignored_objective_problems(api, cluster),
        prerequisites.worker_set_problems(api, cluster, resources),
        prerequisites.scheduler_problems(api, cluster),
        prerequisites.pod_group_problems(api, cluster, resources),
        prerequisites.metrics_api_problems(api, cluster, resources),
        volume_problems(api, cluster),
        addons.provided_problems(api, cluster),
    ):
        problems += _permitted(connection, check, problems)
    addresses = _permitted(
        connection, prerequisites.referenced_gateway_address(api, cluster, resources), problems
    )
    existing = _permitted(connection, ownership.existing_objects(api, cluster, resources), problems)
    workloads = [
        workload
        for workload in _permitted(connection, running(api, stack), problems)
        if owner_of(workload) not in desired.plan.paused
    ]
    for check in (
        node_problems(api, cluster, workloads),
        prerequisites.runtime_problems(api, cluster, workloads),
    ):
        problems += _permitted(connection, check, problems)
    fetched = _permitted(connection, filled(api, cluster, stack), problems)
    # A cluster that the stack creates is the stack's own, and everything on it.
    unknown = prerequisites.unknown_kinds(cluster, resources)
    foreign = (
        ()
        if connection.cloud
        else ownership.foreign_object_problems(
            connection.cluster, stack, (item for item in existing if not addons.is_of_addon(cluster, item))
        )
    )
    for check in (
        addons.taken_over_problems(cluster, stack, existing),
        addons.stored_version_problems(api, cluster, existing),
    ):
        problems += _permitted(connection, check, problems)
    newer = dict(_permitted(connection, addons.newer_definitions(api, cluster, existing), problems))
    refused = refused_write_problems(api, cluster, stack, existing, resources, deployments)
    return Observation(
        problems=(
            *problems,
            *foreign,
            *refused,
            *ownership.terminating_object_problems(connection.cluster, existing),
            *companion_change_problems(cluster, workloads),
            *remade_workload_problems(cluster, workloads),
            *lone_pod_problems(cluster, workloads),
            *port_problems(cluster, workloads),
            *picker_problems(cluster, workloads),
            *prerequisites.omitted_monitor_problems(cluster, unknown),
            *scaling_problems(cluster, workloads),
        ),
        leaving=tuple(
            sorted(leaving(cluster, workloads), key=lambda workload: (workload.namespace, workload.name))
        ),
        filled=frozenset((connection.cluster, space, job) for space, job, words in fetched if words is None),
        filling={(connection.cluster, space, job): words for space, job, words in fetched if words},
        running=frozenset(map(owner_of, workloads)),
        uids={connection.cluster: uid},
        addresses={connection.cluster: addresses[0]} if addresses else {},
        scaled=scaled(connection.cluster, workloads),
        unknown={connection.cluster: unknown} if unknown else {},
        newer=newer,
    )


def _permitted(connection: Connection, answers: Iterator[T], problems: list[Problem]) -> list[T]:
    """Return the answers until the API server refused a request, which is a problem of its own."""
    permitted: list[T] = []
    try:
        for answer in answers:
            permitted.append(answer)
    except RefusedError as error:
        problems.append(refusal(connection, error))
    return permitted
