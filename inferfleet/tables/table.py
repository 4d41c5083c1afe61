"""The table of profiles: which versions of the serving software a cluster or deployment may name."""

from inferfleet.tables.profile import Profile
from inferfleet.tables.releases.gie_1_5 import GIE_1_5
from inferfleet.tables.releases.router_0_10 import ROUTER_0_10
from inferfleet.tables.releases.scheduler_0_7 import SCHEDULER_0_7

_PROFILES = {profile.name: profile for profile in (GIE_1_5, ROUTER_0_10, SCHEDULER_0_7)}
# GIE 1.5 does not know prefill and decode apart, and is the newer picker for all that is not.
_APART = {GIE_1_5.name: ROUTER_0_10}
_WHOLE = {SCHEDULER_0_7.name: GIE_1_5}
# That of clusters that name none.
DEFAULT = GIE_1_5.name
# What to choose where something else is asked for than a profile has.
NEWEST = ROUTER_0_10.name


def names() -> tuple[str, ...]:
    """Return the names of all profiles, the default first."""
    return tuple(_PROFILES)


def profile(name: str) -> Profile:
    """Return the profile of this name. Raises KeyError for a name that is not in `names()`."""
    return _PROFILES[name]


def picker(name: str, *, disaggregated: bool) -> Profile:
    """Return the row of the endpoint picker and routing proxy of a deployment with this profile, one of
    `names()`.

    `disaggregated` deployments have prefill apart.
    """
    return (_APART if disaggregated else _WHOLE).get(name, _PROFILES[name])
