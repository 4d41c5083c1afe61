"""Workers of many pods on a cluster with the real LeaderWorkerSet controller."""

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from closed import beyond_loopback, listening, open_to_others
from documents import cluster
from leader_worker_sets import COPIES, HEADLESS, JOINED, NODES, SGLANG, START_RANK, worker_set
from project import Project
from reaching import pod_url
from sandboxes import running

from sandbox import clusters
from sandbox.lws import installation
from sandbox.lws.controller import PROGRAM
from sandbox.places import StackPlaces
from sandbox.processes import processes_in
from sandbox.verbs.chat import Answer, SandboxProblem, chat

STACK, CLUSTER = "groups", "east"
SECONDS = 600.0
SET = "leaderworkerset.sigs.k8s.io/name"

Pods = dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """A cluster with the controller, which documents cannot ask for yet."""
    root = tmp_path_factory.mktemp("groups")
    installation.want(StackPlaces(root, STACK))
    nodes = cluster(CLUSTER, stack=STACK, pools={"l4": ("nvidia-l4-4x", 6)})
    with running(root, STACK, nodes) as project:
        project.kubectl(CLUSTER, "create", "namespace", "ml")
        yield project


@pytest.fixture(scope="module")
def kimi(fleet: Project) -> Project:
    """Two groups of two pods, which are all ready."""
    apply(fleet, worker_set("kimi", f"{JOINED} {HEADLESS}", replicas=2))
    available(fleet, "kimi")
    return fleet


def apply(project: Project, *sets: dict[str, Any]) -> None:
    file = project.root / "sets.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": sets}))
    project.kubectl(CLUSTER, "apply", "-f", str(file))


def available(project: Project, name: str) -> None:
    flags = ("-n", "ml", "--for=condition=Available", f"--timeout={SECONDS:g}s")
    project.kubectl(CLUSTER, "wait", "leaderworkerset", name, *flags)


def pods(project: Project, name: str) -> Pods:
    listed = project.items(CLUSTER, "pods", "-l", f"{SET}={name}")
    return {pod["metadata"]["name"]: pod for pod in listed}


def until(project: Project, name: str, holds: Callable[[Pods], bool]) -> Pods:
    """The pods of a set once something holds of them."""
    end = time.monotonic() + SECONDS
    while not holds(seen := pods(project, name)):
        assert time.monotonic() < end, json.dumps({key: pod["status"] for key, pod in seen.items()}, indent=1)
        time.sleep(0.5)
    return seen


def ready(pod: dict[str, Any]) -> bool:
    conditions = pod["status"].get("conditions", [])
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def words(pod: dict[str, Any]) -> str:
    """With what the engine's container ended last."""
    [status] = pod["status"].get("containerStatuses") or [{}]
    ends = [status.get(state, {}).get("terminated", {}) for state in ("state", "lastState")]
    return next((str(end["message"]) for end in ends if "message" in end), "")


def test_groups_become_ready_and_their_leaders_answer(kimi: Project) -> None:
    seen = pods(kimi, "kimi")
    assert {name: ready(pod) for name, pod in seen.items()} == dict.fromkeys(
        ("kimi-0", "kimi-0-1", "kimi-1", "kimi-1-1"), True
    )
    for leader in ("kimi-0", "kimi-1"):
        text = f"some/model on ml/{leader}: you said 1 tokens, 'ping'"
        way = pod_url(kimi, CLUSTER, seen[leader])
        assert chat(way, "some/model", "ping") == Answer(text, "some/model", f"ml/{leader}")
        with pytest.raises(SandboxProblem, match="does not answer"):
            chat(pod_url(kimi, CLUSTER, seen[f"{leader}-1"]), "some/model", "ping")


def test_a_killed_follower_restarts_its_whole_group_and_no_other(kimi: Project) -> None:
    before = {name: pod["metadata"]["uid"] for name, pod in pods(kimi, "kimi").items()}
    clusters.kill(kimi.root, STACK, CLUSTER, "ml/kimi-1-1")

    def again(seen: Pods) -> bool:
        restarted = all(
            name in seen and seen[name]["metadata"]["uid"] != before[name] for name in ("kimi-1", "kimi-1-1")
        )
        return restarted and len(seen) == 4 and all(map(ready, seen.values()))

    seen = until(kimi, "kimi", again)
    assert {name for name, pod in seen.items() if pod["metadata"]["uid"] == before[name]} == {
        "kimi-0",
        "kimi-0-1",
    }
    assert [pod["status"]["containerStatuses"][0]["restartCount"] for pod in seen.values()] == [0] * 4
    assert chat(pod_url(kimi, CLUSTER, seen["kimi-1"]), "some/model", "ping").pod == "ml/kimi-1"


