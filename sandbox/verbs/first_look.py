"""What a stack will be, shown while nothing of it runs: its plan and its picture."""

from collections.abc import Callable
from contextlib import suppress

import typer

from inferfleet.cli.output import print_line
from sandbox.places import StackPlaces

# The page of the fleet, in the folder of the stack's sandbox.
PAGE = "fleet.html"


def first_look(places: StackPlaces) -> None:
    """Print what `plan` prints of the stack, and write its page.

    What they refuse is printed and stops nothing: it can be mended while the toolchain is made.
    """
    # They import all that decides, which a sandbox that stands does without.
    from inferfleet.cli.verbs.plan import plan
    from inferfleet.cli.verbs.report import report

    stack, page = places.stack, places.folder / PAGE
    verbs: dict[str, Callable[[], None]] = {
        f"plan --stack {stack}": lambda: plan(stack=stack),
        f"report --stack {stack} --output {page}": lambda: report(output=page, stack=stack),
    }
    for command, verb in verbs.items():
        print_line(f"$ inferfleet {command}")
        with suppress(typer.Exit):
            verb()
