"""Which deployments and services lose their route on a cluster while other clusters still have them.

An update deletes a route with the last replica of its cluster. Clients that ask there get 404 from then on,
because a Gateway leads nowhere but to its own cluster.
"""

from collections.abc import Iterator

from inferfleet.documents.documents import Documents
from inferfleet.documents.problems import Problem, cluster_problem
from inferfleet.documents.wording import listing
from inferfleet.fleet.decisions import Plan
from inferfleet.fleet.lock.lock import Lock

# As many are named in one message.
_SHOWN = 5

_Clusters = dict[str, set[str]]


def unreached(documents: Documents, plan: Plan, lock: Lock) -> Iterator[Problem]:
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
        told = listing(gone, _SHOWN)
        yield cluster_problem(
            cluster,
            f"{told} {'is' if len(gone) == 1 else 'are'} no longer reached through the gateway of {cluster}",
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
    """Return the clusters that have a route now, by what it is of; what loses its document is left out."""
    clusters: _Clusters = {}
    for spot, replicas in lock.placements.items():
        if replicas and _has_route(documents, spot.deployment):
            clusters.setdefault(spot.deployment, set()).add(spot.cluster)
    for service, there in lock.services.items():
        clusters.setdefault(f"service {service}", set()).update(there)
    return clusters


def _of_plan(documents: Documents, plan: Plan) -> _Clusters:
    """Return the clusters that have a route afterwards, by what it is of."""
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
