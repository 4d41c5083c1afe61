"""A GPU inference fleet out of a few short documents: `Fleet` is the component for a Pulumi program.

All decisions are pure Python below it, which never imports pulumi. Files are read in `documents.loading`,
clusters and Google in `clusters`; `run`, `components` and `cli` join them.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from inferfleet.components.fleet import Fleet, FleetArgs

__all__ = ["Fleet", "FleetArgs"]


def __getattr__(name: str) -> Any:
    """Import Pulumi only where somebody makes a Fleet: commands do without."""
    if name not in __all__:
        raise AttributeError(f"module 'inferfleet' has no attribute {name!r}")
    from inferfleet.components import fleet

    return getattr(fleet, name)
