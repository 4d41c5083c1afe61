"""Named reservations that new and growing pools need: whether they exist, and whether their machines fit.

https://cloud.google.com/compute/docs/reference/rest/v1/reservations/get
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from inferfleet.cloud.gke.described import DescribedPool, described_clusters
from inferfleet.cloud.values import CloudCluster
from inferfleet.documents.documents import Documents
from inferfleet.documents.problems import Problem, cluster_problem

# As a reservation has it, by the word of a pool.
_MAINTENANCE = {"Periodic": "PERIODIC", "AsNeeded": "AS_NEEDED"}
_STEP = "Look with `gcloud compute reservations list --project {project}`; name another one, or fix it"


@dataclass(frozen=True)
class ReservationUse:
    """A pool that needs machines of the reservation `name` of `project`, in one or more of its own zones.

    `nodes` of it exist.
    """

    pool: DescribedPool
    project: str
    name: str
    nodes: int = 0

    @property
    def title(self) -> str:
        """Return the reservation as messages name it."""
        return f"reservation {self.name!r} of project {self.project}"

    @property
    def machines(self) -> int:
        """Return how many machines the pool may need beside those that it has."""
        return max(self.pool.document.size - self.nodes, 0)

    @property
    def ssds(self) -> int:
        """Return how many local SSDs a reserved machine must have to become a node of the pool."""
        recipe_ssds, built_in = self.pool.gke_class.recipe.local_ssd, self.pool.gke_class.machine.ssds
        return recipe_ssds.count if recipe_ssds else sum(built_in.counts) if built_in.attached else 0


def reservation_uses(
    documents: Documents,
    clusters: Collection[CloudCluster],
    existing: Mapping[str, Collection[str]],
    sizes: Mapping[str, int] = MappingProxyType({}),
) -> tuple[ReservationUse, ...]:
    """Return the named reservations of pools that are new, or may grow; `existing` is as for `needs`.

    `sizes` has the nodes of pools that exist, by `cluster/pool`; one that is not in it is taken to be whole.
    """
    described = described_clusters(documents)
    needs = (
        ReservationUse(
            pool,
            *reservation,
            sizes.get(pool.key, pool.document.size)
            if cluster.pools[pool.name].name in existing.get(cluster.cluster, ())
            else 0,
        )
        for cluster in clusters
        for pool in described[cluster.cluster].pools
        if (reservation := cluster.pools[pool.name].reservation)
    )
    return tuple(need for need in needs if need.machines)


def reservation_problems(
    need: ReservationUse, answers: Mapping[str, Mapping[str, Any] | None]
) -> Iterator[Problem]:
    """Yield a warning for what does not fit, from Google's answer by zone (None: no such reservation there).

    What an answer leaves out is taken to fit.
    """
    known_answers = {zone: answer for zone, answer in sorted(answers.items()) if answer is not None}
    if not known_answers:
        zones = ", ".join(sorted(answers))
        yield _problem(need, f"there is no {need.title} in {zones}, and pool {need.pool.key} needs it")
        return
    reasons = {zone: tuple(_mismatches(need, answer, zone)) for zone, answer in known_answers.items()}
    if all(reasons.values()):
        yield from (_problem(need, reason) for in_zone in reasons.values() for reason in in_zone)
        return
    free = [free_machines(answer) for answer in known_answers.values()]
    free_total, wanted = sum(number or 0 for number in free), need.machines
    if None not in free and free_total < wanted:
        what = (
            f"{need.title} has {free_total} of the {wanted} machines left that pool {need.pool.key} may need"
        )
        yield _problem(need, what)


def _mismatches(need: ReservationUse, answer: Mapping[str, Any], zone: str) -> Iterator[str]:
    """Yield each field in which the reservation is not as the pool needs it; other machines differ in all."""
    held, wanted = _properties(answer).get("machineType"), need.pool.gke_class.machine
    if held and held != wanted.type:
        kinds = f"its machines are {held}, those of pool {need.pool.key} are {wanted.type}"
        yield f"{need.title} in {zone} does not fit: {kinds}"
        return
    status = answer.get("status")
    if status and status != "READY":
        yield f"{need.title} in {zone} is not ready: its status is {status}"
    if answer.get("specificReservationRequired") is False:
        yield (
            f"{need.title} in {zone} does not fit: machines that name none may use it "
            "(specificReservationRequired is false), and a pool that names it needs one that is its own"
        )
    yield from _other_gpus(need, answer, zone)
    interval = _properties(answer).get("maintenanceInterval")
    asked = need.pool.document.capacity.host_maintenance
    if interval and interval != (_MAINTENANCE[asked] if asked else interval):
        yield (
            f"{need.title} in {zone} does not fit: its hosts are maintained {interval}, pool {need.pool.key} "
            f"has hostMaintenance: {asked}"
        )
    ssds = len(_properties(answer).get("localSsds") or ())
    # Google may leave out what is part of the machine.
    stated = _properties(answer) and not (wanted.ssds.attached and not ssds)
    if stated and ssds != need.ssds:
        yield (
            f"{need.title} in {zone} does not fit: its machines have {ssds} local SSDs, nodes of pool "
            f"{need.pool.key} {need.ssds}"
        )


def _other_gpus(need: ReservationUse, answer: Mapping[str, Any], zone: str) -> Iterator[str]:
    held = {
        str(gpu.get("acceleratorType")).rpartition("/")[2]: int(gpu.get("acceleratorCount") or 0)
        for gpu in _properties(answer).get("guestAccelerators") or ()
    }
    gpu = need.pool.gke_class.recipe.accelerator
    # Google may leave out what is part of the machine.
    if held and gpu and held != {gpu.type: gpu.count}:
        shown = ", ".join(f"{count} {kind}" for kind, count in held.items())
        yield (
            f"{need.title} in {zone} does not fit: its machines have {shown}, nodes of pool {need.pool.key} "
            f"{gpu.count} {gpu.type}"
        )


def free_machines(answer: Mapping[str, Any]) -> int | None:
    """Return how many machines of a reservation are not in use; None if not known.

    Google writes numbers of 64 bits as strings and may leave out a zero.
    """
    specific = answer.get("specificReservation")
    if not isinstance(specific, Mapping) or "count" not in specific:
        return None
    return int(specific["count"]) - int(specific.get("inUseCount") or 0)


def _properties(answer: Mapping[str, Any]) -> Mapping[str, Any]:
    specific = answer.get("specificReservation")
    properties = specific.get("instanceProperties") if isinstance(specific, Mapping) else None
    return properties if isinstance(properties, Mapping) else {}


def _problem(need: ReservationUse, what: str) -> Problem:
    return cluster_problem(
        need.pool.cluster,
        what,
        _STEP.format(project=need.project),
        need.pool.path("capacity.reservation"),
        severity="warning",
    )
