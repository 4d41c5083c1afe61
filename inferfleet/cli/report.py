"""How a verb ends: problems, warnings and notices told once, and an exit code."""

import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

import typer

from inferfleet.api.problems import InvalidDocuments, Problem, Severity, of_severity
from inferfleet.cli.exit_codes import ExitCode

if TYPE_CHECKING:
    from inferfleet.api.documents import Documents


# Severity to the key of its problems in JSON.
_KEYS: dict[Severity, str] = {"error": "problems", "warning": "warnings", "notice": "notices"}


@dataclass
class Report:
    """Filled by a verb while it works. `values` is what `--json` prints besides problems; `documents` know
    the lines of the fields that problems name.
    """

    problems: list[Problem] = field(default_factory=list)
    values: dict[str, Any] = field(default_factory=dict)
    code: ExitCode | None = None
    documents: "Documents | None" = None

    def add(self, problems: Iterable[Problem], severity: Severity) -> None:
        """Add problems that have this severity for the verb, whatever they would be for an update."""
        self.problems += [replace(problem, severity=severity) for problem in problems]

    @property
    def failed(self) -> bool:
        """Whether something keeps the verb from what it was asked for."""
        return bool(of_severity(self.problems, "error"))

    def of(self, severity: Severity) -> tuple[Problem, ...]:
        """Its problems of one severity, each once, with their lines, in the order of files and lines."""
        problems = self.documents.located(self.problems) if self.documents else self.problems
        return InvalidDocuments(of_severity(problems, severity)).problems

    @property
    def exit_code(self) -> ExitCode:
        if self.code is not None:
            return self.code
        return ExitCode.PROBLEMS if self.failed else ExitCode.FINE


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
        problems = {
            key: [as_values(problem) for problem in report.of(severity)] for severity, key in _KEYS.items()
        }
        print(json.dumps(problems | report.values, indent=2))
        return
    sys.stdout.flush()
    for line in lines(report):
        print(line, file=sys.stderr)


def lines(report: Report) -> Iterator[str]:
    """One line per problem, an empty line between files, and how many there were."""
    counts = []
    for severity, key in _KEYS.items():
        problems = report.of(severity)
        prefix = "" if severity == "error" else f"{severity}: "
        for _, of_file in groupby(problems, key=lambda problem: problem.where and problem.where.file):
            yield from (f"{prefix}{problem}" for problem in of_file)
            yield ""
        if problems:
            counts.append(f"{len(problems)} {key if len(problems) > 1 else key.removesuffix('s')}")
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


def _broken(error: OSError | UnicodeDecodeError) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "A file is not UTF-8 text. Save it as UTF-8."
    name = error.filename if error.filename is not None else "the output"
    return f"{name}: {error.strerror}. Check that it exists, has room, and that you may read and write it."
