"""What the documents say of each GKE cluster and its pools, joined once with what is known of the machines.

These values are there before any rule is checked, so they may describe what Google would refuse. What is
decided of them afterwards (names, settings, resources) is a CloudCluster with its CloudPools.

Networks between GPUs belong to the cluster, not to the pool: pools of one kind share them, because a project
has only few networks (`quotas.py` has reports of how many), and objects inside the cluster name them once for
all pods.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from inferfleet.cloud.gke import names as cloud_names
from inferfleet.cloud.gke.facts.machines import Fabric, Machine, chosen, machine_of
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.gke import Driver, Gke, GkeProvisioning
from inferfleet.documents.kinds.inference_class import InferenceClass
from inferfleet.documents.kinds.inference_cluster import InferenceCluster, NodePool
from inferfleet.fleet.node_conditions import OS, REGION, ZONE
from inferfleet.tables.devices import GKE_ACCELERATOR
from inferfleet.tables.gke import FLEX_START_LABEL, LARGEST_MTU, SPOT_LABEL

# Of clusters in documents and in the lock.
SOURCE = "GKE"
# Where subnetworks lie among the 128 of a block: fixed, so that a new pool moves none.
_TCPX, _TCPXO, _GVNIC, _RDMA = 0, 4, 12, 16
# Networks of RDMA belong to one zone each: eight subnetworks for zones a to n.
_RAILS = 8
_ZONES = "abcdefghijklmn"
# As labels of nodes have them.
_SHARING = {"TimeSharing": "time-sharing", "MPS": "mps"}


@dataclass(frozen=True)
class ExtraNetwork:
    """One network beside the cluster's own, and its subnetworks: (part of the name, slot in the block).

    `zone` is that of its RDMA profile. `mtu` is in bytes, None where the profile sets it.
    """

    part: str
    subnets: tuple[tuple[str, int], ...]
    mtu: int | None = None
    zone: str | None = None


@dataclass(frozen=True)
class Interface:
    """An extra interface of nodes: the names of its network and subnetwork in Google Cloud, and of its
    Network object inside the cluster.
    """

    network: str
    subnetwork: str
    name: str
    rdma: bool


@dataclass(frozen=True)
class DescribedClass:
    """An InferenceClass that GKE provisions: its recipe, and the machine type that the recipe names."""

    document: InferenceClass
    recipe: GkeProvisioning
    machine: Machine

    @property
    def name(self) -> str:
        return self.document.metadata.name

    @property
    def fabric(self) -> Fabric | None:
        """Return the network between GPUs that the machine has and the recipe asks for."""
        fabric = self.machine.fabric
        return fabric if fabric and fabric.kind == self.recipe.networking.gpu_direct else None

    @property
    def auto_network(self) -> bool:
        """Return whether GKE itself makes the networks between the GPUs, and pods claim their cards."""
        return self.recipe.networking.accelerator_network_profile == "Auto"


@dataclass(frozen=True)
class DescribedPool:
    """Pool number `place` of a GKE cluster, with the class that says how its nodes are provisioned.

    `zones` are sorted, and empty where Google chooses them. `interfaces` are the extra ones of its nodes, in
    their order on the node, and `networks` what the stack makes for them: none for networks that GKE makes,
    or that somebody else keeps. `driver` is that of the recipe, or else that of the table.
    """

    cluster: str
    gke: Gke
    place: int
    document: NodePool
    gke_class: DescribedClass
    zones: tuple[str, ...]
    networks: tuple[ExtraNetwork, ...]
    interfaces: tuple[Interface, ...]
    driver: Driver

    @property
    def name(self) -> str:
        """Return the name in the document; the one in Google Cloud is decided later."""
        return self.document.name

    @property
    def key(self) -> str:
        """Return the name in the whole stack, as the lock and messages have it: `east/h100`."""
        return f"{self.cluster}/{self.name}"

    @property
    def claims_cards(self) -> bool:
        """Return whether pods claim the cards of its fabric, whose networks GKE makes itself."""
        return self.gke_class.fabric is not None and self.gke_class.auto_network

    @property
    def fixed_size(self) -> int | None:
        """Return the number of nodes of a pool of fixed size; None for one that is autoscaled."""
        return None if self.document.max_node_count else self.document.node_count or 0

    @property
    def node_labels(self) -> dict[str, tuple[str | None, ...]]:
        """Return what is certain of the labels that Kubernetes and GKE give to its nodes.

        https://kubernetes.io/docs/reference/labels-annotations-taints/,
        https://cloud.google.com/kubernetes-engine/docs/how-to/gpus, .../gpus-multi, .../timesharing-gpus and
        .../concepts/spot-vms.
        """
        gpu, machine = self.gke_class.recipe.accelerator, self.gke_class.machine
        model, sharing = self.document.capacity.model, gpu.sharing if gpu else None
        labels: dict[str, tuple[str | None, ...]] = {
            OS: ("linux",),
            REGION: (self.gke.region,),
            GKE_ACCELERATOR: (gpu.type if gpu else None,),
            SPOT_LABEL: ("true" if model == "Spot" else None,),
            FLEX_START_LABEL: ("true" if flex_start(self.document) else None,),
            "cloud.google.com/gke-gpu-partition-size": (gpu.partition_size if gpu else None,),
            "cloud.google.com/gke-gpu-sharing-strategy": (_SHARING[sharing.strategy] if sharing else None,),
            "cloud.google.com/gke-max-shared-clients-per-gpu": (
                str(sharing.max_clients_per_gpu) if sharing else None,
            ),
        }
        if self.zones:
            labels[ZONE] = self.zones
        if machine.known:
            labels["kubernetes.io/arch"] = (machine.architecture,)
            labels["node.kubernetes.io/instance-type"] = (machine.type,)
        return labels

    def path(self, field: str = "") -> str:
        """Return the path of a field of the pool, or of the pool itself, in the cluster's document."""
        return f"spec.nodePools[{self.place}]" + (f".{field}" if field else "")


