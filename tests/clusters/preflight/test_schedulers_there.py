"""Whether a cluster has the scheduler, queues and topologies that its pods name."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from fake_cluster import KINDS, FakeCluster, thing
from fake_google import FakeGoogle
from own_cluster import desired_on
from own_cluster import look as own_look

from inferfleet.clusters.preflight.observe import observe
from inferfleet.desired.values import Component, Connection, Desired, DesiredCluster, KubeObject
from inferfleet.documents.problems import Problem
from inferfleet.fleet.decisions import Plan
from inferfleet.serving.schedulers import SchedulerNeed

Start = Callable[..., FakeCluster]
OURS = {"app.kubernetes.io/managed-by": "inferfleet", "inferfleet.dev/stack": "prod"}
ALL = {
    **KINDS,
    "kueue.x-k8s.io/v1beta2": {"LocalQueue": ("localqueues", True), "Topology": ("topologies", False)},
    "scheduling.run.ai/v2": {"Queue": ("queues", False)},
    "kai.scheduler/v1alpha1": {"Topology": ("topologies", False)},
    "scheduling.volcano.sh/v1beta1": {"Queue": ("queues", False), "PodGroup": ("podgroups", True)},
    "topology.volcano.sh/v1alpha1": {"HyperNode": ("hypernodes", False)},
}
BLOCK = "x/block"
KUEUE = ("Kueue", "kueue.x-k8s.io", "LocalQueue", "ml", "team-a", ())
KAI = ("KAI", "scheduling.run.ai", "Queue", None, "team-a", ())
VOLCANO = ("Volcano", "scheduling.volcano.sh", "Queue", None, "team-a", ())
TAS = ("Kueue", "kueue.x-k8s.io", "Topology", None, None, (BLOCK,))
CLOSE = ("KAI", "kai.scheduler", "Topology", None, "racks", (BLOCK,))
TIERS = ("Volcano", "topology.volcano.sh", "HyperNode", None, None, ())


def need(*what: Any, path: str = "spec.serving.scheduler.queue") -> SchedulerNeed:
    return SchedulerNeed(*what, "ml/a", "InferenceCluster", "east", path)


def there(version: str, kind: str, name: str, namespace: str | None = None, **more: Any) -> dict[str, Any]:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **more}


def levels(*labels: str) -> dict[str, Any]:
    return {"levels": [{"nodeLabel": label} for label in labels]}


def look(fake: FakeCluster, *objects: dict[str, Any], needs: tuple[SchedulerNeed, ...] = ()) -> list[Problem]:
    components = (Component("ModelReplicas", "east", tuple(KubeObject("n", one) for one in objects)),)
    connection = Connection("east", "existing/east", "active", config_key="east")
    cluster = DesiredCluster(connection, components, scheduler_needs=needs)
    desired = Desired("prod", (cluster,), Plan(), frozenset(), ())
    return list(observe(desired, {"east": fake.kubeconfig}).problems)


THERE = [
    there(
        "kueue.x-k8s.io/v1beta2",
        "LocalQueue",
        "team-a",
        "ml",
        status={"conditions": [{"type": "Active", "status": "True"}]},
    ),
    there("kueue.x-k8s.io/v1beta2", "Topology", "gke", spec=levels(BLOCK, "kubernetes.io/hostname")),
    there("scheduling.run.ai/v2", "Queue", "team-a"),
    there("kai.scheduler/v1alpha1", "Topology", "racks", spec=levels(BLOCK)),
    there("scheduling.volcano.sh/v1beta1", "Queue", "team-a", status={"state": "Open"}),
    there("topology.volcano.sh/v1alpha1", "HyperNode", "leaf-0"),
]


def test_a_cluster_that_has_them_all_has_no_problem(cluster: Start) -> None:
    needs = tuple(need(*what) for what in (KUEUE, KAI, VOLCANO, TAS, CLOSE, TIERS))
    assert look(cluster(kinds=ALL, objects=THERE), needs=needs) == []


@pytest.mark.parametrize(
    ("what", "group", "scheduler"),
    [
        (KUEUE, "LocalQueue of kueue.x-k8s.io", "Kueue"),
        (KAI, "Queue of scheduling.run.ai", "KAI"),
        (VOLCANO, "Queue of scheduling.volcano.sh", "Volcano"),
        (TIERS, "HyperNode of topology.volcano.sh", "Volcano"),
    ],
)
def test_a_scheduler_that_is_not_installed_is_named(
    cluster: Start, what: Any, group: str, scheduler: str
) -> None:
    assert look(cluster(), needs=(need(*what),)) == [
        Problem(
            f"cluster 'east' does not know {group}: pods of deployment ml/a are handed to {scheduler}, which "
            "is not installed",
            f"Install {scheduler} there, or choose another type in spec.serving.scheduler",
            "spec.serving.scheduler.queue",
            kind="InferenceCluster",
            key="east",
        )
    ]


def test_a_cluster_to_come_has_no_scheduler_yet(google: FakeGoogle) -> None:
    desired = desired_on()
    (cluster_,) = desired.clusters
    waits = (need(*KUEUE), need(*TAS), need(*KAI))
    seen = own_look(google, replace(desired, clusters=(replace(cluster_, scheduler_needs=waits),)))
    assert seen.absent == ("east",)
    assert list(seen.problems) == [
        Problem(
            f"cluster 'east' does not exist yet, so {scheduler} is not installed there, and pods of "
            "deployment ml/a are handed to it",
            f"Create the cluster first, with replicas: 0 for its deployments, and install {scheduler} there",
            "spec.serving.scheduler",
            kind="InferenceCluster",
            key="east",
            severity="warning",
        )
        for scheduler in ("Kueue", "KAI")
    ]


@pytest.mark.parametrize(
    ("groups", "lacking"), [(["kueue.x-k8s.io", "apps"], False), (["apps"], True), ([], True), (None, False)]
)
def test_the_kinds_of_kueue_without_its_controller_are_an_error(
    cluster: Start, groups: list[str] | None, lacking: bool
) -> None:
    """It holds pods back by its webhooks; who may not read them is told nothing."""
    path = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
    items = [{"webhooks": [{"rules": [{"apiGroups": groups}]}]}]
    behind: dict[str, tuple[int, Any]] = {path: (403, {}) if groups is None else (200, {"items": items})}
    told = look(cluster(kinds=ALL, objects=THERE, behind=behind), needs=(need(*KUEUE), need(*TAS)))
    what = (
        "cluster 'east' knows the kinds of Kueue, and has no controller of theirs: no webhook of "
        "kueue.x-k8s.io is configured, so nothing holds pods of deployment ml/a back"
    )
    step = "Install Kueue there, or choose another type in spec.serving.scheduler"
    assert told == (_said(what, step) if lacking else [])


def _said(what: str, next_step: str) -> list[Problem]:
    return [Problem(what, next_step, "spec.serving.scheduler.queue", kind="InferenceCluster", key="east")]


def test_a_queue_that_is_missing_is_told_with_those_there_are(cluster: Start) -> None:
    other = there("kueue.x-k8s.io/v1beta2", "LocalQueue", "team-b", "ml")
    elsewhere = there("kueue.x-k8s.io/v1beta2", "LocalQueue", "team-a", "other")
    assert look(cluster(kinds=ALL, objects=[other, elsewhere]), needs=(need(*KUEUE),)) == _said(
        "cluster 'east' has no LocalQueue 'team-a' of Kueue in namespace ml (it has: team-b), and pods of "
        "deployment ml/a wait in it",
        "`kubectl create namespace ml` if it is not there, and create the queue there, or name one that "
        "exists",
    )
    assert look(cluster(kinds=ALL), needs=(need(*KAI),)) == _said(
        "cluster 'east' has no Queue 'team-a' of KAI (it has: none), and pods of deployment ml/a wait in it",
        "Create the queue there, or name one that exists",
    )


def test_a_queue_that_takes_nothing_says_why(cluster: Start) -> None:
    off = {"type": "Active", "status": "False", "reason": "ClusterQueueIsInactive", "message": "no flavor"}
    closed = [
        there("kueue.x-k8s.io/v1beta2", "LocalQueue", "team-a", "ml", status={"conditions": [off]}),
        there("scheduling.volcano.sh/v1beta1", "Queue", "team-a", status={"state": "Closed"}),
    ]
    found = look(cluster(kinds=ALL, objects=closed), needs=(need(*KUEUE), need(*VOLCANO)))
    step = "Mend the queue there, or name another one"
    assert found == [
        *_said(
            "LocalQueue 'team-a' of Kueue in namespace ml on cluster 'east' takes no pods (Active=False: no "
            "flavor), and those of deployment ml/a wait in it",
            step,
        ),
        *_said(
            "Queue 'team-a' of Volcano on cluster 'east' takes no pods (its state is Closed), and those of "
            "deployment ml/a wait in it",
            step,
        ),
    ]


@pytest.mark.parametrize(
    ("what", "named", "has"),
    [
        (TAS, "Topology of Kueue with level x/block", "gke: kubernetes.io/hostname"),
        (CLOSE, "Topology 'racks' of KAI with level x/block", "other: x/block; racks: x/rack"),
        (TIERS, "HyperNode of Volcano", "none"),
    ],
)
def test_a_topology_that_does_not_know_the_level_is_told_with_those_there_are(
    cluster: Start, what: Any, named: str, has: str
) -> None:
    objects = [
        there("kueue.x-k8s.io/v1beta2", "Topology", "gke", spec=levels("kubernetes.io/hostname")),
        there("kai.scheduler/v1alpha1", "Topology", "other", spec=levels(BLOCK)),
        there("kai.scheduler/v1alpha1", "Topology", "racks", spec=levels("x/rack")),
    ]
    assert look(cluster(kinds=ALL, objects=objects), needs=(need(*what),)) == _said(
        f"cluster 'east' has no {named} (it has: {has}), and the workers of deployment ml/a are to be close "
        "together",
        "Create it there, or name what exists",
    )


GROUP = there("scheduling.volcano.sh/v1beta1", "PodGroup", "a-decode-h200", "ml")


def settings(text: str) -> dict[str, Any]:
    return thing(
        "ConfigMap", "lws-manager-config", "lws-system", data={"controller_manager_config.yaml": text}
    )


def _of_cluster(what: str, next_step: str) -> list[Problem]:
    return [Problem(what, next_step, "spec.serving.scheduler", kind="InferenceCluster", key="east")]


def test_groups_of_ours_need_volcano(cluster: Start) -> None:
    assert look(cluster(), GROUP) == _of_cluster(
        "cluster 'east' does not know PodGroup of scheduling.volcano.sh/v1beta1, and PodGroup "
        "ml/a-decode-h200 holds the workers of several pods",
        "Install Volcano 1.14 or newer there, or choose another type",
    )


def test_nobody_else_makes_groups_for_the_same_pods(cluster: Start) -> None:
    on = "gangSchedulingManagement:\n  schedulerProvider: volcano\n"
    off = "leaderElection: {}\n# gangSchedulingManagement:\n#   schedulerProvider: volcano\n"
    assert look(cluster(kinds=ALL, objects=[settings(off)]), GROUP) == []
    assert look(cluster(kinds=ALL, objects=[settings(on)]), GROUP) == _of_cluster(
        "the LeaderWorkerSet controller of cluster 'east' makes PodGroups of its own "
        "(gangSchedulingManagement in lws-system/lws-manager-config), and inferfleet makes them for the same "
        "pods, which would take their room in the queue twice",
        "Remove gangSchedulingManagement from its configuration and restart it",
    )


def test_what_may_not_be_read_is_no_reason_to_stop(cluster: Start) -> None:
    path = "/api/v1/namespaces/lws-system/configmaps/lws-manager-config"
    fake = cluster(kinds=ALL, status={path: 403})
    assert look(fake, GROUP) == []
