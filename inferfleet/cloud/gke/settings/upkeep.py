"""The settings of maintenance and upgrades, as the provider has them."""

from typing import Any

from inferfleet.documents.kinds.gke import (
    BlueGreenSettings,
    MaintenancePolicy,
    StandardRolloutPolicy,
    UpgradeSettings,
)


def maintenance(policy: MaintenancePolicy | None) -> dict[str, Any]:
    """Return the maintenance policy of a Cluster; nothing where the document has none.

    Google has an exclusion of single pools besides (NodePool.maintenancePolicy). The provider sends it with a
    new pool and never again (nodePoolUpdate in resource_container_node_pool.go at 93c65b2d60, 2026-08-21), so
    one that is written or removed later would do nothing.
    """
    if policy is None:
        return {}
    settings: dict[str, Any] = {}
    if policy.daily_maintenance_window:
        settings["dailyMaintenanceWindow"] = {"startTime": policy.daily_maintenance_window.start_time}
    if window := policy.recurring_window:
        settings["recurringWindow"] = {
            "startTime": window.start_time,
            "endTime": window.end_time,
            "recurrence": window.recurrence,
        }
    if policy.maintenance_exclusions:
        settings["maintenanceExclusions"] = [
            {
                "exclusionName": exclusion.name,
                "startTime": exclusion.start_time,
                **({"endTime": exclusion.end_time} if exclusion.end_time else {}),
                "exclusionOptions": {
                    "scope": exclusion.scope,
                    **({"endTimeBehavior": behavior} if (behavior := exclusion.end_time_behavior) else {}),
                },
            }
            for exclusion in sorted(policy.maintenance_exclusions, key=lambda exclusion: exclusion.name)
        ]
    return {"maintenancePolicy": settings}


def upgrades(written: UpgradeSettings | None) -> dict[str, Any]:
    """Return how nodes of a pool are upgraded. By default one at a time without a surge: there is seldom a
    spare machine with accelerators.
    """
    settings = written or UpgradeSettings()
    if settings.strategy == "BLUE_GREEN":
        steps = _blue_green(settings.blue_green_settings or BlueGreenSettings())
        return {"strategy": "BLUE_GREEN", "blueGreenSettings": steps}
    return {"strategy": "SURGE", "maxSurge": settings.surge, "maxUnavailable": settings.unavailable}


def _blue_green(settings: BlueGreenSettings) -> dict[str, Any]:
    """Return every step, written or not: one that Google fills in could change without a word."""
    soak = {"nodePoolSoakDuration": f"{settings.node_pool_soak_duration}s"}
    if autoscaled := settings.autoscaled_rollout_policy:
        wait = f"{autoscaled.wait_for_drain_duration}s"
        return soak | {"autoscaledRolloutPolicy": {"waitForDrainDuration": wait}}
    batches = settings.standard_rollout_policy or StandardRolloutPolicy()
    size = (
        {"batchPercentage": batches.batch_percentage}
        if batches.batch_percentage is not None
        else {"batchNodeCount": batches.batch_node_count or 1}
    )
    policy = size | {"batchSoakDuration": f"{batches.batch_soak_duration}s"}
    return soak | {"standardRolloutPolicy": policy}
