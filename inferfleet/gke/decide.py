"""decide(documents, lock, planned): everything about Google Cloud, in one value."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from inferfleet.api.documents import Documents
from inferfleet.api.problems import Problem
from inferfleet.fleet.decisions import Plan
from inferfleet.fleet.lock.lock import Lock
from inferfleet.gke.changes.clusters import cloud_changes
from inferfleet.gke.changes.differences import CloudChange
from inferfleet.gke.changes.remembered import remembered
from inferfleet.gke.clouds import cloud_clusters
from inferfleet.gke.recipes.check import recipe_problems
from inferfleet.gke.settings.ranges import range_problems
from inferfleet.gke.settings.system import system_problems
from inferfleet.gke.values import CloudCluster


@dataclass(frozen=True)
class Cloud:
    """`clusters` by name (none while there are problems), what changes of them against the lock, and the lock
    that remembers them.
    """

    clusters: Mapping[str, CloudCluster] = field(default_factory=dict)
    changes: tuple[CloudChange, ...] = ()
    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
    lock: Lock = field(default_factory=Lock)


def decide(documents: Documents, lock: Lock, planned: Plan) -> Cloud:
    """Recipes are checked first: settings are worked out of sound ones only."""
    unsound, warnings = recipe_problems(documents)
    problems = (*unsound, *range_problems(documents, lock), *system_problems(documents, planned))
    if problems:
        return Cloud(problems=problems, warnings=warnings, lock=planned.lock)
    clusters = cloud_clusters(documents, lock, planned)
    changes, refused, remarks = cloud_changes(documents, lock, clusters)
    return Cloud(
        clusters={one.cluster: one for one in clusters},
        changes=changes,
        problems=refused,
        warnings=(*warnings, *remarks),
        lock=remembered(documents, planned.lock, clusters),
    )
