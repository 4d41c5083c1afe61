"""What clusters that are to come find in Google Cloud: networks of others, and policies of an organisation.

What the credentials may not read is a notice that says so. Nobody is told then that it is fine.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from inferfleet.cloud.gke.existing_networks import SubnetworkNeed, subnetwork_needs, subnetwork_problems
from inferfleet.cloud.gke.org_policies import PolicyUse, policy_problems, policy_uses
from inferfleet.cloud.values import CloudCluster
from inferfleet.clusters.connections.google import Answer, CloudError, ComputeApi, ProjectApi
from inferfleet.documents.documents import Documents
from inferfleet.documents.problems import Problem
from inferfleet.documents.wording import listing

_SUBNETWORK = "compute.subnetworks.get"
_POLICY = "orgpolicy.policy.get"


@dataclass(frozen=True)
class Surroundings:
    """What is to be looked at for clusters that are to come."""

    subnetworks: tuple[SubnetworkNeed, ...]
    uses: tuple[PolicyUse, ...]


def surroundings(documents: Documents, clusters: Collection[CloudCluster]) -> Surroundings:
    """Return what is to be looked at. `clusters` are those that Google Cloud does not have yet."""
    return Surroundings(subnetwork_needs(documents, clusters), policy_uses(documents, clusters))


def surrounding_questions(
    looked_at: Surroundings, compute: ComputeApi, projects: ProjectApi
) -> dict[str, Callable[[], Answer | None]]:
    """Return one question for each subnetwork, and for each policy of each project."""
    questions: dict[str, Callable[[], Answer | None]] = {
        _subnetwork_key(need): partial(
            compute.subnetwork, need.project, need.region, need.existing.subnetwork
        )
        for need in looked_at.subnetworks
    }
    return questions | {
        _policy_key(use): partial(projects.effective_policy, use.project, use.constraint)
        for use in looked_at.uses
    }


def surrounding_problems(
    looked_at: Surroundings, answers: Mapping[str, Answer | CloudError | None]
) -> Iterator[Problem]:
    """Yield what was found by the answers to all questions, and a notice of what was not read."""
    for need in looked_at.subnetworks:
        answer = answers[_subnetwork_key(need)]
        if isinstance(answer, CloudError):
            what = f"subnetwork {need.existing.subnetwork} in {need.region} of project {need.project}"
            yield _unread(what, _SUBNETWORK, answer)
        else:
            yield from subnetwork_problems(need, answer)
    policies: dict[tuple[str, str], Answer] = {}
    unread: dict[str, tuple[CloudError, list[str]]] = {}
    for use in looked_at.uses:
        answer = answers[_policy_key(use)]
        if isinstance(answer, CloudError):
            constraints = unread.setdefault(use.project, (answer, []))[1]
            constraints += [use.constraint] if use.constraint not in constraints else []
        elif answer is not None:
            policies[use.project, use.constraint] = answer
    yield from policy_problems(looked_at.uses, policies)
    for project, (error, constraints) in unread.items():
        yield _unread(f"policies {listing(sorted(constraints))} of project {project}", _POLICY, error)


def _unread(what: str, permission: str, error: CloudError) -> Problem:
    return Problem(
        f"not read: {what}, which needs the permission {permission}: {error.what}",
        error.next_step,
        severity="notice",
    )


def _subnetwork_key(need: SubnetworkNeed) -> str:
    return f"{need.project}/subnetworks/{need.region}/{need.existing.subnetwork}"


def _policy_key(use: PolicyUse) -> str:
    return f"{use.project}/policies/{use.constraint}"
