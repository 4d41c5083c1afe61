"""What runs the pods of a role: its Deployment, or its LeaderWorkerSet where workers have many pods; how long
an update waits for either; the Service by which other roles reach a role; and of how many pods a drain may
take.

Sources: of LeaderWorkerSets kubernetes-sigs/lws v0.9.0, api/leaderworkerset/v1/leaderworkerset_types.go and
pkg/controllers; of disruption budgets https://kubernetes.io/docs/concepts/workloads/pods/disruptions/ and
https://kubernetes.io/docs/tasks/run-application/configure-pdb/, 2026-08.
"""

import copy
import json
from collections.abc import Container, Mapping
from typing import Any

from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.fleet import names
from inferfleet.fleet.roles import engine_of, port_of, roles_of, startup_of, workers_of
from inferfleet.fleet.spot import Spot
from inferfleet.serving.metadata import SKIP_AWAIT, WAIT_FOR, metadata
from inferfleet.serving.pod.template import PORT_NAME, port_names

WORKER_SET_API, WORKER_SET = "leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet"
DISRUPTION_BUDGET = "PodDisruptionBudget"
# Digits of the hash in the annotation by which an update knows what it wrote.
_DIGITS = 12
# By it an update takes fields over that somebody else has set (metadata.AnnotationPatchForce in
# pulumi-kubernetes 4.25); without it such an update fails with a conflict.
PATCH_FORCE = "pulumi.com/patchForce"
# A GPU node that has to be created first, with its driver: 5 to 10 minutes on GKE.
SCALE_UP = 600
# Engine images have 10 to 25 GB; at 30 MB/s that is 6 to 14 minutes.
IMAGE_PULL = 900
# 68 years. Pulumi counts nanoseconds in 64 bits, which end after 292 years.
LONGEST = 2**31 - 1


def workload(
    *,
    deployment: ModelDeployment,
    spot: Spot,
    role: str,
    replicas: int,
    least: int | None = None,
    template: dict[str, Any],
    deadline: int,
    stack: str,
    plugins: str = "",
) -> dict[str, Any]:
    """Return the Deployment of one role: `replicas` with `workers.count` pods each.

    `template` comes out of the plugin chain. `deadline` (seconds, from `progress_deadline`) bounds a rollout
    without progress: with Kubernetes' 600 s a model that loads for longer would be reported as failed.
    `plugins` are those that shaped the pods. Scaled replicas are `least` of them at least.
    """
    surge = deployment.spec.rollout == "Surge"
    scaled = "" if least is None else f"{least}-{replicas}"
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": _metadata(
            names.workload(spot, role),
            spot=spot,
            role=role,
            stack=stack,
            plugins=plugins,
            scaled=scaled,
        ),
        "spec": {
            "replicas": replicas * workers_of(deployment, role).count,
            "selector": {"matchLabels": names.workload_selector(spot, role)},
            "strategy": {
                "type": "RollingUpdate",
                "rollingUpdate": {
                    "maxSurge": 1 if surge else 0,
                    "maxUnavailable": 0 if surge else 1,
                },
            },
            "progressDeadlineSeconds": deadline,
            # Ten, the default, are ten old ReplicaSets per placement to look through.
            "revisionHistoryLimit": 2,
            "template": copy.deepcopy(template),
        },
    }


