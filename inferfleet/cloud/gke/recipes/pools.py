"""Rules of pools: is a machine offered in the capacity model and the number that a pool asks for, do its
zones fit, how is it upgraded, and does what it uses work in the cluster's version of GKE.
"""

from collections.abc import Iterator

from inferfleet.cloud.gke.described import DescribedPool, flex_start
from inferfleet.cloud.gke.facts import floors
from inferfleet.cloud.gke.facts.floors import Floor, below
from inferfleet.cloud.gke.facts.sources import (
    AI_CLUSTER,
    BROKEN_SPOT,
    COMPACT,
    COMPACT_RESERVED,
    DRA,
    DRA_FROM_ZERO,
    DWS,
    FLEX_START,
    GPU_ZONES,
    GPUS,
    MULTI_NETWORK,
    MULTIPLE_INTERFACES,
    NODE_POOL_API,
    PROVISIONING_REQUEST,
    RDMA_ZONE,
    RESERVATIONS,
    TOOLKIT,
    UPGRADE_STRATEGIES,
    Source,
)
from inferfleet.cloud.gke.recipes.problems import Certainty, PoolRule, RecipeProblem, begin_with, either
from inferfleet.cloud.values import Verdict
from inferfleet.documents.wording import listing

# Models of the Dynamic Workload Scheduler, whose nodes are waited for.
_DYNAMIC = ("FlexStart", "Queued")

# Families whose flex-start nodes can stand close together.
_COMPACT_FLEX = ("A3 Ultra", "A4")

# Characters of the name of a Network object, of which GKE makes a path on the node (MULTI_NETWORK).
_LONGEST_NETWORK = 41

# Families whose reservations have blocks and sub-blocks.
_BLOCKS = ("A3 Ultra", "A4", "A4X", "A4X Max")


def _capacity_model_problems(pool: DescribedPool) -> Iterator[RecipeProblem]:
    machine, model = pool.gke_class.machine, pool.document.capacity.model
    path, certain = pool.path("capacity.model"), _models(pool, "yes")
    if machine.capacity[model] == "no":
        what = f"wants {machine.type} as {model}; Google offers it as {either(certain)} only"
        yield RecipeProblem("fact", path, what, GPUS, f"Write model: {either(certain)}")
    elif machine.capacity[model] == "disputed":
        what = f"wants {machine.type} as {model}, about which sources disagree or are silent"
        next_step = f"Write model: {either(certain)}" if certain else "Ask Google for it first"
        yield RecipeProblem("doubt", path, what, FLEX_START if model in _DYNAMIC else GPUS, next_step)
    elif model == "Spot" and machine.type == "a3-megagpu-8g":
        what = "wants a3-megagpu-8g as Spot, pools of which came up broken"
        yield RecipeProblem("doubt", path, what, BROKEN_SPOT, "Try it with one node first")


def _models(pool: DescribedPool, verdict: Verdict) -> tuple[str, ...]:
    return tuple(model for model, offered in pool.gke_class.machine.capacity.items() if offered == verdict)


def _dynamic_model_problems(pool: DescribedPool) -> Iterator[RecipeProblem]:
    size, model, path = pool.document, pool.document.capacity.model, pool.path("capacity.model")
    if model not in _DYNAMIC:
        return
    if size.node_count is not None:
        added = f"{model} nodes are added when there is capacity, starting from 0"
        what = f"has nodeCount {size.node_count}, but {added}"
        next_step = f"Write maxNodeCount: {size.node_count} in its place"
        yield RecipeProblem("rule", pool.path("nodeCount"), what, DWS, next_step)
    elif size.min_node_count:
        what = f"has minNodeCount {size.min_node_count}, but {model} pools start from 0"
        yield RecipeProblem("rule", pool.path("minNodeCount"), what, DWS, "Remove minNodeCount")
    if size.max_node_count == 0:
        # "enable_flex_start does not work with static_node_count", which a pool without autoscaling has.
        what = f"has maxNodeCount 0, with which it is not autoscaled, as {model} pools have to be"
        yield RecipeProblem("creation", pool.path("maxNodeCount"), what, TOOLKIT, "Write at least 1")
    if model == "Queued":
        if pool.gke_class.recipe.compact_placement:
            what = f"is Queued, which takes no compact placement, but class {pool.gke_class.name} asks for it"
            next_step = "Use FlexStart, or a class without compactPlacement"
            yield RecipeProblem("rule", path, what, TOOLKIT, next_step)
        what = (
            "is Queued: its nodes start for a ProvisioningRequest only, which Kueue makes for each pod, and "
            "which is made once for a workload that is in no queue of Kueue"
        )
        next_step = (
            "Use FlexStart for what serves longer than its nodes; or Kueue (serving.scheduler) with an "
            "AdmissionCheck of controller kueue.x-k8s.io/provisioning-request"
        )
        yield RecipeProblem("doubt", path, what, PROVISIONING_REQUEST, next_step)


