"""How every verb of the sandbox tells its problems, and the option that all of them have."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from inferfleet.api import InvalidDocuments
from sandbox.problem import SandboxProblem
from sandbox.toolchain.progress import Progress

Stack = Annotated[str, typer.Option("--stack", "-s", help="The stack whose documents say what to simulate.")]
INTERRUPTED = 130


@contextmanager
def reported_problems() -> Iterator[Progress]:
    """Problems become text and exit code 1; an interruption says that the same command goes on."""
    progress = Progress()
    try:
        yield progress
    except InvalidDocuments as invalid:
        for problem in invalid.problems:
            progress.say(str(problem))
        raise typer.Exit(1) from invalid
    except SandboxProblem as problem:
        progress.say(str(problem))
        raise typer.Exit(1) from problem
    except KeyboardInterrupt as interrupt:
        progress.say("Interrupted. The same command goes on from here.")
        raise typer.Exit(INTERRUPTED) from interrupt
