"""What clusters and pools that are to come find in Google Cloud: networks of others, and policies of an
organisation.

What the credentials may not read is a notice that says so. Nobody is told then that it is fine.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
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


@dataclass(frozen=True)
class Question:
    """What Google Cloud is asked of one thing: by the permission that it takes, in which project."""

    permission: str
    project: str
    name: str
    region: str = ""

    @property
    def key(self) -> str:
        """Return a text for it that no other question has."""
        return "/".join((self.permission, self.project, self.region, self.name))

    @property
    def thing(self) -> str:
        return f"{self.name} in {self.region}" if self.region else self.name

    def asked(self, compute: ComputeApi, projects: ProjectApi) -> Callable[[], Answer | None]:
        """Return what asks."""
        if self.permission == _SUBNETWORK:
            return partial(compute.subnetwork, self.project, self.region, self.name)
        ask = {
            _NETWORK: compute.network,
            _FIREWALLS: compute.effective_firewalls,
            _POLICY: projects.effective_policy,
        }[self.permission]
        return partial(ask, self.project, self.name)


Answers = Mapping[str, Answer | CloudError | None]
Read = Mapping[Question, Answer | None]


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
    return {each.key: each.asked(compute, projects) for each in _questions(looked_at)}


def surrounding_problems(looked_at: Surroundings, answers: Answers) -> Iterator[Problem]:
    """Yield what was found by the answers to all questions, and a notice of what was not read."""
    read: Read = {
        each: answer
        for each in _questions(looked_at)
        if not isinstance(answer := answers[each.key], CloudError)
    }
    for need in looked_at.subnetworks:
        subnetwork = Question(_SUBNETWORK, need.project, need.existing.subnetwork, need.region)
        if subnetwork in read:
            yield from subnetwork_problems(need, read[subnetwork])
        network = read.get(Question(_NETWORK, need.project, need.existing.name))
        effective = read.get(Question(_FIREWALLS, need.project, need.existing.name))
        if network and effective is not None:
            yield from closed_problems(need, read.get(subnetwork), network, effective)
    for wired in looked_at.interfaces:
        yield from _wired_problems(wired, read)
    policies = {
        (use.project, use.constraint): policy
        for use in looked_at.uses
        if (policy := read.get(Question(_POLICY, use.project, use.constraint)))
    }
    yield from policy_problems(looked_at.uses, policies)
    yield from _unread_problems(looked_at, answers)


def _wired_problems(need: InterfaceNeed, read: Read) -> Iterator[Problem]:
    project, region, interfaces = need.project, need.pool.gke.region, need.pool.interfaces

    def answers(permission: str, names: Iterable[str], region: str = "") -> dict[str, Answer | None]:
        questions = {name: Question(permission, project, name, region) for name in names}
        return {name: read[question] for name, question in questions.items() if question in read}

    networks = [each.network for each in interfaces]
    firewalls = answers(_FIREWALLS, networks)
    yield from interface_problems(
        need,
        answers(_SUBNETWORK, [each.subnetwork for each in interfaces], region),
        answers(_NETWORK, networks),
        {name: effective for name, effective in firewalls.items() if effective is not None},
    )


def _unread_problems(looked_at: Surroundings, answers: Answers) -> Iterator[Problem]:
    """Yield a notice for each project and permission that it takes to read what was not read."""
    unread: dict[tuple[str, str], tuple[CloudError, list[str]]] = {}
    for each in _questions(looked_at):
        if isinstance(answer := answers[each.key], CloudError):
            unread.setdefault((each.project, each.permission), (answer, []))[1].append(each.thing)
    for (project, permission), (error, things) in unread.items():
        what = f"{_CALLED[permission][len(things) > 1]} {listing(things)}"
        yield Problem(
            f"not read: {what} of project {project}, which needs the permission {permission}: {error.what}",
            error.next_step,
            severity="notice",
        )


def _questions(looked_at: Surroundings) -> tuple[Question, ...]:
    """Return every question once, those about one kind of thing after another."""
    subnetworks = [
        Question(_SUBNETWORK, need.project, need.existing.subnetwork, need.region)
        for need in looked_at.subnetworks
    ]
    networks = [(need.project, need.existing.name) for need in looked_at.subnetworks]
    for wired in looked_at.interfaces:
        for interface in wired.pool.interfaces:
            region = wired.pool.gke.region
            subnetworks.append(Question(_SUBNETWORK, wired.project, interface.subnetwork, region))
            networks.append((wired.project, interface.network))
    asked = [Question(permission, *each) for each in networks for permission in (_NETWORK, _FIREWALLS)]
    policies = sorted((use.constraint, use.project) for use in looked_at.uses)
    asked += [Question(_POLICY, project, constraint) for constraint, project in policies]
    return tuple(dict.fromkeys((*subnetworks, *asked)))
