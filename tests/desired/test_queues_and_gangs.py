"""Queues and schedulers of a whole stack: whose word counts, what stands where, what contradicts."""

from collections.abc import Iterator
from typing import Any

import pytest
from small_stack import Document, after, cluster, deployment, find, made

from inferfleet.desired.values import Desired
from inferfleet.documents.problems import InvalidDocuments, Problem, joined
from inferfleet.serving.schedulers import SchedulerNeed

WORKLOAD = "east/ml/a-decode-l4"
GATEWAY = {"className": "any"}


def east(**scheduler: Any) -> Document:
    return cluster("east", serving={"gateway": GATEWAY, "scheduler": scheduler})


def labels(found: Desired) -> dict[str, str]:
    """Of the workload, as far as they are no label of ours."""
    every = find(found, "Deployment", WORKLOAD).manifest["metadata"]["labels"]
    return {
        key: value for key, value in every.items() if "inferfleet" not in value and "inferfleet" not in key
    }


def problems(*documents: Document) -> list[Problem]:
    with pytest.raises(InvalidDocuments) as raised:
        made(*documents)
    return list(raised.value.problems)


def test_a_stack_that_says_nothing_of_schedulers_is_what_it_was() -> None:
    assert made(cluster("east"), deployment("a")) == made(east(type="None"), deployment("a", scheduler={}))


def test_the_queue_of_a_cluster_is_that_of_its_deployments_but_of_those_that_name_another() -> None:
    kueue = east(type="Kueue", queue="shared")
    assert labels(made(kueue, deployment("a"))) == {"kueue.x-k8s.io/queue-name": "shared"}
    own = deployment("a", scheduler={"queue": "team-a"})
    assert labels(made(kueue, own)) == {"kueue.x-k8s.io/queue-name": "team-a"}


def test_a_deployment_with_another_type_takes_nothing_of_its_cluster() -> None:
    kueue = east(type="Kueue", queue="shared")
    assert labels(made(kueue, deployment("a", scheduler={"type": "None"}))) == {}
    kai = deployment("a", scheduler={"type": "KAI", "queue": "team-a"})
    assert labels(made(kueue, kai)) == {"kai.scheduler/queue": "team-a"}


def test_a_group_of_ours_stands_before_the_workload_whose_pods_name_it() -> None:
    found = made(
        east(type="Volcano", queue="team-a"),
        deployment("a", scheduler={"gang": {"minRoleReplicas": {"decode": 1}}}),
    )
    group = find(found, "PodGroup", "east/ml/a-l4-gang").manifest
    assert group["spec"] == {
        "queue": "team-a",
        "minMember": 1,
        "minResources": {"nvidia.com/gpu": "1"},
        "subGroupPolicy": [
            {
                "name": "decode",
                "labelSelector": {
                    "matchLabels": find(found, "Deployment", WORKLOAD).manifest["spec"]["selector"][
                        "matchLabels"
                    ]
                },
                "subGroupSize": 1,
                "minSubGroups": 1,
            }
        ],
    }
    pods = find(found, "Deployment", WORKLOAD).manifest["spec"]["template"]
    assert (pods["spec"]["schedulerName"], pods["metadata"]["annotations"]) == (
        "volcano",
        {"scheduling.k8s.io/group-name": "a-l4-gang"},
    )
    assert "PodGroup east/ml/a-l4-gang" in after(found, "Deployment", WORKLOAD)


def test_preflight_is_told_once_which_queues_must_be_there() -> None:
    found = made(
        east(type="Kueue", queue="shared"),
        deployment("a"),
        deployment("b"),
        deployment("c", scheduler={"queue": "own"}),
    )
    kind = ("Kueue", "kueue.x-k8s.io", "LocalQueue", "ml")
    assert found.clusters[0].scheduler_needs == (
        SchedulerNeed(
            *kind, "shared", (), "ml/a", "InferenceCluster", "east", "spec.serving.scheduler.queue"
        ),
        SchedulerNeed(*kind, "own", (), "ml/c", "ModelDeployment", "ml/c", "spec.scheduler.queue"),
    )


