"""From documents to everything that should exist in Google Cloud, one value per cluster."""

from inferfleet.api.documents import Documents
from inferfleet.api.kinds.gke_cluster import Gke
from inferfleet.api.kinds.inference_cluster import InferenceCluster
from inferfleet.fleet import names
from inferfleet.fleet.decisions import Plan
from inferfleet.fleet.lock.lock import Lock
from inferfleet.gke.facts.machines import machine_of
from inferfleet.gke.settings import accounts, fabrics
from inferfleet.gke.settings.cluster import cluster as cluster_resource
from inferfleet.gke.settings.network import network
from inferfleet.gke.settings.pools import gpu_pool
from inferfleet.gke.settings.ranges import Ranges, blocks
from inferfleet.gke.settings.system import pickers, system_pool
from inferfleet.gke.values import CloudCluster, CloudComponent, CloudResource

# Google takes a handful of operations on one cluster at a time and refuses more
# (https://github.com/hashicorp/terraform-provider-google/issues/15205), so of many pools each waits for the
# fourth before it.
LANES = 4


def cloud_clusters(documents: Documents, lock: Lock, planned: Plan) -> tuple[CloudCluster, ...]:
    """Every GKE cluster of the stack, sorted by name, with components and resources in a fixed order.

    What cannot be made is left out: pools of classes that GKE does not provision, and clusters for which no
    addresses are free. Those are problems of `recipe_problems` and `range_problems`.
    """
    block_of = blocks(documents, lock)
    return tuple(
        _cloud_cluster(documents, name, cluster, gke, block_of.get(name), planned)
        for name, cluster in sorted(documents.clusters.items())
        if (gke := cluster.spec.cluster.gke) and (name in block_of or gke.network.existing)
    )


def _cloud_cluster(
    documents: Documents,
    name: str,
    cluster: InferenceCluster,
    gke: Gke,
    block: str | None,
    planned: Plan,
) -> CloudCluster:
    stack = documents.settings.stack
    cloud_name = names.gke_cluster(name, stack=stack, project=gke.project, region=gke.region)
    account = accounts.email(name, gke, stack=stack)
    labels = gke.labels | names.cloud_labels(stack, cluster=name)
    pools = sorted(cluster.spec.node_pools, key=lambda pool: pool.name)
    wired = {pool.name: fabrics.of_pool(documents, cluster, pool) for pool in pools}

    extras = fabrics.shared(wired.values())
    networks = network(name, cloud_name, gke=gke, ranges=Ranges(block) if block else None, extras=extras)
    identity = accounts.accounts(name, gke, stack=stack)
    first = (*(networks.resources if networks else ()), *identity)
    control = cluster_resource(
        name,
        cloud_name,
        gke=gke,
        account=account,
        labels=labels,
        multi_networking=bool(extras),
        after=_last(first),
    )
    system = system_pool(
        name,
        cloud_name,
        gke=gke,
        needs=tuple(need for needs in pickers(documents, name, planned).values() for need in needs),
        account=account,
        labels=labels,
        after=(control.key,),
    )

    made: list[CloudComponent] = []
    called: dict[str, str] = {}
    for pool in pools:
        inference_class = documents.classes[pool.class_name]
        provisioning, machine = inference_class.spec.provisioning, machine_of(inference_class)
        if provisioning is None or provisioning.gke is None or machine is None:
            continue
        before = (made[-LANES].resources[-1].key,) if len(made) >= LANES else ()
        component, called[pool.name] = gpu_pool(
            name,
            cloud_name,
            pool,
            gke=gke,
            inference_class=inference_class,
            recipe=provisioning.gke,
            machine=machine,
            extras=wired[pool.name],
            account=account,
            labels=labels,
            # A cluster of accelerators alone has nowhere to run what makes them usable.
            after=(system.key, *before),
        )
        made.append(component)
    return CloudCluster(
        cluster=name,
        project=gke.project,
        region=gke.region,
        cloud_name=cloud_name,
        endpoint=gke.control_plane_endpoint,
        components=(
            *((networks,) if networks else ()),
            CloudComponent("GkeCluster", names.cluster_component(name), (*identity, control, system)),
            *made,
        ),
        pools=called,
        block=block,
    )


def _last(resources: tuple[CloudResource, ...]) -> tuple[str, ...]:
    """The keys of those that none of the others waits for: who waits for them waits for all."""
    awaited = {key for one in resources for key in one.after}
    return tuple(one.key for one in resources if one.key not in awaited)
