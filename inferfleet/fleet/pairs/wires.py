"""Over which network prefill and decode pods hand KV caches on: what UCX may take, and what nodes have.

UCX is what NIXL moves caches with. Without UCX_TLS it takes the best that both pods have, over TCP too; a
list of transports in UCX_TLS is all that it may take (https://openucx.readthedocs.io/en/master/faq.html).
"""

from collections.abc import Iterator, Mapping

from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.api.problems import Problem
from inferfleet.api.wording import shown
from inferfleet.fleet.engines.exchanged import connector
from inferfleet.fleet.engines.words import is_known
from inferfleet.fleet.pairs.sides import Side, entry_of, sides
from inferfleet.fleet.roles import PREFILL
from inferfleet.fleet.spot import Spot

_VARIABLE = "UCX_TLS"
# Transports over InfiniBand and RoCE; `rc_x` and `rc_mlx5` are kinds of `rc`.
_RDMA = ("rc", "ud", "dc", "ib", "rdmacm", "srd")
_TCP = ("tcp",)


def transport_problems(decode: Side, prefill: Side, by: str) -> Iterator[Problem]:
    """Yield that the two sides may take no transport between nodes that the other may take too."""
    if by not in ("NIXL", "SGLang"):
        return
    ours, theirs = _networks(decode), _networks(prefill)
    if ours is None or theirs is None or ours & theirs:
        return
    (one, one_at), (other, other_at) = _written(decode), _written(prefill)
    yield prefill.problem(
        f"{_VARIABLE} of decode is {shown(one)!r} and of prefill {shown(other)!r}, which have no network in "
        "common",
        f"Write {_VARIABLE} alike for both",
        other_at,
        beside=(decode, one_at),
    )


def fabric_problems(
    deployment: ModelDeployment, spot: Spot, *, fabrics: Mapping[str, bool], sure: bool
) -> Iterator[Problem]:
    """Yield that one side has no network between GPUs for what it is told, or for what the other has.

    `fabrics` says for each role whether the class of its pool on the spot has one, as far as its document
    says; it is `sure` where the stack creates the nodes.
    """
    found = sides(deployment)
    both = entry_of(found), entry_of(found, PREFILL)
    if both[0] is None or both[1] is None or connector(deployment) == "SharedStorage":
        return
    for side, other in (both, both[::-1]):
        if side is None or other is None or fabrics[side.role]:
            continue
        pool = f"pool {spot.pool(side.role)} of cluster {spot.cluster}"
        if _networks(side) == frozenset({"rdma"}):
            text, at = _written(side)
            yield side.problem(
                f"{_VARIABLE} of {side.role} is {shown(text)!r}, which is RDMA alone, and the class of "
                f"{pool} has no network between GPUs",
                f"Add tcp to {_VARIABLE}, or choose other nodes by nodeSelector",
                at,
                severity="error" if sure else "warning",
            )
        elif fabrics[other.role] and _networks(side) is None:
            theirs = f"pool {spot.pool(other.role)}"
            yield side.problem(
                f"the class of {theirs} of {other.role} has a network between GPUs, and that of {pool} of "
                f"{side.role} has none, so KV caches go over TCP",
                "Choose nodes with the same network for both by nodeSelector, if prompts are long",
                side.whole,
                severity="warning",
                beside=(other, other.whole),
            )


def _written(side: Side) -> tuple[str, tuple[str | int, ...]]:
    return side.variable(_VARIABLE) or ("", side.whole)


def _networks(side: Side) -> frozenset[str] | None:
    """Return the kinds of networks that UCX may take; None for all, or where that is not known."""
    text, _ = _written(side)
    names = [name.strip().lstrip("\\") for name in text.split(",")]
    if not text or not is_known(text) or "all" in names or text.startswith("^"):
        return None
    rdma = any(name == kind or name.startswith(f"{kind}_") for name in names for kind in _RDMA)
    return frozenset({"rdma"} if rdma else ()) | frozenset({"tcp"} if set(names) & set(_TCP) else ())
