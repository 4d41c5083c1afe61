"""Prints the overview as tables for people, and turns it into plain values for machines."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from inferfleet.documents.wording import one_line
from sandbox.toolchain.resolve import store
from sandbox.verbs.overview import CloudRow, ClusterRow, Overview, VllmRow

# No line of a table is longer.
MOST_CHARACTERS = 10_000


def as_values(overview: Overview) -> dict[str, Any]:
    """Return the overview as values for JSON, with the same facts as the tables."""
    return {
        "stack": overview.stack,
        "toolchain": [
            {
                "part": resolved.part.name,
                "version": resolved.release or resolved.part.version,
                "source": resolved.source,
                "folder": str(resolved.folder) if resolved.folder else None,
            }
            for resolved in overview.toolchain
        ],
        "clusters": [asdict(cluster) for cluster in overview.clusters],
        "cloud": asdict(overview.cloud) if overview.cloud else None,
        "vllm": asdict(overview.vllm) if overview.vllm else None,
    }


def print_overview(overview: Overview, console: Console) -> None:
    """Print toolchain and clusters, and then what runs where."""
    parts = table(f"toolchain (fetched and built parts are in {_home(store())})", "part", "version", "from")
    for resolved in overview.toolchain:
        source = _home(resolved.folder) if resolved.source == "path" else resolved.source
        parts.add_row(*cells(resolved.part.name, resolved.release or resolved.part.version, source))
    print_table(parts, console)
    if overview.cloud is not None:
        say(console, _cloud(overview.cloud, overview.stack))
    if overview.vllm is not None:
        say(console, _vllm(overview.vllm, overview.stack))
    print_clusters(overview, console)


def print_clusters(overview: Overview, console: Console) -> None:
    """Print the clusters, and what runs where on those that answer."""
    clusters = table(
        f"clusters of stack {overview.stack}", "cluster", "is", "MiB", "nodes", "GPUs", "kubeconfig"
    )
    for row in overview.clusters:
        ready, of_all = sum(node.ready for node in row.nodes), len(row.nodes)
        used, gpus = sum(node.used for node in row.nodes), sum(node.gpus for node in row.nodes)
        counts = (str(row.mebibytes), f"{ready}/{of_all}", f"{used}/{gpus}")
        clusters.add_row(*cells(row.name, _condition(row), *counts, row.kubeconfig))
    print_table(clusters, console)
    for row in overview.clusters:
        if row.pods:
            print_table(_pods(row), console)
        if row.missing:
            say(
                console,
                f"the {' and the '.join(row.missing)} of {row.name} ended: pods and routes stay as "
                f"they were. Run `inferfleet sandbox up --stack {overview.stack}` to start what is missing.",
            )
        if row.problem:
            say(console, row.problem)


def say(console: Console, text: str) -> None:
    """Print lines of text as everything is printed."""
    for line in text.split("\n"):
        console.print(one_line(line), markup=False, emoji=False, soft_wrap=True)


def cells(*texts: str) -> tuple[Text, ...]:
    """Return the cells of a row: names in them are neither markup nor more than one line."""
    return tuple(Text(one_line(text)) for text in texts)


def _cloud(row: CloudRow, stack: str) -> str:
    """Return the line about the cloud. `sandbox cloud show` prints the rest."""
    if not row.runs:
        return (
            "the simulated Google Cloud does not answer, and pools keep their size. "
            f"Run `inferfleet sandbox up --stack {stack}` to start it."
        )
    return (
        f"simulated Google Cloud: {row.resources} resources, {row.mebibytes} MiB; "
        f"`inferfleet sandbox cloud show --stack {stack}`"
    )


def _vllm(row: VllmRow, stack: str) -> str:
    if not row.runs:
        return (
            "the process that holds vLLM ended, and its engines with it. "
            f"Run `inferfleet sandbox up --stack {stack}` to start it."
        )
    engines = "engine" if row.engines == 1 else "engines"
    return f"vLLM itself: {row.engines} {engines} on processors, {row.mebibytes} MiB with what they share"


def _condition(row: ClusterRow) -> str:
    if row.problem:
        return "not answering"
    return f"{row.condition} without {', '.join(row.missing)}" if row.missing else row.condition


def _home(folder: Path | None) -> str:
    text = str(folder or "")
    home = str(Path.home())
    return f"~{text.removeprefix(home)}" if text.startswith(f"{home}/") else text


def _pods(row: ClusterRow) -> Table:
    """Return the pods by node, pending ones last. Each node shows how many of its GPUs are used."""
    pods = table(f"pods on {row.name}", "node", "pool", "GPUs", "namespace", "pod", "phase", "ready")
    with_gpus = {node.name: f"{node.name} ({node.used}/{node.gpus})" for node in row.nodes if node.gpus}
    last = None
    for pod in sorted(row.pods, key=lambda pod: (not pod.node, pod.node, pod.namespace, pod.name)):
        same_node = pod.node == last
        last = pod.node
        node = ("", "") if same_node else (with_gpus.get(pod.node, pod.node) or "(none)", pod.pool)
        ready = "yes" if pod.ready else "no"
        pods.add_row(*cells(*node, str(pod.gpus or ""), pod.namespace, pod.name, pod.phase, ready))
    return pods


def table(title: str, *columns: str) -> Table:
    """Return a table without rows."""
    empty = Table(title=Text(one_line(title)), box=None, pad_edge=False, header_style="bold")
    for column in columns:
        empty.add_column(column, justify="right" if column in ("GPUs", "MiB", "nodes") else "left")
    return empty


def print_table(filled: Table, console: Console) -> None:
    """Print a table with a line for its title and one for each row, which may be longer than the console is.

    A name that is folded in the middle cannot be copied or searched for.
    """
    title, filled.title = filled.title, None
    console.print(title, style="table.title", soft_wrap=True)
    unlimited = console.options.update(max_width=MOST_CHARACTERS)
    filled.width = Measurement.get(console, unlimited, filled).maximum
    console.print(filled, crop=False)
