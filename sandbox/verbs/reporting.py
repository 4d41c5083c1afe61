"""How every verb of the sandbox prints and reports problems, and the options that several of them have."""

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from inferfleet.cli.exit_codes import ExitCode
from inferfleet.cli.output import print_json, print_line
from inferfleet.cli.report import as_values
from inferfleet.documents import InvalidDocuments
from inferfleet.documents.problems import Problem
from sandbox.private import owner_only
from sandbox.problem import SandboxProblem
from sandbox.toolchain.progress import Progress

Stack = Annotated[str, typer.Option("--stack", "-s", help="The stack whose documents say what to simulate.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]


@contextmanager
def reported_problems(*, as_json: bool = False) -> Iterator[Progress]:
    """Print problems and exit with code 1, and with code 130 after Ctrl-C, without a traceback.

    Yields the progress to print to. With `as_json` problems are printed as JSON, and everything else that the
    verb prints to standard output must be JSON too.
    """
    progress = Progress()
    try:
        with owner_only():
            yield progress
        sys.stdout.flush()
    except InvalidDocuments as invalid:
        _report(invalid.problems, progress, as_json=as_json)
        raise typer.Exit(ExitCode.PROBLEMS) from invalid
    except SandboxProblem as problem:
        _report([problem], progress, as_json=as_json)
        raise typer.Exit(ExitCode.PROBLEMS) from problem
    except KeyboardInterrupt as interrupt:
        progress.say("Interrupted. Run the same command to continue.")
        raise typer.Exit(ExitCode.INTERRUPTED) from interrupt
    except BrokenPipeError:
        # Python flushes stdout once more when it ends, and would complain again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(ExitCode.READER_GONE) from None
    except OSError as error:
        name = error.filename if error.filename is not None else "a file or connection"
        what = f"{name}: {error.strerror or error}"
        step = "Check that it exists, has room, and that you may read and write it"
        _report([Problem(what, step)], progress, as_json=as_json)
        raise typer.Exit(ExitCode.PROBLEMS) from error


def print_text(text: str) -> None:
    """Print text of several lines, each of them as everything is printed."""
    for line in text.split("\n"):
        print_line(line)


def _report(problems: Iterable[Problem | SandboxProblem], progress: Progress, *, as_json: bool) -> None:
    if as_json:
        print_json({"problems": [_values(problem) for problem in problems]})
        return
    for problem in problems:
        progress.say(str(problem))


def _values(problem: Problem | SandboxProblem) -> dict[str, object]:
    # The text of a SandboxProblem says what to do as well.
    return as_values(problem if isinstance(problem, Problem) else Problem(str(problem), ""))