def worker_set(
    *,
    deployment: ModelDeployment,
    spot: Spot,
    role: str,
    replicas: int,
    least: int | None = None,
    size: int,
    entry: Mapping[str, Any],
    follower: Mapping[str, Any],
    stack: str,
    plugins: str = "",
) -> dict[str, Any]:
    """Return the LeaderWorkerSet of one role: `replicas` with `workers.count` groups of `size` pods each.

    `entry` and `follower` are pod templates that come out of the plugin chain. Their names and that of a
    headless Service are the controller's. `plugins` are those that shaped the pods.
    """
    surge = deployment.spec.rollout == "Surge"
    scaled = "" if least is None else f"{least}-{replicas}"
    spec = {
        "replicas": replicas * workers_of(deployment, role).count,
        # Engines are ready once all pods of a group have joined, so no leader is ready before followers are.
        "startupPolicy": "LeaderCreated",
        "rolloutStrategy": {
            "type": "RollingUpdate",
            # With both a spare group would begin and an old one end at once.
            "rollingUpdateConfiguration": {
                "maxUnavailable": 0 if surge else 1,
                "maxSurge": 1 if surge else 0,
            },
        },
        "leaderWorkerTemplate": {
            "size": size,
            # An engine in many pods does not take back one that has lost what it had in memory.
            "restartPolicy": "RecreateGroupOnPodRestart",
            "leaderTemplate": copy.deepcopy(dict(entry)),
            "workerTemplate": copy.deepcopy(dict(follower)),
        },
    }
    return {
        "apiVersion": WORKER_SET_API,
        "kind": WORKER_SET,
        "metadata": _metadata(
            names.worker_set(spot, role),
            spot=spot,
            role=role,
            stack=stack,
            plugins=plugins,
            scaled=scaled,
        ),
        "spec": spec,
    }


def _metadata(name: str, *, spot: Spot, role: str, stack: str, plugins: str, scaled: str) -> dict[str, Any]:
    """Return the metadata of a workload: which `plugins` shaped its pods, and between which numbers it is
    `scaled`, "" for none of both.

    Plugins stand here because whatever changes in a pod template restarts pods.
    """
    return metadata(
        name,
        stack=stack,
        namespace=spot.namespace,
        deployment=spot.deployment,
        labels=names.workload_selector(spot, role),
        annotations={
            **({names.PLUGINS: plugins} if plugins else {}),
            **({names.REPLICAS: scaled} if scaled else {}),
        },
    )


def progress_deadline(
    *, deployment: ModelDeployment, role: str, autoscaled: bool, template: dict[str, Any]
) -> int:
    """Return the seconds that one pod may take to replace another, or one group of pods another, since the
    pods of a group start together. They do not depend on replicas.
    """
    drain: int = template["spec"].get("terminationGracePeriodSeconds", 30)
    return (SCALE_UP if autoscaled else 0) + drain + IMAGE_PULL + startup_of(engine_of(deployment, role))


def await_seconds(*, deployment: ModelDeployment, role: str, replicas: int, deadline: int) -> int:
    """Return the seconds that a role's workload may take: its pods or groups may roll one after another."""
    return min(max(replicas * workers_of(deployment, role).count, 1) * deadline, LONGEST)


