"""The page docs/edits.md: what was done to a fleet, and what the engine planned. `make docs` writes it."""

from collections.abc import Iterator, Mapping
from itertools import groupby

import edits_of_workers
import gke_edits_of_classes
import gke_edits_of_clusters
import gke_edits_of_pools
from gke_edits import Edit
from plans_of_workers import GROUP, TEMPLATES, WRITTEN

Parts = tuple[tuple[str, tuple[Edit, ...]], ...]
_PARTS: Parts = (
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
_OF_WORKERS = """# Workers that run

A fleet of workers of one pod and of several runs on an existing cluster, with the real controller of
LeaderWorkerSets, and with the kinds of Kueue and Volcano. What a preview announces in words stands behind
what it plans. The effect is that on pods ([what these mean](changes.md#fields-of-a-modeldeployment)). Two
annotations of LeaderWorkerSets, by which an update knows the one that it wrote, are left out: they change
with each spec. `*Template` stands for the templates of leaders and workers alike. A `ModelReplicas` is a
group of Pulumi's resources, and nothing on a cluster.

| deployment | its workers |
|---|---|
| `kimi` | 2 replicas, each a pipeline of two pods; entry and follower have templates of their own |
| `wide` | a group of two pods with two copies of the model each |
| `single`, `tall` | one pod; one with all four GPUs of its node, whose class joins nodes by a network |
| `duo` | one pod, and one of the role `encode` |
| `split` | a decode pod and a prefill pod |
| `claimed` | a group of two pods that claim their GPUs |
| `queued` | a group of two pods in a queue of Kueue |
"""
_HEAD = "| edit | field | effect | planned |\n|---|---|---|---|"


def page() -> str:
    return "\n".join([_TOP, _tables(_PARTS), "", _OF_WORKERS, _tables(edits_of_workers.PARTS), ""])


def _tables(parts: Parts) -> str:
    return "\n\n".join(f"## Of {name}\n\n{_HEAD}\n" + "\n".join(map(_row, edits)) for name, edits in parts)


def _row(edit: Edit) -> str:
    told = edit.refused or "; ".join(_plans(edit.plans)) or "unchanged"
    why = f" ({edit.why})" if edit.why else ""
    says = f"; announced: {edit.says}" if edit.says else ""
    return f"| {edit.title} | `{edit.path}` | {edit.expected} | {told}{why}{says} |"


def _plans(plans: Mapping[str, str]) -> Iterator[str]:
    """`NodePool east/spot and NodePool east/zero: update ...`, what is planned alike told at once."""
    for plan, names in groupby(
        sorted(plans, key=lambda name: (plans[name], name)), key=lambda name: plans[name]
    ):
        verb, _, paths = plan.partition(" ")
        told = {"update": "in place", "replace": "replaced"}.get(verb, f"{verb}d")
        fields = f" `{_short(paths)}`" if paths else ""
        yield f"{_named([*names])}: {told}{fields}"


def _short(paths: str) -> str:
    """The paths without what all LeaderWorkerSets have, and what their two templates share told once."""
    leader, worker = (f"{template}." for template in TEMPLATES)
    every = [path for path in paths.split(", ") if path not in WRITTEN]
    shared = {path.removeprefix(worker) for path in every if path.startswith(worker)}
    shared &= {path.removeprefix(leader) for path in every if path.startswith(leader)}
    both = {f"{each}{path}": f"{GROUP}.*Template.{path}" for path in shared for each in (leader, worker)}
    return ", ".join(dict.fromkeys(both.get(path, path) for path in every))


def _named(names: list[str]) -> str:
    """The parts of a network that are many of a kind are counted."""
    by_kind = {kind: [*each] for kind, each in groupby(names, key=lambda name: name.partition(" ")[0])}
    return ", ".join(
        f"{len(each)} {kind}s" if len(each) > 5 else ", ".join(f"`{one}`" for one in each)
        for kind, each in by_kind.items()
    )


if __name__ == "__main__":
    print(page(), end="")
