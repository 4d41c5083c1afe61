"""Conditions in the status of Kubernetes objects."""

from typing import Any

Conditions = list[dict[str, Any]]


def condition(condition_type: str, problem: tuple[str, str] | None, *, generation: int) -> dict[str, Any]:
    """Return a condition that is True, or False with the problem's reason and message."""
    reason, message = problem or (condition_type, "")
    return {
        "type": condition_type,
        "status": "False" if problem else "True",
        "reason": reason,
        "message": message,
        "observedGeneration": generation,
    }


def dated(wanted: Any, present: Any, now: str) -> Any:
    """Return the wanted status with `lastTransitionTime` in its conditions, kept while they stay the same.

    A condition is compared with the present one of its type, in the item of the same `name` or `parentRef`.
    """
    if isinstance(wanted, list):
        before = {_identity(item): item for item in present} if isinstance(present, list) else {}
        return [dated(item, before.get(_identity(item)), now) for item in wanted]
    if not isinstance(wanted, dict):
        return wanted
    before = present if isinstance(present, dict) else {}
    status = {name: dated(value, before.get(name), now) for name, value in wanted.items()}
    if "observedGeneration" in wanted:
        same = before.get("status") == wanted["status"]
        status["lastTransitionTime"] = before.get("lastTransitionTime", now) if same else now
    return status


def _identity(item: Any) -> str:
    if not isinstance(item, dict):
        return repr(item)
    identity = item.get("type") or item.get("name") or sorted((item.get("parentRef") or {}).items())
    return f"{item.get('controllerName', '')} {identity}"
