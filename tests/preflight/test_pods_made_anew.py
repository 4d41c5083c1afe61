"""Workloads that run and get another shape: what an update is announced to do to their pods."""

from functools import partial
from typing import Any

import pytest

from inferfleet.api.problems import Problem
from inferfleet.desired.values import Component, Connection, DesiredCluster, KubeObject
from inferfleet.preflight.in_place import ports_ahead, reshaped

PREFIX = "inferfleet.dev"
PORT, TOPOLOGY = "spec.engine.port", "spec.workers.topology"
deployment_problem = partial(Problem, path=TOPOLOGY, kind="ModelDeployment", key="ml/a")
WHERE = "workload ml/a-decode-l4 on cluster 'east'"
WAIT = "Wait until the others can serve all requests without one group"


def template(*ports: int, active: bool = False) -> dict[str, Any]:
    labels = {f"{PREFIX}/deployment": "a", f"{PREFIX}/role": "decode", f"{PREFIX}/serves": "true"}
    annotations = {"inference.networking.k8s.io/active-ports": ",".join(map(str, ports))} if active else {}
    listed = [{"name": f"http-{i}" if i else "http", "containerPort": port} for i, port in enumerate(ports)]
    listed.append({"name": "metrics", "containerPort": 9090})
    engine = {"name": "engine", "ports": listed}
    return {"metadata": {"labels": labels, "annotations": annotations}, "spec": {"containers": [engine]}}


def workload(kind: str, spec: dict[str, Any], **labels: str) -> dict[str, Any]:
    return {
        "kind": kind,
        "metadata": {"name": "a-decode-l4", "namespace": "ml", "labels": labels},
        "spec": spec,
    }


def single(replicas: int = 2, pod: dict[str, Any] | None = None) -> dict[str, Any]:
    return workload("Deployment", {"replicas": replicas, "template": pod or template(8000)})


def groups(size: int, replicas: int = 2, *, surge: int = 0, **labels: str) -> dict[str, Any]:
    pods = {"size": size, "leaderTemplate": template(8000), "workerTemplate": template(8000)}
    rollout = {"rollingUpdateConfiguration": {"maxSurge": surge}}
    spec = {"replicas": replicas, "leaderWorkerTemplate": pods, "rolloutStrategy": rollout}
    return workload("LeaderWorkerSet", spec, **labels)


def pool(*ports: int) -> dict[str, Any]:
    return {
        "kind": "InferencePool",
        "metadata": {"name": "a", "namespace": "ml"},
        "spec": {"targetPorts": [{"number": port} for port in ports]},
    }


def wanting(*manifests: dict[str, Any]) -> DesiredCluster:
    objects = tuple(KubeObject("n", manifest) for manifest in manifests)
    return DesiredCluster(
        Connection("east", "existing/east", "active"), (Component("ModelReplicas", "c", objects),)
    )


def test_groups_of_another_size_are_announced_to_be_replaced() -> None:
    assert list(reshaped(wanting(groups(4)), [groups(2)])) == [
        deployment_problem(
            f"{WHERE} has 2 groups of 2 pods and would have 2 groups of 4 pods: every group is replaced, one "
            "at a time",
            WAIT,
            severity="warning",
        )
    ]


