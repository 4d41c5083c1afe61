"""What is said of spreads, preferences and capacity models that cannot be kept, or that name nothing."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.base import LabelSelector
from inferfleet.documents.kinds.model_deployment import ModelDeploymentSpec
from inferfleet.documents.problems import Problem
from inferfleet.documents.wording import listing
from inferfleet.fleet.placement.candidates import Candidates
from inferfleet.fleet.placement.policy.wanted import domains, prefers
from inferfleet.fleet.shapes import PoolKey

_WHERE = {
    "region": "Write the label topology.kubernetes.io/region on clusters that exist",
    "zone": "Give pools one zone each: zones on GKE, topology.kubernetes.io/zone in the nodeSelector of "
    "pools that exist or in the labels of their cluster",
}


class Impossible:
    """What no pool could ever meet of what deployments ask for, worked out once for all that ask alike."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._known: dict[tuple[object, ...], tuple[_Unmet, ...]] = {}

    def of(self, key: str) -> Iterator[Problem]:
        """Yield an error for each field of a deployment's policy that no pool of its clusters meets."""
        spec = self._documents.deployments[key].spec
        if spec.model_fields_set.isdisjoint(("spread", "pool_selector", "capacity_models")):
            return
        models = spec.capacity_models if "capacity_models" in spec.model_fields_set else None
        over = spec.spread.over if spec.spread else None
        asked = str(spec.cluster_selector), str(spec.pool_selector), models, over
        if asked not in self._known:
            self._known[asked] = tuple(_unmet(self._documents, spec))
        for unmet in self._known[asked]:
            yield Problem(*unmet, kind="ModelDeployment", key=key)


class _Unmet(NamedTuple):
    what: str
    next_step: str
    path: str


def _unmet(documents: Documents, spec: ModelDeploymentSpec) -> Iterator[_Unmet]:
    pools = _pools(documents, spec.cluster_selector)
    if not pools:
        return
    if spec.spread and not pools & domains(documents, spec.spread.over).keys():
        over = spec.spread.over
        what = over if over in _WHERE else f"label {over}"
        yield _Unmet(
            f"spread.over is {over}, and no pool of the clusters that clusterSelector matches has a {what} "
            "that is known",
            _WHERE.get(
                over, f"Use cluster, region, zone or a label that clusters have ({_labels(documents)})"
            ),
            "spec.spread.over",
        )
    chosen = [
        pool
        for name, cluster in documents.clusters.items()
        for pool in cluster.spec.node_pools
        if (name, pool.name) in pools
    ]
    if not any(spec.pool_selector.matches(pool.node_labels) for pool in chosen):
        labels = {f"{label}={value}" for pool in chosen for label, value in pool.node_labels.items()}
        yield _Unmet(
            f"poolSelector {spec.pool_selector} matches no pool of the clusters that clusterSelector matches",
            f"Use labels that their pools have ({listing(sorted(labels)) or 'there are none'})",
            "spec.poolSelector",
        )
    models = {pool.capacity.model for pool in chosen}
    if "capacity_models" in spec.model_fields_set and models.isdisjoint(spec.capacity_models):
        yield _Unmet(
            f"capacityModels allow {listing(spec.capacity_models)}, and the pools of the clusters that "
            f"clusterSelector matches are {listing(sorted(models))}",
            "Add one of these, or a pool with such a capacity.model",
            "spec.capacityModels",
        )


def _pools(documents: Documents, selector: LabelSelector) -> set[PoolKey]:
    """Return the pools of the clusters that are selected."""
    return {
        (name, pool.name)
        for name, cluster in documents.clusters.items()
        if selector.matches(cluster.metadata.labels)
        for pool in cluster.spec.node_pools
    }


def _labels(documents: Documents) -> str:
    keys = {key for cluster in documents.clusters.values() for key in cluster.metadata.labels}
    return listing(sorted(keys)) if keys else "they have none"


def unkept(documents: Documents, candidates: Candidates, valid: Iterable[str]) -> Iterator[Problem]:
    """Yield a warning for each wish that replicas which run do not meet, and for preferences of nothing."""
    for key in sorted(valid):
        spec = documents.deployments[key].spec
        for place, rule in enumerate(spec.prefer):
            if not any(
                prefers(rule, cluster, pool)
                for cluster in documents.clusters.values()
                for pool in cluster.spec.node_pools
            ):
                yield _warning(
                    key,
                    "no pool of the fleet is what this preference names",
                    "Change it, or remove it if the pool is gone",
                    f"spec.prefer[{place}]",
                )
        if spec.on_demand_replicas or spec.spread:
            yield from _of_replicas(documents, candidates, key)


def _of_replicas(documents: Documents, candidates: Candidates, key: str) -> Iterator[Problem]:
    wanted, spreading = candidates.wanted(key), candidates.spreading
    unsteady = spreading.unsteady(wanted)
    if wanted.unsteady is not None and unsteady > wanted.unsteady:
        spec = documents.deployments[key].spec
        wants, more = spec.on_demand_replicas, unsteady - wanted.unsteady
        yield _warning(
            key,
            f"onDemandReplicas is {wants}, and {unsteady} replicas run on pools of other models than "
            "OnDemand and Reservation; they stay there",
            f"To replace them, write replicas: {spec.wanted + more} for one update, then "
            f"{spec.wanted} again: new ones go to OnDemand or Reservation, and those on others end first",
            "spec.onDemandReplicas",
        )
    if wanted.domains is None or not wanted.required:
        return
    counts, eligible = spreading.counts(wanted), wanted.domains.eligible
    least = min(((counts[name], name) for name in eligible), default=(0, ""))
    most = max(((number, name) for name, number in counts.items()), default=(0, ""))
    if eligible and most[0] - least[0] > wanted.domains.max_skew:
        yield _warning(
            key,
            f"{wanted.domains.over} {most[1]} has {most[0]} replicas and {least[1]} {least[0]}, which is a "
            f"skew of more than {wanted.domains.max_skew}; replicas that run stay where they are",
            "To spread them, lower replicas and raise it again: those end first where most of them are",
            "spec.spread",
        )


def _warning(key: str, what: str, next_step: str, path: str) -> Problem:
    return Problem(what, next_step, path, kind="ModelDeployment", key=key, severity="warning")
