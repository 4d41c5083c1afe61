"""The block `maintenancePolicy` of a GKE cluster: when Google maintains it by itself, and what it leaves out.

One window and at most 20 exclusions, as the provider takes them: container_cluster.html.markdown of
https://github.com/hashicorp/terraform-provider-google-beta at 93c65b2d60, 2026-08-21.
"""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from inferfleet.documents.kinds.base import Model
from inferfleet.documents.pods.texts import Written
from inferfleet.documents.problems import Mistake, Mistaken, mistaken

Scope = Literal["NO_UPGRADES", "NO_MINOR_UPGRADES", "NO_MINOR_OR_NODE_UPGRADES"]
_FORMAT = "%Y-%m-%dT%H:%M:%SZ"


def _moment(text: str) -> str:
    try:
        datetime.strptime(text, _FORMAT)
    except ValueError:
        raise mistaken(f"{{field}} {text} is no moment in a calendar", "Change it") from None
    return text


# The provider takes any form of RFC 3339; Google answers in UTC, which would differ in every preview.
Moment = Annotated[
    str,
    Written(
        "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z",
        "a moment in UTC such as 2026-12-01T09:00:00Z",
    ),
    AfterValidator(_moment),
]


class DailyMaintenanceWindow(Model):
    """Four hours of every day."""

    start_time: Annotated[
        str, Written("([01][0-9]|2[0-3]):[0-5][0-9]", "a time of day in GMT, in quotes, such as '09:00'")
    ]
    """When the window begins, in GMT, such as `"09:00"`."""


class RecurringWindow(Model):
    """A window that comes again."""

    start_time: Moment
    """When the first window begins, in UTC, such as `2026-12-05T01:00:00Z`."""
    end_time: Moment
    """When the first window ends; GKE counts windows of four hours and longer alone."""
    # https://cloud.google.com/kubernetes-engine/docs/reference/rest/v1/projects.locations.clusters
    # (RecurringTimeWindow): no HOURLY, MINUTELY and SECONDLY.
    recurrence: Annotated[
        str,
        Written(
            r"FREQ=(DAILY|WEEKLY|MONTHLY|YEARLY)(;[A-Z]+=[-+A-Z0-9,]+)*",
            "a rule of RFC 5545 such as FREQ=WEEKLY;BYDAY=SA,SU, not more often than daily",
        ),
    ]
    """How it comes again, as a rule of RFC 5545, such as `FREQ=WEEKLY;BYDAY=SA,SU`."""


class MaintenanceExclusion(Model):
    """A time in which some of Google's own upgrades do not happen."""

    name: Annotated[str, Written("[a-z]([-a-z0-9]*[a-z0-9])?", "lowercase letters, digits and '-'", 63)]
    """Name of the exclusion, different from the cluster's others."""
    scope: Scope
    """What is not upgraded: anything (`NO_UPGRADES`), minor versions (`NO_MINOR_UPGRADES`), or these and all
    nodes (`NO_MINOR_OR_NODE_UPGRADES`).
    """
    start_time: Moment
    """When it begins, in UTC; it may have begun."""
    end_time: Moment | None = None
    """When it ends, in UTC. Default: none, with `endTimeBehavior`."""
    end_time_behavior: Literal["UNTIL_END_OF_SUPPORT"] | None = None
    """`UNTIL_END_OF_SUPPORT`: it ends when Google no longer supports the minor version of the cluster.
    Default: it ends at `endTime`.
    """

    @model_validator(mode="after")
    def _ends_once(self) -> "MaintenanceExclusion":
        if (self.end_time is None) == (self.end_time_behavior is None):
            what = f"exclusion {self.name} has either endTime or endTimeBehavior"
            raise mistaken(what, "Remove one" if self.end_time else "Write one")
        return self


class MaintenancePolicy(Model):
    """When Google maintains a cluster by itself. Exclusions need a window beside them, as the provider takes
    none without one.
    """

    daily_maintenance_window: DailyMaintenanceWindow | None = None
    """Four hours of every day in which Google may. Default: none, with `recurringWindow`."""
    recurring_window: RecurringWindow | None = None
    """A window that comes again, in which Google may. Default: none, with `dailyMaintenanceWindow`."""
    maintenance_exclusions: Annotated[tuple[MaintenanceExclusion, ...], Field(max_length=20)] = ()
    """Times in which Google upgrades less, or nothing; they stay where the whole block `maintenancePolicy` is
    removed. Default: none.
    """

    @model_validator(mode="after")
    def _one_window(self) -> "MaintenancePolicy":
        windows = [window for window in (self.daily_maintenance_window, self.recurring_window) if window]
        if len(windows) != 1:
            what = "a maintenancePolicy has either dailyMaintenanceWindow or recurringWindow"
            step = 'Add dailyMaintenanceWindow: {startTime: "09:00"}'
            raise mistaken(what, "Remove one" if windows else step)
        mistakes, names = [], [exclusion.name for exclusion in self.maintenance_exclusions]
        for place, name in enumerate(names):
            if name in names[:place]:
                at = ("maintenanceExclusions", place, "name")
                mistakes.append(Mistake(f"exclusion {name} is there twice", "Rename one", at))
        if mistakes:
            raise Mistaken(*mistakes)
        return self