def awaited(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return the finished LeaderWorkerSet with what an update waits for: all groups of this very spec ready.

    The provider takes a condition only of the generation of the object that it looks at, and what it looks at
    first may be a copy from before the update, whose condition is of its own generation. That copy has
    another hash. (pulumi-kubernetes 4.25, pkg/await/condition/kubectl.go; LeaderWorkerSets have generations
    in their conditions since 0.9.0.)
    """
    spec = manifest["spec"]
    if names.REPLICAS in manifest["metadata"].get("annotations", {}):
        # Another number of replicas is none of an update, so there is nothing to wait for.
        spec = {field: value for field, value in spec.items() if field != "replicas"}
    spec_digest = names.digest(spec, _DIGITS)
    path = f"{{.metadata.annotations['{names.SPEC}']}}"
    waits = json.dumps(["condition=Available", f"jsonpath={path}={spec_digest}"], separators=(",", ":"))
    return _annotated(manifest, {names.SPEC: spec_digest, WAIT_FOR: waits})


def unawaited(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return the object with the annotation that lets an update go on before it, or its pods, are ready."""
    return _annotated(manifest, {SKIP_AWAIT: "true"})


def forced(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return the object with the annotation by which an update sets also what somebody else has set."""
    return _annotated(manifest, {PATCH_FORCE: "true"})


def _annotated(manifest: dict[str, Any], more: Mapping[str, str]) -> dict[str, Any]:
    metadata = manifest["metadata"]
    annotations = {**metadata.get("annotations", {}), **more}
    return {**manifest, "metadata": {**metadata, "annotations": annotations}}


def bounds(workload: Mapping[str, Any]) -> tuple[int, int] | None:
    """Return between which numbers a workload is scaled, None where an update says how many there are."""
    text = (workload["metadata"].get("annotations") or {}).get(names.REPLICAS, "")
    least, _, most = str(text).partition("-")
    return (int(least), int(most)) if least.isdecimal() and most.isdecimal() else None


def most_of(workload: Mapping[str, Any]) -> int:
    """Return how many pods, or groups of pods, a workload may have."""
    scaled = bounds(workload)
    return scaled[1] if scaled else int(workload["spec"].get("replicas", 1))


def pods_of(workload: Mapping[str, Any]) -> int:
    """Return how many pods a workload has."""
    spec = workload["spec"]
    group = spec.get("leaderWorkerTemplate") or {}
    return int(spec.get("replicas", 1)) * int(group.get("size", 1))


def templates_of(workload: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
    """Return the pod templates of a workload, the one of the pods that serve first."""
    spec = workload["spec"]
    if "template" in spec:
        return (spec["template"],)
    group = spec["leaderWorkerTemplate"]
    follower: dict[str, Any] = group["workerTemplate"]
    return (group.get("leaderTemplate") or follower, follower)


def role_service(*, deployment: ModelDeployment, role: str, stack: str) -> dict[str, Any]:
    """Return the Service over the pods that answer for a role on one cluster, on the port of its engine.

    Nothing waits for it: the provider would wait for endpoints, and its pods are awaited themselves.
    """
    key = deployment.metadata.key
    return unawaited(
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": _role_metadata(deployment, role, stack),
            "spec": {
                "selector": names.role_selector(key, role),
                "ports": [
                    {
                        "name": PORT_NAME,
                        "protocol": "TCP",
                        "port": port_of(engine_of(deployment, role)),
                        "targetPort": port_names(deployment, role)[0],
                    }
                ],
            },
        }
    )


def disruption_budgets(
    *, deployment: ModelDeployment, stack: str, replicas: int, elsewhere: Container[str] = ()
) -> tuple[dict[str, Any], ...]:
    """Return the budgets of roles that have two pods or more on a cluster, or two groups of pods or more.

    One budget covers a role in all of its placements on a cluster, so two replicas on two pools are as safe
    as two on one. It counts for evictions alone (`kubectl drain`, upgrades of nodes, autoscalers); what an
    update or `pulumi destroy` deletes, and what a rollout replaces, it does not hold up.

    `replicas` are those of the cluster, of a range the most. For the roles in `elsewhere` a plugin brings a
    budget: Kubernetes evicts no pod that two budgets are about. Pickers have none: of several the leader
    alone is ready, so a budget would keep it on its node for ever.
    """
    if deployment.spec.disruption_budget == "None":
        return ()
    return tuple(
        _disruption_budget(deployment, role, stack)
        for role in roles_of(deployment)
        if role not in elsewhere and replicas * workers_of(deployment, role).count > 1
    )


def _disruption_budget(deployment: ModelDeployment, role: str, stack: str) -> dict[str, Any]:
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
        "kind": DISRUPTION_BUDGET,
        "metadata": _role_metadata(deployment, role, stack),
        "spec": {
            "maxUnavailable": 1,
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
            "selector": {"matchLabels": names.deployment_selector(key, "") | {names.ROLE: role}},
        },
    }


def _role_metadata(deployment: ModelDeployment, role: str, stack: str) -> dict[str, Any]:
    """Return the metadata of an object for a role in all of its placements on a cluster."""
    key = deployment.metadata.key
    return metadata(
        names.of_role(key, role),
        stack=stack,
        namespace=deployment.metadata.namespace,
        deployment=key,
        labels={names.ROLE: role},
    )
