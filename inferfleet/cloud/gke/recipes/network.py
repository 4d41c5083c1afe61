"""Rules of networks that GKE makes between GPUs itself (`acceleratorNetworkProfile: Auto`): machines, cards.

https://docs.cloud.google.com/kubernetes-engine/docs/how-to/allocate-network-resources-dra, 2026-11-24
"""

from collections.abc import Iterator

from inferfleet.cloud.gke.facts.machine_table import NETWORK_PROFILE_FAMILIES
from inferfleet.cloud.gke.facts.sources import DRANET
from inferfleet.cloud.gke.pool import GkeClass, GkeCluster, GkePool
from inferfleet.cloud.gke.recipes.findings import GKE, ClassRule, Finding, PoolRule
from inferfleet.documents.problems import Problem
from inferfleet.documents.wording import listing
from inferfleet.tables.devices import NETWORK_DRIVER, RDMA_CLASS

_PROFILE = f"{GKE}.networking.acceleratorNetworkProfile"


def _offered(gke_class: GkeClass) -> Iterator[Finding]:
    if not gke_class.auto_network:
        return
    kind, machine = gke_class.recipe.networking.gpu_direct, gke_class.machine
    if kind != "RDMA":
        what = f"has acceleratorNetworkProfile Auto with gpuDirect {kind}; it is offered for RDMA alone"
        next_step = "Write gpuDirect: RDMA, or remove acceleratorNetworkProfile"
        yield Finding("rule", _PROFILE, what, str(DRANET), next_step)
    elif machine.known and machine.family not in NETWORK_PROFILE_FAMILIES:
        families = listing(NETWORK_PROFILE_FAMILIES)
        what = f"has acceleratorNetworkProfile Auto on {machine.type}; pods claim network cards on {families}"
        yield Finding("fact", _PROFILE, what, str(DRANET), "Remove acceleratorNetworkProfile")


def _cards(gke_class: GkeClass) -> Iterator[Finding]:
    """Yield that the class does not describe the cards that pods are to claim, one for each GPU of a node."""
    fabric = gke_class.fabric
    if fabric is None or fabric.kind != "RDMA" or not gke_class.auto_network:
        return
    cards = [
        device
        for device in gke_class.document.spec.all_devices
        if device.claim == "DRA" and device.device_class_name == RDMA_CLASS
    ]
    wanted = fabric.interfaces - 1
    card = f"{{name: nic, driver: {NETWORK_DRIVER}, deviceClassName: {RDMA_CLASS}, count: {wanted}}}"
    if len(cards) != 1:
        what = f"has acceleratorNetworkProfile Auto and {len(cards)} devices of DeviceClass {RDMA_CLASS}"
        yield Finding("rule", "spec.devices", what, "", f"Describe the network cards once: {card}")
    elif cards[0].driver != NETWORK_DRIVER:
        what = f"says that device {cards[0].name} of DeviceClass {RDMA_CLASS} has driver {cards[0].driver}"
        yield Finding("rule", "spec.devices", what, str(DRANET), f"Write driver: {NETWORK_DRIVER}")
    elif cards[0].count != wanted:
        what = f"says {cards[0].count} network cards per node, but {gke_class.machine.type} has {wanted}"
        next_step = f"Write count: {wanted} for device {cards[0].name}"
        yield Finding("fact", "spec.devices", what, str(DRANET), next_step)


def _from_zero(pool: GkePool) -> Iterator[Finding]:
    """Yield a doubt: no page says whether the autoscaler knows what cards a pool without nodes would have."""
    size = pool.document
    by_gpus = pool.gke_class.document.spec.allocation == "DRA"
    if pool.claims_cards and not by_gpus and size.autoscaled and not size.min_node_count:
        what = (
            "starts from 0 nodes, and its pods claim network cards; no page of Google's says that the "
            "autoscaler starts a node for such a claim"
        )
        next_step = "Write minNodeCount: 1 if its pods stay Pending"
        yield Finding("doubt", pool.path("minNodeCount"), what, "", next_step)


def both_ways(cluster: GkeCluster) -> Iterator[Problem]:
    """Yield that pools of a cluster use both ways: DRANET and the Network objects manage the same cards."""
    claimed = [pool for pool in cluster.pools if pool.claims_cards]
    named = [pool.name for pool in cluster.pools if pool.networks]
    if not named:
        return
    for pool in claimed:
        yield Problem(
            f"pool {pool.name} of cluster {cluster.name} has acceleratorNetworkProfile Auto (class "
            f"{pool.gke_class.name}), and pool{'' if len(named) == 1 else 's'} {listing(named)} networks "
            f"that the stack makes; one cluster takes one of the two ways ({DRANET})",
            "Use classes of one way for all pools of the cluster, or another cluster",
            pool.path("className"),
            kind="InferenceCluster",
            key=cluster.name,
        )


CLASS_RULES: tuple[ClassRule, ...] = (_offered, _cards)
POOL_RULES: tuple[PoolRule, ...] = (_from_zero,)
