"""Why settings of node pools and networks are not those of Cluster Toolkit. True reasons, or none known."""

from bench.toolkit.fact import A3_HIGH, A3_MEGA, A3_ULTRA, A4, A4X, NAMED, TCP, WAITED
from bench.toolkit.reason import Reason

_NODE = "NodePool.nodeConfig"
_INTERFACES = "NodePool.networkConfig.additionalNodeNetworkConfigs (number)"
_PLAIN = ("A3 High", "A3 Mega", "A3 Ultra", "A4", "A4X")
_WITHOUT_FABRIC = (
    "the class is for models on one node; the one whose name ends in `-tcpx`, `-tcpxo`, `-rdma` or "
    "`-dranet` has the networks"
)
_NO_FABRIC = (
    "no GPUDirect is known of these machines, for which alone nodes get further interfaces; the second card "
    "of g4-standard-384 is not used"
)
_RACK = (
    "the class uses the older of the two ways that Google has for this machine, networks that pods name; the "
    "one whose name ends in `-dranet` uses the other"
)
_CLAIMED = (
    "the class uses the newer of the two ways that Google has for this machine, networks that GKE makes; the "
    "one whose name ends in `-rdma` uses theirs"
)
_REPLACES = "no reason is known; kept because a change would replace the nodes of pools that run"
_COMPACT = (
    "a class asks for it (`compactPlacement: true`), and those of the catalogue do not: a model on one node "
    "gains nothing by it. Of theirs only tests ask for it"
)

POOLS = (
    Reason(
        f"{_NODE}.guestAccelerators[0].gpuDriverInstallationConfig.gpuDriverVersion",
        "engines with CUDA 13 need R580, and GKE's default is older on most machines "
        "(`inferfleet/cloud/gke/facts/machines.py`)",
    ),
    Reason(
        f"{_NODE}.imageType",
        "theirs is a test that also tries Ubuntu; the default of their module is ours",
        ("A2",),
    ),
    Reason(f"{_NODE}.gvnic.enabled", "theirs follows from the image of that test", ("A2",)),
    Reason(
        f"{_NODE}.advancedMachineFeatures.threadsPerCore",
        "one thread per core leaves pods half of the vCPUs that classes count and plans use; their modules "
        "are made for HPC",
    ),
    Reason(
        f"{_NODE}.taintConfig.architectureTaintBehavior",
        "GKE would also taint the nodes as Arm, and keep away pods that tolerate GPUs and say nothing of Arm",
    ),
    Reason(
        f"{_NODE}.bootDisk.sizeGb",
        "no reason was written down; images of engines have several GB each, and a recipe may say "
        "another size (`diskSizeGb`)",
    ),
    Reason(
        f"{_NODE}.bootDisk.diskType",
        "GKE's default is left to GKE; a recipe names a type where that is wanted (`diskType`)",
        ("L4",),
    ),
    Reason(
        f"{_NODE}.bootDisk.diskType",
        "N4 machines, which theirs has no blueprint for, boot from Hyperdisk alone",
        ("CPU",),
        source="https://docs.cloud.google.com/compute/docs/general-purpose-machines",
    ),
    Reason(
        f"{_NODE}.bootDisk.diskType",
        "the recipe writes down the type, where theirs leaves it to GKE",
        ("G4", *A3_ULTRA, *A4),
    ),
    Reason(
        f"{_NODE}.ephemeralStorageLocalSsdConfig.localSsdCount",
        "they are part of the machine, which GKE fills in; the recipe writes "
        "them down, because they would replace the pool once Google reports them",
        ("A2 Ultra", "A3 High small", *A4X),
    ),
    Reason(
        f"{_NODE}.labels",
        "the label starts Google's driver for network cards on the nodes, and no pod of ours claims any",
        A4X,
    ),
    Reason(f"{_NODE}.linuxNodeConfig.sysctls", _REPLACES),
    Reason(
        f"{_NODE}.kubeletConfig.*",
        "with the policy `restricted` a kubelet refuses pods that got no cores, memory and GPUs of as few "
        "parts of the machine as would do, after they were scheduled; plans count nodes and would not know",
        ("G4",),
        source="https://kubernetes.io/docs/tasks/administer-cluster/topology-manager/",
    ),
    Reason(
        f"{_NODE}.reservationAffinity.consumeReservationType",
        "nodes on demand use a reservation that fits, which is paid for anyway: Google's default",
        (),
        ("OnDemand",),
    ),
    Reason(
        f"{_NODE}.reservationAffinity.consumeReservationType",
        "a pool of reserved machines buys no others; theirs would, once the reservations are used up",
        (),
        ("Reservation, any",),
    ),
    Reason(
        f"{_NODE}.reservationAffinity.values",
        "Google takes the name alone for a reservation of the same project",
        (),
        NAMED[:1],
        source="https://cloud.google.com/kubernetes-engine/docs/how-to/consuming-reservations",
    ),
    Reason("NodePool.placementPolicy.type", _COMPACT, ("A2", *A3_HIGH, *A3_MEGA, *A3_ULTRA, *A4)),
    Reason(
        "NodePool.autoscaling.locationPolicy",
        "nodes on demand can be bought in every zone, so they are spread; others go where there are any",
        (),
        ("OnDemand",),
    ),
    Reason(
        "NodePool.ignoreNodeCountChanges",
        "it is an option of Pulumi's provider: what the autoscaler does is no drift",
    ),
    Reason(
        "NodePool.management.autoUpgrade",
        "clusters are in a release channel, which takes no pool without upgrades; theirs is in none",
    ),
    Reason(
        "NodePool.upgradeSettings.*",
        "GKE chooses how nodes of the Dynamic Workload Scheduler are upgraded",
        (),
        WAITED,
    ),
    Reason(
        "NodePool.networkConfig.enablePrivateNodes",
        "a pool follows its cluster, whose nodes are private by default too",
    ),
    Reason(_INTERFACES, _WITHOUT_FABRIC, _PLAIN),
    Reason(_INTERFACES, _RACK, ("A4X RDMA",)),
    Reason(_INTERFACES, _CLAIMED, ("A4 DRANET",)),
    Reason(_INTERFACES, _NO_FABRIC, ("G4", "A2")),
    Reason("NodePool.networkConfig.acceleratorNetworkProfile", _CLAIMED, ("A4 DRANET",)),
    Reason(f"{_NODE}.labels", _CLAIMED, ("A4 DRANET",)),
    Reason("NodePool.networkConfig.acceleratorNetworkProfile", _WITHOUT_FABRIC, ("A4X",)),
    Reason("NodePool.networkConfig.acceleratorNetworkProfile", _RACK, ("A4X RDMA",)),
)