def _reservation_problems(pool: DescribedPool) -> Iterator[RecipeProblem]:
    machine, capacity = pool.gke_class.machine, pool.document.capacity
    model, reservation = capacity.model, capacity.reservation
    path = pool.path("capacity.reservation")
    if reservation and model != "Reservation":
        what = f"names reservation {reservation.name}, but only model Reservation takes one"
        yield RecipeProblem("rule", path, what, TOOLKIT, "Write model: Reservation, or remove reservation")
    elif model == "Reservation" and reservation is None and _models(pool, "yes") == ("Reservation",):
        what = f"takes any reservation, but {machine.type} comes from one that is named only"
        yield RecipeProblem("fact", path, what, GPUS, "Write reservation: {name: ...}")
    if reservation and reservation.block and machine.known and machine.family not in _BLOCKS:
        part = "subBlock" if reservation.sub_block else "block"
        what = f"names a {part} of reservation {reservation.name}, which {machine.type} has none of"
        what += f": those of {either(_BLOCKS)} have blocks"
        # Reservations of these are dense too, and no source was found that says they have none.
        certainty: Certainty = "doubt" if machine.family in ("A3 High", "A3 Mega") else "fact"
        yield RecipeProblem(certainty, f"{path}.{part}", what, str(AI_CLUSTER), "Remove block and subBlock")


def _compact_placement_problems(pool: DescribedPool) -> Iterator[RecipeProblem]:
    """Yield what nodes that stand close together may not be: https://github.com/GoogleCloudPlatform/
    cluster-toolkit/blob/10470803/modules/compute/gke-node-pool/main.tf, 2026-06-25, for flex-start.
    """
    machine, name = pool.gke_class.machine, pool.gke_class.name
    model, reservation = pool.document.capacity.model, pool.document.capacity.reservation
    if not pool.gke_class.recipe.compact_placement:
        return
    if model == "FlexStart" and machine.known and machine.family not in _COMPACT_FLEX:
        what = (
            f"is FlexStart with compact placement (class {name}), which only A3 Ultra, A4 and H4D take, not "
            f"{machine.type}"
        )
        next_step = "Use a class without compactPlacement"
        yield RecipeProblem("fact", pool.path("capacity.model"), what, TOOLKIT, next_step)
    if model == "Reservation" and reservation:
        what = (
            f"takes reservation {reservation.name} with compact placement (class {name}), which Google has "
            "refused: a reservation places its machines itself"
        )
        next_step = "Use a class without compactPlacement"
        yield RecipeProblem("doubt", pool.path("capacity.reservation"), what, COMPACT_RESERVED, next_step)


def _node_count_problems(pool: DescribedPool) -> Iterator[RecipeProblem]:
    machine, size = pool.gke_class.machine, pool.document
    if machine.max_nodes is not None and size.size > machine.max_nodes:
        field = "nodeCount" if size.node_count is not None else "maxNodeCount"
        what = f"has {field} {size.size}; one NVLink domain of {machine.type} is {machine.max_nodes} nodes"
        next_step = f"Write at most {machine.max_nodes}, and a second pool"
        yield RecipeProblem("fact", pool.path(field), what, TOOLKIT, next_step)


def _start_from_zero_problems(pool: DescribedPool) -> Iterator[RecipeProblem]:
    size = pool.document
    if pool.gke_class.document.spec.allocation == "DRA" and size.autoscaled and not size.min_node_count:
        what = (
            "starts from 0 nodes with DRA; older GKE sees no devices in a pool without nodes, "
            "and never starts one"
        )
        next_step = "Write minNodeCount: 1 if its pods stay Pending"
        yield RecipeProblem("doubt", pool.path("minNodeCount"), what, f"{DRA}; {DRA_FROM_ZERO}", next_step)


