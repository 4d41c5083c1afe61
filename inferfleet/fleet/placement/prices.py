"""The order of classes by what their GPUs or cores cost, which the planner prefers pools by."""

from collections import Counter
from fractions import Fraction

from inferfleet.api.documents import Documents
from inferfleet.api.kinds.inference_class import InferenceClass
from inferfleet.api.kinds.quantity import parse_quantity
from inferfleet.fleet.shapes import accelerator

_Rank = tuple[bool, Fraction, Fraction, int, str]


def ranks(documents: Documents) -> dict[str, _Rank]:
    """Return keys by which classes are ordered: the price per GPU, and those without one last, by the GPUs
    of a node and the memory of each; where nodes have none, the price per core, then cores and memory.

    Prices in another currency than that of most classes are not compared.
    """
    currencies = Counter(
        document.spec.price.currency for document in documents.classes.values() if document.spec.price
    )
    common = min(currencies, key=lambda name: (-currencies[name], name), default="")
    return {name: _rank(name, document, common) for name, document in documents.classes.items()}


def prices(documents: Documents) -> dict[str, int]:
    """Return the price per GPU of each class in millionths. Those without one have the same, a thousand times
    the highest: what has a price is cheaper, and no move between the others saves anything.
    """
    known = {name: int(rank[1] * 1_000_000) for name, rank in ranks(documents).items() if not rank[0]}
    return dict.fromkeys(documents.classes, 1_000 * max(known.values(), default=0) + 1) | known


def hourly(documents: Documents, currency: str) -> dict[str, Fraction]:
    """Return the price per GPU and hour of each class with one in the currency; where its nodes have no
    GPUs, per core.
    """
    known = {name: _rank(name, document, currency) for name, document in documents.classes.items()}
    return {name: rank[1] for name, rank in known.items() if not rank[0]}


def _rank(name: str, document: InferenceClass, currency: str) -> _Rank:
    device, price, size = accelerator(document), document.spec.price, document.spec.node
    if device:
        units, stated = Fraction(device.count), device.capacity.get("memory")
        memory = int(parse_quantity(stated.value)) if stated else 0
    else:
        units, memory = Fraction(parse_quantity(size.cpu)), int(parse_quantity(size.memory))
    known = price is not None and price.currency == currency and units > 0
    each = Fraction(parse_quantity(price.on_demand)) / units if price and known else Fraction(0)
    return not known, each, units, memory, name
