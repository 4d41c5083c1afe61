"""Which routes a Gateway's listeners take, and under which host names.

Source: https://gateway-api.sigs.k8s.io/reference/spec/ (ParentReference, Listener, HTTPRouteSpec.hostnames).
"""

from collections.abc import Iterable
from dataclasses import dataclass

from sandbox.cluster.objects import Object, key
from sandbox.gateway.snapshot import GATEWAY_GROUP
from sandbox.gateway.support import unsupported_in_listener


@dataclass(frozen=True)
class NotAccepted:
    """Why a parent does not take the route: a reason of the Accepted condition, and a sentence."""

    reason: str
    message: str


def usable_listeners(gateway: Object) -> tuple[Object, ...]:
    return tuple(one for one in gateway["spec"]["listeners"] if not unsupported_in_listener(one))


def is_parent(ref: Object, *, route: Object, gateway: Object) -> bool:
    """True when the route's parentRef means the Gateway, or one of its listeners."""
    namespace = ref.get("namespace", route["metadata"]["namespace"])
    kind = (ref.get("group", GATEWAY_GROUP), ref.get("kind", "Gateway"))
    return kind == (GATEWAY_GROUP, "Gateway") and f"{namespace}/{ref['name']}" == key(gateway)


def listeners_for(ref: Object, *, route: Object, gateway: Object) -> tuple[Object, ...] | NotAccepted:
    """The Gateway's listeners that take the route by this parentRef."""
    meant = [
        one
        for one in usable_listeners(gateway)
        if ref.get("sectionName", one["name"]) == one["name"] and ref.get("port", one["port"]) == one["port"]
    ]
    if not meant:
        have = ", ".join(f"{one['name']} on {one['port']}" for one in usable_listeners(gateway)) or "none"
        return NotAccepted(
            "NoMatchingParent", f"Gateway {key(gateway)} has no such listener that works (it has: {have})"
        )
    allowed = [one for one in meant if _allows(one, route=route, gateway=gateway)]
    if not allowed:
        return NotAccepted(
            "NotAllowedByListeners",
            f"no listener of Gateway {key(gateway)} allows routes of namespace "
            f"{route['metadata']['namespace']}. Set allowedRoutes.namespaces.from to All there.",
        )
    taken = tuple(one for one in allowed if hostnames(one, route))
    if not taken:
        return NotAccepted(
            "NoMatchingListenerHostname",
            f"the host names {', '.join(route['spec']['hostnames'])} are none of the listeners' "
            f"({', '.join(one['hostname'] for one in allowed)})",
        )
    return taken


def hostnames(listener: Object, route: Object) -> tuple[str, ...]:
    """The host names under which the listener serves the route; `*` is all, `*.a` all below a."""
    own = listener.get("hostname") or "*"
    wanted: Iterable[str] = route["spec"].get("hostnames") or ("*",)
    both = (_narrower(own.lower(), one.lower()) for one in wanted)
    return tuple(sorted({one for one in both if one}))


def covers(wide: str, narrow: str) -> bool:
    """True when the one host name, maybe with a wildcard, stands for all the other stands for."""
    return wide in ("*", narrow) or (wide.startswith("*.") and narrow.removeprefix("*").endswith(wide[1:]))


def _narrower(one: str, other: str) -> str | None:
    if covers(one, other):
        return other
    return one if covers(other, one) else None


def _allows(listener: Object, *, route: Object, gateway: Object) -> bool:
    allowed = (listener.get("allowedRoutes") or {}).get("namespaces") or {}
    same = bool(route["metadata"]["namespace"] == gateway["metadata"]["namespace"])
    return same or allowed.get("from", "Same") == "All"