def _cards_from_zero_problems(pool: DescribedPool) -> Iterator[RecipeProblem]:
    """Yield a doubt: no page says whether the autoscaler knows what cards a pool without nodes would have."""
    size = pool.document
    by_gpus = pool.gke_class.document.spec.allocation == "DRA"
    if pool.claims_cards and not by_gpus and size.autoscaled and not size.min_node_count:
        what = (
            "starts from 0 nodes, and its pods claim network cards; no page of Google's says that the "
            "autoscaler starts a node for such a claim"
        )
        next_step = "Write minNodeCount: 1 if its pods stay Pending"
        yield RecipeProblem("doubt", pool.path("minNodeCount"), what, "", next_step)


def _single_zone_problems(pool: DescribedPool) -> Iterator[RecipeProblem]:
    if len(pool.zones) == 1:
        return
    zones = f"has zones {', '.join(pool.zones)}" if pool.zones else "names no zone"
    for why, source in _reasons(pool):
        yield RecipeProblem("rule", pool.path("zones"), f"{zones}; {why}", source, "Name exactly one zone")


def _reasons(pool: DescribedPool) -> Iterator[tuple[str, Source]]:
    reservation = pool.document.capacity.reservation
    if pool.claims_cards:
        yield "networks that GKE makes for RDMA (acceleratorNetworkProfile: Auto) are of one zone", RDMA_ZONE
    elif fabric := pool.gke_class.fabric:
        size = f"MTU {fabric.mtu}" if fabric.mtu else f"{fabric.interfaces} interfaces in them"
        needs = f"{fabric.networks} extra networks, {size}, one zone"
        yield f"{pool.gke_class.machine.type} with {fabric.kind} needs {needs}", TOOLKIT
    if pool.gke_class.recipe.compact_placement:
        yield f"nodes with compact placement (class {pool.gke_class.name}) are all in one zone", COMPACT
    if reservation and pool.document.capacity.model == "Reservation":
        yield f"reservation {reservation.name} is in one zone", RESERVATIONS


def _interface_problems(pool: DescribedPool) -> Iterator[RecipeProblem]:
    """Yield what Google would refuse of networks between GPUs once the cluster is there and billed."""
    named, path = pool.document.additional_node_network_configs, pool.path("additionalNodeNetworkConfigs")
    existing, gke_class = pool.gke.network.existing, pool.gke_class
    if not named:
        if existing and existing.project not in (None, pool.gke.project) and pool.networks:
            what = (
                f"needs networks between GPUs, which the stack makes in project {pool.gke.project}, but all "
                "interfaces of nodes in a Shared VPC are in networks of its host project, "
                f"{existing.project}"
            )
            next_step = "Write additionalNodeNetworkConfigs with networks that are there"
            yield RecipeProblem("rule", path, what, str(MULTI_NETWORK), next_step)
        return
    if gke_class.auto_network or gke_class.recipe.networking.gpu_direct == "None":
        why = "whose networks GKE makes (Auto)" if gke_class.auto_network else "which has no gpuDirect"
        what = f"names networks between GPUs and is of class {gke_class.name}, {why}"
        yield RecipeProblem("rule", path, what, "", "Remove them, or use another class")
        return
    fabric = gke_class.fabric
    if fabric and len(named) != fabric.interfaces:
        what = (
            f"names {len(named)} networks between GPUs, and {gke_class.machine.type} has {fabric.interfaces} "
            f"interfaces for {fabric.kind}"
        )
        next_step = "Name a network and a subnetwork for each, in their order"
        yield RecipeProblem("rule", path, what, TOOLKIT, next_step)
        return
    yield from _shared_network_problems(pool, path)
    for place, interface in enumerate(pool.interfaces):
        if pool.gke.network.gpu_direct == "Stack" and len(interface.name) > _LONGEST_NETWORK:
            what = (
                f"names subnetwork {interface.name}, and so a Network object, whose name has at most "
                f"{_LONGEST_NETWORK} characters"
            )
            next_step = "Write network.gpuDirect: Existing, and names of yours in networks of network-fabric"
            at = f"{path}[{place}].subnetwork"
            yield RecipeProblem("rule", at, what, str(MULTI_NETWORK), next_step)


