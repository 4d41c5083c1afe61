"""PodDisruptionBudgets of a deployment on one cluster: of how many pods a drain may take at a time.

One budget covers a role in all of its placements there, so two replicas on two pools are as safe as two on
one. It counts for evictions alone (`kubectl drain`, upgrades of nodes, autoscalers); what an update or
`pulumi destroy` deletes, and what a rollout replaces, it does not hold up.
Source: https://kubernetes.io/docs/concepts/workloads/pods/disruptions/ and
https://kubernetes.io/docs/tasks/run-application/configure-pdb/, 2026-08.
"""

from collections.abc import Container
from typing import Any

from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.fleet import names
from inferfleet.fleet.roles import roles_of, workers_of
from inferfleet.serving.metadata import metadata

KIND = "PodDisruptionBudget"


def budgets(
    *, deployment: ModelDeployment, stack: str, replicas: int, elsewhere: Container[str] = ()
) -> tuple[dict[str, Any], ...]:
    """Return the budgets of roles that have two pods or more on a cluster, or two groups of pods or more.

    `replicas` are those of the cluster, of a range the most. For the roles in `elsewhere` a plugin brings a
    budget: Kubernetes evicts no pod that two budgets are about. Pickers have none: of several the leader
    alone is ready, so a budget would keep it on its node for ever.
    """
    if deployment.spec.disruption_budget == "None":
        return ()
    return tuple(
        _budget(deployment, role, stack)
        for role in roles_of(deployment)
        if role not in elsewhere and replicas * workers_of(deployment, role).count > 1
    )


def _budget(deployment: ModelDeployment, role: str, stack: str) -> dict[str, Any]:
    """Return a budget of one pod.

    Not `minAvailable`: scaled down to that number, no pod could be drained at all. Of groups all pods count.
    Budgets know no groups (KEP-5682, https://github.com/kubernetes/enhancements/pull/5671, open 2026-09), and
    a group ends with any of its pods: once one is evicted, more than one is missing until the group is back,
    so no other group loses one. Counting leaders alone would let each follower end a group of its own; as
    many pods as a group has, each of another group. Pods that are not ready may always go: they serve nobody,
    and one that never gets ready would hold up a drain (Kubernetes 1.27 and later).
    """
    key = deployment.metadata.key
    return {
        "apiVersion": "policy/v1",
        "kind": KIND,
        "metadata": metadata(
            names.of_role(key, role),
            stack=stack,
            namespace=deployment.metadata.namespace,
            deployment=key,
            labels={names.ROLE: role},
        ),
        "spec": {
            "maxUnavailable": 1,
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
            "selector": {"matchLabels": names.deployment_selector(key, "") | {names.ROLE: role}},
        },
    }
