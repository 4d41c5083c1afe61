"""Carries out what was decided, by commands of `pulumi` that anybody could type."""

import json
import shlex
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from inferfleet.api.problems import InvalidDocuments, Problem
from inferfleet.recovery.decide import Decision, edited, refreshes, restored
from inferfleet.recovery.pulumi_command import Pulumi, shown
from inferfleet.recovery.survey import Survey

_FILE = "state.json"


def commands(found: Survey, stack: str, *, force_lock: bool) -> tuple[str, ...]:
    """What will be run, in order; nothing while somebody may be at work, unless the lock is forced.

    Half-written files go first and alone, because only without them the rest can be looked at. `state.json`
    is what the export printed, with the decisions in it.
    """
    if found.in_use and not force_lock:
        return ()
    if found.files:
        return (_remove(found),)
    first = (_cancel(stack),) if _cancels(found, force_lock) else ()
    entry = (_import(stack, _FILE),) if edited(found.export, found.decisions) else ()
    asked = tuple(_refresh(stack, urns) for urns in refreshes(_possible(found)))
    return tuple(shown(one) for one in (*first, *entry, *asked))


def carry_out(
    found: Survey, pulumi: Pulumi, *, force_lock: bool, tell: Callable[[str], None]
) -> tuple[Problem, ...]:
    """Run the `commands`, telling each before. Problems are of refreshes that failed beside others."""
    if found.files:
        tell(_remove(found))
        for file in found.files:
            file.unlink(missing_ok=True)
        return ()
    if _cancels(found, force_lock):
        _run(pulumi, _cancel(pulumi.stack), tell)
    after = edited(found.export, found.decisions)
    if after:
        _unchanged(found, pulumi)
        _enter(pulumi, after, tell)
    problems: list[Problem] = []
    for urns in refreshes(_possible(found)):
        try:
            _run(pulumi, _refresh(pulumi.stack, urns), tell)
        except InvalidDocuments as failed:
            problems += failed.problems
    if after and any(one.replaces for one in found.decisions):
        back = restored(pulumi.export(), found.decisions)
        if back:
            _enter(pulumi, back, tell)
    return tuple(problems)


def _remove(found: Survey) -> str:
    return shlex.join(["rm", *(str(file) for file in found.files)])


def _cancels(found: Survey, force_lock: bool) -> bool:
    return found.locked or (found.hidden and force_lock)


def _possible(found: Survey) -> tuple[Decision, ...]:
    """Without an edited state nothing is taken over, so there is nothing of that to be looked at."""
    if edited(found.export, found.decisions):
        return found.decisions
    return tuple(one for one in found.decisions if not one.enters)


def _unchanged(found: Survey, pulumi: Pulumi) -> None:
    """What is imported replaces the state as a whole, so it must be the one that was looked at."""
    if pulumi.export() != found.export:
        step = "Run `inferfleet recover` again, when nobody else works on the stack"
        raise InvalidDocuments([Problem("the state was changed by somebody else meanwhile", step)])


def _enter(pulumi: Pulumi, state: Mapping[str, Any], tell: Callable[[str], None]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / _FILE
        file.write_text(json.dumps(state))
        _run(pulumi, _import(pulumi.stack, str(file)), tell)


def _run(pulumi: Pulumi, arguments: list[str], tell: Callable[[str], None]) -> None:
    tell(shown(arguments))
    pulumi.run(arguments)


def _cancel(stack: str) -> list[str]:
    return ["cancel", "--yes", "--stack", stack]


def _import(stack: str, file: str) -> list[str]:
    return ["stack", "import", "--stack", stack, "--file", file]


def _refresh(stack: str, urns: tuple[str, ...]) -> list[str]:
    targets = [part for urn in urns for part in ("--target", urn)]
    return ["refresh", "--stack", stack, "--yes", "--skip-preview", "--skip-pending-creates", *targets]
