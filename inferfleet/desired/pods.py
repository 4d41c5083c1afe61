"""Pod templates of a placement: checked for contradictions, generated, and edited by the plugin chain."""

from collections.abc import Iterator
from dataclasses import dataclass

from inferfleet.api.documents import Documents
from inferfleet.api.kinds.inference_class import Device
from inferfleet.api.problems import Problem
from inferfleet.desired.pod_security import meets_baseline, risk_problems
from inferfleet.fleet import names
from inferfleet.fleet.shapes import accelerator
from inferfleet.fleet.spot import Spot
from inferfleet.gke.settings.nodes import pod_taints
from inferfleet.gke.values import CloudCluster
from inferfleet.manifests.pod.clashes import clashes, fractional_bytes, refused
from inferfleet.manifests.pod.hardware import Hardware, hardware
from inferfleet.manifests.pod.template import pod_template
from inferfleet.plugins import chain
from inferfleet.plugins.contract import Request
from inferfleet.plugins.link import Link, links
from inferfleet.plugins.registry import Registry


@dataclass(frozen=True)
class Pods:
    """The pods of one role of a placement, after the chain."""

    spot: Spot
    role: str
    outcome: chain.Outcome
    autoscaled: bool
    meets_baseline: bool


def pods(
    documents: Documents, spot: Spot, registry: Registry, cloud: CloudCluster | None
) -> tuple[tuple[Pods, ...], tuple[Problem, ...]]:
    """Return the pods of every role of the spot, and their problems.

    `cloud` is the spot's cluster in Google Cloud, where the stack creates it.
    """
    made: list[Pods] = []
    problems: list[Problem] = []
    for role, pool_name in spot.pools:
        pool = next(
            pool for pool in documents.clusters[spot.cluster].spec.node_pools if pool.name == pool_name
        )
        device = accelerator(documents.classes[pool.class_name])
        if device is None:
            continue  # a problem of the plan
        deployment = documents.deployments[spot.deployment]
        needs = hardware(
            device=device,
            gpus=deployment.spec.workers.topology.gpus_per_pod,
            pool=pool,
            label=cloud.pools[pool_name] if cloud else None,
            taints=pod_taints(pool) if cloud else (),
        )
        contradictions = list(clashes(deployment=deployment, spot=spot, role=role, hardware=needs))
        problems += contradictions
        problems += fractional_bytes(deployment)
        if contradictions:
            continue
        generated = pod_template(deployment=deployment, spot=spot, role=role, hardware=needs)
        if mistakes := list(refused(generated, deployment)):
            problems += mistakes
            continue
        every_link = chain_of(documents, spot, class_name=pool.class_name)
        outcome = chain.run(
            generated,
            _request(documents, spot, role, device=device, needs=needs, class_name=pool.class_name),
            every_link,
            registry,
        )
        problems += outcome.problems
        problems += risk_problems(deployment, outcome, every_link, documents.settings)
        made.append(Pods(spot, role, outcome, pool.autoscaled, meets_baseline(outcome)))
    return tuple(made), tuple(problems)


def chain_of(documents: Documents, spot: Spot, *, class_name: str) -> tuple[Link, ...]:
    """Return every link that may act on pods of the spot on nodes of the class."""
    return (
        *_class_chain(documents, class_name),
        *_cluster_chain(documents, spot.cluster),
        *stack_chain(documents),
        *_deployment_chain(documents, spot.deployment),
    )


def chains_of(documents: Documents) -> Iterator[tuple[Link, ...]]:
    """Yield the chain of each class, cluster and deployment."""
    yield from (_class_chain(documents, name) for name in sorted(documents.classes))
    yield from (_cluster_chain(documents, name) for name in sorted(documents.clusters))
    yield from (_deployment_chain(documents, key) for key in sorted(documents.deployments))


def _class_chain(documents: Documents, name: str) -> tuple[Link, ...]:
    return links(documents.classes[name].spec.plugins, "class", kind="InferenceClass", key=name)


def _cluster_chain(documents: Documents, name: str) -> tuple[Link, ...]:
    return links(documents.clusters[name].spec.plugins, "cluster", kind="InferenceCluster", key=name)


def _deployment_chain(documents: Documents, key: str) -> tuple[Link, ...]:
    return links(documents.deployments[key].spec.plugins, "deployment", kind="ModelDeployment", key=key)


def stack_chain(documents: Documents) -> tuple[Link, ...]:
    """Return the chain for every pod of the stack, which its settings hold."""
    settings = documents.settings
    return links(settings.plugins, "stack", kind="Settings", key=settings.stack, path="plugins")


def _request(
    documents: Documents, spot: Spot, role: str, *, device: Device, needs: Hardware, class_name: str
) -> Request:
    return Request(
        namespace=spot.namespace,
        deployment=spot.name,
        workload=names.workload(spot, role),
        cluster=spot.cluster,
        pool=spot.pool(role),
        role=role,
        position="Entry",
        engine=documents.deployments[spot.deployment].spec.engine.type,
        class_name=class_name,
        accelerator=device,
        gpus=needs.gpus,
    )
