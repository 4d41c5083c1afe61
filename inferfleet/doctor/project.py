"""Whether projects of Google Cloud are ready for the clusters of a stack: APIs, and permissions."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from inferfleet.api.problems import Problem
from inferfleet.desired.values import Desired
from inferfleet.doctor.values import Check, unseen
from inferfleet.gke.facts.access import Permission, apis, permissions
from inferfleet.reach.google.project import ProjectApi
from inferfleet.reach.kubeconfig import GIVEN_UP
from inferfleet.reach.refusals import CloudError


@dataclass(frozen=True)
class ProjectNeeds:
    """What clusters of the stack need of the project that they are in."""

    project: str
    apis: tuple[str, ...]
    permissions: tuple[Permission, ...]

    @property
    def called(self) -> str:
        """Return the project as tables and messages name it."""
        return f"project {self.project}"


def project_needs(desired: Desired) -> tuple[ProjectNeeds, ...]:
    """Return what is needed of each project in which the stack creates clusters."""
    clusters: dict[str, list[tuple[str | None, str, set[str]]]] = {}
    for cluster in desired.clusters:
        cloud = cluster.connection.cloud
        if cloud and cluster.connection.state not in GIVEN_UP:
            types = {made.token for component in cloud.components for made in component.resources}
            clusters.setdefault(cloud.project, []).append((cluster.gateway_class, cloud.endpoint, types))
    return tuple(
        ProjectNeeds(
            project,
            apis(gateway for gateway, _, _ in of),
            permissions(
                (token for _, _, types in of for token in types),
                endpoints=[endpoint for _, endpoint, _ in of],
            ),
        )
        for project, of in sorted(clusters.items())
    )


def project_checks(needs: ProjectNeeds, api: ProjectApi) -> tuple[Check, ...]:
    """Ask of one project, and return what came of it."""
    return (
        *_seen(needs.called, "APIs", lambda: _apis(needs, api.enabled(needs.project, needs.apis))),
        *_seen(
            needs.called,
            "permissions",
            lambda: _permissions(
                needs, api.permitted(needs.project, (needed.name for needed in needs.permissions))
            ),
        ),
    )


def _seen(of: str, what: str, look: Callable[[], Iterable[Check]]) -> tuple[Check, ...]:
    try:
        return tuple(look())
    except CloudError as error:
        return (unseen(of, what, error.what, error.next_step),)


def _apis(needs: ProjectNeeds, enabled: frozenset[str]) -> Iterator[Check]:
    for api in needs.apis:
        if api in enabled:
            yield Check(needs.called, f"API {api}")
        else:
            problem = Problem(
                f"API {api} is not enabled in project {needs.project}, and the stack's clusters need it",
                f"Run `gcloud services enable {api} --project {needs.project}`",
            )
            yield Check(needs.called, f"API {api}", "wrong", problem)


def _permissions(needs: ProjectNeeds, permitted: frozenset[str]) -> Iterator[Check]:
    for needed in needs.permissions:
        what = f"permission {needed.name}"
        if needed.name in permitted:
            yield Check(needs.called, what)
        else:
            problem = Problem(
                f"the credentials lack the permission {needed.name} in project {needs.project}, which "
                f"{needed.of} need",
                f"Run `gcloud projects add-iam-policy-binding {needs.project} --member user:<you> --role "
                f"{needed.role}`, or have somebody run it",
            )
            yield Check(needs.called, what, "wrong", problem)
