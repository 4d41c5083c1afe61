"""The table of profiles: which versions of the serving software a cluster may name."""

from collections.abc import Mapping

from inferfleet.profiles.profile import Profile
from inferfleet.profiles.releases.gie_1_5 import GIE_1_5, GIE_1_5_R2
from inferfleet.profiles.releases.llm_d import RELEASES
from inferfleet.profiles.releases.router_0_10 import ROUTER_0_10
from inferfleet.profiles.releases.scheduler_0_7 import SCHEDULER_0_7

_PROFILES = {profile.name: profile for profile in (GIE_1_5, GIE_1_5_R2, ROUTER_0_10, *RELEASES)}
# Pickers of deployments with prefill apart, where those of the profile do not know it. It is no profile by
# itself: for all other deployments GIE 1.5 is the newer picker, and knows the metrics of more engines.
_APART = {profile.name: SCHEDULER_0_7 for profile in (GIE_1_5, GIE_1_5_R2)}
# What to choose where something else is asked for than a profile has.
NEWEST = RELEASES[-1].name


def names() -> tuple[str, ...]:
    """Return the names of all profiles, the default first."""
    return tuple(_PROFILES)


def profile(name: str) -> Profile:
    """Return the profile of this name. Raises KeyError for a name that is not in `names()`."""
    return _PROFILES[name]


def engine_images(name: str) -> Mapping[str, str]:
    """Return the images of engines by their type in the release of this name, none for an unknown name."""
    return _PROFILES[name].engine_images if name in _PROFILES else {}


def is_of_release(image: str) -> bool:
    """Return whether an engine's image is the one that some release has by itself."""
    return any(image in row.engine_images.values() for row in _PROFILES.values())


def picker(name: str, *, disaggregated: bool) -> Profile:
    """Return the row of the endpoint picker of a deployment on a cluster with this profile, one of `names()`.

    `disaggregated` deployments have prefill apart.
    """
    return _APART.get(name, _PROFILES[name]) if disaggregated else _PROFILES[name]
