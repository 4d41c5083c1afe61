"""Tables for people: on a terminal as wide as it is, elsewhere as wide as their content."""

import sys
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

# Wide enough that nothing is wrapped in a file or a pipe.
_UNWRAPPED = 1000
_NUMBERS = frozenset({"replicas", "in the lock", "GPUs"})


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Table:
    """A table without lines; columns of numbers stand to the right, None is an empty cell."""
    made = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        made.add_column(column, justify="right" if column in _NUMBERS else "left", overflow="fold")
    for row in rows:
        # Text objects, because names such as `inferfleet:ml:x` are neither markup nor emoji.
        made.add_row(*(Text("" if cell is None else str(cell)) for cell in row))
    return made


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """The table under its title, on the standard output."""
    made = table(columns, rows)
    width = None if sys.stdout.isatty() else _UNWRAPPED
    console = Console(markup=False, emoji=False, highlight=False, width=width)
    with console.capture() as written:
        console.print(title, style="bold")
        console.print(made)
    for line in written.get().splitlines():
        print(line.rstrip())
