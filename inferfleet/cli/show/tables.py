"""Tables for people: as wide as the terminal, or else as wide as their content."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from inferfleet.documents.wording import one_line

if TYPE_CHECKING:
    from rich.table import Table

_NUMBERS = frozenset({"replicas", "in the lock", "GPUs", "pods in all"})


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> "Table":
    """Return a table without lines. Columns of numbers are aligned to the right, None is an empty cell."""
    from rich.table import Table
    from rich.text import Text

    rich_table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        rich_table.add_column(column, justify="right" if column in _NUMBERS else "left", overflow="fold")
    for row in _cells(rows):
        # Text objects, because names such as `inferfleet:ml:x` are neither markup nor emoji.
        rich_table.add_row(*map(Text, row))
    return rich_table


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print the table under its title."""
    if not sys.stdout.isatty():
        # Nothing is wrapped in a file or a pipe, and rich takes a third of a millisecond for each row.
        for line in _unwrapped(title, columns, rows):
            print(line)
        return
    from rich.console import Console

    console = Console(markup=False, emoji=False, highlight=False)
    with console.capture() as output:
        console.print(one_line(title), style="bold")
        console.print(table(columns, rows))
    for line in output.get().splitlines():
        print(line.rstrip())


def _unwrapped(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    lines = [list(columns), *_cells(rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    yield one_line(title)
    for line in lines:
        cells = (
            cell.rjust(width) if column in _NUMBERS else cell.ljust(width)
            for cell, width, column in zip(line, widths, columns, strict=True)
        )
        yield "  ".join(cells).rstrip()


def _cells(rows: Iterable[Sequence[object]]) -> list[list[str]]:
    return [["" if cell is None else one_line(str(cell)) for cell in row] for row in rows]