# By the name of the set: what each pod is started with, and what both of its pods say in the end.
WRONG = {
    "rank": (f"{NODES} --node-rank $((LWS_WORKER_INDEX * 2)) --master-addr $LWS_LEADER_ADDRESS {HEADLESS}",
             ("1/2 clients joined", "node_rank=2 must be less than nnodes=2")),
    "twice": (f"{COPIES} {HEADLESS}", ("rank 0 joined twice; the second is ml/twice-0-1",) * 2),
    "size": (f"{COPIES.replace('LWS_GROUP_SIZE', '(LWS_WORKER_INDEX + 2)')} {START_RANK} {HEADLESS}",
             ("Configuration mismatch detected for rank 2 (ml/size-0-1)",) * 2),
    "address": (f"{NODES} --node-rank $LWS_WORKER_INDEX --master-addr nobody.address.ml {HEADLESS}",
                ("network addresses of (nobody.address.ml, 29501) cannot be retrieved",) * 2),
    "alone": (f"{JOINED} --master-port $((LWS_WORKER_INDEX + 29501)) {HEADLESS}",
              ("1/2 clients joined", "while trying to connect to (alone-0.alone.ml, 29502)")),
    "speaking": (JOINED, ("1/2 clients joined", "collective_rpc should not be called on follower node")),
}  # fmt: skip


@pytest.fixture(scope="module")
def wrong(fleet: Project) -> Project:
    """Sets whose pods do not fit together, all at once because some of them give up only after a minute."""
    # With its usual policy the controller would delete the pods, and their words with them.
    sets = [
        worker_set(name, script, restart="None", gpus=2 if "--data-parallel-size" in script else 1)
        for name, (script, _) in WRONG.items()
    ]
    apply(fleet, *sets)
    return fleet


@pytest.mark.parametrize("name", WRONG)
def test_pods_that_do_not_fit_together_say_so_in_their_status(wrong: Project, name: str) -> None:
    leader, follower = WRONG[name][1]

    def said(seen: Pods) -> bool:
        return leader in words(seen.get(f"{name}-0", {"status": {}})) and follower in words(
            seen.get(f"{name}-0-1", {"status": {}})
        )

    seen = until(wrong, name, said)
    assert not ready(seen[f"{name}-0"])
    wrong.kubectl(CLUSTER, "delete", "leaderworkerset", name, "-n", "ml")


def test_copies_of_a_model_answer_on_ports_of_their_own(fleet: Project) -> None:
    apply(fleet, worker_set("wide", f"{COPIES} {START_RANK} --data-parallel-multi-port-external-lb", gpus=2))
    available(fleet, "wide")
    for name, pod in until(
        fleet, "wide", lambda seen: len(seen) == 2 and all(map(ready, seen.values()))
    ).items():
        for port in (8000, 8001):
            assert chat(pod_url(fleet, CLUSTER, pod, port), "some/model", "ping").pod == f"ml/{name}"


def test_nodes_of_sglang_join_their_leader(fleet: Project) -> None:
    apply(fleet, worker_set("deep", SGLANG))
    available(fleet, "deep")
    seen = pods(fleet, "deep")
    assert chat(pod_url(fleet, CLUSTER, seen["deep-0"], 30000), "some/model", "ping").pod == "ml/deep-0"
    with pytest.raises(SandboxProblem, match="404"):
        chat(pod_url(fleet, CLUSTER, seen["deep-0-1"], 30000), "some/model", "ping")


@pytest.mark.parametrize(
    ("name", "spec", "says"),
    [
        ("still", {"rolloutStrategy": {"type": "RollingUpdate", "rollingUpdateConfiguration":
                                       {"maxUnavailable": 0, "maxSurge": 0}}},
         "must not be 0 when `maxSurge` is 0"),
        ("1st", {}, "a DNS-1035 label must consist of lower case alphanumeric characters"),
    ],
)  # fmt: skip
def test_a_set_that_the_controller_refuses_is_refused(
    fleet: Project, name: str, spec: dict[str, Any], says: str
) -> None:
    with pytest.raises(RuntimeError, match=says):
        apply(fleet, worker_set(name, JOINED, **spec))


def test_the_controller_is_closed_to_others(kimi: Project) -> None:
    folder = StackPlaces(kimi.root, STACK).folder
    heard = listening(processes_in(folder))
    assert [len(addresses) for (program, _), addresses in heard.items() if program == PROGRAM] == [1]
    assert (beyond_loopback(heard), open_to_others(folder)) == ([], [])


def test_a_stopped_cluster_starts_with_its_controller(kimi: Project) -> None:
    assert clusters.stop(kimi.root, STACK, CLUSTER) > 0
    assert processes_in(StackPlaces(kimi.root, STACK).folder) == ()
    clusters.start(kimi.root, STACK, CLUSTER)
    apply(kimi, worker_set("kimi", f"{JOINED} {HEADLESS}", replicas=1))
    until(
        kimi, "kimi", lambda seen: sorted(seen) == ["kimi-0", "kimi-0-1"] and all(map(ready, seen.values()))
    )
