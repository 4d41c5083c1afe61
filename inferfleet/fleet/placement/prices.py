"""The order of nodes by what their GPUs or cores cost, which the planner prefers pools by.

Nodes of one class have one price on demand, and another one as Spot capacity. So the planner knows offers: a
class, or `<class>/Spot` for its pools of model Spot where the class says what that costs. Reserved nodes, and
those that come when there is space, count as on demand: what was agreed for them nobody publishes. A class
has prices of one region, which count in all: where pools on GKE are in another one, the plan says so.
"""

from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction

from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.inference_class import InferenceClass
from inferfleet.documents.kinds.inference_cluster import InferenceCluster, NodePool
from inferfleet.documents.problems import Problem
from inferfleet.documents.quantity import parse_quantity
from inferfleet.documents.wording import listing
from inferfleet.fleet.shapes import accelerator

_Rank = tuple[bool, Fraction, Fraction, int, str]
_SPOT = "/Spot"


def offer(pool: NodePool, inference_class: InferenceClass) -> str:
    """Return the offer that nodes of a pool are: a class, or `<class>/Spot`."""
    price = inference_class.spec.price
    spot = pool.capacity.model == "Spot" and price is not None and price.spot is not None
    return f"{pool.class_name}{_SPOT}" if spot else pool.class_name


def of_node(pool: NodePool, inference_class: InferenceClass) -> tuple[Decimal, str] | None:
    """Return the price of a node of a pool for an hour, and its currency; None without a price."""
    price, stated = inference_class.spec.price, dict(_offers(inference_class))[offer(pool, inference_class)]
    return (parse_quantity(stated), price.currency) if price and stated else None


def foreign_region(cluster: InferenceCluster, inference_class: InferenceClass) -> str:
    """Return the region of a class's prices where the cluster is on GKE and in another one, else ""."""
    gke, price = cluster.spec.cluster.gke, inference_class.spec.price
    return price.region if gke and price and price.region and price.region != gke.region else ""


def class_of(name: str) -> str:
    """Return the class of an offer."""
    return name.removesuffix(_SPOT)


def ranks(documents: Documents, currency: str) -> dict[str, _Rank]:
    """Return keys by which offers are ordered: the price per GPU, and those without one last, by the GPUs
    of a node and the memory of each; where nodes have none, the price per core, then cores and memory.

    Prices in another currency are not compared.
    """
    return {
        name: _rank(name, document, stated, currency)
        for document in documents.classes.values()
        for name, stated in _offers(document)
    }


def prices(documents: Documents) -> dict[str, int]:
    """Return the price per GPU of each offer in millionths. Those without one have the same, a thousand times
    the highest: what has a price is cheaper, and no move between the others saves anything.
    """
    by_rank = ranks(documents, common_currency(documents))
    priced = {name: int(rank[1] * 1_000_000) for name, rank in by_rank.items() if not rank[0]}
    return dict.fromkeys(by_rank, 1_000 * max(priced.values(), default=0) + 1) | priced


def hourly(documents: Documents, currency: str) -> dict[str, Fraction]:
    """Return the price per GPU and hour of each offer with one in the currency; where its nodes have no
    GPUs, per core.
    """
    return {name: rank[1] for name, rank in ranks(documents, currency).items() if not rank[0]}


def missing_price_problems(documents: Documents) -> Iterator[Problem]:
    """Yield a notice where some classes in use have no price that can be compared with those of others."""
    used, currency = _used(documents), common_currency(documents)
    by_rank = ranks(documents, currency)
    lacking = sorted(name for name in used if by_rank[name][0])
    if not documents.deployments or not lacking or len(lacking) == len(used):
        return
    rest = f" and {len(lacking) - 3} more" if len(lacking) > 3 else ""
    sizes = {"GPUs" if accelerator(documents.classes[class_of(name)]) else "cores" for name in lacking}
    yield Problem(
        f"no price in {currency} is known for nodes of {', '.join(lacking[:3])}{rest}: new "
        f"replicas come there after all nodes with a price, by their {' or '.join(sorted(sizes))} per node",
        "Write a class of your own with a price to change that",
        "spec.price",
        kind="InferenceClass",
        key=lacking[0],
        severity="notice",
    )


def foreign_price_problems(documents: Documents) -> Iterator[Problem]:
    """Yield a notice for each class whose prices are of another region than its nodes on GKE."""
    regions: dict[tuple[str, str], set[str]] = {}
    for cluster in documents.clusters.values() if documents.deployments else ():
        gke = cluster.spec.cluster.gke
        for pool in cluster.spec.node_pools if gke else ():
            if gke and (of_price := foreign_region(cluster, documents.classes[pool.class_name])):
                regions.setdefault((pool.class_name, of_price), set()).add(gke.region)
    for (name, of_price), other_regions in sorted(regions.items()):
        yield Problem(
            f"prices of class {name} are those of {of_price}, and count for its nodes in "
            f"{listing(sorted(other_regions), 3)} too",
            "Write a class of your own with the prices there to change that",
            "spec.price.region",
            kind="InferenceClass",
            key=name,
            severity="notice",
        )


def common_currency(documents: Documents) -> str:
    """Return the currency of most prices of classes in use, so that no catalogue outvotes a team's own."""
    currencies = Counter(
        price.currency for name in _used(documents) if (price := documents.classes[name].spec.price)
    )
    return min(currencies, key=lambda name: (-currencies[name], name), default="")


def _used(documents: Documents) -> set[str]:
    return {pool.class_name for cluster in documents.clusters.values() for pool in cluster.spec.node_pools}


def _offers(document: InferenceClass) -> Iterator[tuple[str, str | None]]:
    """Yield the offers of a class, each with the price of a node for an hour."""
    name, price = document.metadata.name, document.spec.price
    yield name, price.on_demand if price else None
    if price and price.spot is not None:
        yield f"{name}{_SPOT}", price.spot


def _rank(name: str, document: InferenceClass, stated: str | None, currency: str) -> _Rank:
    device, price, size = accelerator(document), document.spec.price, document.spec.node
    if device:
        units, capacity = Fraction(device.count), device.capacity.get("memory")
        memory = int(parse_quantity(capacity.value)) if capacity else 0
    else:
        units, memory = Fraction(parse_quantity(size.cpu)), int(parse_quantity(size.memory))
    is_priced = price is not None and price.currency == currency and units > 0
    price_of_unit = Fraction(parse_quantity(stated)) / units if stated and is_priced else Fraction(0)
    return not is_priced, price_of_unit, units, memory, name
