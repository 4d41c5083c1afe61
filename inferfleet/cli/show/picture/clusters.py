"""Clusters, each with its pools and how their nodes are filled."""

from collections.abc import Iterator, Mapping

from inferfleet.cli.show.picture.markup import Html, element, joined
from inferfleet.cli.show.picture.parts import marks, phase
from inferfleet.fleet.shapes import counted
from inferfleet.review.picture import AlikeNodes, ClusterPicture, Picture, PoolPicture

# More clusters than these are folded, so that they fit onto a few screens.
_UNFOLDED = 8
# GPUs of a node that are drawn one by one.
_DRAWN = 64
# Patterns of cells that the style has, and those of models.
_PATTERNS = 4
Patterns = Mapping[str, int]
_NOTE = (
    "Which node a pod gets is decided by the scheduler of its cluster: this is one way in which the pods of "
    "the plan fill the nodes. Nodes that are filled alike are drawn once."
)


def clusters_section(picture: Picture) -> Html:
    """Return all clusters; many are folded, those that change or say something excepted."""
    few = len(picture.clusters) <= _UNFOLDED
    patterns = {model.name: place % _PATTERNS for place, model in enumerate(picture.models)}
    return joined(
        element("p", _NOTE, class_="note"),
        element(
            "div", (_cluster(cluster, patterns, few=few) for cluster in picture.clusters), class_="clusters"
        ),
    )


def _cluster(cluster: ClusterPicture, patterns: Patterns, *, few: bool) -> Html:
    gpus, held = (
        sum(pool.gpus * pool.size for pool in cluster.pools),
        sum(pool.held for pool in cluster.pools),
    )
    changes = bool(cluster.changes or any(pool.changes for pool in cluster.pools))
    about = " ".join(filter(None, (cluster.source, cluster.region)))
    return element(
        "details",
        element(
            "summary",
            element("h3", cluster.name),
            element("span", cluster.state, class_=f"state {cluster.state}"),
            element("span", about, class_="held"),
            element("span", f"{held:,} of {gpus:,} GPUs held", class_="held"),
            element("span", "changes", class_="tag") if changes else None,
            phase(cluster.phase),
        ),
        element("p", element("b", "did not answer: "), cluster.silent) if cluster.silent else None,
        marks(cluster.changes),
        (_pool(pool, patterns) for pool in cluster.pools),
        open=few or bool(cluster.silent),
        class_="cluster",
        data_find=True,
    )


def _pool(pool: PoolPicture, patterns: Patterns) -> Html:
    size = f"up to {counted(pool.size, 'node')}" if pool.autoscaled else counted(pool.size, "node")
    bought = "" if pool.capacity == "OnDemand" else f", {pool.capacity}"
    gpus = f" of {counted(pool.gpus, 'GPU')}" if pool.gpus else " without GPUs"
    return element(
        "div",
        element("h4", pool.name),
        element("p", f"{pool.class_name}: {size}{gpus}{bought}"),
        marks(pool.changes),
        element("ul", (_nodes(nodes, pool, patterns) for nodes in pool.nodes), class_="nodes")
        if pool.nodes
        else None,
        element("p", f"{counted(pool.overfull, 'pod')} without a node in this drawing")
        if pool.overfull
        else None,
        class_="pool",
    )


def _nodes(nodes: AlikeNodes, pool: PoolPicture, patterns: Patterns) -> Html:
    words = "; ".join(_words(nodes, pool))
    return element(
        "li",
        element("span", f"{nodes.number:,} \N{MULTIPLICATION SIGN}", class_="times"),
        _grid(nodes, patterns) if 0 < pool.gpus <= _DRAWN else None,
        element("span", words),
    )


def _grid(nodes: AlikeNodes, patterns: Patterns) -> Html:
    """Return a cell for each GPU, in which a model has its pattern, or the next that is free on the
    node; the words beside say the same.
    """
    taken: dict[str, int] = {}
    for name in dict.fromkeys(seat.deployment for seat in nodes.seats if not seat.kept):
        first = patterns.get(name, 0)
        free = [(first + more) % _PATTERNS for more in range(_PATTERNS)]
        taken[name] = next((place for place in free if place not in taken.values()), first)
    cells = [
        element("i", class_="g kept" if seat.kept else f"g k{taken[seat.deployment]}")
        for seat in nodes.seats
        for _ in range(seat.gpus * seat.pods)
    ]
    cells += [element("i", class_="g")] * nodes.free
    return element("span", cells, class_="grid", aria_hidden="true")


def _words(nodes: AlikeNodes, pool: PoolPicture) -> Iterator[str]:
    for seat in nodes.seats:
        gpus = seat.gpus * seat.pods
        size = f"{counted(gpus, 'GPU')} in {counted(seat.pods, 'pod')}" if gpus else counted(seat.pods, "pod")
        role = "" if seat.role == "decode" else f" {seat.role}"
        yield (
            f"{seat.deployment}{role} {size}"
            if not seat.kept
            else f"room for a rollout of {seat.deployment} {size}"
        )
    if not nodes.seats:
        yield "empty, or not started" if pool.autoscaled else "empty"
    elif nodes.free:
        yield f"{counted(nodes.free, 'GPU')} free"