@dataclass(frozen=True)
class DescribedCluster:
    """One cluster of source GKE. `pools` are those that GKE can provision, in the order of the document."""

    name: str
    stack: str
    document: InferenceCluster
    gke: Gke
    pools: tuple[DescribedPool, ...]

    def pool(self, name: str) -> DescribedPool:
        """Return the pool of this name."""
        return next(pool for pool in self.pools if pool.name == name)

    @property
    def cloud_name(self) -> str:
        return cloud_names.gke_cluster(
            self.name, stack=self.stack, project=self.gke.project, region=self.gke.region
        )

    @property
    def account(self) -> str:
        """Return the address of the service account that its nodes act as."""
        return self.gke.service_account or cloud_names.account_email(
            cloud_names.node_account(self.name, stack=self.stack), self.gke.project
        )

    @property
    def labels(self) -> dict[str, str]:
        """Return the labels of its resources in Google Cloud, which are not those of Kubernetes nodes."""
        return self.gke.labels | cloud_names.cloud_labels(self.stack, cluster=self.name)

    def labels_of(self, pool: DescribedPool) -> dict[str, str]:
        """Return the labels of machines and disks of a pool in Google Cloud."""
        own = cloud_names.cloud_labels(self.stack, cluster=self.name)
        return self.gke.labels | pool.document.resource_labels | own


def described_clusters(documents: Documents) -> dict[str, DescribedCluster]:
    """Return every cluster of source GKE by name, sorted by name.

    Pools of classes that GKE does not provision are left out: a problem of `recipe_problems`.
    """
    classes = {
        name: DescribedClass(document, provisioning.gke, machine)
        for name, document in documents.classes.items()
        if (provisioning := document.spec.provisioning)
        and provisioning.gke
        and (machine := machine_of(document))
    }
    return {
        name: _cluster(name, documents.settings.stack, cluster, gke, classes)
        for name, cluster in sorted(documents.clusters.items())
        if (gke := cluster.spec.cluster.gke)
    }


def _cluster(
    name: str, stack: str, document: InferenceCluster, gke: Gke, classes: Mapping[str, DescribedClass]
) -> DescribedCluster:
    cluster = DescribedCluster(name, stack, document, gke, ())
    pools = (
        _pool(cluster, index, pool, classes[pool.class_name])
        for index, pool in enumerate(document.spec.node_pools)
        if pool.class_name in classes
    )
    return replace(cluster, pools=tuple(pools))


