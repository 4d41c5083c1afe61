"""What nodes have and pods need, in words: amounts, and why a pod has no room on empty nodes or others."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from inferfleet.documents.kinds.workers import POSITIONS
from inferfleet.fleet.shapes import Demand, Node, Pod, Share, fit


class Misfit(NamedTuple):
    """What a node has, and what a pod needs of it: with the parts of plugins, and without."""

    has: str
    needs: str
    amount: str

    @property
    def why(self) -> str:
        """Return the reason of one pool: `has 4 GPUs per node, needs 8`."""
        return f"has {self.has}, needs {self.needs}"

    @property
    def short(self) -> str:
        """Return the reason of several clusters: `have 4 GPUs per node (8 wanted)`."""
        return f"have {self.has} ({self.amount} wanted)"


def misfit(demand: Demand, node: Node) -> Misfit | None:
    """Return why the pods of a worker do not fit even on empty nodes, or None when they do."""
    small = _too_large(demand.pod, node, demand.shares)
    if small is None and demand.follower is not None and demand.follower != demand.pod:
        small = _too_large(demand.follower, node, demand.follower_shares)
        return small._replace(needs=f"{small.needs} (follower)") if small else None
    return small


def _too_large(pod: Pod, node: Node, shares: tuple[Share, ...]) -> Misfit | None:
    if pod.gpus > node.gpus:
        return Misfit(f"{gpus(node.gpus)} per node", str(pod.gpus), str(pod.gpus))
    for field in Pod._fields[1:]:
        if (asked := getattr(pod, field)) > (has := getattr(node, field)):
            return Misfit(_offered(field, has), needed(pod, shares, field), amounts(field)(asked))
    return None


def _offered(field: str, has: int) -> str:
    if field == "cpu":
        return f"{cores(has)} cores per node"
    if field == "memory":
        return f"{gib(has)} of memory per node"
    size = HUGE_PAGES[field]
    return f"{gib(has)} of {size} huge pages per node" if has else f"no {size} huge pages"


# The size of huge pages by the field of a pod and of a node that counts them.
HUGE_PAGES: Mapping[str, str] = {"huge_2mi": "2Mi", "huge_1gi": "1Gi"}


def needed(pod: Pod, shares: tuple[Share, ...], field: str) -> str:
    """Return what a pod requests, and how much of it for plugins, with the lines of their links:
    `58Gi (50Gi of it by plugin cache, a.yaml:3)`.

    `field` is one of those of a pod other than GPUs, which plugins cannot ask for.
    """
    amount = amounts(field)
    by = ", ".join(
        ", ".join((f"{amount(more)} of it by plugin {share.plugin}", *map(str, share.where)))
        for share in shares
        if (more := getattr(share.pod, field)) > 0
    )
    return amount(getattr(pod, field)) + (f" ({by})" if by else "")


def amounts(field: str) -> Callable[[int], str]:
    """Return how amounts of a field of a pod other than GPUs are written."""
    return cores if field == "cpu" else gib


def gpus(number: int) -> str:
    """Return `1 GPU`, `8 GPUs`."""
    return f"{number} GPU" if number == 1 else f"{number} GPUs"


def counted(number: int, noun: str) -> str:
    """Return `1 node`, `1,200 nodes`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def cores(thousandths: int) -> str:
    """Return thousandths of a core as cores: `1.5`."""
    return f"{thousandths / 1000:g}"


def gib(amount: int) -> str:
    """Return bytes as GiB, rounded to a tenth: `79.6Gi`; less than a tenth as MiB, such as `64Mi`."""
    if 0 < amount < 2**30 / 10:
        return f"{round(amount / 2**20, 1):g}Mi"
    return f"{round(amount / 2**30, 1):g}Gi"


def too_few_nodes(free: Mapping[Node, int], size: int, demand: Demand) -> str | None:
    """Return that fewer nodes have room for a pod of a worker than it has pods, or None where enough have."""
    wanted = [demand.of(position) for position in POSITIONS]
    fitting = sum(count for state, count in free.items() if any(fit(state, pod) for pod, _ in wanted))
    if fitting >= demand.gang:
        return None
    pod, shares = wanted[1] if any(fit(state, demand.pod) for state in free) else wanted[0]
    each = [gpus(pod.gpus)] if pod.gpus else []
    # GPUs say it all where every node that has them free has room.
    if sum(count for state, count in free.items() if state.gpus >= pod.gpus) > fitting:
        names = {"cpu": "cores", "memory": "memory"} | {
            field: f"{size} huge pages" for field, size in HUGE_PAGES.items()
        }
        each += [
            f"{name} {needed(pod, shares, field)}" for field, name in names.items() if getattr(pod, field)
        ]
    asking = f" ({', '.join(each)})" if each else ""
    return (
        f"room for one pod{asking} on {fitting} of {size} nodes, needs {demand.gang}: "
        "one for each pod of a worker"
    )


def short_of(nodes: list[Node], demand: Demand) -> str:
    """Return in words what no node has enough of, GPUs before cores before memory."""
    pod, shares = demand.pod, demand.shares
    free = max(node.gpus for node in nodes)
    if free < pod.gpus:
        return f"{free} free {'GPU' if free == 1 else 'GPUs'} on the emptiest node, needs {pod.gpus}"
    nodes = [node for node in nodes if node.gpus >= pod.gpus]
    free = max(node.cpu for node in nodes)
    if free < pod.cpu:
        where = "beside enough GPUs" if pod.gpus else "on the emptiest node"
        return f"{cores(free)} free cores {where}, needs {needed(pod, shares, 'cpu')}"
    enough = "GPUs" if pod.gpus else "cores"
    nodes = [node for node in nodes if node.cpu >= pod.cpu]
    free = max(node.memory for node in nodes)
    if free < pod.memory:
        return f"{gib(free)} of free memory beside enough {enough}, needs {needed(pod, shares, 'memory')}"
    nodes = [node for node in nodes if node.memory >= pod.memory]
    for field, size in HUGE_PAGES.items():
        free = max(getattr(node, field) for node in nodes)
        if free < getattr(pod, field):
            needs = needed(pod, shares, field)
            return f"{gib(free)} of free {size} huge pages beside enough {enough}, needs {needs}"
        nodes = [node for node in nodes if getattr(node, field) >= getattr(pod, field)]
    return f"no node may run another pod (the emptiest may run {max(node.pods for node in nodes)} more)"
