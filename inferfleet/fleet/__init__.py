"""What runs where: shapes, device matching, placement, the lock, names and labels, and the Plan.

Pure functions over documents and lock. How a Kubernetes object looks belongs in `manifests`.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from inferfleet.fleet.planning import plan as plan


def __getattr__(name: str) -> Any:
    # Loaded when asked for: whoever needs only names or the lock does not pay for the documents' models.
    if name == "plan":
        from inferfleet.fleet.planning import plan

        return plan
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
