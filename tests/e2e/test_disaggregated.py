"""The stack `disaggregated`: prompts are computed by pods of their own, and what their ends cost clients."""

import json
import os
import shutil
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from asking import Answer, ask, going_on, until, url
from handed_over import refused
from project import ROOT, Project, checkout
from sandboxes import started

from inferfleet.fleet.names import DEPLOYMENT, ROLE
from sandbox import clusters
from sandbox.places import StackPlaces
from sandbox.processes import processes_in
from sandbox.toolchain.edits import LISTEN_ADDRESS

STACK, CLUSTER = "disaggregated", "hopper"
QWEN, R1 = "qwen3-32b", "deepseek-r1"
# What stacks/disaggregated/qwen3-32b.yaml says, and how llm-d's decider counts: characters of the messages as
# JSON by four, less the whole blocks of them that the decode pod has computed or been given before.
NON_CACHED_TOKENS, BLOCK_TOKENS, CHARACTERS_PER_TOKEN = 64, 128, 4
CLIENTS = 6
_numbers = count()


@dataclass(frozen=True)
class Fleet:
    """The stack with its first update done. Pods are named `<namespace>/<name>`, as answers name them."""

    project: Project

    def pods(self, deployment: str) -> dict[str, dict[str, Any]]:
        """The pods of a deployment's engines. Those of its picker have no role."""
        listed = self.project.items(CLUSTER, "pods", "-l", f"{DEPLOYMENT}={deployment},{ROLE}")
        return {f"split/{pod['metadata']['name']}": pod for pod in listed}

    def named(self, deployment: str, role: str, *, entries: bool = True) -> set[str]:
        """Those of a role, of groups the first pods or all others."""
        index = "leaderworkerset.sigs.k8s.io/worker-index"
        labels = {name: pod["metadata"]["labels"] for name, pod in self.pods(deployment).items()}
        return {
            name
            for name, each in labels.items()
            if each[ROLE] == role and (each.get(index, "0") == "0") is entries
        }

    def ids(self, deployment: str) -> dict[str, str]:
        return {name: pod["metadata"]["uid"] for name, pod in self.pods(deployment).items()}

    def url(self, service: str) -> str:
        return url(self.project, CLUSTER, f"split/{service}")

    def kill(self, pod: str) -> None:
        clusters.kill(self.project.root, STACK, CLUSTER, pod)


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """Documents and settings are those of stacks/disaggregated."""
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
        project, _ = started(plain)
        done = project.up()
        assert done.code == 0, done.output
        yield Fleet(project)
    finally:
        clusters.down(root, STACK)


def text(characters: int) -> str:
    """A text of its own from its first character on, so long that its message has so many as JSON."""
    around = len(json.dumps([{"role": "user", "content": ""}], separators=(",", ":")))
    return (f"{next(_numbers):06} " + "x " * characters)[: characters - around]


def long() -> str:
    """One that is computed apart; once it is cached, 10 of its tokens are not."""
    return text((4 * BLOCK_TOKENS + 10) * CHARACTERS_PER_TOKEN)


def test_five_prefill_pods_and_three_decode_pods_are_ready_and_so_are_groups_of_two(fleet: Fleet) -> None:
    assert Counter(map(_role, fleet.pods(QWEN).values())) == {"prefill": 5, "decode": 3}
    assert Counter(map(_role, fleet.pods(R1).values())) == {"prefill": 2, "decode": 2}
    told = fleet.project.cli("status", "--stack", STACK)
    assert told.returncode == 0, told.stdout + told.stderr
    again = fleet.project.up()
    assert (again.code, again.operations) == (0, {}), again.output


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_a_long_prompt_is_prefilled_apart_and_a_short_or_cached_one_is_not(
    fleet: Fleet, stream: bool
) -> None:
    qwen, prompt = fleet.url("qwen"), long()
    first, again, short = (ask(qwen, each, model=QWEN, stream=stream) for each in (prompt, prompt, "ping"))
    assert [one.status for one in (first, again, short)] == [200] * 3, (first, again, short)
    assert first.prefill in fleet.named(QWEN, "prefill")
    assert {first.pod, short.pod} <= fleet.named(QWEN, "decode")
    assert (again.pod, again.prefill, short.prefill) == (first.pod, "", "")


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_sglang_s_groups_prefill_every_prompt_apart(fleet: Fleet, stream: bool) -> None:
    answers = [ask(fleet.url("r1"), each, model=R1, stream=stream) for each in (long(), "ping", "ping")]
    [decode], [prefill] = fleet.named(R1, "decode"), fleet.named(R1, "prefill")
    assert [(one.status, one.pod, one.prefill) for one in answers] == [(200, decode, prefill)] * 3, answers


