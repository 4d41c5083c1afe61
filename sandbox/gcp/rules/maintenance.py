"""When GKE maintains clusters by itself: what it refuses of a policy, and how its API answers one."""

import re
from datetime import datetime, timedelta
from typing import Any

from sandbox.gcp.rules.errors import bad_request

Values = dict[str, Any]
_SCOPES = ("NO_UPGRADES", "NO_MINOR_UPGRADES", "NO_MINOR_OR_NODE_UPGRADES")
# https://docs.cloud.google.com/kubernetes-engine/docs/how-to/maintenance-window: shorter ones do not count.
_SHORTEST = timedelta(hours=4)


# The newest minor version that has left standard support, 1.34 on 2026-10-01: endoflife.date,
# products/google-kubernetes-engine.md. EXTENDED supports it longer.
_ENDED = (1, 34)


def check_support(policy: Values, version: tuple[int, ...], channel: str) -> None:
    """Raise ApiError for a new cluster with an exclusion until the end of a support that is over.

    Google makes the end of it an endTime: https://github.com/GoogleCloudPlatform/cluster-toolkit/pull/6063
    """
    for exclusion in policy.get("maintenanceExclusions") or []:
        name, options = exclusion["exclusionName"], exclusion.get("exclusionOptions") or {}
        if options.get("endTimeBehavior") and channel != "EXTENDED" and version[:2] <= _ENDED:
            raise bad_request(
                f"MaintenancePolicy.maintenanceExclusions[{name}] must have the end time take place after "
                "start time."
            )


def check_maintenance(policy: Values) -> None:
    """Raise ApiError for the first rule that a maintenance policy breaks."""
    daily = (policy.get("dailyMaintenanceWindow") or {}).get("startTime")
    if daily and not re.fullmatch("([01][0-9]|2[0-3]):[0-5][0-9]", daily):
        raise bad_request(f"dailyMaintenanceWindow.startTime {daily!r} is not of the form HH:MM")
    if recurring := policy.get("recurringWindow"):
        # https://cloud.google.com/kubernetes-engine/docs/reference/rest/v1/projects.locations.clusters
        # (RecurringTimeWindow)
        if not re.match("FREQ=(DAILY|WEEKLY|MONTHLY|YEARLY)(;|$)", recurring["recurrence"]):
            raise bad_request(
                f"Recurrence {recurring['recurrence']!r} of a maintenance window is not supported"
            )
        if _moment(recurring["endTime"]) - _moment(recurring["startTime"]) < _SHORTEST:
            raise bad_request("A maintenance window must last at least 4 hours to count as available")
    names: set[str] = set()
    for exclusion in policy.get("maintenanceExclusions") or []:
        _check_exclusion(exclusion)
        if exclusion["exclusionName"] in names:
            raise bad_request(f"Maintenance exclusion {exclusion['exclusionName']!r} is there twice")
        names.add(exclusion["exclusionName"])


def _check_exclusion(exclusion: Values) -> None:
    name, options = exclusion["exclusionName"], exclusion.get("exclusionOptions") or {}
    if options.get("scope", "NO_UPGRADES") not in _SCOPES:
        raise bad_request(f"expected scope to be one of {_SCOPES}, got {options['scope']}")
    behavior, end = options.get("endTimeBehavior"), exclusion.get("endTime")
    if behavior not in (None, "", "UNTIL_END_OF_SUPPORT"):
        raise bad_request(f"expected end_time_behavior to be UNTIL_END_OF_SUPPORT, got {behavior}")
    if bool(behavior) == bool(end):
        raise bad_request(
            f"Maintenance exclusion {name!r} must have exactly one of endTime and endTimeBehavior"
        )
    if end and _moment(end) <= _moment(exclusion["startTime"]):
        raise bad_request(f"Maintenance exclusion {name!r} must end after it starts")
    _check_length(name, exclusion)


def _check_length(name: str, exclusion: Values) -> None:
    """Refuse NO_UPGRADES for longer than any source allows; what Google says then is not known."""
    if (exclusion.get("exclusionOptions") or {}).get("scope", "NO_UPGRADES") != "NO_UPGRADES":
        return
    end = exclusion.get("endTime")
    if not end or _moment(end) - _moment(exclusion["startTime"]) > timedelta(days=90):
        raise bad_request(f"Maintenance exclusion {name!r} of scope NO_UPGRADES lasts longer than 90 days")


def maintenance_window(policy: Values) -> Values:
    """Return the window of a policy as the API has it: exclusions by name, the recurring one split in two."""
    window: Values = {"dailyMaintenanceWindow": policy.get("dailyMaintenanceWindow")}
    if recurring := policy.get("recurringWindow"):
        times = {name: recurring[name] for name in ("startTime", "endTime")}
        window["recurringWindow"] = {"window": times, "recurrence": recurring["recurrence"]}
    window["maintenanceExclusions"] = {
        exclusion["exclusionName"]: {
            **{name: exclusion[name] for name in ("startTime", "endTime") if exclusion.get(name)},
            "maintenanceExclusionOptions": exclusion.get("exclusionOptions"),
        }
        for exclusion in policy.get("maintenanceExclusions") or []
    }
    return window


def _moment(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise bad_request(f"{text!r} is not a moment as RFC 3339 has it") from None
