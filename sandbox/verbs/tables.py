"""The overview for people (tables) and for machines (plain values)."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from sandbox.toolchain.resolve import store
from sandbox.verbs.overview import CloudRow, ClusterRow, Overview


def as_values(overview: Overview) -> dict[str, Any]:
    """JSON-serialisable, with the same facts as the tables."""
    return {
        "stack": overview.stack,
        "toolchain": [
            {
                "part": one.part.name,
                "version": one.part.version,
                "source": one.source,
                "folder": str(one.folder) if one.folder else None,
            }
            for one in overview.toolchain
        ],
        "clusters": [asdict(cluster) for cluster in overview.clusters],
        "cloud": asdict(overview.cloud) if overview.cloud else None,
    }


def print_overview(overview: Overview, console: Console) -> None:
    """Toolchain and clusters, then what runs where."""
    parts = _table(f"toolchain (built parts are in {_home(store())})", "part", "version", "from")
    for one in overview.toolchain:
        parts.add_row(
            one.part.name, one.part.version, _home(one.folder) if one.source == "path" else one.source
        )
    console.print(parts)
    if overview.cloud is not None:
        console.print(_cloud(overview.cloud, overview.stack), markup=False)
    print_clusters(overview, console)


def print_clusters(overview: Overview, console: Console) -> None:
    """Clusters, and what runs where on those that answer."""
    clusters = _table(
        f"clusters of stack {overview.stack}", "cluster", "is", "MiB", "nodes", "GPUs", "kubeconfig"
    )
    for row in overview.clusters:
        clusters.add_row(
            row.name,
            _condition(row),
            str(row.mebibytes),
            f"{sum(node.ready for node in row.nodes)}/{len(row.nodes)}",
            f"{sum(node.used for node in row.nodes)}/{sum(node.gpus for node in row.nodes)}",
            row.kubeconfig,
        )
    console.print(clusters)
    for row in overview.clusters:
        if row.pods:
            console.print(_pods(row))
        if row.missing:
            console.print(
                f"the {' and the '.join(row.missing)} of {row.name} ended: pods and routes stay as "
                "they were. `inferfleet sandbox up` starts what is missing.",
                markup=False,
            )
        if row.problem:
            console.print(row.problem, markup=False)


def _cloud(row: CloudRow, stack: str) -> str:
    """One line; `sandbox cloud show` has the rest."""
    if not row.runs:
        return (
            "the simulated Google Cloud does not answer, and pools keep their size. "
            "`inferfleet sandbox up` starts it."
        )
    return (
        f"simulated Google Cloud: {row.resources} resources, {row.mebibytes} MiB; "
        f"`inferfleet sandbox cloud show --stack {stack}`"
    )


def _condition(row: ClusterRow) -> str:
    if row.problem:
        return "not answering"
    return f"{row.condition} without {', '.join(row.missing)}" if row.missing else row.condition


def _home(folder: Path | None) -> str:
    text = str(folder or "")
    home = str(Path.home())
    return f"~{text.removeprefix(home)}" if text.startswith(f"{home}/") else text


def _pods(row: ClusterRow) -> Table:
    """Pods node by node, those that wait for a node last; each node shows its used and all its GPUs."""
    table = _table(f"pods on {row.name}", "node", "pool", "GPUs", "namespace", "pod", "phase", "ready")
    title = {node.name: f"{node.name} ({node.used}/{node.gpus})" for node in row.nodes if node.gpus}
    last = None
    for pod in sorted(row.pods, key=lambda pod: (not pod.node, pod.node, pod.namespace, pod.name)):
        again = pod.node == last
        last = pod.node
        table.add_row(
            "" if again else title.get(pod.node, pod.node) or "(none)",
            "" if again else pod.pool,
            str(pod.gpus or ""),
            pod.namespace,
            pod.name,
            pod.phase,
            "yes" if pod.ready else "no",
        )
    return table


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(
            column, justify="right" if column in ("GPUs", "MiB", "nodes") else "left", overflow="fold"
        )
    return table
