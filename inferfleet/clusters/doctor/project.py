"""Whether projects of Google Cloud are ready for the clusters of a stack: APIs, and permissions."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from inferfleet.cloud.gke.facts.access import (
    SHARED_SUBNETWORK,
    Permission,
    apis,
    host_commands,
    permissions,
)
from inferfleet.cloud.gke.facts.schema import CLUSTER
from inferfleet.cloud.gke.values import CloudCluster
from inferfleet.clusters.connections.google.project import ProjectApi
from inferfleet.clusters.connections.kubeconfig import GIVEN_UP
from inferfleet.clusters.connections.refusals import CloudError
from inferfleet.clusters.doctor.values import Check, unseen
from inferfleet.desired.values import Desired
from inferfleet.documents.problems import Problem


@dataclass(frozen=True)
class ProjectNeeds:
    """What clusters of the stack need of the project that they are in, and of `hosts`, whose subnetworks they
    use.
    """

    project: str
    apis: tuple[str, ...]
    permissions: tuple[Permission, ...]
    hosts: tuple[str, ...] = ()

    @property
    def called(self) -> str:
        """Return the project as tables and messages name it."""
        return f"project {self.project}"


def project_needs(desired: Desired) -> tuple[ProjectNeeds, ...]:
    """Return what is needed of each project in which the stack creates clusters."""
    clusters: dict[str, list[tuple[str | None, str, set[str]]]] = {}
    hosts: dict[str, set[str]] = {}
    for cluster in desired.clusters:
        cloud = cluster.connection.cloud
        if cloud and cluster.connection.state not in GIVEN_UP:
            types = {made.token for component in cloud.components for made in component.resources}
            hosts.setdefault(cloud.project, set()).update(_hosts(cloud))
            clusters.setdefault(cloud.project, []).append((cluster.gateway_class, cloud.endpoint, types))
    return tuple(
        ProjectNeeds(
            project,
            apis(gateway for gateway, _, _ in of),
            permissions(
                (token for _, _, types in of for token in types),
                endpoints=[endpoint for _, endpoint, _ in of],
            ),
            tuple(sorted(hosts[project])),
        )
        for project, of in sorted(clusters.items())
    )


def _hosts(cloud: CloudCluster) -> Iterator[str]:
    """Yield the host project of the Shared VPC that the cluster is in, if it is in one."""
    for component in cloud.components:
        for made in component.resources:
            host = made.inputs["subnetwork"].split("/")[1] if made.token == CLUSTER else cloud.project
            if host != cloud.project:
                yield host


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
        *(check for host in needs.hosts for check in _host(needs.project, host, api)),
    )


def _host(project: str, host: str, api: ProjectApi) -> Iterator[Check]:
    """Yield what is seen of the host project of a Shared VPC, where rights may be on a subnetwork alone."""
    of, name = f"host project {host}", SHARED_SUBNETWORK.name
    yield from _seen(of, f"permission {name}", lambda: _own(of, host, api.permitted(host, [name])))
    why = f"which roles accounts of Google's have there for clusters of project {project} is not asked"
    step = f"Have somebody who may run `{'`, `'.join(host_commands(project, host))}`"
    yield unseen(of, "accounts of Google's", why, step)


def _own(of: str, host: str, permitted: frozenset[str]) -> Iterator[Check]:
    if SHARED_SUBNETWORK.name in permitted:
        yield Check(of, f"permission {SHARED_SUBNETWORK.name}")
        return
    yield unseen(
        of,
        f"permission {SHARED_SUBNETWORK.name}",
        "the credentials lack it on the project, and may have it on the subnetwork",
        f"Where they do not, run `gcloud projects add-iam-policy-binding {host} --member user:<you> --role "
        f"{SHARED_SUBNETWORK.role}`, or have somebody run it",
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