def test_a_single_group_of_another_size_is_announced_to_serve_nothing_meanwhile() -> None:
    assert list(reshaped(wanting(groups(4, 2)), [groups(2, 1)])) == [
        deployment_problem(
            f"{WHERE} has 1 group of 2 pods and would have 2 groups of 4 pods: every group is replaced, one "
            "at a time, and nothing serves until the new one is ready",
            "Add a replica in an update before this one, or write rollout: Surge where there is room",
            severity="warning",
        )
    ]
    [surging] = reshaped(wanting(groups(4, 1, surge=1)), [groups(2, 1)])
    assert surging.next_step == WAIT


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (single(), groups(2), "is a Deployment of 2 pods and would be 2 groups of 2 pods"),
        (groups(2, 1), single(1), "is 1 group of 2 pods and would be a Deployment of 1 pod"),
    ],
)
def test_a_workload_of_another_kind_is_announced_to_stand_beside_the_old_one(
    before: dict[str, Any], after: dict[str, Any], said: str
) -> None:
    assert list(reshaped(wanting(after), [before])) == [
        deployment_problem(
            f"{WHERE} {said}: the new pods are made beside the old ones, which end with the update",
            "Where there is not room for both, this update does not wait for the new pods: run the next "
            "`pulumi up` when the old ones have gone",
            severity="warning",
        )
    ]


def test_groups_of_a_role_of_its_own_are_told_where_the_role_is_written() -> None:
    before = groups(2)
    leader = before["spec"]["leaderWorkerTemplate"]["leaderTemplate"]
    leader["metadata"]["labels"][f"{PREFIX}/role"] = "encode"
    [told] = reshaped(wanting(groups(4)), [before])
    assert (told.path, told.key) == ("spec.roles.encode.workers.topology", "ml/a")


def test_kueue_takes_no_groups_of_another_size() -> None:
    managed = {"kueue.x-k8s.io/queue-name": "team-a"}
    assert list(reshaped(wanting(groups(4, **managed)), [groups(2, **managed)])) == [
        deployment_problem(
            f"{WHERE} has 2 groups of 2 pods and would have 2 groups of 4 pods, and Kueue, which manages it, "
            "takes no other size",
            "Write replicas: 0 for its deployment, run `pulumi up`, and change the topology then",
        )
    ]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (groups(2), groups(2, 3)),
        (single(), single(4)),
        (groups(2, 0), groups(4)),
        (groups(2), workload("Service", {})),
    ],
)
def test_of_more_replicas_or_none_and_of_what_leaves_nothing_is_announced(
    before: dict[str, Any], after: dict[str, Any]
) -> None:
    assert list(reshaped(wanting(after), [before])) == []


def ahead(before: str, after: str, path: str) -> list[Problem]:
    what = (
        f"pods of ml/a-decode-l4 on cluster 'east' serve on {before}, and their InferencePool would send "
        f"requests to {after} as soon as the update begins: requests fail until the pods are replaced"
    )
    next_step = (
        "If they must not, write a deployment of another name beside this one, let services select both, and "
        "remove this one once the other serves"
    )
    return [Problem(what, next_step, path, kind="ModelDeployment", key="ml/a", severity="warning")]


@pytest.mark.parametrize(
    ("pod", "ports", "announced"),
    [
        (template(8000), (8000,), []),
        (template(8000), (8100,), ahead("port 8000", "port 8100", PORT)),
        (template(8000), (8000, 8001), ahead("port 8000", "ports 8000, 8001", TOPOLOGY)),
        (
            template(8000, 8001, active=True),
            (8100, 8101),
            ahead("ports 8000, 8001", "ports 8100, 8101", PORT),
        ),
        (template(8000, 8001, active=True), (8000, 8001, 8002), []),
        (template(8000, 8001, active=True), (8000,), []),
        (template(), (8000,), []),
    ],
)
def test_ports_of_a_pool_that_pods_do_not_serve_on_are_announced(
    pod: dict[str, Any], ports: tuple[int, ...], announced: list[Problem]
) -> None:
    assert list(ports_ahead(wanting(pool(*ports)), [single(pod=pod)])) == announced


def test_pods_that_take_no_requests_and_those_of_no_pool_have_no_ports_to_announce() -> None:
    silent = template(8000)
    silent["metadata"]["labels"] = {f"{PREFIX}/deployment": "a"}
    assert list(ports_ahead(wanting(pool(8100)), [single(pod=silent), single(replicas=0)])) == []
    assert list(ports_ahead(wanting(), [single()])) == []
