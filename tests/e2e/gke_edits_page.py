"""The page docs/edits.md: what was done to a fleet, and what the engine planned. `make docs` writes it."""

from collections.abc import Iterator, Mapping
from itertools import groupby

import gke_edits_of_classes
import gke_edits_of_clusters
import gke_edits_of_pools
from gke_edits import Edit

_PARTS = (
    ("classes", gke_edits_of_classes.EDITS),
    ("pools", gke_edits_of_pools.EDITS),
    ("the cluster, and the deployment on it", gke_edits_of_clusters.EDITS),
)
EDITS: tuple[Edit, ...] = tuple(one for _, edits in _PARTS for one in edits)
_TOP = """# Edits, and what the engine plans

Each row is one edit of a fleet that runs on a simulated Google Cloud, and everything that a preview of the
real engine plans then; nothing else is touched. An end-to-end test makes these edits, and holds every row and
[the table of changes](changes.md) against what it sees. The fleet has one cluster with four pools: `fixed`,
with a replica on it; `spot`; `wired`, reserved and with GPUDirect; and `zero`, autoscaled from no node.
"""
_HEAD = "| edit | field | effect | planned |\n|---|---|---|---|"


def page() -> str:
    parts = [f"## Of {name}\n\n{_HEAD}\n" + "\n".join(map(_row, edits)) for name, edits in _PARTS]
    return "\n".join([_TOP, "\n\n".join(parts), ""])


def _row(edit: Edit) -> str:
    told = edit.refused or "; ".join(_plans(edit.plans)) or "unchanged"
    why = f" ({edit.why})" if edit.why else ""
    return f"| {edit.title} | `{edit.path}` | {edit.expected} | {told}{why} |"


def _plans(plans: Mapping[str, str]) -> Iterator[str]:
    """`NodePool east/spot and NodePool east/zero: update ...`, what is planned alike told at once."""
    for plan, names in groupby(
        sorted(plans, key=lambda name: (plans[name], name)), key=lambda name: plans[name]
    ):
        verb, _, paths = plan.partition(" ")
        told = {"update": "in place", "replace": "replaced"}.get(verb, f"{verb}d")
        fields = f" `{paths}`" if paths else ""
        yield f"{_named([*names])}: {told}{fields}"


def _named(names: list[str]) -> str:
    """The parts of a network that are many of a kind are counted."""
    by_kind = {kind: [*each] for kind, each in groupby(names, key=lambda name: name.partition(" ")[0])}
    return ", ".join(
        f"{len(each)} {kind}s" if len(each) > 5 else ", ".join(f"`{one}`" for one in each)
        for kind, each in by_kind.items()
    )


if __name__ == "__main__":
    print(page(), end="")
