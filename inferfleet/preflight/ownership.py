"""Objects of ours that exist already and are somebody else's: creating them would take them over."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from inferfleet.api.problems import Problem
from inferfleet.desired.values import DesiredCluster
from inferfleet.fleet.names import MANAGED_BY, MANAGER, STACK
from inferfleet.reach.clusters import cluster_problem
from inferfleet.reach.connect import Api
from inferfleet.reach.resources import ApiResource, Found, Kind, listed

# An existing one is used, and only labels are added.
EXEMPT = frozenset({"Namespace", "CustomResourceDefinition"})
# So many objects are named in one problem; the rest are counted.
NAMED = 10


@dataclass(frozen=True)
class Standing:
    """An object of ours, by name, that is there already."""

    kind: str
    found: Found

    def __str__(self) -> str:
        within = f"{self.found.namespace}/" if self.found.namespace else ""
        return f"{self.kind} {within}{self.found.name}"


def standing(api: Api, cluster: DesiredCluster, resources: Mapping[Kind, ApiResource]) -> Iterator[Standing]:
    """What of the desired objects exists. One list per kind, not one request per object."""
    wanted: dict[Kind, set[tuple[str, str]]] = {}
    for one in cluster.objects:
        names = wanted.setdefault((one.api_version, one.kind), set())
        names.add((one.namespace or "", one.kubernetes_name))
    for kind in sorted(wanted.keys() & resources.keys()):
        names = wanted[kind]
        for found in listed(api, resources[kind], {namespace for namespace, _ in names}):
            if (found.namespace, found.name) in names:
                yield Standing(kind[1], found)


def foreign(cluster: str, stack: str, there: Iterable[Standing]) -> Iterator[Problem]:
    """One problem per owner: a stack pointed at another's cluster would otherwise say it a thousand times."""
    names: dict[str, list[str]] = {}
    for one in there:
        if one.kind not in EXEMPT and not _is_ours(one.found.labels, stack):
            names.setdefault(_owner(one.found.labels), []).append(str(one))
    for owner, theirs in sorted(names.items()):
        yield cluster_problem(
            cluster,
            f"on cluster {cluster!r} the stack would take over what belongs to {owner}: {_list(theirs)}",
            "One cluster belongs to one stack: remove them there or rename ours. To take them over, "
            f"kubectl label them {MANAGED_BY}={MANAGER} {STACK}={stack}",
        )


def terminating(cluster: str, there: Iterable[Standing]) -> Iterator[Problem]:
    """What is put into a namespace that is being deleted goes with it."""
    going = [str(one) for one in there if one.found.terminating]
    if going:
        what = f"on cluster {cluster!r} these are being deleted: {_list(going)}"
        yield cluster_problem(cluster, what, "Wait until they are gone", severity="warning")


def _is_ours(labels: Mapping[str, str], stack: str) -> bool:
    return labels.get(MANAGED_BY) == MANAGER and labels.get(STACK) == stack


def _owner(labels: Mapping[str, str]) -> str:
    if labels.get(MANAGED_BY) == MANAGER and labels.get(STACK):
        return f"stack {labels[STACK]!r}"
    if labels.get(MANAGED_BY):
        return f"{labels[MANAGED_BY]!r} (label {MANAGED_BY})"
    told = ", ".join(f"{key}={value}" for key, value in sorted(labels.items())[:3])
    return f"somebody else (labels: {told})" if told else "somebody else (it has no labels)"


def _list(names: Iterable[str]) -> str:
    every = sorted(names)
    more = f" and {len(every) - NAMED} more" if len(every) > NAMED else ""
    return ", ".join(every[:NAMED]) + more
