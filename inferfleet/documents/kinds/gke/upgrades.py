"""The block `upgradeSettings` of a pool on GKE: in which steps Google replaces its nodes by upgraded ones.

Names and limits: https://cloud.google.com/kubernetes-engine/docs/reference/rest/v1/UpgradeSettings, and
container_node_pool.html.markdown of terraform-provider-google-beta at 93c65b2d60, 2026-08-21. The provider
takes SURGE and BLUE_GREEN; SHORT_LIVED is what Google takes by itself for nodes of flex-start.
"""

from functools import partial
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, model_validator

from inferfleet.documents.kinds.base import DAY, WRITTEN_DURATION, Model, seconds
from inferfleet.documents.problems import mistaken

_WEEK = 7 * DAY
# Written 0s to 168h; held in seconds.
Soak = Annotated[
    int,
    BeforeValidator(partial(seconds, shortest="0s", longest="168h")),
    Field(ge=0, le=_WEEK),
    WRITTEN_DURATION,
]
# Most nodes of a pool that Google upgrades at once.
_AT_ONCE = 20


class StandardRolloutPolicy(Model):
    """Old nodes are emptied in batches."""

    batch_node_count: int | None = Field(default=None, ge=1, le=15_000)
    """Number of nodes of a batch. Default: 1, without `batchPercentage`."""
    batch_percentage: float | None = Field(default=None, gt=0, le=1)
    """Share of the pool's nodes in a batch, such as `0.25`. Default: none."""
    batch_soak_duration: Soak = 0
    """How long Google waits after each batch, from `0s` to `168h`."""

    @model_validator(mode="after")
    def _counted_once(self) -> "StandardRolloutPolicy":
        if self.batch_node_count is not None and self.batch_percentage is not None:
            raise mistaken("a batch has either batchNodeCount or batchPercentage", "Remove one")
        return self


class AutoscaledRolloutPolicy(Model):
    """Old nodes are left to the autoscaler, which removes those that become empty."""

    wait_for_drain_duration: Soak = 3 * DAY
    """How long Google waits before it empties those that are left, from `0s` to `168h`. Default: 72h."""


class BlueGreenSettings(Model):
    """How all nodes are made anew beside the old ones, which take another copy of each for the time of it."""

    standard_rollout_policy: StandardRolloutPolicy | None = None
    """Old nodes are emptied in batches. Default: one node at a time, without `autoscaledRolloutPolicy`."""
    autoscaled_rollout_policy: AutoscaledRolloutPolicy | None = None
    """Old nodes are left to the autoscaler. Default: they are emptied in batches."""
    node_pool_soak_duration: Soak = 3600
    """How long the old nodes stay once all are empty, from `0s` to `168h`. Default: 1h."""

    @model_validator(mode="after")
    def _one_policy(self) -> "BlueGreenSettings":
        if self.standard_rollout_policy and self.autoscaled_rollout_policy:
            what = "a pool has either standardRolloutPolicy or autoscaledRolloutPolicy"
            raise mistaken(what, "Remove one")
        return self


class UpgradeSettings(Model):
    """In which steps Google replaces the nodes of a pool, for upgrades and other changes that do so."""

    strategy: Literal["SURGE", "BLUE_GREEN"] = "SURGE"
    """`SURGE`: some nodes at a time. `BLUE_GREEN`: all nodes are made anew beside the old ones, which needs
    machines and quota for twice as many.
    """
    max_surge: int | None = Field(default=None, ge=0, le=_AT_ONCE)
    """Most nodes beyond the size of the pool, for `SURGE`; each needs a machine. Default: 0."""
    max_unavailable: int | None = Field(default=None, ge=0, le=_AT_ONCE)
    """Most nodes that are missing at once, for `SURGE`. Default: 1, or 0 where `maxSurge` is more than 0."""
    blue_green_settings: BlueGreenSettings | None = None
    """The steps of `BLUE_GREEN`. Default: one node at a time, and an hour until the old ones end."""

    @property
    def surge(self) -> int:
        """Return the most nodes beyond the size of the pool while it is upgraded by SURGE."""
        return self.max_surge or 0

    @property
    def unavailable(self) -> int:
        """Return the most nodes that are missing at once while it is upgraded by SURGE."""
        return self.max_unavailable if self.max_unavailable is not None else int(not self.surge)

    @model_validator(mode="after")
    def _of_its_strategy(self) -> "UpgradeSettings":
        if self.strategy == "BLUE_GREEN":
            for field, value in (("maxSurge", self.max_surge), ("maxUnavailable", self.max_unavailable)):
                if value is not None:
                    what = f"{field} is for strategy SURGE, this one is BLUE_GREEN"
                    raise mistaken(what, f"Remove {field}")
            return self
        if self.blue_green_settings is not None:
            what = "blueGreenSettings are for strategy BLUE_GREEN, this one is SURGE"
            raise mistaken(what, "Write strategy: BLUE_GREEN, or remove them")
        at_once = self.surge + self.unavailable
        if not 1 <= at_once <= _AT_ONCE:
            what = f"maxSurge {self.surge} and maxUnavailable {self.unavailable} are {at_once} nodes at once"
            raise mistaken(what, f"Write 1 to {_AT_ONCE} nodes for both together")
        return self