def _pool(
    cluster: DescribedCluster, index: int, document: NodePool, gke_class: DescribedClass
) -> DescribedPool:
    zones = tuple(sorted(document.zones or cluster.gke.zones))
    existing = gke_class.auto_network or document.additional_node_network_configs
    networks = extra_networks(gke_class.fabric, zones) if gke_class.fabric and not existing else ()
    return DescribedPool(
        cluster.name,
        cluster.gke,
        index,
        document,
        gke_class,
        zones,
        networks,
        _interfaces(cluster, document, gke_class, networks),
        _driver(gke_class),
    )


def _interfaces(
    cluster: DescribedCluster,
    pool: NodePool,
    gke_class: DescribedClass,
    networks: tuple[ExtraNetwork, ...],
) -> tuple[Interface, ...]:
    """Return the extra interfaces of nodes: in networks that the document names, or else in these."""
    named = pool.additional_node_network_configs
    if named and not gke_class.auto_network:
        of_rdma = gke_class.fabric is not None and gke_class.fabric.kind == "RDMA"
        # With RDMA the first interface is that of the gVNIC.
        return tuple(
            Interface(config.network, config.subnetwork, config.subnetwork, rdma=of_rdma and place > 0)
            for place, config in enumerate(named)
        )
    return interfaces(networks, cloud_name=cluster.cloud_name)


def interfaces(networks: Iterable[ExtraNetwork], *, cloud_name: str) -> tuple[Interface, ...]:
    """Return the interfaces in networks that are made for a cluster with that name in Google Cloud."""
    return tuple(
        Interface(
            cloud_names.gke_part(cloud_name, network.part),
            cloud_names.gke_part(cloud_name, subnet),
            subnet,
            # Networks that have a zone are those of RDMA adapters.
            rdma=network.zone is not None,
        )
        for network in networks
        for subnet, _ in network.subnets
    )


def _driver(gke_class: DescribedClass) -> Driver:
    """Return the driver of the recipe, or else that of the table."""
    if gke_class.recipe.driver:
        return gke_class.recipe.driver
    gpu = gke_class.recipe.accelerator
    return chosen(gke_class.machine, gpu.type) if gpu else "DEFAULT"


def flex_start(pool: NodePool) -> bool:
    """Return whether nodes of a pool are flex-start ones: queued ones are those too.

    https://docs.cloud.google.com/kubernetes-engine/docs/how-to/provisioningrequest, 2026-04-08
    """
    return pool.capacity.model in ("FlexStart", "Queued")


def extra_networks(fabric: Fabric, zones: tuple[str, ...]) -> tuple[ExtraNetwork, ...]:
    """Return the networks of the extra interfaces of nodes in these zones, in their order on the node.

    For RDMA there are none unless the nodes are in exactly one zone for which the block has a place.
    """
    if fabric.kind in ("TCPX", "TCPXO"):
        return tuple(_tcp(fabric))
    if len(zones) != 1 or zones[0][-1] not in _ZONES or zones[0][-2] != "-":
        return ()
    return _rdma(fabric, zones[0])


def _tcp(fabric: Fabric) -> Iterator[ExtraNetwork]:
    start = _TCPX if fabric.kind == "TCPX" else _TCPXO
    for number in range(fabric.networks):
        part = f"{fabric.kind.lower()}-{number}"
        yield ExtraNetwork(part, ((part, start + number),), mtu=fabric.mtu)


def _rdma(fabric: Fabric, zone: str) -> tuple[ExtraNetwork, ...]:
    """Return the network of the gVNIC first, as Google's guides have it, then that of the RDMA adapters."""
    letter = zone[-1]
    part = f"rdma-{letter}"
    first = _RDMA + _RAILS * _ZONES.index(letter)
    rails = tuple((f"{part}-{rail}", first + rail) for rail in range(min(fabric.interfaces - 1, _RAILS)))
    return (
        ExtraNetwork("gvnic", (("gvnic", _GVNIC),), mtu=LARGEST_MTU),
        ExtraNetwork(part, rails, zone=zone),
    )


def shared(networks: Iterable[ExtraNetwork]) -> tuple[ExtraNetwork, ...]:
    """Return each network once, with as many subnetworks as any pool needs of it, sorted by name."""
    largest: dict[str, ExtraNetwork] = {}
    for network in networks:
        largest_network = largest.get(network.part, network)
        largest[network.part] = replace(
            network, subnets=max(largest_network.subnets, network.subnets, key=len)
        )
    return tuple(largest[part] for part in sorted(largest))
