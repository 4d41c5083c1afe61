"""What an upgrade of inferfleet does to a stack that runs, and the list of what it may do.

The list is `upgrade.yaml`, a row for each kind of step:

    - step: restart                           # create, update, restart, replace, rename, delete or refuse
      of: "*:apps/v1:Deployment::east/ml/*"   # the resource's URN, or the message; * stands for anything
      reason: pods have a new label

A step without a row is a fault of the program, and so is a row without a step: it would hide the next one.
Only what was decided for a release may fill the list, and after a release it is empty.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

import yaml

LIST = Path(__file__).with_name("upgrade.yaml")
# What changes nothing, and the parts of a replacement besides the one that names it.
_QUIET = {"same", "read", "refresh", "create-replacement", "delete-replaced"}
_TEMPLATES = ("template", "leaderWorkerTemplate")


class Step(NamedTuple):
    """One change of one resource, or a refusal with what the program says.

    `restart` is an update that replaces pods. `rename` is of a resource that has other parents in the state,
    with the same type, name and inputs; where its inputs differ too it is `replace`.
    """

    step: str
    of: str


class Row(NamedTuple):
    step: str
    of: str
    reason: str

    def allows(self, step: Step) -> bool:
        return self.step == step.step and fnmatchcase(step.of, self.of)


def rows(text: str) -> list[Row]:
    return [Row(**row) for row in yaml.safe_load(text) or []]


def steps(preview: str) -> list[Step]:
    """What a preview announces, by what `pulumi preview --json` prints."""
    planned = json.loads(preview)
    changes = [step for step in planned.get("steps", ()) if step["op"] not in _QUIET]
    refusals = [
        Step("refuse", diagnostic["message"].strip())
        for diagnostic in planned.get("diagnostics", ())
        if diagnostic["severity"] == "error"
    ]
    return list(dict.fromkeys((*_changes(changes), *refusals)))


def _changes(planned: Sequence[dict[str, Any]]) -> Iterator[Step]:
    deleted = {_name(step["urn"]): step for step in planned if step["op"] == "delete"}
    created = {_name(step["urn"]) for step in planned if step["op"] == "create"}
    for step in planned:
        name, urn = _name(step["urn"]), step["urn"]
        if step["op"] == "create" and name in deleted:
            same = _inputs(deleted[name], "oldState") == _inputs(step, "newState")
            yield Step("rename" if same else "replace", urn)
        elif step["op"] == "update":
            before, after = (_pods(_inputs(step, state)) for state in ("oldState", "newState"))
            yield Step("update" if before == after else "restart", urn)
        elif step["op"] != "delete" or name not in created:
            yield Step(step["op"], urn)


def _name(urn: str) -> str:
    """The type and name of a resource, without its parents."""
    *_, types, name = urn.split("::")
    return f"{types.rpartition('$')[2]}::{name}"


def _inputs(step: dict[str, Any], state: str) -> dict[str, Any]:
    return dict(step.get(state, {}).get("inputs") or {})


def _pods(inputs: dict[str, Any]) -> list[Any]:
    """What the pods of a workload are made of."""
    spec = inputs.get("spec")
    return [spec.get(name) for name in _TEMPLATES] if isinstance(spec, dict) else []


def unlisted(announced: Iterable[Step], listed: Sequence[Row]) -> list[Step]:
    """The steps that no row allows."""
    return [step for step in announced if not any(row.allows(step) for row in listed)]


def unused(announced: Sequence[Step], listed: Iterable[Row]) -> list[Row]:
    """The rows that allow no step."""
    return [row for row in listed if not any(row.allows(step) for step in announced)]