def _shared_network_problems(pool: DescribedPool, path: str) -> Iterator[RecipeProblem]:
    """Yield interfaces that are not in a network of their own; those of RDMA are together in one."""
    existing = pool.gke.network.existing
    taken = {existing.name} if existing else set()
    rails = {interface.network for interface in pool.interfaces if interface.rdma}
    subnetworks: set[str] = set()
    for place, interface in enumerate(pool.interfaces):
        if interface.network in (taken if interface.rdma else taken | rails):
            what = f"names network {interface.network}, which another interface of its nodes is in"
            at = f"{path}[{place}].network"
            yield RecipeProblem("rule", at, what, str(MULTIPLE_INTERFACES), "Name another")
        elif interface.subnetwork in subnetworks:
            what = f"names subnetwork {interface.subnetwork} for two interfaces"
            yield RecipeProblem("rule", f"{path}[{place}].subnetwork", what, RDMA_ZONE, "Name another")
        taken |= set() if interface.rdma else {interface.network}
        subnetworks.add(interface.subnetwork)
    if len(rails) > 1:
        what = f"names networks {listing(sorted(rails))} for interfaces of RDMA, which are all in one"
        yield RecipeProblem("rule", path, what, RDMA_ZONE, "Name subnetworks of one network")


def _even_zones_problems(pool: DescribedPool) -> Iterator[RecipeProblem]:
    count, zones = pool.document.node_count, len(pool.zones)
    if count is None:
        return
    if not zones:
        what = f"has nodeCount {count} and no zones; Google counts per zone, so they must be known"
        next_step = "Name its zones, or write maxNodeCount"
        yield RecipeProblem("rule", pool.path("nodeCount"), what, NODE_POOL_API, next_step)
    elif over := count % zones:
        what = f"has nodeCount {count} over {zones} zones; Google counts per zone, so it must divide evenly"
        evenly = [size for size in (count - over, count - over + zones) if size > 0]
        next_step = f"Write nodeCount: {either(evenly)}, or other zones"
        yield RecipeProblem("rule", pool.path("nodeCount"), what, NODE_POOL_API, next_step)


def _unnamed_zone_problems(pool: DescribedPool) -> Iterator[RecipeProblem]:
    if pool.zones or pool.document.node_count is not None or any(_reasons(pool)):
        return
    gpu, region = pool.gke_class.recipe.accelerator, pool.gke.region
    what = f"names no zone; GKE picks some of {region}, where not all may have "
    what += gpu.type if gpu else pool.gke_class.machine.type
    yield RecipeProblem("doubt", pool.path("zones"), what, GPU_ZONES, "Name zones that have it")


def _upgrade_problems(pool: DescribedPool) -> Iterator[RecipeProblem]:
    settings, path = pool.document.upgrade_settings, pool.path("upgradeSettings")
    model = pool.document.capacity.model
    if settings is None:
        return
    if flex_start(pool.document):
        what = f"has upgradeSettings, but nodes of model {model} are upgraded by GKE's own strategy for them "
        what += "(short-lived)"
        yield RecipeProblem("rule", path, what, str(UPGRADE_STRATEGIES), "Remove upgradeSettings")
        return
    if settings.strategy == "BLUE_GREEN":
        yield from _blue_green_problems(pool, path)
    extra_nodes = pool.document.size if settings.strategy == "BLUE_GREEN" else settings.surge
    if model == "Reservation" and extra_nodes:
        nodes = f"{extra_nodes} {'node' if extra_nodes == 1 else 'nodes'}"
        what = f"needs room for {nodes} more in its reservation while it is upgraded by {settings.strategy}"
        next_step = "Make room for them, or remove upgradeSettings: then one node at a time is missing"
        yield RecipeProblem("doubt", path, what, str(UPGRADE_STRATEGIES), next_step)


def _blue_green_problems(pool: DescribedPool, path: str) -> Iterator[RecipeProblem]:
    settings = pool.document.upgrade_settings
    if pool.gke_class.recipe.compact_placement or pool.gke_class.machine.max_nodes:
        what = "is upgraded by BLUE_GREEN, which Google does not do to nodes that stand close together"
        yield RecipeProblem("rule", f"{path}.strategy", what, TOOLKIT, "Write strategy: SURGE")
    steps = settings.blue_green_settings if settings else None
    if steps and steps.autoscaled_rollout_policy and pool.fixed_size is not None:
        what = "has autoscaledRolloutPolicy, and nodeCount keeps the autoscaler from it"
        next_step = "Write maxNodeCount, or standardRolloutPolicy"
        at = f"{path}.blueGreenSettings.autoscaledRolloutPolicy"
        yield RecipeProblem("rule", at, what, str(UPGRADE_STRATEGIES), next_step)


