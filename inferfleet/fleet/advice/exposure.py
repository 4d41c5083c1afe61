"""What of a fleet stops answering: while one node is drained, replaced or lost, and once an update has taken
the last replica from a cluster; and which gateways anybody can reach.

A Gateway leads nowhere but to its own cluster, so replicas on other clusters do not help clients that ask
this one.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from inferfleet.documents.documents import Documents
from inferfleet.documents.problems import Problem, cluster_problem
from inferfleet.documents.wording import listing
from inferfleet.fleet.decisions import Placement, Plan
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.roles import roles_of, workers_of

# More deployments than these are counted.
_NAMED = 3
# As many are named in one message.
_SHOWN = 5
_Clusters = dict[str, set[str]]


@dataclass(frozen=True)
class Exposure:
    """A deployment that does not answer on a cluster while one node is away: one worker is all it has."""

    deployment: str
    cluster: str
    roles: tuple[str, ...]
    """The roles of which one worker is all there is."""
    every: bool
    """Whether these are all of its roles."""
    scaled: bool
    """Whether that is so only where a scaler keeps the fewest replicas."""

    def __str__(self) -> str:
        """Return it as a line: `ml/chat on east: one replica`."""
        what = "one replica" if self.every else f"one worker of role {' and of role '.join(self.roles)}"
        return f"{self.deployment} on {self.cluster}: {what}{' when scaled down' if self.scaled else ''}"


@dataclass(frozen=True)
class OnePicker:
    """Deployments that answer nothing until another pod has followed their one endpoint picker."""

    deployments: tuple[str, ...]
    every: int
    """How many deployments are placed."""

    def __str__(self) -> str:
        """Return it as a line, which names three of them at most."""
        number = len(self.deployments)
        who = " and ".join(self.deployments)
        if number > _NAMED:
            who = f"{'all' if number == self.every else f'{number} of'} {self.every} deployments"
        return f"{who}: one endpoint picker{' each' if number > 1 else ''}, until another runs"


def exposures(documents: Documents, placements: Iterable[Placement]) -> tuple[Exposure, ...]:
    """Return, by deployment and cluster, what does not answer while one node is away.

    Replicas on other clusters do not help: each cluster has a gateway of its own.
    """
    together: dict[tuple[str, str], list[Placement]] = defaultdict(list)
    for placement in placements:
        if placement.spot.deployment in documents.deployments:
            together[placement.spot.deployment, placement.spot.cluster].append(placement)
    names = []
    for (deployment, cluster), on_cluster in sorted(together.items()):
        document = documents.deployments[deployment]
        fewest = sum(
            placement.replicas if placement.least is None else placement.least for placement in on_cluster
        )
        roles = roles_of(document)
        alone = tuple(role for role in roles if fewest * workers_of(document, role).count == 1)
        if alone:
            scaled = sum(placement.replicas for placement in on_cluster) > fewest
            names.append(Exposure(deployment, cluster, alone, alone == roles, scaled))
    return tuple(names)


def one_picker(documents: Documents, placements: Iterable[Placement]) -> OnePicker | None:
    """Return the deployments whose gateways send nothing while their picker is away, None without any."""
    placed = {placement.spot.deployment for placement in placements} & documents.deployments.keys()
    pickers = {key: documents.deployments[key].spec.endpoint_picker for key in sorted(placed)}
    alone = tuple(
        key for key, picker in pickers.items() if picker.replicas == 1 and picker.failure_mode == "FailClose"
    )
    return OnePicker(alone, len(placed)) if alone else None


# Routes that an update deletes, with the last replica of their cluster, while other clusters still have them.
# Clients that ask there get 404 from then on.


def lost_route_problems(documents: Documents, plan: Plan, lock: Lock) -> Iterator[Problem]:
    """Yield one warning for each cluster whose gateway no longer leads to what is elsewhere from then on.

    `lock` is what the plan was made from. Of what has no place at all other problems tell, and nobody can
    ask a cluster that is abandoned.
    """
    before, after = _of_lock(documents, lock), _of_plan(documents, plan)
    for cluster, document in sorted(documents.clusters.items()):
        gone = [
            name
            for name in sorted(before)
            if cluster in before[name] and after.get(name) and cluster not in after[name]
        ]
        if not gone or document.spec.state == "abandoned":
            continue
        names = listing(gone, _SHOWN)
        yield cluster_problem(
            cluster,
            f"{names} {'is' if len(gone) == 1 else 'are'} no longer reached through the gateway of {cluster}",
            _step(gone, before, after),
            "spec.state" if document.spec.state == "drained" else "",
            severity="warning",
        )


def _step(gone: list[str], before: _Clusters, after: _Clusters) -> str:
    """Return where clients go first: to a cluster that has all of it already, if there is one."""
    serving = set.intersection(*(before[name] & after[name] for name in gone))
    if serving:
        return f"Send clients to {listing(sorted(serving), _SHOWN)} first"
    if any(not before[name] & after[name] for name in gone):
        return (
            "Write state: cordoned first, one replica more, and run `pulumi up`; send clients where that one "
            "is, and go on from there"
        )
    return "Send clients to other clusters first, as `inferfleet status` lists them"


def _of_lock(documents: Documents, lock: Lock) -> _Clusters:
    """Return the clusters that have a route by the lock, for services and deployments with a document."""
    clusters: _Clusters = {}
    for spot, replicas in lock.placements.items():
        if replicas and _has_route(documents, spot.deployment):
            clusters.setdefault(spot.deployment, set()).add(spot.cluster)
    for service, routed in lock.services.items():
        clusters.setdefault(f"service {service}", set()).update(routed)
    return clusters


def _of_plan(documents: Documents, plan: Plan) -> _Clusters:
    """Return the clusters that have a route by the plan, by service or deployment."""
    clusters: _Clusters = {}
    for endpoint in plan.endpoints:
        if _has_route(documents, endpoint.deployment):
            clusters.setdefault(endpoint.deployment, set()).add(endpoint.cluster)
    for route in plan.services:
        clusters.setdefault(f"service {route.service}", set()).add(route.cluster)
    return clusters


def _has_route(documents: Documents, deployment: str) -> bool:
    document = documents.deployments.get(deployment)
    return document is not None and document.spec.route.enabled


# Gateways that get an address outside of their cluster's network.


def open_gateway_problems(documents: Documents) -> Iterator[Problem]:
    """Yield a notice for each gateway of the stack that anybody can reach, as far as documents say so.

    Of gateways of others, and of classes whose provider is none, they do not.
    """
    for name, cluster in sorted(documents.clusters.items()):
        gateway = cluster.spec.serving.gateway
        if cluster.spec.state == "abandoned" or gateway.class_name is None:
            continue
        # Names of Google's classes say which load balancers are outside of the network.
        outside = gateway.provider == "gke" and "-external-" in gateway.class_name
        if not outside and (gateway.service_type != "LoadBalancer" or gateway.source_ranges):
            continue
        field, value = ("className", gateway.class_name) if outside else ("serviceType", gateway.service_type)
        yield cluster_problem(
            name,
            f"the gateway of cluster {name} has {field}: {value}, for which "
            f"{'Google makes' if outside else 'most clouds make'} a public address, and it asks nobody for a "
            "key: whoever reaches it uses the models behind it",
            f"Write {'className: gke-l7-rilb' if outside else 'serviceType: Internal, or ClusterIP'}, unless "
            "something in front of it lets only some in",
            f"spec.serving.gateway.{field}",
            severity="notice",
        )
