"""What each loss does to models, as a table for people and as values for machines."""

from collections.abc import Sequence
from typing import Any

from inferfleet.cli.output import print_line
from inferfleet.cli.show.plan import node_values
from inferfleet.cli.show.tables import print_table
from inferfleet.documents.wording import listing
from inferfleet.fleet.advice.summaries import cost, place
from inferfleet.fleet.shapes import counted
from inferfleet.fleet.whatif import Outcome

# Models that one cell names.
_NAMED = 5


def show_losses(consequences: Sequence[Outcome]) -> None:
    """Print what each loss does; those on which nothing runs are counted."""
    print_line()
    if used := [one for one in consequences if one.replicas]:
        columns = ("lost", "replicas", "without a place", "no service", "cheapest repair")
        print_table("if one is lost", columns, [_row(one) for one in used])
    if idle := [str(one.loss) for one in consequences if not one.replicas]:
        print_line(f"nothing runs on {listing(idle, _NAMED)}")
    if used and not any(one.lacking for one in used):
        print_line("each of them can be lost, and all replicas have another place")


def _row(one: Outcome) -> tuple[object, ...]:
    lacking = [f"{missing.deployment} {missing.replicas}" for missing in one.lacking]
    return one.loss, one.replicas, listing(lacking, _NAMED), listing(one.unserved, _NAMED), repair(one)


def repair(one: Outcome) -> str:
    """Return in words what places all replicas that lack a place, "" where none do."""
    if one.repair is None:
        step = one.lacking[0].step
        return f"no number of nodes alone; for {one.lacking[0].deployment}: {step[:1].lower()}{step[1:]}"
    return ", ".join(
        f"{counted(more.nodes, 'node')} more on {place(more)} ({cost(more)})" for more in one.repair
    )


def loss_values(one: Outcome) -> dict[str, Any]:
    """Return what a loss does as values for JSON."""
    return {
        "lost": {"kind": one.loss.kind, "name": one.loss.name},
        "replicas": one.replicas,
        "lacking": [
            {
                "deployment": missing.deployment,
                "replicas": missing.replicas,
                "left": missing.left,
                "nextStep": missing.step,
            }
            for missing in one.lacking
        ],
        "unserved": list(one.unserved),
        "repair": None if one.repair is None else [node_values(more) for more in one.repair],
        "perHour": {currency: str(amount) for currency, amount in sorted(one.costs.items())},
    }
