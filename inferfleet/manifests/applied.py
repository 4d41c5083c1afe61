"""Whether a workload on a cluster has the pod template that it should have, through all that API servers add.

They fill in defaults, write quantities in another form and leave empty values out. So what is wanted must be
there, and of what is there and not wanted only fields count to which no API server has a default.
"""

from collections.abc import Mapping
from typing import Any

from inferfleet.api.kinds.quantity import amount

# Fields of pods and containers without a default in a pod template (kubernetes/kubernetes,
# pkg/apis/core/v1/defaults.go; from memory, not looked up), so that one that is there was written.
_WRITTEN = frozenset(
    (
        *("command", "args", "env", "envFrom", "lifecycle", "volumeMounts", "ports"),
        *("startupProbe", "livenessProbe", "readinessProbe"),
        *(
            "initContainers",
            "volumes",
            "nodeSelector",
            "affinity",
            "tolerations",
            "topologySpreadConstraints",
        ),
    )
)


def is_applied(wanted: Any, there: Any) -> bool:
    """Return whether a part of a template is on the cluster as it is wanted."""
    if isinstance(wanted, Mapping) and isinstance(there, Mapping):
        return all(is_applied(value, there.get(key)) for key, value in wanted.items()) and not any(
            there[key] for key in _WRITTEN & there.keys() - wanted.keys()
        )
    if isinstance(wanted, list | tuple) and isinstance(there, list | tuple):
        return len(wanted) == len(there) and all(map(is_applied, wanted, there))
    return bool(wanted == there or (not wanted and not there) or _same_quantity(wanted, there))


def _same_quantity(wanted: Any, there: Any) -> bool:
    """Return whether two texts are one quantity: `1000m` is written as `1`."""
    try:
        return amount(wanted) == amount(there)
    except ValueError:
        return False
