"""Tables for people: as wide as the terminal, or else as wide as their content."""

import sys
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from inferfleet.api.wording import one_line

# Wide enough that nothing is wrapped in a file or a pipe.
_UNWRAPPED = 1000
_NUMBERS = frozenset({"replicas", "in the lock", "GPUs", "pods in all"})


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Table:
    """Return a table without lines. Columns of numbers are aligned to the right, None is an empty cell."""
    rich_table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        rich_table.add_column(column, justify="right" if column in _NUMBERS else "left", overflow="fold")
    for row in rows:
        # Text objects, because names such as `inferfleet:ml:x` are neither markup nor emoji.
        rich_table.add_row(*(Text("" if cell is None else one_line(str(cell))) for cell in row))
    return rich_table


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print the table under its title."""
    rich_table = table(columns, rows)
    width = None if sys.stdout.isatty() else _UNWRAPPED
    console = Console(markup=False, emoji=False, highlight=False, width=width)
    with console.capture() as output:
        console.print(one_line(title), style="bold")
        console.print(rich_table)
    # Only a terminal gets colours; elsewhere no part of a cell that was wrapped may begin a command.
    shown = str if console.is_terminal else one_line
    for line in output.get().splitlines():
        print(shown(line.rstrip()))
