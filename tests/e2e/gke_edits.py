"""Edits of documents, and what the engine plans for one of them, in the words of the table of changes."""

import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from gke_edits_stack import Documents, documents
from project import Run

from bench.pages.changes import PodEffect
from inferfleet.cloud.gke.facts.change_table import ROWS, Effect, Row
from inferfleet.cloud.gke.facts.create_only import ZONES, recreates, without_places

# Kinds of the cloud whose change people feel; all else of it comes and goes with them.
FELT = {"NodePool", "Cluster"}
GONE: Any = object()
Value = tuple[str, str, Any]  # document, path in it ("" for all of it), what it is now


@dataclass(frozen=True)
class Edit:
    """What somebody does, and all that the engine plans then, or how it is refused.

    A plan reads "update <paths>", "replace <the paths that force it>", "create" or "delete", by resource;
    places in lists are left out of paths. The effect is that of the field's row in the table of changes; for
    another one `why` has the reason. `says` is what the preview announces besides.
    """

    title: str
    changes: tuple[Value, ...]
    plans: Mapping[str, str] = field(default_factory=dict)
    refused: str = ""
    effect: Effect | PodEffect | None = None
    why: str = ""
    says: str = ""

    @property
    def path(self) -> str:
        """Return the path of the field that the edit changes, as the table of changes has it."""
        return re.sub(r"\[[-0-9]+\]", "[]", self.changes[0][1]) or "metadata.name"

    @property
    def row(self) -> Row | None:
        """Return the row of the table of changes; None for fields of deployments, which it does not have."""
        name, _, value = self.changes[0]
        kind = (documents().get(name) or value)["kind"]
        rows = [row for row in ROWS if row.kind == kind and f"{self.path}.".startswith(f"{row.path}.")]
        return max(rows, key=lambda row: len(row.path), default=None)

    @property
    def expected(self) -> Effect | PodEffect:
        """What is done in the cloud, and of edits of workers to their pods."""
        if self.refused:
            return Effect.REFUSED
        return self.effect or (self.row.effect if self.row else Effect.NOTHING)

    def of(self, before: Documents) -> Documents:
        """The documents with the edit in them."""
        edited = deepcopy(before)
        for name, at, value in self.changes:
            if at:
                _set(edited[name], at, value)
            elif value is GONE:
                del edited[name]
            else:
                edited[name] = value
        return edited


def planned(run: Run) -> dict[str, str]:
    """All operations of a preview, as an Edit has them."""
    return {name: _operation(run, name) for name in run.operations}


def effect(run: Run) -> Effect:
    """The most that a preview does to clusters and pools."""
    if run.code:
        return Effect.REFUSED
    effects = {_effect(run, name) for name in run.operations}
    if {Effect.CREATES, Effect.DELETES} <= effects:
        return Effect.ANOTHER
    return max(effects, key=list(Effect).index, default=Effect.NOTHING)


def on_pods(run: Run) -> Effect | PodEffect:
    """The most that a preview does to pods of engines."""
    if run.code:
        return Effect.REFUSED
    workloads = {name: verb for name, verb in run.operations.items() if _is_engine(name)}
    if "replace" in workloads.values():
        return PodEffect.AT_ONCE
    if {"create", "delete"} <= set(workloads.values()):
        return PodEffect.ANOTHER
    paths = {path for name in workloads for path in run.changed[name]}
    if any(path.startswith(("spec.template.", "spec.leaderWorkerTemplate.")) for path in paths):
        return PodEffect.ROLL
    return PodEffect.COME_OR_GO if workloads and (not paths or "spec.replicas" in paths) else PodEffect.NONE


def _is_engine(name: str) -> bool:
    kind, _, place = name.partition(" ")
    return kind in ("Deployment", "LeaderWorkerSet") and not place.endswith("-epp")


def _operation(run: Run, name: str) -> str:
    operation = run.operations[name]
    paths = {"update": run.changed[name], "replace": tuple(one for one in run.forced[name] if one != "name")}
    shown = dict.fromkeys(without_places(one) for one in paths.get(operation, ()))
    return " ".join((operation, ", ".join(shown))).strip()


def _effect(run: Run, name: str) -> Effect:
    kind, operation = name.partition(" ")[0], run.operations[name]
    if kind not in FELT:
        return Effect.NOTHING
    if operation in ("create", "delete"):
        return Effect.CREATES if operation == "create" else Effect.DELETES
    if operation != "update":
        return Effect.REPLACES if kind == "NodePool" else Effect.REFUSED
    moved = {one for one in map(without_places, run.changed[name]) if kind == "NodePool" and recreates(one)}
    if moved == {ZONES}:
        return Effect.ZONES
    return Effect.NODES if moved else Effect.IN_PLACE


def _set(document: dict[str, Any], path: str, value: Any) -> None:
    *way, last = _steps(path)
    inside: Any = document
    for step in way:
        inside = inside.setdefault(step, {}) if isinstance(step, str) else inside[step]
    if value is GONE:
        del inside[last]
    elif last == -1:
        inside.append(value)
    else:
        inside[last] = value


def _steps(path: str) -> Iterator[str | int]:
    """`spec`, `nodePools`, 0, `zones`. A place of -1 is the one after the last."""
    for part in path.split("."):
        name, _, place = part.removesuffix("]").partition("[")
        yield name
        if place:
            yield int(place)
