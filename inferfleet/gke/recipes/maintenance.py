"""Rules of maintenance policies: does Google take windows and exclusions as they are written."""

from collections.abc import Container, Iterator
from datetime import timedelta

from inferfleet.api.kinds.gke.maintenance import MaintenanceExclusion, MaintenancePolicy, moment
from inferfleet.api.problems import Problem, Severity
from inferfleet.gke.facts.sources import NO_UPGRADES, WINDOWS
from inferfleet.gke.facts.windows import least_hours
from inferfleet.gke.pool import GkeCluster

_PATH = "spec.cluster.gke.maintenancePolicy"
_HOURS, _DAYS, _FORMER_DAYS = 48, 92, 32
_LONGEST, _FORMER_LONGEST, _MOST = timedelta(days=90), timedelta(days=30), 3


def policy_problems(cluster: GkeCluster, made: Container[str]) -> Iterator[Problem]:
    """Yield an error for what Google refuses of a policy, and a warning for what it may refuse.

    All is a warning of a cluster in `made`: Google may have taken its policy.
    """
    policy = cluster.gke.maintenance_policy
    if policy is None:
        return
    refused: Severity = "warning" if cluster.name in made else "error"
    for severity, what, step, path in (*_window(policy, refused), *_exclusions(policy, refused)):
        what = f"cluster {cluster.name} has {what}"
        yield Problem(
            what, step, f"{_PATH}.{path}", kind="InferenceCluster", key=cluster.name, severity=severity
        )


_Told = tuple[Severity, str, str, str]


def _window(policy: MaintenancePolicy, refused: Severity) -> Iterator[_Told]:
    window = policy.recurring_window
    if window is None:
        return
    begins, ends = moment(window.start_time), moment(window.end_time)
    for days, severity in ((_DAYS, refused), (_FORMER_DAYS, "warning")):
        hours = least_hours(begins, ends, window.recurrence, days=days)
        if hours is not None and hours < _HOURS:
            former = ", and asked for it in 32 days before" if days == _FORMER_DAYS else ""
            what = f"a window that is open for {hours:g} hours in some {days} days; GKE asks for {_HOURS} "
            what += f"hours in any {_DAYS} days{former} ({WINDOWS})"
            step = "Write a recurrence that comes more often, such as FREQ=WEEKLY;BYDAY=SA,SU, or a later "
            step += "endTime"
            yield severity, what, step, "recurringWindow.recurrence"
            return


def _exclusions(policy: MaintenancePolicy, refused: Severity) -> Iterator[_Told]:
    none = [
        (place, exclusion)
        for place, exclusion in enumerate(policy.maintenance_exclusions)
        if exclusion.scope == "NO_UPGRADES"
    ]
    for number, (place, exclusion) in enumerate(none):
        length, shown = _length(exclusion)
        at, what = f"maintenanceExclusions[{place}]", f"exclusion {exclusion.name} of scope NO_UPGRADES "
        field = "endTime" if exclusion.end_time else "endTimeBehavior"
        step = "Write an earlier endTime, or scope: NO_MINOR_OR_NODE_UPGRADES, which may last"
        if length is None or length > _LONGEST:
            what += f"{shown}; GKE allows 30 days, and no source more than 90 ({NO_UPGRADES})"
            yield refused, what, step, f"{at}.{field}"
        elif length > _FORMER_LONGEST:
            what += f"{shown}; Google's samples say 30 at most ({NO_UPGRADES}), others 90"
            yield "warning", what, step, f"{at}.{field}"
        if number >= _MOST:
            what = f"more than {_MOST} exclusions of scope NO_UPGRADES, of which GKE may take no more"
            yield "warning", what, "Write another scope, or remove those that are over", f"{at}.scope"


def _length(exclusion: MaintenanceExclusion) -> tuple[timedelta | None, str]:
    """Return how long an exclusion lasts, None for one until the end of support, and that in words."""
    if exclusion.end_time is None:
        return None, "until the end of support"
    length = moment(exclusion.end_time) - moment(exclusion.start_time)
    return length, f"for {length / timedelta(days=1):g} days"
