"""How a verb ends: problems, warnings and notices told once, and an exit code."""

import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import groupby
from typing import Any

import typer

from inferfleet.api.problems import InvalidDocuments, Problem


class ExitCode(IntEnum):
    FINE = 0
    PROBLEMS = 1
    USAGE = 2
    UNPLACED = 3
    LOCK_DIFFERS = 4
    NOT_READY = 5
    UNFINISHED = 6
    INTERRUPTED = 130
    READER_GONE = 141


MEANINGS = {
    ExitCode.FINE: "fine",
    ExitCode.PROBLEMS: "problems in what was written, or a file that cannot be read or written; "
    "nothing was changed",
    ExitCode.USAGE: "the command was called in a wrong way",
    ExitCode.UNPLACED: "replicas have no place, and the stack does not say `unplaced: warn`",
    ExitCode.LOCK_DIFFERS: "placement.lock does not match (`plan --locked`)",
    ExitCode.NOT_READY: "something that should serve does not, or its cluster does not answer (`status`)",
    ExitCode.UNFINISHED: "an update was cut off and left something that is not mended (`recover`)",
    ExitCode.INTERRUPTED: "interrupted with Ctrl-C",
    ExitCode.READER_GONE: "whoever read the output went away",
}

HELP = "Exit codes: " + "; ".join(f"{code.value} {meaning}" for code, meaning in MEANINGS.items()) + "."


@dataclass
class Report:
    """Filled by a verb while it works. `values` is what `--json` prints besides problems."""

    problems: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)
    notices: list[Problem] = field(default_factory=list)
    values: dict[str, Any] = field(default_factory=dict)
    code: ExitCode | None = None

    @property
    def exit_code(self) -> ExitCode:
        if self.code is not None:
            return self.code
        return ExitCode.PROBLEMS if self.problems else ExitCode.FINE


@contextmanager
def reporting(*, as_json: bool = False) -> Iterator[Report]:
    """Whatever ends the verb, its report is told and the exit code says what happened, without traceback."""
    report = Report()
    try:
        try:
            yield report
        except InvalidDocuments as invalid:
            report.problems += invalid.problems
        _tell(report, as_json=as_json)
        sys.stdout.flush()
    except KeyboardInterrupt:
        print("Interrupted. The same command can be run again.", file=sys.stderr)
        raise typer.Exit(ExitCode.INTERRUPTED) from None
    except BrokenPipeError:
        # Python flushes stdout once more when it ends, and would complain again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(ExitCode.READER_GONE) from None
    except (OSError, UnicodeDecodeError) as error:
        print(_broken(error), file=sys.stderr)
        raise typer.Exit(ExitCode.PROBLEMS) from None
    raise typer.Exit(report.exit_code)


def _tell(report: Report, *, as_json: bool) -> None:
    if as_json:
        found = {
            "problems": [as_values(one) for one in _in_order(report.problems)],
            "warnings": [as_values(one) for one in _in_order(report.warnings)],
            "notices": [as_values(one) for one in _in_order(report.notices)],
        }
        print(json.dumps(found | report.values, indent=2))
        return
    sys.stdout.flush()
    for line in lines(report):
        print(line, file=sys.stderr)


def lines(report: Report) -> Iterator[str]:
    """One line per problem, an empty line between files, and how many there were."""
    for found, prefix in (
        (report.problems, ""),
        (report.warnings, "warning: "),
        (report.notices, "notice: "),
    ):
        for _, of_file in groupby(_in_order(found), key=lambda one: one.where.file if one.where else ""):
            yield from (f"{prefix}{one}" for one in of_file)
            yield ""
    counts = [
        _count(found, word)
        for found, word in (
            (report.problems, "problem"),
            (report.warnings, "warning"),
            (report.notices, "notice"),
        )
        if found
    ]
    if counts:
        yield ", ".join(counts)


def as_values(problem: Problem) -> dict[str, Any]:
    where = problem.where
    return {
        "file": where.file if where else None,
        "line": where.line if where else None,
        "path": problem.path or None,
        "what": problem.what,
        "nextStep": problem.next_step,
    }


def _in_order(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Each once, in the order of files and lines."""
    return InvalidDocuments(dict.fromkeys(problems)).problems


def _count(found: list[Problem], word: str) -> str:
    number = len(_in_order(found))
    return f"{number} {word}{'' if number == 1 else 's'}"


def _broken(error: OSError | UnicodeDecodeError) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "A file is not UTF-8 text. Save it as UTF-8."
    name = error.filename if error.filename is not None else "the output"
    return f"{name}: {error.strerror}. Check that it exists, has room, and that you may read and write it."