def test_five_hundred_requests_are_split_exactly_as_the_decider_says(fleet: Fleet) -> None:
    qwen, enough = fleet.url("qwen"), NON_CACHED_TOKENS * CHARACTERS_PER_TOKEN
    blocks = 2 * BLOCK_TOKENS * CHARACTERS_PER_TOKEN
    begun = [text(blocks + 100) for _ in range(100)]
    # The second time all whole blocks are cached, so that the rest alone counts.
    again = [one + "y" * (enough - 100 - 1 - at % 2 * 3) for at, one in enumerate(begun[:50])]
    more = [one + "y" * (enough - 100 + at % 2 * 3) for at, one in enumerate(begun[50:])]
    rounds: list[list[tuple[str, bool]]] = [
        [(one, True) for one in begun],
        [(one, False) for one in again] + [(one, True) for one in more],
        [(text(enough - 1), False) for _ in range(75)] + [(text(enough), True) for _ in range(75)],
        [("ping", False)] * 75 + [(long(), True) for _ in range(75)],
    ]
    split: Counter[tuple[bool, bool]] = Counter()
    wrong: list[tuple[int, Answer]] = []
    with ThreadPoolExecutor(8) as clients:
        for requests in rounds:
            asked = [
                clients.submit(ask, qwen, prompt, model=QWEN, stream=at % 2 == 0)
                for at, (prompt, _) in enumerate(requests)
            ]
            for (prompt, apart), answer in zip(requests, (one.result() for one in asked), strict=True):
                split[apart, bool(answer.prefill)] += 1
                if answer.status != 200 or bool(answer.prefill) != apart:
                    wrong.append((len(prompt), answer))
    assert (split, wrong[:5]) == ({(True, True): 300, (False, False): 200}, [])
    assert refused(fleet.project, CLUSTER, fleet.pods(QWEN).values()) == 0


@pytest.fixture(scope="module")
def broken_group(fleet: Fleet) -> dict[str, str]:
    """What the pods of a deployment were before a follower was killed. The others of its group have half a
    minute to end their requests, in which the next tests go on.
    """
    before = fleet.ids(R1)
    [follower] = fleet.named(R1, "prefill", entries=False)
    fleet.kill(follower)
    return before


@pytest.mark.usefixtures("broken_group")
def test_a_killed_prefill_pod_costs_no_more_than_what_it_had_in_hand(fleet: Fleet) -> None:
    one = min(fleet.named(QWEN, "prefill"))
    answers = _killed(fleet, lambda: fleet.kill(one), lambda answer: answer.prefill == one)
    failed = [answer for answer in answers if answer.status != 200]
    assert len(failed) <= CLIENTS, failed
    assert {answer.status for answer in failed} <= {500}, failed


def test_a_killed_proxy_ends_the_requests_of_its_pod_alone(fleet: Fleet) -> None:
    one = min(fleet.named(QWEN, "decode"))
    address = fleet.pods(QWEN)[one]["status"]["podIP"]
    [proxy] = [
        process.pid
        for process in processes_in(StackPlaces(fleet.project.root, STACK).folder)
        if f"{LISTEN_ADDRESS}={address}" in _environment(process.pid)
        and _program(process.pid) == "pd-sidecar"
    ]
    engine = _restarts(fleet, one)["engine"]
    answers = _killed(fleet, lambda: os.kill(proxy, signal.SIGKILL), lambda answer: answer.pod == one)
    failed = [answer for answer in answers if answer.status != 200]
    assert len(failed) <= 2 * CLIENTS, failed
    assert {answer.status for answer in failed} <= {0, 502, 503}, failed
    assert _restarts(fleet, one) == {"routing-proxy": 1, "engine": engine}


