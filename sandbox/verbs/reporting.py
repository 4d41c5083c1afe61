"""How every verb of the sandbox reports problems, and the option that all of them have."""

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
    """Print problems and exit with code 1, and with code 130 after Ctrl-C.

    Yields the progress to print to.
    """
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
        progress.say("Interrupted. Run the same command to continue.")
        raise typer.Exit(INTERRUPTED) from interrupt
