"""A rule of an HTTPRoute as Envoy says it: matches in the Gateway API's order, rewrites, headers, timeouts.

Source: https://gateway-api.sigs.k8s.io/reference/spec/ (HTTPRouteRule, HTTPPathModifier).
"""

import re
from typing import Any

from sandbox.cluster.objects import Object

_DURATION = re.compile(r"([0-9]+)(h|ms|m|s)")
_MILLISECONDS = {"h": 3_600_000, "m": 60_000, "s": 1000, "ms": 1}
EVERYTHING: Object = {"path": {"type": "PathPrefix", "value": "/"}}


def precedence(match: Object) -> tuple[int, int, int]:
    """Sorts first what wins: exact paths, then longer prefixes, then more headers."""
    path = _path(match)
    exact = path.get("type") == "Exact"
    return (0 if exact else 1, -len(path["value"]), -len(match.get("headers") or ()))


def envoy_match(match: Object) -> dict[str, Any]:
    path = _path(match)
    value = path["value"]
    made: dict[str, Any]
    if path.get("type") == "Exact":
        made = {"path": value}
    elif prefix := value.rstrip("/"):
        made = {"path_separated_prefix": prefix}
    else:
        made = {"prefix": "/"}
    headers = [
        {"name": one["name"], "string_match": {"exact": one["value"]}} for one in match.get("headers") or ()
    ]
    return made | ({"headers": headers} if headers else {})


def envoy_rewrite(match: Object, rule: Object) -> dict[str, Any]:
    """Fields of a RouteAction."""
    made: dict[str, Any] = {}
    for one in rule.get("filters") or ():
        rewrite = one.get("urlRewrite") or {}
        if "hostname" in rewrite:
            made["host_rewrite_literal"] = rewrite["hostname"]
        path = rewrite.get("path") or {}
        if "replaceFullPath" in path:
            made["regex_rewrite"] = _regex("^.*$", path["replaceFullPath"])
        elif "replacePrefixMatch" in path:
            made |= _replace_prefix(_path(match)["value"].rstrip("/"), path["replacePrefixMatch"].rstrip("/"))
    return made


def envoy_headers(rule: Object) -> dict[str, Any]:
    """Fields of a Route."""
    added: list[dict[str, Any]] = []
    removed: list[str] = []
    for one in rule.get("filters") or ():
        change = one.get("requestHeaderModifier") or {}
        added += [_header(header, "OVERWRITE_IF_EXISTS_OR_ADD") for header in change.get("set") or ()]
        added += [_header(header, "APPEND_IF_EXISTS_OR_ADD") for header in change.get("add") or ()]
        removed += change.get("remove") or ()
    made: dict[str, Any] = {"request_headers_to_add": added} if added else {}
    return made | ({"request_headers_to_remove": removed} if removed else {})


def envoy_timeout(rule: Object) -> str:
    """In seconds. None is said by 0: Envoy's own default of 15 s would end streams."""
    text = (rule.get("timeouts") or {}).get("request", "0s")
    total = sum(int(amount) * _MILLISECONDS[unit] for amount, unit in _DURATION.findall(text))
    return f"{total // 1000}s" if total % 1000 == 0 else f"{total / 1000:.3f}s"


def _path(match: Object) -> Object:
    path: Object = EVERYTHING["path"] | (match.get("path") or {})
    return path


def _replace_prefix(prefix: str, replacement: str) -> dict[str, Any]:
    """`/a/b` with prefix `/a`: by `/` becomes `/b`, by `/x` becomes `/x/b`; `/a` alone `/` and `/x`."""
    if not replacement:
        return {"regex_rewrite": _regex(f"^{re.escape(prefix)}/*", "/")}
    if not prefix:
        return {"regex_rewrite": _regex("^/", f"{replacement}/")}
    return {"prefix_rewrite": replacement}


def _regex(pattern: str, substitution: str) -> dict[str, Any]:
    return {"pattern": {"regex": pattern}, "substitution": substitution.replace("\\", "\\\\")}


def _header(header: Object, action: str) -> dict[str, Any]:
    # Envoy takes %...% for its own variables.
    value = header["value"].replace("%", "%%")
    return {"header": {"key": header["name"], "value": value}, "append_action": action}
