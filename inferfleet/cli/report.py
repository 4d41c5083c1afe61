"""How a verb ends: its problems are reported once, located, and the exit code says what happened."""

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

import typer

from inferfleet.cli.exit_codes import ExitCode
from inferfleet.cli.output import print_json, print_line
from inferfleet.documents.problems import (
    InvalidDocuments,
    Problem,
    Severity,
    in_reading_order,
    joined,
    of_severity,
)
from inferfleet.documents.wording import shown
from inferfleet.documents.work import counted

if TYPE_CHECKING:
    from inferfleet.documents.documents import Documents

# Severity to the key of its problems in JSON.
_KEYS: dict[Severity, str] = {"error": "problems", "warning": "warnings", "notice": "notices"}
# Of one severity, for people: who has more fixes these first. JSON has all.
MOST_SHOWN = 200


@dataclass
class Report:
    """What a verb reports. It fills this while it works.

    `problems` are of every severity; `documents` know the lines of the fields that they name. `values` is
    what `--json` prints beside them. `code` is None where the problems alone decide on the exit code.
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
        """Return whether there is an error among the problems."""
        return bool(of_severity(self.problems, "error"))

    @property
    def exit_code(self) -> ExitCode:
        """Return the code that the command ends with."""
        if self.code is not None:
            return self.code
        return ExitCode.PROBLEMS if self.failed else ExitCode.FINE

    def located_problems(self, severity: Severity) -> tuple[Problem, ...]:
        """Return the problems of one severity, located, one of a kind, in the order of files and lines."""
        problems = self.documents.located(self.problems) if self.documents else self.problems
        return joined(in_reading_order(of_severity(problems, severity)))


@contextmanager
def reporting(*, as_json: bool = False) -> Iterator[Report]:
    """Print the report of a verb however it ends, and exit with its code, without a traceback.

    With `as_json` whatever ends the verb early is part of the JSON. Only after an interruption, or when the
    output cannot be written, there is none.
    """
    report = Report()
    try:
        try:
            with counted():
                yield report
        except InvalidDocuments as invalid:
            report.problems += invalid.problems
        except (OSError, UnicodeDecodeError, typer.BadParameter) as error:
            if not as_json or isinstance(error, BrokenPipeError):
                raise
            _add_failure(report, error)
        _print(report, as_json=as_json)
        sys.stdout.flush()
    except KeyboardInterrupt as interrupt:
        # The plugin whose edit was interrupted, which may have been what took so long.
        inside = "".join(f" in {plugin}" for plugin in getattr(interrupt, "__notes__", ())[:1])
        print_line(f"Interrupted{inside}. The same command can be run again.", error=True)
        raise typer.Exit(ExitCode.INTERRUPTED) from None
    except BrokenPipeError:
        # Python flushes stdout once more when it ends, and would complain again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(ExitCode.READER_GONE) from None
    except (OSError, UnicodeDecodeError) as error:
        print_line(f"{_file_problem(error)}.", error=True)
        raise typer.Exit(ExitCode.PROBLEMS) from None
    raise typer.Exit(report.exit_code)


def _add_failure(report: Report, error: OSError | UnicodeDecodeError | typer.BadParameter) -> None:
    if isinstance(error, OSError | UnicodeDecodeError):
        report.problems.append(_file_problem(error))
        report.code = ExitCode.PROBLEMS
    else:
        report.problems.append(Problem(shown(error.format_message().rstrip("."), 300), "See --help"))
        report.code = ExitCode.USAGE


def _file_problem(error: OSError | UnicodeDecodeError) -> Problem:
    if isinstance(error, UnicodeDecodeError):
        return Problem("A file is not UTF-8 text", "Save it as UTF-8")
    name = error.filename if error.filename is not None else "the output"
    return Problem(
        f"{name}: {error.strerror}", "Check that it exists, has room, and that you may read and write it"
    )


def _print(report: Report, *, as_json: bool) -> None:
    if as_json:
        problems = {
            key: [as_values(problem) for problem in report.located_problems(severity)]
            for severity, key in _KEYS.items()
        }
        print_json(problems | report.values)
        return
    sys.stdout.flush()
    for line in lines(report):
        print_line(line, error=True)


def lines(report: Report) -> Iterator[str]:
    """Yield one line per error and kind of warning, an empty line after those of a file, and their number.

    Of each severity there are the first MOST_SHOWN.
    """
    counts = []
    for severity, key in _KEYS.items():
        problems = report.located_problems(severity)
        prefix = "" if severity == "error" else f"{severity}: "
        for _, of_file in groupby(
            problems[:MOST_SHOWN], key=lambda problem: problem.where and problem.where.file
        ):
            yield from (f"{prefix}{problem}" for problem in of_file)
            yield ""
        if len(problems) > MOST_SHOWN:
            yield f"{prefix}and {len(problems) - MOST_SHOWN:,} more {key}"
            yield ""
        if problems:
            counts.append(f"{len(problems):,} {key if len(problems) > 1 else key.removesuffix('s')}")
    if counts:
        yield ", ".join(counts)


def as_values(problem: Problem) -> dict[str, Any]:
    """Return a problem as values for JSON."""
    where = problem.where
    return {
        "file": where.file if where else None,
        "line": where.line or None if where else None,
        "path": problem.path or None,
        "what": problem.what,
        "nextStep": problem.next_step,
    }
