"""What clusters and pools that are to come find in Google Cloud: networks of others, and policies of an
organisation.

What the credentials may not read is a notice that says so. Nobody is told then that it is fine.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from inferfleet.cloud.gke.existing_networks import (
    InterfaceNeed,
    SubnetworkNeed,
    closed_problems,
    interface_needs,
    interface_problems,
    subnetwork_needs,
    subnetwork_problems,
)
from inferfleet.cloud.gke.org_policies import PolicyUse, policy_problems, policy_uses
from inferfleet.cloud.values import CloudCluster
from inferfleet.clusters.connections.google import Answer, CloudError, ComputeApi, ProjectApi
from inferfleet.documents.documents import Documents
from inferfleet.documents.problems import Problem
from inferfleet.documents.wording import listing

_SUBNETWORK = "compute.subnetworks.get"
_NETWORK = "compute.networks.get"
_FIREWALLS = "compute.networks.getEffectiveFirewalls"
_POLICY = "orgpolicy.policy.get"
# What each of them is for, of one thing and of several.
_CALLED = {
    _SUBNETWORK: ("subnetwork", "subnetworks"),
    _NETWORK: ("network", "networks"),
    _FIREWALLS: ("firewalls of network", "firewalls of networks"),
    _POLICY: ("policy", "policies"),
}
Answers = Mapping[str, Answer | CloudError | None]


@dataclass(frozen=True)
class Surroundings:
    """What is to be looked at for clusters and pools that are to come."""

    subnetworks: tuple[SubnetworkNeed, ...]
    interfaces: tuple[InterfaceNeed, ...]
    uses: tuple[PolicyUse, ...]


def surroundings(
    documents: Documents,
    to_come: Collection[CloudCluster],
    clusters: Collection[CloudCluster],
    pools: Mapping[str, Collection[str]],
) -> Surroundings:
    """Return what is to be looked at. `to_come` are those of the clusters that Google Cloud does not have
    yet, and `pools` the names of pools that it has of each.
    """
    return Surroundings(
        subnetwork_needs(documents, to_come),
        interface_needs(documents, clusters, pools),
        policy_uses(documents, to_come),
    )


def surrounding_questions(
    looked_at: Surroundings, compute: ComputeApi, projects: ProjectApi
) -> dict[str, Callable[[], Answer | None]]:
    """Return one question for each subnetwork and network, and for each policy of each project."""
    questions: dict[str, Callable[[], Answer | None]] = {}
    for project, region, subnetwork in _subnetworks(looked_at):
        key = _subnetwork_key(project, region, subnetwork)
        questions[key] = partial(compute.subnetwork, project, region, subnetwork)
    for project, network in _networks(looked_at):
        questions[_network_key(project, network)] = partial(compute.network, project, network)
        questions[_firewalls_key(project, network)] = partial(compute.effective_firewalls, project, network)
    return questions | {
        _policy_key(use): partial(projects.effective_policy, use.project, use.constraint)
        for use in looked_at.uses
    }


def surrounding_problems(looked_at: Surroundings, answers: Answers) -> Iterator[Problem]:
    """Yield what was found by the answers to all questions, and a notice of what was not read."""
    read = {key: answer for key, answer in answers.items() if not isinstance(answer, CloudError)}
    for need in looked_at.subnetworks:
        project, name = need.project, need.existing.name
        key = _subnetwork_key(project, need.region, need.existing.subnetwork)
        if key in read:
            yield from subnetwork_problems(need, read[key])
        network, effective = read.get(_network_key(project, name)), read.get(_firewalls_key(project, name))
        if network and effective is not None:
            yield from closed_problems(need, read.get(key), network, effective)
    for wired in looked_at.interfaces:
        yield from _wired_problems(wired, read)
    policies = {
        (use.project, use.constraint): policy
        for use in looked_at.uses
        if (policy := read.get(_policy_key(use)))
    }
    yield from policy_problems(looked_at.uses, policies)
    yield from _unread_problems(looked_at, answers)


def _wired_problems(need: InterfaceNeed, read: Mapping[str, Answer | None]) -> Iterator[Problem]:
    project, region, interfaces = need.project, need.pool.gke.region, need.pool.interfaces
    subnetworks = {each.subnetwork: _subnetwork_key(project, region, each.subnetwork) for each in interfaces}
    networks = {each.network: _network_key(project, each.network) for each in interfaces}
    firewalls = {each.network: _firewalls_key(project, each.network) for each in interfaces}
    yield from interface_problems(
        need,
        {name: read[key] for name, key in subnetworks.items() if key in read},
        {name: read[key] for name, key in networks.items() if key in read},
        {name: effective for name, key in firewalls.items() if (effective := read.get(key)) is not None},
    )


def _unread_problems(looked_at: Surroundings, answers: Answers) -> Iterator[Problem]:
    """Yield a notice for each project and permission that it takes to read what was not read."""
    asked: list[tuple[str, str, str, str]] = []
    for project, region, name in _subnetworks(looked_at):
        asked.append((_subnetwork_key(project, region, name), project, _SUBNETWORK, f"{name} in {region}"))
    for project, name in _networks(looked_at):
        asked.append((_network_key(project, name), project, _NETWORK, name))
        asked.append((_firewalls_key(project, name), project, _FIREWALLS, name))
    for use in sorted(looked_at.uses, key=lambda use: use.constraint):
        asked.append((_policy_key(use), use.project, _POLICY, use.constraint))
    unread: dict[tuple[str, str], tuple[CloudError, list[str]]] = {}
    for key, project, permission, name in asked:
        answer = answers[key]
        if isinstance(answer, CloudError):
            names = unread.setdefault((project, permission), (answer, []))[1]
            names += [name] if name not in names else []
    for (project, permission), (error, names) in unread.items():
        things = f"{_CALLED[permission][len(names) > 1]} {listing(names)}"
        yield Problem(
            f"not read: {things} of project {project}, which needs the permission {permission}: {error.what}",
            error.next_step,
            severity="notice",
        )


def _subnetworks(looked_at: Surroundings) -> tuple[tuple[str, str, str], ...]:
    """Return project, region and name of each, once."""
    found = [(need.project, need.region, need.existing.subnetwork) for need in looked_at.subnetworks]
    found += [
        (need.project, need.pool.gke.region, interface.subnetwork)
        for need in looked_at.interfaces
        for interface in need.pool.interfaces
    ]
    return tuple(dict.fromkeys(found))


def _networks(looked_at: Surroundings) -> tuple[tuple[str, str], ...]:
    """Return project and name of each, once."""
    found = [(need.project, need.existing.name) for need in looked_at.subnetworks]
    found += [
        (need.project, interface.network)
        for need in looked_at.interfaces
        for interface in need.pool.interfaces
    ]
    return tuple(dict.fromkeys(found))


def _subnetwork_key(project: str, region: str, name: str) -> str:
    return f"{project}/subnetworks/{region}/{name}"


def _network_key(project: str, name: str) -> str:
    return f"{project}/networks/{name}"


def _firewalls_key(project: str, name: str) -> str:
    return f"{project}/firewalls/{name}"


def _policy_key(use: PolicyUse) -> str:
    return f"{use.project}/policies/{use.constraint}"
