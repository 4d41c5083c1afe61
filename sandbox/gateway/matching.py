"""Translates a rule of an HTTPRoute for Envoy: its matches and their precedence, rewrites, headers, timeout.

Source: https://gateway-api.sigs.k8s.io/reference/spec/ (HTTPRouteRule, HTTPPathModifier).
"""

import re
from typing import Any

from sandbox.cluster.objects import Object

_DURATION = re.compile(r"([0-9]+)(h|ms|m|s)")
_MILLISECONDS = {"h": 3_600_000, "m": 60_000, "s": 1000, "ms": 1}
EVERYTHING: Object = {"path": {"type": "PathPrefix", "value": "/"}}


def precedence(match: Object) -> tuple[int, int, int]:
    """Return a key that sorts matches by precedence: exact paths, longer prefixes, more headers."""
    path = _path(match)
    exact = path.get("type") == "Exact"
    return (0 if exact else 1, -len(path["value"]), -len(match.get("headers") or ()))


def envoy_match(match: Object) -> dict[str, Any]:
    """Return a match as an Envoy RouteMatch."""
    path = _path(match)
    value = path["value"]
    route_match: dict[str, Any]
    if path.get("type") == "Exact":
        route_match = {"path": value}
    elif prefix := value.rstrip("/"):
        route_match = {"path_separated_prefix": prefix}
    else:
        route_match = {"prefix": "/"}
    headers = [
        {"name": header["name"], "string_match": {"exact": header["value"]}}
        for header in match.get("headers") or ()
    ]
    return route_match | ({"headers": headers} if headers else {})


def envoy_rewrite(match: Object, rule: Object) -> dict[str, Any]:
    """Return the fields of an Envoy RouteAction for the rule's rewrites."""
    action: dict[str, Any] = {}
    for route_filter in rule.get("filters") or ():
        rewrite = route_filter.get("urlRewrite") or {}
        if "hostname" in rewrite:
            action["host_rewrite_literal"] = rewrite["hostname"]
        path = rewrite.get("path") or {}
        if "replacePrefixMatch" in path:
            action |= _replace_prefix(
                _path(match)["value"].rstrip("/"), path["replacePrefixMatch"].rstrip("/")
            )
    return action


def envoy_headers(rule: Object) -> dict[str, Any]:
    """Return the fields of an Envoy Route for the rule's changes of request headers."""
    added: list[dict[str, Any]] = []
    removed: list[str] = []
    for route_filter in rule.get("filters") or ():
        change = route_filter.get("requestHeaderModifier") or {}
        added += [_header(header, "OVERWRITE_IF_EXISTS_OR_ADD") for header in change.get("set") or ()]
        added += [_header(header, "APPEND_IF_EXISTS_OR_ADD") for header in change.get("add") or ()]
        removed += change.get("remove") or ()
    fields: dict[str, Any] = {"request_headers_to_add": added} if added else {}
    return fields | ({"request_headers_to_remove": removed} if removed else {})


def envoy_timeout(rule: Object) -> str:
    """Return the rule's timeout in seconds, and 0 for none: Envoy's own default of 15 s would end streams."""
    text = (rule.get("timeouts") or {}).get("request", "0s")
    total = sum(int(amount) * _MILLISECONDS[unit] for amount, unit in _DURATION.findall(text))
    return f"{total // 1000}s" if total % 1000 == 0 else f"{total / 1000:.3f}s"


def _path(match: Object) -> Object:
    path: Object = EVERYTHING["path"] | (match.get("path") or {})
    return path


def _replace_prefix(prefix: str, replacement: str) -> dict[str, Any]:
    """Return the rewrite of a prefix.

    With the prefix `/a`, `/x` makes `/x/b` of `/a/b`, and `/` makes `/b` of it.
    """
    if not replacement:
        return {"regex_rewrite": _regex(f"^{re.escape(prefix)}/*", "/")}
    if not prefix:
        return {"regex_rewrite": _regex("^/", f"{replacement}/")}
    return {"prefix_rewrite": replacement}


def _regex(pattern: str, substitution: str) -> dict[str, Any]:
    return {"pattern": {"regex": pattern}, "substitution": substitution.replace("\\", "\\\\")}


def _header(header: Object, action: str) -> dict[str, Any]:
    # Envoy takes %...% for its own variables, and %% for a percent sign.
    value = header["value"].replace("%", "%%")
    return {"header": {"key": header["name"], "value": value}, "append_action": action}
