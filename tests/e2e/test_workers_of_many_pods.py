"""Workers of many pods from documents to answers, with the real controller of LeaderWorkerSets."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from asking import Answer, asked_all_the_time, serving, until, url
from documents import cluster, deployment, model
from groups import grouped, workers
from project import Project, Run

from sandbox import clusters

STACK, CLUSTER = "many", "east"
NEXT = "docker.io/vllm/vllm-openai:v0.33.0"
LAST = "docker.io/vllm/vllm-openai:v0.32.0"
SET = f"LeaderWorkerSet {CLUSTER}/ml/kimi-decode-l4"

Pods = dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """Two replicas of one deployment, each a group of two pods on nodes of their own."""
    from sandboxes import running

    root = tmp_path_factory.mktemp("many")
    nodes = cluster(CLUSTER, stack=STACK, pools={"l4": ("nvidia-l4-4x", 3)})
    with running(root, STACK, nodes, grouped("kimi")) as project:
        project.begin(clusters=[nodes], models=[grouped("kimi", replicas=2)])
        done = project.up()
        assert done.code == 0, done.output
        assert done.operations[SET] == "create"
        yield project
        left = project.destroy()
        assert left.code == 0, left.output


def pods(project: Project) -> Pods:
    listed = project.items(CLUSTER, "pods", "-l", "leaderworkerset.sigs.k8s.io/name=kimi-decode-l4")
    return {pod["metadata"]["name"]: pod for pod in listed}


def ids(seen: Pods) -> dict[str, str]:
    return {name: pod["metadata"]["uid"] for name, pod in seen.items()}


def ready(pod: dict[str, Any]) -> bool:
    conditions = pod["status"].get("conditions", [])
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def of_sets(run: Run) -> dict[str, str]:
    return {name: operation for name, operation in run.operations.items() if not name.startswith("Stack")}


def answered(answers: list[Answer]) -> set[tuple[int, str]]:
    return {(one.status, one.instead) for one in answers}


def test_leaders_answer_and_followers_stand_on_other_nodes(fleet: Project) -> None:
    seen = pods(fleet)
    assert sorted(seen) == [
        "kimi-decode-l4-0",
        "kimi-decode-l4-0-1",
        "kimi-decode-l4-1",
        "kimi-decode-l4-1-1",
    ]
    assert all(map(ready, seen.values()))
    for leader in ("kimi-decode-l4-0", "kimi-decode-l4-1"):
        assert seen[leader]["spec"]["nodeName"] != seen[f"{leader}-1"]["spec"]["nodeName"]
    chat = url(fleet, CLUSTER, "ml/deployments/kimi")
    both = {"ml/kimi-decode-l4-0", "ml/kimi-decode-l4-1"}
    assert until("both leaders serve", lambda: serving(chat) == both)


def test_a_second_update_changes_nothing_and_status_is_ready(fleet: Project) -> None:
    again = fleet.up()
    assert (again.code, again.operations) == (0, {}), again.output
    told = fleet.cli("status", "--stack", STACK)
    assert told.returncode == 0, told.stdout + told.stderr
    assert "group 1 of kimi-decode-l4" in told.stdout
    assert "drift" not in told.stdout


def test_one_more_replica_is_one_more_group_and_restarts_none(fleet: Project) -> None:
    before = ids(pods(fleet))
    fleet.write("models", grouped("kimi", replicas=3))
    done = fleet.up()
    assert (done.code, of_sets(done)) == (0, {SET: "update"}), done.output
    seen = pods(fleet)
    assert {name: uid for name, uid in ids(seen).items() if name in before} == before
    assert sorted(seen.keys() - before.keys()) == ["kimi-decode-l4-2", "kimi-decode-l4-2-1"]
    assert all(map(ready, seen.values()))


def test_a_new_image_rolls_group_by_group_and_every_request_is_answered(fleet: Project) -> None:
    chat = url(fleet, CLUSTER, "ml/deployments/kimi")
    before = ids(pods(fleet))
    fleet.write("models", grouped("kimi", replicas=3, image=NEXT, startup="3s"))
    with asked_all_the_time(chat) as answers:
        done = fleet.up()
    assert (done.code, of_sets(done)) == (0, {SET: "update"}), done.output
    # The update has waited for the last group, and not for the condition of the groups before.
    seen = pods(fleet)
    assert {pod["spec"]["containers"][0]["image"] for pod in seen.values()} == {NEXT}
    assert (len(seen), all(map(ready, seen.values()))) == (6, True)
    assert not set(ids(seen).values()) & set(before.values())
    assert len(answers) > 20
    assert answered(answers) == {(200, "")}
    begun = sorted((pod["metadata"]["creationTimestamp"], name) for name, pod in seen.items())
    assert [name.removeprefix("kimi-decode-l4-")[0] for _, name in begun] == ["2", "2", "1", "1", "0", "0"]


def test_another_template_of_followers_alone_rolls_too(fleet: Project) -> None:
    changed = grouped("kimi", replicas=3, image=NEXT, follower={"env": [{"name": "SEEN", "value": "1"}]})
    fleet.write("models", changed)
    done = fleet.up()
    assert (done.code, of_sets(done)) == (0, {SET: "update"}), done.output
    seen = pods(fleet)
    told = {name: {env["name"] for env in pod["spec"]["containers"][0]["env"]} for name, pod in seen.items()}
    assert {name: "SEEN" in variables for name, variables in told.items()} == {
        name: name.count("-") == 4 for name in seen
    }
    assert all(map(ready, seen.values()))


def test_a_killed_follower_restarts_its_group_and_traffic_goes_to_the_others(fleet: Project) -> None:
    chat = url(fleet, CLUSTER, "ml/deployments/kimi")
    before = ids(pods(fleet))
    with asked_all_the_time(chat) as answers:
        until("all serve", lambda: len({one.pod for one in answers}) == 3)
        clusters.kill(fleet.root, STACK, CLUSTER, "ml/kimi-decode-l4-1-1")

        def again() -> Pods | None:
            seen = pods(fleet)
            changed = {name for name, uid in ids(seen).items() if before.get(name) != uid}
            whole = changed == {"kimi-decode-l4-1", "kimi-decode-l4-1-1"}
            return seen if whole and all(map(ready, seen.values())) else None

        until("the group is back", again, seen=lambda: (before, pods(fleet)))
        back = len(answers)
        until("it serves again", lambda: "ml/kimi-decode-l4-1" in {one.pod for one in answers[back:]})
    failed = [one for one in answers if one.status != 200]
    # What the broken engine had begun cannot be answered; nothing new is sent there.
    assert len(failed) <= 2, failed


def test_a_worker_that_gets_more_pods_is_another_workload_of_the_same_name(fleet: Project) -> None:
    kimi = grouped("kimi", replicas=3, image=NEXT)
    fleet.write("models", kimi, model("turn"))
    assert fleet.up().code == 0
    turned = grouped("turn")
    fleet.write("models", kimi, turned)
    done = fleet.up()
    assert done.code == 0, done.output
    workloads = {name: verb for name, verb in of_sets(done).items() if name.endswith("turn-decode-l4")}
    assert workloads == {
        f"LeaderWorkerSet {CLUSTER}/ml/turn-decode-l4": "create",
        f"Deployment {CLUSTER}/ml/turn-decode-l4": "delete",
    }
    chat = url(fleet, CLUSTER, "ml/deployments/turn")
    assert until("the group serves", lambda: serving(chat) == {"ml/turn-decode-l4-0"})


def test_the_api_server_takes_every_shape_of_a_worker(fleet: Project) -> None:
    wide = deployment("wide", workers=workers(tensor=1, data=4, dataLocal=2))
    spare = grouped("spare", rollout="Surge", roles={"encode": {"workers": workers(tensor=1)}})
    fleet.write("models", wide, spare, grouped("a-deployment-of-32-characters-xx"))
    rendered = fleet.cli("render", "--stack", STACK)
    assert rendered.returncode == 0, rendered.stderr
    manifests = [made for made in yaml.safe_load_all(rendered.stdout) if made]
    made = [made for made in manifests if made["kind"] in ("LeaderWorkerSet", "Service")]
    assert sum(made["kind"] == "LeaderWorkerSet" for made in made) == 3
    file = fleet.root / "shapes.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": made}))
    told = fleet.kubectl(CLUSTER, "apply", "--server-side", "--dry-run=server", "-f", str(file))
    assert told.count("serverside-applied (server dry run)") == len(made)


def test_a_leader_without_its_follower_fails_the_update_with_the_words_of_the_engine(fleet: Project) -> None:
    fleet.write("models", grouped("kimi", replicas=3, image=NEXT))
    fleet.write("wrong", grouped("lonely", apart=True, engine={"startup": "90s"}))
    # A minute until the engines give up, and one more: an image is pulled within no time here.
    with fleet.with_code("import inferfleet.serving.workload as budgets\nbudgets.IMAGE_PULL = 20\n"):
        done = fleet.up()
    assert done.code != 0
    assert "1/2 clients joined" in done.output
    assert "LeaderWorkerSet east/ml/lonely-decode-l4: pod lonely-decode-l4-0" in done.output
    # Its group may be made anew at this moment.
    until("status names it", lambda: "lonely-decode-l4-0" in fleet.cli("status", "--stack", STACK).stdout)
    (fleet.documents / "wrong.yaml").unlink()
    repaired = fleet.up()
    assert repaired.code == 0, repaired.output


def test_groups_that_somebody_else_scales_keep_their_number(fleet: Project) -> None:
    def updated(replicas: int | dict[str, int], image: str, *flags: str) -> tuple[int, dict[str, str], int]:
        external = {"scaling": {"by": "External"}} if isinstance(replicas, dict) else {}
        changed = grouped("kimi", image=image, **external)
        changed["spec"]["replicas"] = replicas
        fleet.write("models", changed)
        done = fleet.up(*flags)
        assert done.code == 0, done.output
        [kimi] = fleet.items(CLUSTER, "leaderworkersets")
        return done.code, of_sets(done), kimi["spec"]["replicas"]

    between = {"min": 1, "max": 2}
    updated(2, NEXT)
    assert updated(between, NEXT) == (0, {SET: "update"}, 2)
    fleet.kubectl(CLUSTER, "scale", "leaderworkerset", "kimi-decode-l4", "-n", "ml", "--replicas=1")
    assert updated(between, NEXT) == (0, {}, 1)
    assert updated(between, NEXT, "--refresh") == (0, {}, 1)
    assert updated(between, LAST) == (0, {SET: "update"}, 1)
    assert updated(2, LAST) == (0, {SET: "update"}, 2)
    assert len([pod for pod in pods(fleet).values() if ready(pod)]) == 4
