"""The table of profiles: which versions of the serving software a cluster may name."""

from inferfleet.profiles.gie_1_5 import GIE_1_5, GIE_1_5_R2
from inferfleet.profiles.profile import Profile
from inferfleet.profiles.router_0_10 import ROUTER_0_10

_PROFILES = {profile.name: profile for profile in (GIE_1_5, GIE_1_5_R2, ROUTER_0_10)}


def names() -> tuple[str, ...]:
    """Return the names of all profiles, the default first."""
    return tuple(_PROFILES)


def profile(name: str) -> Profile:
    """Return the profile of this name. Raises KeyError for a name that is not in `names()`."""
    return _PROFILES[name]
