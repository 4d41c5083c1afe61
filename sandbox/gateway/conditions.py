"""Conditions as Kubernetes objects carry them in their status."""

from typing import Any

Conditions = list[dict[str, Any]]


def condition(kind: str, problem: tuple[str, str] | None, *, generation: int) -> dict[str, Any]:
    """True with its own name for a reason, or False with the problem's reason and sentence."""
    why, message = problem or (kind, "")
    return {
        "type": kind,
        "status": "False" if problem else "True",
        "reason": why,
        "message": message,
        "observedGeneration": generation,
    }


def dated(wanted: Any, present: Any, now: str) -> Any:
    """The wanted status with `lastTransitionTime` in its conditions: the present one's while True stays True.

    What was there before is found by the condition's type, and by `name` or `parentRef` around it.
    """
    if isinstance(wanted, list):
        before = {_identity(one): one for one in present} if isinstance(present, list) else {}
        return [dated(one, before.get(_identity(one)), now) for one in wanted]
    if not isinstance(wanted, dict):
        return wanted
    had = present if isinstance(present, dict) else {}
    made = {name: dated(value, had.get(name), now) for name, value in wanted.items()}
    if "observedGeneration" in wanted:
        same = had.get("status") == wanted["status"]
        made["lastTransitionTime"] = had.get("lastTransitionTime", now) if same else now
    return made


def _identity(one: Any) -> str:
    if not isinstance(one, dict):
        return repr(one)
    identity = one.get("type") or one.get("name") or sorted((one.get("parentRef") or {}).items())
    return f"{one.get('controllerName', '')} {identity}"
