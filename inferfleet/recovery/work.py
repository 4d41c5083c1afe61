"""Carry out what was decided, by commands of `pulumi` that a person could type too."""

import json
import shlex
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from inferfleet.clusters.connections.pulumi_command import Pulumi, command_line
from inferfleet.documents.problems import InvalidDocuments, Problem
from inferfleet.recovery.state import Decision, edited, refreshes, restored
from inferfleet.recovery.survey import Survey

_FILE = "state.json"


def commands(survey: Survey, stack: str, *, force_lock: bool) -> tuple[str, ...]:
    """Return what will be run, in order; nothing while an update may be running, unless the lock is forced.

    Half-written files are removed first and alone, because the rest can be read only without them. So are
    providers created that a lost state lacks, without which nothing is read.
    `state.json` is what the export printed, with the decisions in it.
    """
    if survey.in_use and not force_lock:
        return ()
    if survey.files:
        return (_remove(survey),)
    if survey.providers:
        return (command_line(_create(stack, survey.providers)),)
    first = (_cancel(stack),) if _cancels(survey, force_lock) else ()
    entry = (_import(stack, _FILE),) if edited(survey.export, survey.decisions, survey.components) else ()
    refreshed = tuple(_refresh(stack, urns) for urns in refreshes(_possible(survey)))
    return tuple(command_line(command) for command in (*first, *entry, *refreshed))


def carry_out(
    survey: Survey, pulumi: Pulumi, *, force_lock: bool, tell: Callable[[str], None]
) -> tuple[Problem, ...]:
    """Run the `commands`, each announced before it runs. Return the problems of refreshes that failed."""
    if survey.files:
        tell(_remove(survey))
        for file in survey.files:
            file.unlink(missing_ok=True)
        return ()
    if survey.providers:
        _run(pulumi, _create(pulumi.stack, survey.providers), tell)
        return ()
    if _cancels(survey, force_lock):
        _run(pulumi, _cancel(pulumi.stack), tell)
    after = edited(survey.export, survey.decisions, survey.components)
    if after:
        _unchanged(survey, pulumi)
        _enter(pulumi, after, tell)
    problems: list[Problem] = []
    for urns in refreshes(_possible(survey)):
        try:
            _run(pulumi, _refresh(pulumi.stack, urns), tell)
        except InvalidDocuments as failed:
            problems += failed.problems
    if after and any(decision.replaces for decision in survey.decisions):
        back = restored(pulumi.export(), survey.decisions)
        if back:
            _enter(pulumi, back, tell)
    return tuple(problems)


def _remove(survey: Survey) -> str:
    return shlex.join(["rm", *(str(file) for file in survey.files)])


def _cancels(survey: Survey, force_lock: bool) -> bool:
    return survey.locked or (survey.hidden and force_lock)


def _possible(survey: Survey) -> tuple[Decision, ...]:
    """Return the decisions to refresh for: nothing is taken over where the state cannot be edited."""
    if edited(survey.export, survey.decisions, survey.components):
        return survey.decisions
    return tuple(decision for decision in survey.decisions if not decision.enters)


def _unchanged(survey: Survey, pulumi: Pulumi) -> None:
    """Check that the state is the one that was surveyed: what is imported replaces it as a whole."""
    if pulumi.export() != survey.export:
        step = "Run `inferfleet recover` again, when nobody else works on the stack"
        raise InvalidDocuments([Problem("somebody else has changed the state meanwhile", step)])


def _enter(pulumi: Pulumi, state: Mapping[str, Any], tell: Callable[[str], None]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / _FILE
        file.write_text(json.dumps(state))
        _run(pulumi, _import(pulumi.stack, str(file)), tell)


def _run(pulumi: Pulumi, arguments: list[str], tell: Callable[[str], None]) -> None:
    tell(command_line(arguments))
    pulumi.run(arguments)


def _cancel(stack: str) -> list[str]:
    return ["cancel", "--yes", "--stack", stack]


def _create(stack: str, urns: tuple[str, ...]) -> list[str]:
    targets = [part for urn in urns for part in ("--target", urn)]
    return ["up", "--stack", stack, "--yes", "--skip-preview", *targets]


def _import(stack: str, file: str) -> list[str]:
    return ["stack", "import", "--stack", stack, "--file", file]


def _refresh(stack: str, urns: tuple[str, ...]) -> list[str]:
    targets = [part for urn in urns for part in ("--target", urn)]
    return ["refresh", "--stack", stack, "--yes", "--skip-preview", "--skip-pending-creates", *targets]
