"""Faults that a person injects, and the pace of the autoscaler: one file in the cloud's folder.

The CLI writes the file; operations, the autoscaler and the Compute API read it each time.
"""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from sandbox.gcp.rules.errors import ApiError, OperationError
from sandbox.private import write_file

FILE = "faults.json"


@dataclass(frozen=True)
class Faults:
    """What goes wrong, and how fast pools are scaled.

    `stockouts` are written "<zone> <hardware>", where hardware is an accelerator or a machine type. The keys
    of `quotas` are "<region> <accelerator>", their values numbers of GPUs; or "<region> SSD_TOTAL_GB", and GB
    of disks, which refuses nothing. `conflicts` names clusters that are busy, `policies` constraints of the
    organisation that are enforced, such as `compute.requireShieldedVm`, `disabled` APIs that no project
    has enabled, `denied` permissions that nobody has. In seconds: `slow` is added to every operation,
    `grow_after` is how long a pod waits for a node, and `idle_for` how long a node is empty before it is
    removed.
    """

    stockouts: tuple[str, ...] = ()
    quotas: dict[str, int] = field(default_factory=dict)
    conflicts: tuple[str, ...] = ()
    policies: tuple[str, ...] = ()
    disabled: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()
    slow: float = 0
    grow_after: float = 10
    idle_for: float = 20

    @property
    def cleared(self) -> "Faults":
        """No faults, with the same pace of the autoscaler."""
        return Faults(grow_after=self.grow_after, idle_for=self.idle_for)


def read(folder: Path) -> Faults:
    """Return the faults in force; none while there is no file."""
    try:
        content = json.loads((folder / FILE).read_text())
    except FileNotFoundError:
        return Faults()
    lists = ("stockouts", "conflicts", "policies", "disabled", "denied")
    texts = {name: tuple(content.get(name, ())) for name in lists}
    return Faults(**{**content, **texts})


def change(folder: Path, changed: Callable[[Faults], Faults]) -> Faults:
    """Write what `changed` makes of the faults in force, and return it."""
    faults = changed(read(folder))
    write_file(folder / FILE, json.dumps(asdict(faults), indent=1) + "\n")
    return faults


def with_stockout(zone: str, hardware: str) -> Callable[[Faults], Faults]:
    """Return a change after which the zone is out of an accelerator or machine type."""
    return lambda old: replace(old, stockouts=tuple(sorted({*old.stockouts, f"{zone} {hardware}"})))


def with_quota(region: str, hardware: str, limit: int) -> Callable[[Faults], Faults]:
    """Return a change after which all clusters of the region have at most `limit` of the accelerators."""
    return lambda old: replace(old, quotas={**old.quotas, f"{region} {hardware}": limit})


def with_conflict(cluster: str) -> Callable[[Faults], Faults]:
    """Return a change after which the cluster is busy with somebody else's operation."""
    return lambda old: replace(old, conflicts=tuple(sorted({*old.conflicts, cluster})))


def with_policy(constraint: str) -> Callable[[Faults], Faults]:
    """Return a change after which the organisation enforces a constraint."""
    return lambda old: replace(old, policies=tuple(sorted({*old.policies, constraint})))


def with_disabled(api: str) -> Callable[[Faults], Faults]:
    """Return a change after which no project has enabled the API. Only who asks for its state notices, and
    who asks for policies of the organisation.
    """
    return lambda old: replace(old, disabled=tuple(sorted({*old.disabled, api})))


def with_denied(permission: str) -> Callable[[Faults], Faults]:
    """Return a change after which nobody has the permission. Only who asks for permissions notices, for
    subnetworks and for policies.
    """
    return lambda old: replace(old, denied=tuple(sorted({*old.denied, permission})))


def with_delay(seconds: float) -> Callable[[Faults], Faults]:
    """Return a change after which every operation takes this much longer."""
    return lambda old: replace(old, slow=seconds)


def with_pace(old: Faults, *, grow_after: float, idle_for: float) -> Faults:
    """Return the faults with another pace of the autoscaler, in seconds."""
    return replace(old, grow_after=grow_after, idle_for=idle_for)


def lines(faults: Faults) -> list[str]:
    """Return the faults in force and the pace of the autoscaler, a line each, for people."""
    texts = [f"stock-out: {stockout}" for stockout in faults.stockouts]
    texts += [f"quota: {key} at most {limit}" for key, limit in sorted(faults.quotas.items())]
    texts += [f"conflict: cluster {cluster} is busy" for cluster in faults.conflicts]
    texts += [f"policy: {constraint} is enforced" for constraint in faults.policies]
    texts += [f"disabled: API {api}" for api in faults.disabled]
    texts += [f"denied: permission {permission}" for permission in faults.denied]
    texts += [f"slow: every operation takes {faults.slow:g} s longer"] if faults.slow else []
    pace = f"pools grow after {faults.grow_after:g} s and shrink after {faults.idle_for:g} s"
    return [*(texts or ["no faults"]), pace]


def refuse_conflict(faults: Faults, cluster: str) -> None:
    """Raise ApiError while the cluster is busy."""
    if cluster in faults.conflicts:
        raise ApiError(
            400,
            f"Cluster is running incompatible operation operation-1764028800000-{cluster}",
            "failedPrecondition",
        )


def refuse_quota(faults: Faults, region: str, hardware: str, *, used: int, wanted: int, project: str) -> None:
    """Raise ApiError when `wanted` more accelerators are too many for the region, which uses `used`."""
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
    """Raise OperationError when the zone is out of any of this hardware."""
    if any(f"{zone} {part}" in faults.stockouts for part in hardware):
        raise OperationError(
            f"[GCE_STOCKOUT]: Instance creation failed: ZONE_RESOURCE_POOL_EXHAUSTED: The zone "
            f"'projects/{project}/zones/{zone}' does not have enough resources available to fulfill the "
            "request. Try a different zone, or try again later."
        )
