"""Changes by hand: which resource somebody means, and its state with one field changed."""

import json
from typing import Any

from inferfleet.gke.facts.schema import at
from sandbox.gcp.store import Record, Records
from sandbox.problem import SandboxProblem


def found(records: Records, name: str) -> Record:
    """The resource with that name, or whose ID ends so: `h100`, `clusters/east-1a2b3c`. Raises
    SandboxProblem when none or several are meant.
    """
    mine = [one for one in records.values() if one.id == name or one.id.endswith(f"/{name}")]
    if len(mine) != 1:
        have = "\n  ".join(one.id for one in (mine or records.values())) or "nothing"
        raise SandboxProblem(f"{name!r} may be {len(mine)} resources. Name one of:\n  {have}")
    return mine[0]


def edited(record: Record, field: str, value: str) -> dict[str, Any]:
    """The state with the field set; JSON is read as such (`3`, `true`, `[...]`), else the text is taken."""
    if at(record.token, field) is None:
        raise SandboxProblem(
            f"{record.token} has no field {field!r}. `sandbox cloud show --json` shows them."
        )
    try:
        new: Any = json.loads(value)
    except ValueError:
        new = value
    state: dict[str, Any] = json.loads(json.dumps(record.state))
    *path, last = field.split(".")
    inside: Any = state
    for name in path:
        inside = inside.setdefault(name, {})
        if not isinstance(inside, dict):
            raise SandboxProblem(f"{name} of {field} is a list: set it whole, as JSON.")
    inside[last] = new
    return state
