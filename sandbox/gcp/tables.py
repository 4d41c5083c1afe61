"""What exists in the cloud, for people (a table) and for machines (plain values)."""

from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.table import Table

from sandbox.gcp.faults import Faults, lines
from sandbox.gcp.store import CLUSTER, POOL, Record, Records


def as_values(records: Records, now: Faults) -> dict[str, Any]:
    """JSON-serialisable: every resource with its whole state, and the faults."""
    return {"resources": [asdict(one) for one in records.values()], "faults": asdict(now)}


def print_cloud(records: Records, now: Faults, console: Console) -> None:
    """A row for each resource, then what is wrong with some, and the faults in force."""
    table = Table(title="simulated Google Cloud", title_justify="left", box=None, header_style="bold")
    for column in ("type", "project", "name", "status", "nodes"):
        table.add_column(column, overflow="fold")
    for one in sorted(records.values(), key=lambda record: (record.token, record.id)):
        project, _, name = one.id.removeprefix("projects/").partition("/")
        status = one.status if one.token in (CLUSTER, POOL) else ""
        table.add_row(one.token.rpartition(":")[2], project, name, status, _nodes(one))
    console.print(table)
    for one in records.values():
        if one.message:
            console.print(f"{one.id}: {one.message}", markup=False)
    for line in lines(now):
        console.print(line, markup=False)


def _nodes(record: Record) -> str:
    if record.token != POOL:
        return ""
    return ", ".join(f"{count} in {zone}" for zone, count in sorted(record.zones.items()))
