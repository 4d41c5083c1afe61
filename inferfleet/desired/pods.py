"""Pod templates of a placement: checked for contradictions, generated, and edited by the plugin chain."""

from dataclasses import dataclass

from inferfleet.api.documents import Documents
from inferfleet.api.problems import Problem
from inferfleet.desired.chains import Chains
from inferfleet.desired.pod_security import risk_problems
from inferfleet.desired.request import request
from inferfleet.fleet.shapes import accelerator
from inferfleet.fleet.spot import Spot
from inferfleet.gke.settings.nodes import pod_taints
from inferfleet.gke.values import CloudCluster
from inferfleet.manifests.pod.clashes import clashes, fractional_bytes, refused
from inferfleet.manifests.pod.hardware import hardware
from inferfleet.manifests.pod.template import pod_template
from inferfleet.plugins import chain
from inferfleet.plugins.findings import Finding


@dataclass(frozen=True)
class Pods:
    """The pods of one role of a placement, after the chain."""

    spot: Spot
    role: str
    outcome: chain.Outcome
    autoscaled: bool


def pods(
    documents: Documents, spot: Spot, chains: Chains, cloud: CloudCluster | None
) -> tuple[tuple[Pods, ...], tuple[Problem, ...], tuple[Finding, ...]]:
    """Return the pods of every role of the spot, their problems, and what plugins did wrong.

    `cloud` is the spot's cluster in Google Cloud, where the stack creates it.
    """
    findings: list[Finding] = []
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
        every_link = chains.of(spot, class_name=pool.class_name)
        outcome = chain.run(
            generated,
            request(
                documents,
                spot,
                role,
                class_name=pool.class_name,
                device=device,
                needs=needs,
                cloud=cloud.gpu_pools.get(pool_name) if cloud else None,
            ),
            every_link,
        )
        problems += outcome.problems
        findings += outcome.findings
        links = [bound.link for bound in every_link]
        problems += risk_problems(deployment, outcome, links, documents.settings)
        made.append(Pods(spot, role, outcome, pool.autoscaled))
    return tuple(made), tuple(problems), tuple(findings)
