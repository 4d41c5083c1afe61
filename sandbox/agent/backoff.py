"""How long a container that ended waits before it starts again: the kubelet's rule."""

from dataclasses import dataclass

# https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#restart-policy
FIRST, LONGEST = 10.0, 300.0
# A container that ran this long begins anew.
FORGIVEN = 600.0


@dataclass
class Backoff:
    """The restarts of one container."""

    _next: float = 0.0

    def after(self, seconds_run: float) -> float:
        """Seconds until the next start: none after the first end, then 10, 20, 40 ... 300."""
        if seconds_run >= FORGIVEN:
            self._next = 0.0
        delay = self._next
        self._next = min(max(FIRST, 2 * delay), LONGEST)
        return delay
