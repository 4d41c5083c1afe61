"""The stack `frontier`: models in workers of many pods, from nothing to answers, through the real engine."""

import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from asking import until, url
from project import ROOT, Project, Run, checkout
from sandboxes import started
from spent import Spent, measured

from inferfleet.fleet.names import DEPLOYMENT, POOL, ROLE, SERVES
from sandbox import clusters
from sandbox.places import StackPlaces
from sandbox.verbs.chat import chat

STACK = "frontier"
# The machine that the stack must fit, in MiB.
MEMORY = 24 * 1024
# By deployment: cluster and pool, pods, and those of them that serve.
MODELS: dict[str, tuple[str, str, int, int]] = {
    "kimi-k2": ("hopper", "h200", 2, 1),
    "deepseek-r1": ("hopper", "h200", 2, 2),
    "deepseek-v3": ("hopper", "h100", 2, 1),
    "llama-405b": ("hopper", "h100", 2, 1),
    "qwen3-235b": ("hopper", "h200", 1, 1),
    "deepseek-r1-gb200": ("blackwell", "gb200", 2, 2),
    "gpt-oss-120b": ("blackwell", "b200", 1, 1),
}
# By cluster and service: the name of the model in requests, and the deployment behind it.
SERVICES = {
    ("hopper", "kimi"): ("kimi-k2", "kimi-k2"),
    ("hopper", "r1"): ("deepseek-r1", "deepseek-r1"),
    ("hopper", "v3"): ("deepseek-v3", "deepseek-v3"),
    ("hopper", "llama"): ("llama-405b", "llama-405b"),
    ("hopper", "qwen"): ("qwen3-235b", "qwen3-235b"),
    ("blackwell", "r1"): ("deepseek-r1", "deepseek-r1-gb200"),
    ("blackwell", "gpt-oss"): ("gpt-oss-120b", "gpt-oss-120b"),
}
REQUESTS = 20


@dataclass(frozen=True)
class Frontier:
    """The stack with its first update done, and what that took."""

    project: Project
    first: Run
    spent: Spent

    def pods(self, deployment: str) -> list[dict[str, Any]]:
        """The pods of a deployment's engines. Those of its picker have no role."""
        cluster = MODELS[deployment][0]
        return self.project.items(cluster, "pods", "-l", f"{DEPLOYMENT}={deployment},{ROLE}")


@pytest.fixture(scope="module")
def frontier(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Frontier]:
    """Documents and settings are those of stacks/frontier, as `make up STACK=frontier` has them."""
    root = tmp_path_factory.mktemp(STACK)
    plain = checkout(root, STACK)
    shutil.copytree(
        ROOT / "stacks" / STACK,
        plain.documents,
        dirs_exist_ok=True,
        ignore=shutil.ignore_patterns("placement.lock"),
    )
    shutil.copy(ROOT / "stacks" / f"Pulumi.{STACK}.yaml", root / "stacks")
    try:
        with measured(StackPlaces(root, STACK).folder) as spent:
            project, _ = started(plain)
            first = project.up()
        yield Frontier(project, first, spent)
    finally:
        clusters.down(root, STACK)


def test_one_update_creates_everything(frontier: Frontier) -> None:
    assert frontier.first.code == 0, frontier.first.output
    assert set(frontier.first.operations.values()) == {"create"}


@pytest.mark.parametrize("deployment", MODELS)
def test_every_pod_is_ready_on_a_node_of_its_own_in_the_pool_of_its_class(
    frontier: Frontier, deployment: str
) -> None:
    cluster, pool, number, serving = MODELS[deployment]
    pods = frontier.pods(deployment)
    pool_of = {
        node["metadata"]["name"]: node["metadata"]["labels"].get(POOL)
        for node in frontier.project.items(cluster, "nodes")
    }
    assert [_ready(pod) for pod in pods] == [True] * number
    assert len({pod["spec"]["nodeName"] for pod in pods}) == number
    assert {pool_of[pod["spec"]["nodeName"]] for pod in pods} == {pool}
    assert len([pod for pod in pods if pod["metadata"]["labels"].get(SERVES) == "true"]) == serving
    assert sum(status["restartCount"] for pod in pods for status in pod["status"]["containerStatuses"]) == 0


def test_pods_on_gb200_have_their_gpus_and_a_channel_each_by_claims(frontier: Frontier) -> None:
    given = Counter(
        (claim["status"]["reservedFor"][0]["name"], result["driver"])
        for claim in frontier.project.items("blackwell", "resourceclaims")
        for result in claim["status"]["allocation"]["devices"]["results"]
    )
    names = [pod["metadata"]["name"] for pod in frontier.pods("deepseek-r1-gb200")]
    drivers = {"gpu.nvidia.com": 4, "compute-domain.nvidia.com": 1}
    assert given == {(name, driver): count for name in names for driver, count in drivers.items()}


@pytest.mark.parametrize(("cluster", "service"), SERVICES)
def test_every_model_answers_chat_by_all_pods_that_serve(
    frontier: Frontier, cluster: str, service: str
) -> None:
    model, deployment = SERVICES[cluster, service]
    address = url(frontier.project, cluster, f"frontier/{service}")
    serving = {
        f"frontier/{pod['metadata']['name']}"
        for pod in frontier.pods(deployment)
        if pod["metadata"]["labels"].get(SERVES) == "true"
    }
    answered: set[str] = set()

    def asked() -> bool:
        answers = [chat(address, model, "ping") for _ in range(REQUESTS)]
        assert {answer.model for answer in answers} == {model}
        answered.update(answer.pod for answer in answers)
        return answered == serving

    until(f"all of {sorted(serving)} answer", asked)


def test_status_says_that_everything_serves(frontier: Frontier) -> None:
    told = frontier.project.cli("status", "--stack", STACK)
    assert told.returncode == 0, told.stdout + told.stderr


def test_a_second_update_changes_nothing(frontier: Frontier) -> None:
    again = frontier.project.up()
    assert (again.code, again.operations) == (0, {}), again.output


def test_it_fits_a_machine_of_24_gib_with_room(
    frontier: Frontier, capsys: pytest.CaptureFixture[str]
) -> None:
    with capsys.disabled():
        print(f"\n{frontier.spent}")
    assert 0 < frontier.spent.peak < MEMORY / 2


def _ready(pod: dict[str, Any]) -> bool:
    return any(one["type"] == "Ready" and one["status"] == "True" for one in pod["status"]["conditions"])