def test_a_killed_decode_pod_ends_its_requests_and_the_others_take_the_next(fleet: Fleet) -> None:
    one = max(fleet.named(QWEN, "decode"))
    answers = _killed(fleet, lambda: fleet.kill(one), lambda answer: answer.pod == one)
    failed = [answer for answer in answers if answer.status != 200]
    assert len(failed) <= 2 * CLIENTS, failed
    assert {answer.status for answer in failed} <= {0, 502, 503}, failed


def test_without_its_picker_a_deployment_answers_nobody_until_it_is_back(fleet: Fleet) -> None:
    pickers = fleet.project.items(CLUSTER, "pods", "-n", "split")
    [picker] = [one for one in pickers if f"{QWEN}-" in (name := _name(one)) and "-epp-" in name]
    answers = _killed(
        fleet,
        lambda: fleet.kill(f"split/{_name(picker)}"),
        # It knows nothing of caches any more, and still who prefills.
        lambda answer: bool(answer.prefill),
        after=lambda answers: any(answer.status != 200 for answer in answers),
    )
    failed = [answer for answer in answers if answer.status != 200]
    assert failed
    assert {answer.status for answer in failed} <= {500, 503}, failed


def test_a_killed_follower_of_prefill_pods_takes_its_group_along_and_both_come_back(
    fleet: Fleet, broken_group: dict[str, str]
) -> None:
    # A group that is made anew lacks pods for a moment; their names stay.
    group = {name for name in broken_group if "-prefill-" in name}
    [decode], prefill = fleet.named(R1, "decode"), min(group)

    def again() -> set[str]:
        after = fleet.ids(R1)
        return {name for name in after if broken_group.get(name) != after[name]}

    until("the group is another", lambda: again() == group)
    answer = until("it serves", lambda: _answered(ask(fleet.url("r1"), "ping", model=R1)))
    assert (answer.pod, answer.prefill) == (decode, prefill)


def _killed(
    fleet: Fleet,
    kill: Callable[[], None],
    back: Callable[[Answer], bool],
    after: Callable[[list[Answer]], bool] = lambda _: True,
) -> list[Answer]:
    """What clients with long prompts see from a kill on, until all are answered and the pod serves again."""
    qwen = fleet.url("qwen")
    with going_on(lambda: ask(qwen, long(), model=QWEN, tokens=50), clients=CLIENTS) as answers:
        until("it serves", lambda: any(map(back, answers)))
        kill()
        first = len(answers)
        until("that is seen", lambda: after(answers[first:]))

        def serves() -> bool:
            last = answers[first:][-5 * CLIENTS :]
            fine = all(answer.status == 200 for answer in last)
            return len(last) == 5 * CLIENTS and any(map(back, last)) and fine

        until("it serves again", serves)
    print(Counter((answer.status, answer.instead[:120], bool(answer.prefill)) for answer in answers[first:]))
    return answers


def _answered(answer: Answer) -> Answer | None:
    return answer if answer.status == 200 else None


def _role(pod: dict[str, Any]) -> str:
    return str(pod["metadata"]["labels"][ROLE])


def _name(made: dict[str, Any]) -> str:
    return str(made["metadata"]["name"])


def _restarts(fleet: Fleet, pod: str) -> dict[str, int]:
    status = fleet.pods(QWEN)[pod]["status"]
    every = (*status["initContainerStatuses"], *status["containerStatuses"])
    return {one["name"]: int(one["restartCount"]) for one in every}


def _environment(process: int) -> list[str]:
    return Path(f"/proc/{process}/environ").read_text().split("\0")


def _program(process: int) -> str:
    return Path(Path(f"/proc/{process}/cmdline").read_text().partition("\0")[0]).name
