"""Rules of capacity: is a pool's machine offered in its capacity model, and in that number."""

from collections.abc import Iterator

from inferfleet.cloud.gke.facts.machine import Verdict
from inferfleet.cloud.gke.facts.sources import (
    AI_CLUSTER,
    BROKEN_SPOT,
    COMPACT_RESERVED,
    DRA,
    DRA_FROM_ZERO,
    DWS,
    FLEX_START,
    GPUS,
    PROVISIONING_REQUEST,
    TOOLKIT,
)
from inferfleet.cloud.gke.pool import GkePool
from inferfleet.cloud.gke.recipes.findings import Certainty, Finding, PoolRule, either

# Models of the Dynamic Workload Scheduler, whose nodes are waited for.
_DYNAMIC = ("FlexStart", "Queued")
# Families whose flex-start nodes can stand close together.
_COMPACT_FLEX = ("A3 Ultra", "A4")
# Families whose reservations have blocks and sub-blocks.
_BLOCKS = ("A3 Ultra", "A4", "A4X", "A4X Max")


def _offered(pool: GkePool) -> Iterator[Finding]:
    machine, model = pool.machine, pool.capacity_model
    path, certain = pool.path("capacity.model"), _models(pool, "yes")
    if machine.capacity[model] == "no":
        what = f"wants {machine.type} as {model}; Google offers it as {either(certain)} only"
        yield Finding("fact", path, what, GPUS, f"Write model: {either(certain)}")
    elif machine.capacity[model] == "disputed":
        what = f"wants {machine.type} as {model}, about which sources disagree or are silent"
        next_step = f"Write model: {either(certain)}" if certain else "Ask Google for it first"
        yield Finding("doubt", path, what, FLEX_START if model in _DYNAMIC else GPUS, next_step)
    elif model == "Spot" and machine.type == "a3-megagpu-8g":
        what = "wants a3-megagpu-8g as Spot, pools of which came up broken"
        yield Finding("doubt", path, what, BROKEN_SPOT, "Try it with one node first")


def _models(pool: GkePool, verdict: Verdict) -> tuple[str, ...]:
    return tuple(model for model, offered in pool.machine.capacity.items() if offered == verdict)


def _dynamic(pool: GkePool) -> Iterator[Finding]:
    size, model, path = pool.document, pool.capacity_model, pool.path("capacity.model")
    if model not in _DYNAMIC:
        return
    if size.node_count is not None:
        added = f"{model} nodes are added when there is capacity, starting from 0"
        what = f"has nodeCount {size.node_count}, but {added}"
        next_step = f"Write maxNodeCount: {size.node_count} in its place"
        yield Finding("rule", pool.path("nodeCount"), what, DWS, next_step)
    elif size.min_node_count:
        what = f"has minNodeCount {size.min_node_count}, but {model} pools start from 0"
        yield Finding("rule", pool.path("minNodeCount"), what, DWS, "Remove minNodeCount")
    if size.max_node_count == 0:
        # "enable_flex_start does not work with static_node_count", which a pool without autoscaling has.
        what = f"has maxNodeCount 0, with which it is not autoscaled, as {model} pools have to be"
        yield Finding("creation", pool.path("maxNodeCount"), what, TOOLKIT, "Write at least 1")
    if model == "Queued":
        if pool.recipe.compact_placement:
            what = f"is Queued, which takes no compact placement, but class {pool.gke_class.name} asks for it"
            next_step = "Use FlexStart, or a class without compactPlacement"
            yield Finding("rule", path, what, TOOLKIT, next_step)
        what = (
            "is Queued: its nodes start for a ProvisioningRequest only, which Kueue makes for each pod, and "
            "which is made once for a workload that is in no queue of Kueue"
        )
        next_step = (
            "Use FlexStart for what serves longer than its nodes; or Kueue (serving.scheduler) with an "
            "AdmissionCheck of controller kueue.x-k8s.io/provisioning-request"
        )
        yield Finding("doubt", path, what, PROVISIONING_REQUEST, next_step)


def _reserved(pool: GkePool) -> Iterator[Finding]:
    machine, model, named = pool.machine, pool.capacity_model, pool.document.capacity.reservation
    path = pool.path("capacity.reservation")
    if named and model != "Reservation":
        what = f"names reservation {named.name}, but only model Reservation takes one"
        yield Finding("rule", path, what, TOOLKIT, "Write model: Reservation, or remove reservation")
    elif model == "Reservation" and named is None and _models(pool, "yes") == ("Reservation",):
        what = f"takes any reservation, but {machine.type} comes from one that is named only"
        yield Finding("fact", path, what, GPUS, "Write reservation: {name: ...}")
    if named and named.block and machine.known and machine.family not in _BLOCKS:
        part = "subBlock" if named.sub_block else "block"
        what = f"names a {part} of reservation {named.name}, which {machine.type} has none of"
        what += f": those of {either(_BLOCKS)} have blocks"
        # Reservations of these are dense too, and no source was found that says they have none.
        certainty: Certainty = "doubt" if machine.family in ("A3 High", "A3 Mega") else "fact"
        yield Finding(certainty, f"{path}.{part}", what, str(AI_CLUSTER), "Remove block and subBlock")


def _compact(pool: GkePool) -> Iterator[Finding]:
    """Yield what nodes that stand close together may not be: https://github.com/GoogleCloudPlatform/
    cluster-toolkit/blob/10470803/modules/compute/gke-node-pool/main.tf, 2026-06-25, for flex-start.
    """
    machine, name = pool.machine, pool.gke_class.name
    if not pool.recipe.compact_placement:
        return
    if pool.capacity_model == "FlexStart" and machine.known and machine.family not in _COMPACT_FLEX:
        what = (
            f"is FlexStart with compact placement (class {name}), which only A3 Ultra, A4 and H4D take, not "
            f"{machine.type}"
        )
        next_step = "Use a class without compactPlacement"
        yield Finding("fact", pool.path("capacity.model"), what, TOOLKIT, next_step)
    if pool.capacity_model == "Reservation" and (named := pool.document.capacity.reservation):
        what = (
            f"takes reservation {named.name} with compact placement (class {name}), which Google has "
            "refused: a reservation places its machines itself"
        )
        next_step = "Use a class without compactPlacement"
        yield Finding("doubt", pool.path("capacity.reservation"), what, COMPACT_RESERVED, next_step)


def _most_nodes(pool: GkePool) -> Iterator[Finding]:
    machine, size = pool.machine, pool.document
    if machine.max_nodes is not None and size.size > machine.max_nodes:
        field = "nodeCount" if size.node_count is not None else "maxNodeCount"
        what = f"has {field} {size.size}; one NVLink domain of {machine.type} is {machine.max_nodes} nodes"
        next_step = f"Write at most {machine.max_nodes}, and a second pool"
        yield Finding("fact", pool.path(field), what, TOOLKIT, next_step)


def _from_zero(pool: GkePool) -> Iterator[Finding]:
    size = pool.document
    if pool.gke_class.document.spec.allocation == "DRA" and size.autoscaled and not size.min_node_count:
        what = (
            "starts from 0 nodes with DRA; older GKE sees no devices in a pool without nodes, "
            "and never starts one"
        )
        next_step = "Write minNodeCount: 1 if its pods stay Pending"
        yield Finding("doubt", pool.path("minNodeCount"), what, f"{DRA}; {DRA_FROM_ZERO}", next_step)


RULES: tuple[PoolRule, ...] = (_offered, _dynamic, _reserved, _compact, _most_nodes, _from_zero)
