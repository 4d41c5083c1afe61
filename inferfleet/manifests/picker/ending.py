"""How a picker ends: for how long it goes on as before, and how long it gives its streams then."""

from collections.abc import Mapping
from dataclasses import dataclass

from inferfleet.manifests.picker import flags as picker_flags
from inferfleet.profiles.profile import Profile

# Until gateways know that a picker ends.
_LEAST_SLEEP_SECONDS = 5
# Between the end of its last stream, or of the time for it, and the end of its process.
_RESERVE_SECONDS = 5
# Pulumi waits ten minutes for a deletion (pkg/await/await.go of pulumi-kubernetes 4.25).
_LONGEST_GRACE_SECONDS = 570


@dataclass(frozen=True)
class Ending:
    """Seconds for which a picker that ends goes on as before, and then at least with its streams."""

    sleep: int
    stop: int

    @property
    def grace(self) -> int:
        """Seconds after which its pod is killed."""
        return self.sleep + self.stop + _RESERVE_SECONDS


def ending(drain: int, profile: Profile, chosen: Mapping[str, str]) -> Ending:
    """Return how a picker with these flags ends, whose engines have `drain` seconds: together as long.

    Once told to end, most take no new streams, and give those that they have a time of its own, whatever the
    grace period is. So they are told late, and an elected leader that is evicted, which is no longer ready,
    lets nobody else choose pods meanwhile. A shorter sleep would cut the streams that an update leaves to a
    picker that it has replaced.

    One that serves on is told as soon as gateways know, and not before: it learns of no pods from then on.
    Its own time for new streams stays short for the same reason; it waits for those it has in any case.
    """
    whole = min(drain, _LONGEST_GRACE_SECONDS) - _RESERVE_SECONDS
    stop = picker_flags.stop_seconds(chosen, profile)
    if profile.serves_on:
        return Ending(_LEAST_SLEEP_SECONDS, max(stop, whole - _LEAST_SLEEP_SECONDS))
    return Ending(max(_LEAST_SLEEP_SECONDS, whole - stop), stop)


def unled_seconds(drain: int, profile: Profile, chosen: Mapping[str, str]) -> int:
    """Return for how long nobody chooses pods, at most, once the leader of several pickers is evicted.

    It keeps its Lease until its last stream has ended, or the time for that is over (engageStopProcedure in
    pkg/manager/internal.go of controller-runtime v0.23.3); one that serves on gives it back after its sleep.
    """
    ends = ending(drain, profile, chosen)
    return ends.sleep if profile.serves_on else ends.sleep + ends.stop
