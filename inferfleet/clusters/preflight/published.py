"""Devices that drivers publish on nodes (ResourceSlices), and those that pods have by claims, as whole ones.

A driver may publish partitions beside the device that they are parts of; they consume the counters that it
consumes too, so not all of them can be allocated. Counted are as many as can be at once, the largest first:
where a whole GPU is published with its partitions, that is the GPU. A partition that somebody has takes the
whole one away (https://kubernetes.io/docs/concepts/resource-management/dynamic-resource-allocation/dra-features/,
partitionable devices). Claims with admin access allocate nothing to their holders, and take nothing away.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any, NamedTuple

from inferfleet.documents.quantity import parse_quantity

_Object = Mapping[str, Any]
_DriversPool = tuple[str, str]  # driver and the name of its pool
_Counters = dict[tuple[str, str], Decimal]  # by counter set and counter


class _Device(NamedTuple):
    driver: str
    pool: str
    name: str


class Published:
    """The devices of `slices`, and who has which of them by `claims`."""

    def __init__(self, slices: Iterable[_Object], claims: Iterable[_Object]) -> None:
        self._on_node: Counter[tuple[str, str]] = Counter()
        self._taken: dict[_Device, frozenset[_Device]] = {}
        for pool, of_pool in _newest(slices).items():
            self._count(pool, of_pool)
        self._of_pod: Counter[tuple[str, str]] = Counter()
        taken: set[_Device] = set()
        for holder, device in _held(claims):
            for whole in self._taken.get(device, frozenset({device})) - taken:
                taken.add(whole)
                self._of_pod[holder, whole.driver] += 1

    def of_node(self, node: str, driver: str) -> int:
        """Return how many devices of a driver a node has."""
        return self._on_node[node, driver]

    def of_pod(self, uid: str, driver: str) -> int:
        """Return how many devices of a driver a pod has by claims. Several pods that share one count once."""
        return self._of_pod[uid, driver]

    def _count(self, pool: _DriversPool, slices: Iterable[_Object]) -> None:
        """Count the devices of a pool that can be allocated at once, and note what others take of them."""
        specs = [slice_["spec"] for slice_ in slices]
        left: _Counters = {
            (shared["name"], name): parse_quantity(str(counter["value"]))
            for spec in specs
            for shared in spec.get("sharedCounters") or ()
            for name, counter in (shared.get("counters") or {}).items()
        }
        found = [
            (
                _Device(*pool, device["name"]),
                spec.get("nodeName") or device.get("nodeName") or "",
                _uses(device),
            )
            for spec in specs
            for device in spec.get("devices") or ()
        ]
        whole: list[tuple[_Device, set[str]]] = []
        for device, node, uses in sorted(found, key=lambda one: (-sum(one[2].values()), one[0])):
            if all(left.get(counter, Decimal(0)) >= amount for counter, amount in uses.items()):
                for counter, amount in uses.items():
                    left[counter] -= amount
                whole.append((device, {name for name, _ in uses}))
                self._on_node[node, device.driver] += 1
        chosen = {device for device, _ in whole}
        for device, _, uses in found:
            if device not in chosen:
                sets = {name for name, _ in uses}
                self._taken[device] = frozenset(other for other, of_sets in whole if of_sets & sets)


def _newest(slices: Iterable[_Object]) -> dict[_DriversPool, list[_Object]]:
    """Return the slices of each pool of a driver; those of an earlier generation count no more."""
    by_pool: dict[_DriversPool, dict[int, list[_Object]]] = {}
    for slice_ in slices:
        spec = slice_["spec"]
        pool = spec.get("pool") or {}
        key = spec["driver"], str(pool.get("name", ""))
        by_pool.setdefault(key, {}).setdefault(int(pool.get("generation", 0)), []).append(slice_)
    return {key: generations[max(generations)] for key, generations in by_pool.items()}


def _uses(device: _Object) -> _Counters:
    return {
        (consumed["counterSet"], name): parse_quantity(str(counter["value"]))
        for consumed in device.get("consumesCounters") or ()
        for name, counter in (consumed.get("counters") or {}).items()
    }


def _held(claims: Iterable[_Object]) -> Iterator[tuple[str, _Device]]:
    """Yield the devices that claims hold, with the pod that has them: of several, the first."""
    for claim in claims:
        status = claim.get("status") or {}
        results = ((status.get("allocation") or {}).get("devices") or {}).get("results") or ()
        for holder in (status.get("reservedFor") or ())[:1]:
            for result in results:
                if not result.get("adminAccess"):
                    device = _Device(result["driver"], str(result.get("pool", "")), result["device"])
                    yield holder.get("uid", ""), device
