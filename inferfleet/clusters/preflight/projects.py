"""Whether projects of Google Cloud are ready for the clusters of a stack, and whether anything of it is left.

Ready are those with APIs, permissions, zones with the machine types, and the version of new clusters. Nothing
should be left after `pulumi destroy`.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from inferfleet.cloud.gke.described import described_clusters
from inferfleet.cloud.gke.facts.access import (
    SHARED_SUBNETWORK,
    Permission,
    apis,
    host_commands,
    permissions,
)
from inferfleet.cloud.gke.facts.floors import minor, parsed
from inferfleet.cloud.gke.leftovers import (
    CLUSTERS,
    COLLECTIONS,
    GLOBAL,
    NETWORKS,
    Footprint,
    Leftover,
    clusters_left,
    footprints,
    networks_left,
    resources_left,
)
from inferfleet.cloud.gke.recipes.problems import either
from inferfleet.cloud.values import CloudCluster
from inferfleet.clusters.connections.google import (
    Addresses,
    CloudError,
    ComputeApi,
    ContainerApi,
    GoogleLogin,
    Inventory,
    ProjectApi,
    preload,
)
from inferfleet.clusters.connections.questions import Questions
from inferfleet.clusters.preflight.check import Check, unseen
from inferfleet.desired.values import Desired
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.inference_cluster import GIVEN_UP, InferenceCluster
from inferfleet.documents.problems import Problem, cluster_problem
from inferfleet.documents.wording import listing

MIN_VERSION = "minVersion"
ZONES = "zones and machine types"
_GKE = "spec.cluster.gke"
Look = Callable[[], Iterable[Leftover]]


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
    buckets = {
        bucket.resources[0].inputs["project"]: {resource.token for resource in bucket.resources}
        for bucket in desired.buckets
    }
    for cluster in desired.clusters:
        cloud = cluster.connection.cloud
        if cloud and cluster.connection.state not in GIVEN_UP:
            types = {resource.token for resource in cloud.resources} | buckets.get(cloud.project, set())
            hosts.setdefault(cloud.project, set()).update(_hosts(cloud))
            clusters.setdefault(cloud.project, []).append((cluster.gateway_class, cloud.endpoint, types))
    return tuple(
        ProjectNeeds(
            project,
            apis((gateway for gateway, _, _ in of), (token for _, _, types in of for token in types)),
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
    host = cloud.resource(cloud.key).inputs["subnetwork"].split("/")[1]
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


def version_check(
    document: InferenceCluster, cloud: CloudCluster, container: ContainerApi, *, seconds: float
) -> tuple[Check, ...]:
    """Return what Google says of the version of a cluster that is not there; nothing of one that is."""
    gke, of = document.spec.cluster.gke, f"cluster {cloud.cluster}"
    wanted = gke.min_version if gke else None
    if gke is None or wanted is None:
        return ()
    try:
        if container.cluster(cloud, seconds=seconds) is not None:
            return ()
        offered = container.versions(cloud, gke.release_channel, seconds=seconds)
    except CloudError as error:
        return (unseen(of, MIN_VERSION, error.what, error.next_step),)
    if any(offers(version, wanted) for version in offered):
        return (Check(of, MIN_VERSION),)
    channel = f"channel {gke.release_channel} in {gke.region}"
    problem = cluster_problem(
        cloud.cluster,
        f"cluster {cloud.cluster!r} is to begin with GKE {wanted}, which Google does not offer to {channel}; "
        f"it offers {listing(offered) or 'none'}",
        _step(offered),
        "spec.cluster.gke.minVersion",
    )
    return (Check(of, MIN_VERSION, "wrong", problem),)


def offers(version: str, wanted: str) -> bool:
    """Return whether `wanted` may mean a version: 1.34 any of 1.34, and one that is in full itself alone."""
    numbers = parsed(wanted)
    return parsed(version)[: len(numbers)] == numbers


def _step(offered: Iterable[str]) -> str:
    minors = sorted({minor(version) for version in offered}, key=parsed)
    quoted = [f'"{each}"' for each in minors]
    return f"Write minVersion: {either(quoted)}" if quoted else "Ask Google, or write another region"


@dataclass(frozen=True)
class _Machines:
    """Machines of one type that a pool asks for. Without `zones` Google chooses some of the region.

    `zones_path` and `type_path` are the fields of the cluster's document that decide on both.
    """

    pool: str
    type: str
    zones: tuple[str, ...]
    zones_path: str
    type_path: str


def zone_checks(documents: Documents, cluster: CloudCluster, compute: ComputeApi) -> tuple[Check, ...]:
    """Ask for the zones of the cluster's region and for machine types in each, and return what came of it."""
    of = f"cluster {cluster.cluster}"
    try:
        problems = tuple(dict.fromkeys(_problems(documents, cluster, compute)))
    except CloudError as error:
        return (unseen(of, ZONES, error.what, error.next_step),)
    return tuple(Check(of, ZONES, "wrong", problem) for problem in problems) or (Check(of, ZONES),)