def _contradictions() -> Iterator[Any]:
    kueue = east(type="Kueue", queue="shared")
    plugin = {"name": "scheduler", "config": {"system": "KAI", "queue": "team-a"}}
    yield pytest.param(
        (kueue, deployment("a", plugins=[plugin])),
        Problem(
            "pods of deployment ml/a, role decode, have kai.scheduler/queue 'team-a' from plugin scheduler, "
            "and spec.serving.scheduler of cluster east says Kueue, whose queue is shared",
            "Remove it there, and say in queue of the block scheduler what is meant",
            "spec.plugins[0]",
            kind="ModelDeployment",
            key="ml/a",
            about="cluster east",
        ),
        id="setting and plugin",
    )
    yield pytest.param(
        (east(type="KAI", queue="x"), deployment("a", pod={"schedulerName": "default-scheduler"})),
        Problem(
            "pods of deployment ml/a, role decode, have schedulerName 'default-scheduler', and "
            "spec.serving.scheduler of cluster east says KAI, whose schedulerName is kai-scheduler",
            "Remove it there, and say in schedulerName of the block scheduler what is meant",
            "spec.workers.template.spec.schedulerName",
            kind="ModelDeployment",
            key="ml/a",
            about="cluster east",
        ),
        id="template with another scheduler",
    )
    named = [{"name": "scheduler", "config": {"schedulerName": "volcano-2"}}]
    yield pytest.param(
        (cluster("east"), deployment("a", scheduler={"type": "Volcano"}, plugins=named)),
        Problem(
            "pods of deployment ml/a, role decode, have schedulerName 'volcano-2' from plugin scheduler, and "
            "its spec.scheduler says Volcano, whose schedulerName is volcano",
            "Remove it there, and say in schedulerName of the block scheduler what is meant",
            "spec.plugins[0]",
            kind="ModelDeployment",
            key="ml/a",
            about="cluster east",
        ),
        id="plugin with another scheduler",
    )
    yield pytest.param(
        (east(type="Kueue"), deployment("a")),
        Problem(
            "pods of deployment ml/a wait in a queue of Kueue on cluster east, and nobody names it",
            "Write scheduler.queue, the name of a LocalQueue in namespace ml, here or as "
            "spec.serving.scheduler.queue of the cluster",
            "spec.scheduler",
            kind="ModelDeployment",
            key="ml/a",
            about="cluster east",
        ),
        id="nobody names the queue",
    )
    yield pytest.param(
        (cluster("east"), deployment("a", scheduler={"queue": "team-a"})),
        Problem(
            "deployment ml/a on cluster east: queue is for a scheduler with queues, and type is None",
            "Write type: Volcano, KAI or Kueue, or remove queue",
            "spec.scheduler.queue",
            kind="ModelDeployment",
            key="ml/a",
            about="cluster east",
        ),
        id="queue of nobody",
    )
    yield pytest.param(
        (kueue, deployment("a", scheduler={"topology": {"required": "x/block"}})),
        Problem(
            "topology says how close the pods of one worker are, and workers of deployment ml/a on cluster "
            "east have one pod",
            "Remove topology",
            "spec.scheduler.topology",
            kind="ModelDeployment",
            key="ml/a",
            about="cluster east",
        ),
        id="topology of single pods",
    )
    yield pytest.param(
        (kueue, deployment("a", scheduler={"gang": {"minRoleReplicas": {"decode": 1}}})),
        Problem(
            "deployment ml/a on cluster east: gang is done by PodGroups of Volcano, and type is Kueue",
            "Write type: Volcano, or remove gang",
            "spec.scheduler.gang",
            kind="ModelDeployment",
            key="ml/a",
            about="cluster east",
        ),
        id="gang without Volcano",
    )
    gang = {"type": "Volcano", "gang": {"minRoleReplicas": {"decode": 2}}}
    yield pytest.param(
        (kueue, deployment("a", scheduler=gang)),
        Problem(
            "the gang of deployment ml/a waits for 2 workers of role decode, and a replica has 1 "
            "(spec.workers.count)",
            "Write at most 1",
            "spec.scheduler.gang.minRoleReplicas.decode",
            kind="ModelDeployment",
            key="ml/a",
        ),
        id="gang larger than a replica",
    )


@pytest.mark.parametrize(("documents", "problem"), list(_contradictions()))
def test_what_contradicts_names_both_sides(documents: tuple[Document, ...], problem: Problem) -> None:
    assert problems(*documents) == [problem]


def test_the_plugin_is_there_for_priorities_and_for_clusters_that_say_nothing() -> None:
    priority = [{"name": "scheduler", "config": {"priorityClassName": "serving"}}]
    found = made(east(type="Kueue", queue="shared"), deployment("a", plugins=priority))
    template = find(found, "Deployment", WORKLOAD).manifest["spec"]["template"]
    assert (template["spec"]["priorityClassName"], labels(found)) == (
        "serving",
        {"kueue.x-k8s.io/queue-name": "shared"},
    )
    queue = [{"name": "scheduler", "config": {"system": "KAI", "queue": "team-a"}}]
    assert labels(made(cluster("east"), deployment("a", plugins=queue))) == {}


def test_what_is_wrong_on_several_clusters_is_told_once_with_all_of_them() -> None:
    east_and_west = [
        cluster(name, serving={"gateway": GATEWAY, "scheduler": {"type": "Kueue", "queue": "shared"}})
        for name in ("east", "west")
    ]
    close = deployment("a", replicas=2, scheduler={"topology": {"required": "x/block"}})
    assert [problem.what for problem in joined(problems(*east_and_west, close))] == [
        "topology says how close the pods of one worker are, and workers of deployment ml/a on cluster east "
        "have one pod (also cluster west)"
    ]