NETWORKS = (
    Reason(
        "Network.routingMode",
        "a cluster, its load balancers and its nodes are in one region",
    ),
    Reason(
        "Network.mtu",
        "no reason is known; Google's default (1460) is kept, because a change would be about the network of "
        "clusters that run. An existing network brings its own",
    ),
    Reason(
        "Subnetwork, nodes.privateIpGoogleAccess",
        "nodes have no public addresses, and reach Google's storage and registry without NAT by it",
    ),
    Reason("Subnetwork, proxies.*", "internal and regional gateways never get ready without it"),
    Reason(
        "Firewall, own network.allows",
        "GKE makes rules for nodes and pods of a cluster; the stack puts no other machines into its network",
        source="https://cloud.google.com/kubernetes-engine/docs/concepts/firewall-rules",
    ),
    Reason(
        "Firewall, own network from Identity-Aware Proxy.allows", "no way to nodes by SSH is opened unasked"
    ),
    Reason("RouterNat.natIp*", "Google adds addresses as connections need them; nobody has to count"),
    Reason("RouterNat.logConfig.enable", "nothing of ours reads logs of every connection"),
    Reason(
        "RouterNat.enable*",
        "a node that loads a model opens more connections than the 64 ports it would have; Google takes "
        "dynamic ports only without endpoint-independent mapping",
    ),
    *(
        Reason(f"Networks, {purpose}.number", _WITHOUT_FABRIC, _PLAIN)
        for purpose in ("gVNIC", "RDMA", "TCPX or TCPXO")
    ),
    *(Reason(f"Networks, {purpose}.number", _CLAIMED, ("A4 DRANET",)) for purpose in ("gVNIC", "RDMA")),
    Reason("Networks, gVNIC.number", _NO_FABRIC, ("G4", "A2")),
    *(
        Reason(f"{kind}, {purpose}.*", _RACK, ("A4X RDMA",))
        for kind, purpose in (
            ("Networks", "gVNIC"),
            ("Networks", "RDMA"),
            ("Subnetworks", "gVNIC"),
            ("Subnetworks", "RDMA"),
            ("Firewalls", "gVNIC"),
        )
    ),
    *(
        Reason(f"Networks, {purpose}.routingMode", "it is used in one region, and left to Google")
        for purpose in ("gVNIC", "RDMA", "TCPX or TCPXO")
    ),
    Reason("Networks, RDMA.mtu", "the profile sets it; Google gives such networks 8896"),
    Reason("Firewalls, gVNIC.number", "theirs has two for the same traffic, and one for SSH"),
    Reason("Firewalls, TCPX or TCPXO.number", "theirs has one more for SSH", TCP),
    Reason("RouterNats, *", "these networks are for traffic between GPUs, and nothing in them goes outside"),
    Reason(
        "Subnetworks, TCPX or TCPXO.privateIpGoogleAccess",
        "these networks are for traffic between GPUs, and nothing in them goes outside",
    ),
)