def _problems(documents: Documents, cluster: CloudCluster, compute: ComputeApi) -> Iterator[Problem]:
    region, offered = compute.zones(cluster.project, cluster.region), dict[tuple[str, str], bool]()
    for wanted in _machines(documents, cluster):
        for zone in wanted.zones:
            if zone not in region:
                what = f"there is no zone {zone}, which {wanted.pool} of cluster {cluster.cluster} names"
                step = f"Name others: {cluster.region} has {listing(region)}"
                yield cluster_problem(cluster.cluster, what, step, wanted.zones_path)
        zones = [zone for zone in wanted.zones or region if zone in region]
        for zone in zones:
            if (zone, wanted.type) not in offered:
                offered[zone, wanted.type] = compute.has_machine_type(cluster.project, zone, wanted.type)
        missing = [zone for zone in zones if not offered[zone, wanted.type]]
        # Where Google chooses the zones, one that has the machines is enough.
        if missing and (wanted.zones or missing == zones):
            what = (
                f"Google has no {wanted.type} in {listing(missing)}, which {wanted.pool} of cluster "
                f"{cluster.cluster} asks for"
            )
            step = (
                f"Look with `gcloud compute machine-types list --project {cluster.project} --filter "
                f"name={wanted.type}`; name zones that have it, or use another machine type"
            )
            yield cluster_problem(
                cluster.cluster, what, step, wanted.zones_path if wanted.zones else wanted.type_path
            )


def _machines(documents: Documents, cluster: CloudCluster) -> Iterator[_Machines]:
    system = cluster.resource(cluster.system_key).inputs
    yield _Machines(
        "the system pool",
        system["nodeConfig"]["machineType"],
        tuple(system.get("nodeLocations", ())),
        f"{_GKE}.zones",
        f"{_GKE}.systemPool.machineType",
    )
    described = described_clusters(documents)[cluster.cluster]
    for name in cluster.pools:
        pool = described.pool(name)
        zones = pool.path("zones") if pool.document.zones else f"{_GKE}.zones"
        yield _Machines(
            f"pool {name}", pool.gke_class.machine.type, pool.zones, zones, pool.path("className")
        )


def leftovers(desired: Desired, google: Addresses, *, seconds: float) -> tuple[Check, ...]:
    """Return a check for each kind of thing in each project that the stack has clusters in."""
    clouds = [cluster.connection.cloud for cluster in desired.clusters if cluster.connection.cloud]
    if not clouds:
        return ()
    preload()
    until = time.monotonic() + seconds
    inventory = Inventory(google, GoogleLogin(), seconds=seconds)
    marks = footprints(desired.stack, clouds)
    looks = {(mark.project, what): look for mark in marks for what, look in _looks(mark, inventory)}
    questions = {key: partial(_checked, *key, look) for key, look in looks.items()}
    answers = Questions(questions).answers(until=until)
    checks = [check for key in questions for check in answers.get(key, (_late(*key, seconds),))]
    return (*checks, *(check for mark in marks for check in _untold(mark)))


def _looks(mark: Footprint, inventory: Inventory) -> Iterator[tuple[str, Look]]:
    yield CLUSTERS, lambda: clusters_left(mark, inventory.clusters(mark.project))
    for collection, what in COLLECTIONS.items():
        yield what, partial(_listed, mark, inventory, collection)
    yield NETWORKS, lambda: networks_left(mark, inventory.of_no_place(mark.project, NETWORKS))


def _listed(mark: Footprint, inventory: Inventory, collection: str) -> Iterable[Leftover]:
    if collection in GLOBAL:
        return resources_left(
            mark, collection, (("global", one) for one in inventory.of_no_place(mark.project, collection))
        )
    return resources_left(mark, collection, inventory.aggregated(mark.project, collection))


def _checked(project: str, what: str, look: Look) -> tuple[Check, ...]:
    of = f"project {project}"
    try:
        found = tuple(look())
    except CloudError as error:
        return (unseen(of, what, error.what, error.next_step),)
    return tuple(Check(of, what, "wrong", _leftover_problem(project, what, one)) for one in found) or (
        Check(of, what),
    )


def _leftover_problem(project: str, what: str, one: Leftover) -> Problem:
    return Problem(
        f"{one.name} is there, of the stack's {what} (project {project}, {one.location})",
        f"Run `pulumi destroy`; where it has ended without it, run `{one.command}`",
    )


def _late(project: str, what: str, seconds: float) -> Check:
    return unseen(f"project {project}", what, f"no answer came within {seconds:.0f} s", "Try again")


def _untold(mark: Footprint) -> Iterator[Check]:
    for cluster in mark.shared:
        why = (
            "its network is not the stack's, so its load balancers, addresses, endpoint groups and firewalls "
            "are not told apart"
        )
        step = f"Look for them: gcloud compute forwarding-rules list --project {mark.project}"
        yield unseen(f"cluster {cluster}", "load balancers", why, step)