def _version_problems(pool: DescribedPool) -> Iterator[RecipeProblem]:
    min_version = pool.gke.min_version
    if min_version is None:
        return
    for floor, reason in _needs(pool):
        if needed := floor.needed(min_version):
            path, next_step = "spec.cluster.gke.minVersion", begin_with(needed)
            what = f"needs GKE {needed} for {reason}; minVersion is {min_version}"
            yield RecipeProblem("floor", path, what, floor.source, next_step)


def _needs(pool: DescribedPool) -> Iterator[tuple[Floor, str]]:
    machine, fabric = pool.gke_class.machine, pool.gke_class.fabric
    model = pool.document.capacity.model
    if of_family := floors.FAMILIES.get(machine.family):
        yield of_family, machine.type
    if fabric and (of_fabric := floors.FABRICS.get((machine.family, fabric.kind))):
        yield of_fabric, f"GPUDirect {fabric.kind}"
    if pool.gke_class.auto_network:
        yield floors.NETWORK_PROFILE, "acceleratorNetworkProfile"
    if of_model := floors.CAPACITY.get(model):
        yield of_model, model
    if pool.gke_class.document.spec.allocation == "DRA":
        yield floors.DRA, "DRA"
    if pool.gke_class.recipe.secondary_boot_disks:
        yield floors.IMAGE_CACHE, "secondaryBootDisks"
    upgrades = pool.document.upgrade_settings
    if upgrades and upgrades.blue_green_settings and upgrades.blue_green_settings.autoscaled_rollout_policy:
        yield floors.AUTOSCALED_UPGRADES, "autoscaledRolloutPolicy"


def _broken_version_problems(pool: DescribedPool) -> Iterator[RecipeProblem]:
    """Yield a doubt where the version is, or may become, one that Google asks not to use with the machine.

    A cluster stays on an older one by an exclusion of minor upgrades until the end of support.
    """
    machine, min_version = pool.gke_class.machine.type, pool.gke.min_version
    broken = floors.BROKEN.get(machine)
    if broken is None:
        return
    what = f"has {machine}, which Google asks not to use with GKE {broken.since} or later; "
    if min_version is None:
        field, whose = "releaseChannel", f"channel {pool.gke.release_channel} may have such a one"
    elif not below(min_version, broken.since):
        field, whose = "minVersion", f"minVersion is {min_version}"
    elif _stays(pool):
        return
    else:
        field, whose = "releaseChannel", f"channel {pool.gke.release_channel} may upgrade to such a one"
    next_step = (
        f'Write minVersion: "{broken.works}" with releaseChannel: EXTENDED, the last that has it, and in '
        "maintenancePolicy an exclusion of scope NO_MINOR_OR_NODE_UPGRADES with endTimeBehavior: "
        "UNTIL_END_OF_SUPPORT, and install the CRD of InferencePools by hand; or try a newer one with one "
        "node, and say in `verified` of the class where it worked"
    )
    source = f"{broken.source}; {broken.pinned}"
    yield RecipeProblem("doubt", f"spec.cluster.gke.{field}", f"{what}{whose}", source, next_step)


def _stays(pool: DescribedPool) -> bool:
    policy = pool.gke.maintenance_policy
    return policy is not None and any(
        exclusion.scope in ("NO_MINOR_UPGRADES", "NO_MINOR_OR_NODE_UPGRADES") and exclusion.end_time is None
        for exclusion in policy.maintenance_exclusions
    )


RULES: tuple[PoolRule, ...] = (
    _capacity_model_problems,
    _dynamic_model_problems,
    _reservation_problems,
    _compact_placement_problems,
    _node_count_problems,
    _start_from_zero_problems,
    _single_zone_problems,
    _interface_problems,
    _even_zones_problems,
    _unnamed_zone_problems,
    _upgrade_problems,
    _version_problems,
    _broken_version_problems,
    _cards_from_zero_problems,
)
