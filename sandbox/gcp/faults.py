"""Faults on demand, and the pace of the autoscaler: one file in the cloud's folder, set by the CLI."""

import json
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from sandbox.gcp.rules.errors import ApiError, OperationError

FILE = "faults.json"


@dataclass(frozen=True)
class Faults:
    """What goes wrong. Keys are "<zone> <accelerator>" and "<region> <accelerator>"; quotas count GPUs.

    An accelerator may be a machine type too. `conflicts` names clusters that are busy. Times are seconds:
    `slow` of every operation, `grow_after` until a pod that waits gets a node, `idle_for` until an empty node
    goes.
    """

    stockouts: tuple[str, ...] = ()
    quotas: dict[str, int] = field(default_factory=dict)
    conflicts: tuple[str, ...] = ()
    slow: float = 0
    grow_after: float = 10
    idle_for: float = 20

    @property
    def cleared(self) -> "Faults":
        """Without faults; the pace of the autoscaler stays."""
        return Faults(grow_after=self.grow_after, idle_for=self.idle_for)


def read(folder: Path) -> Faults:
    """The faults in force; none while there is no file."""
    try:
        content = json.loads((folder / FILE).read_text())
    except FileNotFoundError:
        return Faults()
    return Faults(
        **{**content, "stockouts": tuple(content["stockouts"]), "conflicts": tuple(content["conflicts"])}
    )


def change(folder: Path, changed: Callable[[Faults], Faults]) -> Faults:
    """Writes what `changed` makes of the faults in force."""
    faults = changed(read(folder))
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    temporary = folder / f".{FILE}.{os.getpid()}"
    temporary.write_text(json.dumps(asdict(faults), indent=1) + "\n")
    temporary.replace(folder / FILE)
    return faults


def with_stockout(zone: str, hardware: str) -> Callable[[Faults], Faults]:
    """Nothing of the accelerator or machine type is to be had in the zone."""
    return lambda old: replace(old, stockouts=tuple(sorted({*old.stockouts, f"{zone} {hardware}"})))


def with_quota(region: str, hardware: str, limit: int) -> Callable[[Faults], Faults]:
    """At most `limit` of the accelerators in the region, over all clusters."""
    return lambda old: replace(old, quotas={**old.quotas, f"{region} {hardware}": limit})


def with_conflict(cluster: str) -> Callable[[Faults], Faults]:
    """The cluster is busy with an operation of somebody else."""
    return lambda old: replace(old, conflicts=tuple(sorted({*old.conflicts, cluster})))


def with_delay(seconds: float) -> Callable[[Faults], Faults]:
    """Every operation takes so much longer."""
    return lambda old: replace(old, slow=seconds)


def with_pace(old: Faults, *, grow_after: float, idle_for: float) -> Faults:
    """Autoscaled pools grow and shrink after these seconds."""
    return replace(old, grow_after=grow_after, idle_for=idle_for)


def lines(faults: Faults) -> list[str]:
    """The faults in force and the pace, for people."""
    said = [f"stock-out: {one}" for one in faults.stockouts]
    said += [f"quota: {key} at most {limit}" for key, limit in sorted(faults.quotas.items())]
    said += [f"conflict: cluster {one} is busy" for one in faults.conflicts]
    said += [f"slow: every operation takes {faults.slow:g} s longer"] if faults.slow else []
    pace = f"pools grow after {faults.grow_after:g} s and shrink after {faults.idle_for:g} s"
    return [*(said or ["no faults"]), pace]


def refuse_conflict(faults: Faults, cluster: str) -> None:
    """Raises ApiError while the cluster is busy."""
    if cluster in faults.conflicts:
        raise ApiError(
            400,
            f"Cluster is running incompatible operation operation-1764028800000-{cluster}",
            "failedPrecondition",
        )


def refuse_quota(faults: Faults, region: str, hardware: str, *, used: int, wanted: int, project: str) -> None:
    """Raises ApiError when `wanted` more accelerators in the region are too many."""
    limit = faults.quotas.get(f"{region} {hardware}")
    if limit is None or used + wanted <= limit:
        return
    metric = f"{hardware.upper().replace('-', '_')}_GPUS"
    raise ApiError(
        403,
        f'Insufficient regional quota to satisfy request: resource "{metric}": request requires '
        f"'{wanted}.0' and is short '{used + wanted - limit}.0'. project has a quota of '{limit}.0' with "
        f"'{max(limit - used, 0)}.0' available. View and manage quotas at "
        f"https://console.cloud.google.com/iam-admin/quotas?usage=USED&project={project}.",
        "forbidden",
    )


def refuse_stockout(faults: Faults, zone: str, hardware: tuple[str, ...], *, project: str) -> None:
    """Raises OperationError when the zone has none of this hardware left."""
    if any(f"{zone} {one}" in faults.stockouts for one in hardware):
        raise OperationError(
            f"[GCE_STOCKOUT]: Instance creation failed: ZONE_RESOURCE_POOL_EXHAUSTED: The zone "
            f"'projects/{project}/zones/{zone}' does not have enough resources available to fulfill the "
            "request. Try a different zone, or try again later."
        )
