"""How a provider is asked for the nodes of a pool: bought, rented cheaply, waited for, or reserved."""

from functools import partial
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from inferfleet.api.document import DAY, WRITTEN_DURATION, Model, seconds
from inferfleet.api.gke_cluster import PROJECT
from inferfleet.api.text_rules import Written

CapacityModel = Literal["OnDemand", "Spot", "FlexStart", "Queued", "Reservation"]
# https://cloud.google.com/kubernetes-engine/docs/concepts/dws: at most seven days without interruption.
LONGEST_RUN = 7 * DAY
Run = Annotated[
    int,
    BeforeValidator(partial(seconds, shortest="10m", longest="168h")),
    Field(ge=600, le=LONGEST_RUN),
    WRITTEN_DURATION,
]


class Reservation(Model):
    """One named reservation, of `project` where it is shared from another one."""

    name: Annotated[str, Written("[a-z]([-a-z0-9]*[a-z0-9])?", "the name of a reservation", 63)]
    project: Annotated[str, PROJECT] | None = None
    block: Annotated[str, Written("[-a-z0-9]+", "the name of a reservation block", 63)] | None = None


class Capacity(Model):
    """`Reservation` without a name takes any that fits. `maxRunDuration` (written 168h, held in seconds) ends
    nodes of waited-for capacity. What goes together is for the rules of recipes to say, all in one run.
    """

    model: CapacityModel = "OnDemand"
    reservation: Reservation | None = None
    max_run_duration: Run | None = None
