"""Decides which routes attach to which listeners of a Gateway, and under which host names.

Source: https://gateway-api.sigs.k8s.io/reference/spec/ (ParentReference, Listener, HTTPRouteSpec.hostnames).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sandbox.cluster.objects import Object, key
from sandbox.gateway.snapshot import GATEWAY_GROUP
from sandbox.gateway.support import unsupported_in_listener


@dataclass(frozen=True)
class NotAccepted:
    """Why a parent does not accept the route: a reason for the Accepted condition, and a message."""

    reason: str
    message: str


def usable_listeners(gateway: Object) -> tuple[Object, ...]:
    """Return the listeners that ask only for what this controller implements."""
    listeners = gateway["spec"]["listeners"]
    return tuple(listener for listener in listeners if not unsupported_in_listener(listener))


def is_parent(ref: Object, *, route: Object, gateway: Object) -> bool:
    """Return whether the route's parentRef names the Gateway or one of its listeners."""
    namespace = ref.get("namespace", route["metadata"]["namespace"])
    kind = (ref.get("group", GATEWAY_GROUP), ref.get("kind", "Gateway"))
    return kind == (GATEWAY_GROUP, "Gateway") and f"{namespace}/{ref['name']}" == key(gateway)


def listeners_for(
    ref: Object, *, route: Object, gateway: Object, namespaces: Mapping[str, Object]
) -> tuple[Object, ...] | NotAccepted:
    """Return the listeners of the Gateway that accept the route for this parentRef, or why none does."""
    usable = usable_listeners(gateway)
    named = [
        listener
        for listener in usable
        if ref.get("sectionName", listener["name"]) == listener["name"]
        and ref.get("port", listener["port"]) == listener["port"]
    ]
    if not named:
        have = ", ".join(f"{listener['name']} on {listener['port']}" for listener in usable) or "none"
        return NotAccepted(
            "NoMatchingParent", f"Gateway {key(gateway)} has no such listener that works (it has: {have})"
        )
    namespace = route["metadata"]["namespace"]
    labels = _labels(namespaces.get(namespace) or {})
    same = bool(namespace == gateway["metadata"]["namespace"])
    allowed = [listener for listener in named if _allows(listener, same=same, labels=labels)]
    if not allowed:
        return NotAccepted(
            "NotAllowedByListeners",
            f"no listener of Gateway {key(gateway)} allows routes of namespace {namespace}. "
            "See allowedRoutes.namespaces there.",
        )
    matching = tuple(listener for listener in allowed if hostnames(listener, route))
    if not matching:
        return NotAccepted(
            "NoMatchingListenerHostname",
            f"the host names {', '.join(route['spec']['hostnames'])} are none of the listeners' "
            f"({', '.join(listener['hostname'] for listener in allowed)})",
        )
    return matching


def hostnames(listener: Object, route: Object) -> tuple[str, ...]:
    """Return the host names under which the listener serves the route; `*` is all, `*.a` all below a."""
    own = listener.get("hostname") or "*"
    wanted: Iterable[str] = route["spec"].get("hostnames") or ("*",)
    common = (_narrower(own.lower(), name.lower()) for name in wanted)
    return tuple(sorted({name for name in common if name}))


def covers(wide: str, narrow: str) -> bool:
    """Return whether every host name that `narrow` matches, which may be a wildcard, is matched by `wide`."""
    return wide in ("*", narrow) or (wide.startswith("*.") and narrow.removeprefix("*").endswith(wide[1:]))


def _narrower(left: str, right: str) -> str | None:
    if covers(left, right):
        return right
    return left if covers(right, left) else None


def _labels(namespace: Object) -> Mapping[str, str]:
    labels: Mapping[str, str] = namespace.get("metadata", {}).get("labels") or {}
    return labels


def _allows(listener: Object, *, same: bool, labels: Mapping[str, str]) -> bool:
    """Return whether the listener takes routes of a namespace with these labels, `same` as its own or not."""
    allowed = (listener.get("allowedRoutes") or {}).get("namespaces") or {}
    match allowed.get("from", "Same"):
        case "All":
            return True
        case "Selector":
            selector = allowed.get("selector")
            return selector is not None and _selects(selector, labels)
        case _:
            return same


def _selects(selector: Object, labels: Mapping[str, str]) -> bool:
    """Return whether a Kubernetes label selector matches; an empty one matches everything."""
    wanted: Mapping[str, str] = selector.get("matchLabels") or {}
    return all(labels.get(name) == value for name, value in wanted.items()) and all(
        _meets(expression, labels) for expression in selector.get("matchExpressions") or ()
    )


def _meets(expression: Object, labels: Mapping[str, str]) -> bool:
    value = labels.get(expression["key"])
    match expression["operator"]:
        case "In":
            return value in (expression.get("values") or ())
        case "NotIn":
            return value not in (expression.get("values") or ())
        case "Exists":
            return value is not None
        case _:
            return value is None
