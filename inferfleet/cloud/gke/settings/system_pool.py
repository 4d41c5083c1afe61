"""The system pool: CPU nodes for GKE's own pods, controllers and endpoint pickers."""

from collections.abc import Iterator, Mapping
from decimal import Decimal

from inferfleet.cloud.gke import names as cloud_names
from inferfleet.cloud.gke.described import DescribedCluster
from inferfleet.cloud.gke.facts.machines import Machine, machine
from inferfleet.cloud.gke.facts.schema import CLUSTER, NODE_POOL
from inferfleet.cloud.gke.settings.passed import with_passed
from inferfleet.cloud.gke.settings.pools import pool_of, system_node_config, with_name
from inferfleet.cloud.values import SYSTEM_POOL, CloudResource
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.gke import Gke
from inferfleet.documents.problems import Problem, cluster_problem
from inferfleet.documents.quantity import parse_quantity
from inferfleet.fleet.decisions import Endpoint, Plan
from inferfleet.fleet.picker_size import picker_resources
from inferfleet.tables.gke import SYSTEM_MACHINE_TYPE

# One per zone of a region for GKE's own pods, and one for the time of an upgrade.
_WITHOUT_PICKERS = 4
# What GKE keeps for the node and its own pods on it, rounded up:
# https://cloud.google.com/kubernetes-engine/docs/concepts/plan-node-sizes
_RESERVED_CPUS = Decimal(1)
_USABLE_MEMORY = Decimal("0.85")
_GIB = 2**30

PickerNeed = tuple[Decimal, Decimal]  # cores, bytes


def system_pool(
    cluster: DescribedCluster, *, needs: tuple[PickerNeed, ...], after: tuple[str, ...]
) -> CloudResource:
    """Return the system pool, whose nodes have no taints. Only its maximum size follows from `needs`.

    It starts with one node per zone, because a new cluster has pods to run before the autoscaler works.
    """
    gke = cluster.gke
    machine_type = system_machine_type(gke)
    inputs = {
        **pool_of(cluster),
        **({"nodeLocations": sorted(gke.zones)} if gke.zones else {}),
        "initialNodeCount": 1,
        "autoscaling": {
            "totalMinNodeCount": 1,
            "totalMaxNodeCount": most_nodes(gke, needs),
            "locationPolicy": "BALANCED",
        },
        "ignoreNodeCountChanges": True,
        "management": {"autoRepair": True, "autoUpgrade": True},
        "upgradeSettings": {"strategy": "SURGE", "maxSurge": 1, "maxUnavailable": 0},
        **({"maxPodsPerNode": most_pods} if (most_pods := gke.system_pool.max_pods_per_node) else {}),
        "nodeConfig": system_node_config(cluster, machine_type),
    }
    return CloudResource(
        NODE_POOL,
        cloud_names.cloud_resource(cluster.name, SYSTEM_POOL),
        with_name(SYSTEM_POOL, with_passed(inputs, gke.system_pool.provider))[1],
        after=after,
        # It says how the pool began, and Google changes it when somebody resizes the pool.
        ignore=("initialNodeCount",),
        deleted_with=f"{CLUSTER} {cluster.name}",
    )


def most_nodes(gke: Gke, needs: tuple[PickerNeed, ...]) -> int:
    """Return the maximum of the system pool of a cluster whose pickers request `needs`."""
    return _WITHOUT_PICKERS + nodes_for(needs, machine(system_machine_type(gke)))


def system_machine_type(gke: Gke) -> str:
    """Return the machine type of the nodes of a cluster's system pool."""
    return gke.system_pool.machine_type or SYSTEM_MACHINE_TYPE


def nodes_for(needs: tuple[PickerNeed, ...], kind: Machine | None) -> int:
    """Return how many nodes hold pickers with these requests; one for each if the machine is not known."""
    if kind is None:
        return len(needs)
    usable = _usable(kind)
    nodes: list[PickerNeed] = []
    for cpus, memory in sorted(needs, reverse=True):
        for index, (free_cpus, free_memory) in enumerate(nodes):
            if cpus <= free_cpus and memory <= free_memory:
                nodes[index] = (free_cpus - cpus, free_memory - memory)
                break
        else:
            nodes.append((usable[0] - cpus, usable[1] - memory))
    return len(nodes)


def pickers(documents: Documents, cluster: str, planned: Plan) -> dict[str, tuple[PickerNeed, ...]]:
    """Return what the endpoint pickers on a cluster request, an entry for each pod, by deployment."""
    return {
        endpoint.deployment: (_need(documents, endpoint),)
        * documents.deployments[endpoint.deployment].spec.endpoint_picker.replicas
        for endpoint in planned.endpoints
        if endpoint.cluster == cluster and endpoint.deployment in documents.deployments
    }


def system_problems(
    documents: Documents, clusters: Mapping[str, DescribedCluster], planned: Plan
) -> Iterator[Problem]:
    """Yield endpoint pickers that fit no node of the system pool, and would stay Pending for ever."""
    for name, cluster in clusters.items():
        kind = machine(system_machine_type(cluster.gke))
        if kind is None:
            continue
        usable = _usable(kind)
        for deployment, needs in sorted(pickers(documents, name, planned).items()):
            if all(need[0] <= usable[0] and need[1] <= usable[1] for need in needs):
                continue
            path = "spec.cluster.gke.systemPool.machineType"
            what = (
                f"the endpoint picker of {deployment!r} requests {_shown(needs[0])}; a node of the system "
                f"pool of cluster {name!r} ({kind.type}) has {_shown(usable)} for it"
            )
            next_step = "Use a larger machineType, or write endpointPicker.resources of the deployment"
            yield cluster_problem(name, what, next_step, path)


def _usable(kind: Machine) -> PickerNeed:
    return kind.vcpus - _RESERVED_CPUS, Decimal(kind.memory_gib) * _GIB * _USABLE_MEMORY


def _need(documents: Documents, endpoint: Endpoint) -> PickerNeed:
    """Return what a picker requests. A limit counts where no request is given."""
    serving = documents.clusters[endpoint.cluster].spec.serving
    asked = picker_resources(documents.deployments[endpoint.deployment], serving, endpoint.replicas)
    amounts = {**asked.get("limits", {}), **asked.get("requests", {})}
    return parse_quantity(amounts.get("cpu", "0")), parse_quantity(amounts.get("memory", "0"))


def _shown(need: PickerNeed) -> str:
    return f"{need[0].normalize():f} cores and {need[1] / _GIB:.1f} GiB"
