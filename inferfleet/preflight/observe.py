"""Ask all clusters at once whether what is desired can be written there."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from inferfleet.api.problems import Problem
from inferfleet.desired.addresses import Address
from inferfleet.desired.values import Connection, Desired, DesiredCluster
from inferfleet.fleet.decisions import Leaving
from inferfleet.preflight import checks, ownership
from inferfleet.preflight.leaving import leaving
from inferfleet.reach.at_once import ask
from inferfleet.reach.connect import Api, RefusedError
from inferfleet.reach.gke import NotThere
from inferfleet.reach.google_login import GOOGLE
from inferfleet.reach.resources import known
from inferfleet.reach.silence import refusal

# A cluster that does not answer is named within 30 s, the time to load and plan included.
SECONDS = 25.0

T = TypeVar("T")


@dataclass(frozen=True)
class Observation:
    """What the clusters said, by cluster: `uids` are those of kube-system, where one answered; `addresses`
    are of the gateways that are somebody else's, where they have one. `absent` are clusters that the stack
    creates and that do not stand yet.
    """

    problems: tuple[Problem, ...] = ()
    leaving: tuple[Leaving, ...] = ()
    uids: Mapping[str, str] = field(default_factory=dict)
    addresses: Mapping[str, Address] = field(default_factory=dict)
    absent: tuple[str, ...] = ()


def observe(
    desired: Desired,
    kubeconfigs: Mapping[str, str],
    *,
    container_api: str = GOOGLE.container,
    seconds: float = SECONDS,
) -> Observation:
    """Check every cluster that is neither lost nor abandoned, all at once, each for so many seconds.

    `kubeconfigs` holds texts by cluster (`read_kubeconfigs` says what is wrong with the others); where those
    are that the stack creates, Google says at the address `container_api`.
    """
    clusters = {one.connection.cluster: one for one in desired.clusters}

    def look(connection: Connection, api: Api) -> Observation:
        return _look(api, clusters[connection.cluster], desired.stack)

    answers = ask(desired, kubeconfigs, look, container_api=container_api, seconds=seconds)
    found = {name: _observation(name, answer) for name, answer in sorted(answers.items())}
    return Observation(
        problems=tuple(problem for of in found.values() for problem in of.problems),
        leaving=tuple(one for of in found.values() for one in of.leaving),
        uids={name: uid for of in found.values() for name, uid in of.uids.items()},
        addresses={name: address for of in found.values() for name, address in of.addresses.items()},
        absent=tuple(name for of in found.values() for name in of.absent),
    )


def identify(
    desired: Desired,
    kubeconfigs: Mapping[str, str],
    *,
    container_api: str = GOOGLE.container,
    seconds: float,
) -> tuple[dict[str, str], dict[str, Problem]]:
    """The kube-system UIDs of clusters that answer within so many seconds, and why the others did not.

    A cluster that is not there yet has neither.
    """
    answers = ask(
        desired,
        kubeconfigs,
        lambda _, api: checks.identity(api),
        container_api=container_api,
        seconds=seconds,
    )
    return (
        {name: answer for name, answer in sorted(answers.items()) if isinstance(answer, str)},
        {name: answer for name, answer in sorted(answers.items()) if isinstance(answer, Problem)},
    )


def _observation(name: str, answer: Observation | Problem | NotThere) -> Observation:
    if isinstance(answer, Problem):
        return Observation(problems=(answer,))
    if isinstance(answer, NotThere):
        return Observation(
            problems=(answer.notice,) if answer.notice else (), absent=() if answer.made else (name,)
        )
    return answer


def _look(api: Api, cluster: DesiredCluster, stack: str) -> Observation:
    """All checks on one cluster. Of another cluster than the one meant, nothing else is asked."""
    connection = cluster.connection
    uid = checks.identity(api)
    swapped = tuple(checks.same_cluster(cluster, uid))
    if swapped:
        return Observation(problems=swapped, uids={connection.cluster: uid})
    resources = known(api, checks.kinds_needed(cluster))
    problems = list(checks.missing_kinds(api, cluster, resources))
    for found in (
        checks.gateway_class(api, cluster, resources),
        checks.gateway_ref(api, cluster, resources),
        checks.secrets(api, cluster),
    ):
        problems += _permitted(connection, found, problems)
    addresses = _permitted(connection, checks.their_address(api, cluster, resources), problems)
    standing = _permitted(connection, ownership.standing(api, cluster, resources), problems)
    gone = _permitted(connection, leaving(api, cluster, stack), problems)
    # A cluster that the stack creates is the stack's own, and everything on it.
    foreign = () if connection.cloud else ownership.foreign(connection.cluster, stack, standing)
    return Observation(
        problems=(*problems, *foreign, *ownership.terminating(connection.cluster, standing)),
        leaving=tuple(sorted(gone, key=lambda one: (one.namespace, one.name))),
        uids={connection.cluster: uid},
        addresses={connection.cluster: addresses[0]} if addresses else {},
    )


def _permitted(connection: Connection, found: Iterator[T], problems: list[Problem]) -> list[T]:
    """What was found until the API server refused to tell more, which is a problem of its own."""
    kept: list[T] = []
    try:
        for one in found:
            kept.append(one)
    except RefusedError as error:
        problems.append(refusal(connection, error))
    return kept
