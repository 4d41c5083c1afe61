"""Moves that would make room or save something, as a table for people and as values for machines."""

from collections.abc import Sequence
from typing import Any

from inferfleet.cli.output import print_line
from inferfleet.cli.show.plan import spot_values
from inferfleet.cli.show.tables import print_table
from inferfleet.fleet.advice.rebalance import Saving


def show_savings(moves: Sequence[Saving]) -> None:
    """Print what each move saves."""
    print_line()
    if not moves:
        print_line("no move of a replica makes room or saves anything")
        return
    room = any(move.room_for for move in moves)
    rows = [
        (
            move.before.deployment,
            move.before.place,
            move.after.place,
            "" if move.per_hour is None else f"{move.per_hour} {move.currency}",
            move.gpus,
            *([move.room_for] if room else []),
        )
        for move in moves
    ]
    columns = ("deployment", "one replica from", "to", "saves an hour", "GPUs of nodes emptied")
    title = "moves that make room or save" if room else "moves that save"
    print_table(title, (*columns, "makes room for") if room else columns, rows)
    if all(move.per_hour is None for move in moves):
        print_line("classes have no prices, so their order and empty nodes alone are compared")


def saving_values(move: Saving) -> dict[str, Any]:
    """Return a move as values for JSON."""
    return {
        "from": spot_values(move.before),
        "to": spot_values(move.after),
        "savesPerHour": None if move.per_hour is None else str(move.per_hour),
        "currency": move.currency or None,
        "gpusOfNodesEmptied": move.gpus,
        "makesRoomFor": move.room_for or None,
    }
