"""Requests travel through a real gateway and a real endpoint picker to the pods that were placed."""

import math
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from asking import ask, asked_all_the_time, posted, serving, until, url
from documents import annotated, model, service
from project import Project
from reaching import pod_url

from sandbox.inotify import OF_CLUSTER, OF_ISTIO, held_by
from sandbox.places import StackPlaces
from sandbox.processes import processes_in

# How often pickers look at engines is their own choice.
OWN: dict[str, Any] = {"flags": {}}
RANK = {"model": "shared", "query": "q", "documents": ["a", "b"]}
SOUND = b'--x\r\ncontent-disposition: form-data; name="file"; filename="a.wav"\r\n\r\nRIFF\r\n--x--\r\n'
# What ends a second time in a row starts again after ten seconds, here and on real nodes.
BACK_OFF = 10


def models(**small: str) -> list[dict[str, Any]]:
    """Behind the service `chat` four parts `large` to one `small`, which the annotations steer."""
    return [
        model("large", replicas=2, picker=OWN),
        annotated(model("small", replicas=2, picker=OWN), **small),
        annotated(model("busy", replicas=2, picker=OWN), slots="2", tokens_per_second="50"),
        model("closed", picker=OWN | {"failureMode": "FailClose"}),
        model("open", picker=OWN | {"failureMode": "FailOpen"}),
        service("chat", large=80, small=20),
    ]


def rank() -> dict[str, Any]:
    """Takes requests that are no prompts, on a port with a name of its own."""
    paths = ["/v1", "/v1/audio/transcriptions", "/rerank", "/score"]
    document = model("rank", on="west", route={"paths": paths})
    [engine] = document["spec"]["workers"]["template"]["spec"]["containers"]
    engine["ports"] = [{"name": "serve", "containerPort": 8000}]
    return document


def native() -> dict[str, Any]:
    """Takes requests in SGLang's own form."""
    engine, route = {"type": "SGLang"}, {"paths": ["/v1", "/generate"]}
    return model("native", on="west", image="docker.io/lmsysorg/sglang:v0.5.23", engine=engine, route=route)


@pytest.fixture(scope="module")
def answering(standing: Project) -> Project:
    standing.write("models", *models(), rank(), native())
    done = standing.up()
    assert done.code == 0, done.output
    return standing


def test_two_thousand_requests_are_split_by_the_weights(answering: Project) -> None:
    chat, number = url(answering, "east", "ml/chat"), 2000
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: ask(chat), range(number)))
    assert Counter((one.status, one.instead) for one in answers) == {(200, ""): number}
    large = sum("/large-" in one.pod for one in answers)
    # Four standard errors of a share of 0.8: wrong once in 16,000 runs.
    assert abs(large - 0.8 * number) < 4 * math.sqrt(number * 0.8 * 0.2)
    assert len({one.pod for one in answers if "/large-" in one.pod}) == 2


@pytest.mark.parametrize(
    ("deployment", "path", "body", "status"),
    [
        ("rank", "/rerank", RANK, 200),
        ("rank", "/v1/rerank", RANK, 200),
        ("rank", "/score", {"model": "shared", "text_1": "a", "text_2": "b"}, 200),
        ("rank", "/v1/audio/transcriptions", SOUND, 200),
        ("rank", "/v1/completions", {"model": "shared", "prompt": "a"}, 200),
        ("native", "/generate", {"text": "a"}, 200),
        ("native", "/v1/chat/completions", {"model": "shared", "messages": [{"role": "user"}]}, 200),
        # Where no document declares such paths, the picker has the parser that reads prompts.
        ("large", "/v1/embeddings", {"model": "shared", "input": "a"}, 200),
        ("large", "/v1/rerank", RANK, 400),
    ],
)
def test_requests_to_declared_paths_pass_the_picker(
    answering: Project, deployment: str, path: str, body: dict[str, Any] | bytes, status: int
) -> None:
    content_type = "multipart/form-data; boundary=x" if isinstance(body, bytes) else "application/json"
    cluster = "east" if deployment == "large" else "west"
    address = f"{url(answering, cluster, f'ml/deployments/{deployment}')}{path}"
    assert posted(address, body, content_type=content_type) == status


def test_a_killed_engine_is_avoided_and_comes_back(answering: Project) -> None:
    large = url(answering, "east", "ml/deployments/large")
    first, second = sorted(until("both serve", lambda: _two(large)))
    # The first end has no back-off: it may be back before anybody looks.
    kill(answering, first)
    until("it is back", lambda: restarts_when_ready(answering, first) == 1)
    with asked_all_the_time(large) as answers:
        until("both are asked", lambda: {first, second} <= {one.pod for one in answers})
        kill(answering, first)
        until("it is back", lambda: restarts_when_ready(answering, first) == 2)
        back = len(answers)
        until("it serves again", lambda: first in {one.pod for one in answers[back:]})
    served = [one.asked for one in answers if one.pod == first]
    gone, again = max(pairwise(served), key=lambda pair: pair[1] - pair[0])
    assert again - gone > BACK_OFF - 1
    meanwhile = [(one.status, one.pod) for one in answers if gone < one.asked < again - 1]
    failed = [status for status, _ in meanwhile if status != 200]
    # Those that were sent there before it was noticed: most of them were not.
    assert len(failed) < len(meanwhile) / 4
    assert set(meanwhile[len(meanwhile) // 2 :]) == {(200, second)}


def test_a_pod_with_a_full_queue_gets_fewer(answering: Project) -> None:
    busy = url(answering, "east", "ml/deployments/busy")
    first = min(until("both serve", lambda: _two(busy)))
    before = Counter(ask(busy, tokens=1).pod for _ in range(60))
    address = pod_url(answering, "east", pods(answering)[first])
    with ThreadPoolExecutor(16) as pool:
        waiting = [pool.submit(ask, address, tokens=100) for _ in range(16)]
        # What is still sent there waits behind the others; nobody has to wait with it.
        until(
            "its queue is read", lambda: first not in {ask(busy, tokens=1, patience=1).pod for _ in range(5)}
        )
        after = Counter(ask(busy, tokens=1).pod for _ in range(60))
        assert [one.result().status for one in waiting] == [200] * 16
    assert before[first] > 15
    assert after[first] < before[first] / 3


def test_killed_pickers_fail_as_their_pools_say_and_come_back(answering: Project) -> None:
    closed, open_ = (url(answering, "east", f"ml/deployments/{name}") for name in ("closed", "open"))
    pickers = [name for name in pods(answering) if name.startswith(("ml/closed-epp-", "ml/open-epp-"))]

    def killed_and_back(times: int) -> None:
        for picker in pickers:
            kill(answering, picker)

        def back() -> list[tuple[int, str]] | None:
            found = [one for name, one in pods(answering).items() if name in pickers and ready(one)]
            ends = [restarts_and_end(one) for one in found]
            return ends if sum(restarts >= times for restarts, _ in ends) == len(pickers) else None

        assert until("they are back", back) == [(times, "137: killed")] * len(pickers)

    killed_and_back(1)
    with asked_all_the_time(closed) as of_closed, asked_all_the_time(open_) as of_open:
        killed_and_back(2)
    failed = [one for one in of_closed if one.status != 200]
    assert {one.status for one in failed} <= {500, 503}
    out = failed[-1].asked - failed[0].asked
    assert out > BACK_OFF / 2
    answered = [one.asked for one in of_open if one.status == 200]
    assert max(later - one for one, later in pairwise(answered)) < out
    until("both answer", lambda: {ask(way).status for way in (closed, open_) * 3} == {200})


STRANGER = """
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: stranger, namespace: strangers}
spec:
  parentRefs: [{name: inferfleet, namespace: inferfleet-system}]
  rules:
    - matches: [{path: {type: PathPrefix, value: /ml/chat/v1}}]
      backendRefs: [{name: theirs, port: 80}]
"""


def test_a_route_of_a_namespace_that_is_not_the_stacks_is_not_taken(
    answering: Project, tmp_path: Path
) -> None:
    manifest = tmp_path / "stranger.yaml"
    manifest.write_text(STRANGER)
    answering.kubectl("east", "create", "namespace", "strangers")
    try:
        answering.kubectl("east", "apply", "-f", str(manifest))

        def answer() -> str | None:
            [route] = answering.items("east", "httproutes", "--field-selector=metadata.name=stranger")
            parents = route.get("status", {}).get("parents", [])
            conditions = [one for parent in parents for one in parent["conditions"]]
            return next((one["reason"] for one in conditions if one["type"] == "Accepted"), None)

        assert until("the gateway says so", answer) == "NotAllowedByListeners"
        assert ask(url(answering, "east", "ml/chat")).status == 200
    finally:
        answering.kubectl("east", "delete", "namespace", "strangers")


def test_a_pod_that_is_not_ready_gets_nothing(answering: Project) -> None:
    answering.configure(await_="applied", locked=False)
    answering.write("models", *models(startup="600s"))
    done = answering.up()
    assert done.code == 0, done.output
    loading = {
        name for name, pod in pods(answering).items() if "/small-decode-" in name and ready(pod) is False
    }
    assert loading
    chat = url(answering, "east", "ml/chat")
    answers = [ask(chat) for _ in range(200)]
    assert {one.status for one in answers} == {200}
    assert not loading & {one.pod for one in answers}


def test_no_program_holds_more_inotify_instances_than_up_counts_for_it(answering: Project) -> None:
    clusters = StackPlaces(answering.root, answering.stack).kwok / "clusters"
    counted = OF_CLUSTER | OF_ISTIO
    for folder in clusters.iterdir():
        held: Counter[str] = Counter()
        for process in processes_in(folder):
            held[process.program.name] += held_by(process.pid)
        assert {name: count for name, count in held.items() if count > counted.get(name, 0)} == {}
        assert held["kube-apiserver"]  # they are counted at all


def kill(project: Project, pod: str) -> None:
    done = project.cli("sandbox", "kill", pod, "--stack", project.stack)
    assert done.returncode == 0, done.stderr


def _two(url: str) -> set[str] | None:
    pods = serving(url)
    return pods if len(pods) == 2 else None


def pods(project: Project) -> dict[str, dict[str, Any]]:
    """Those of models and pickers on east, as engines call themselves."""
    return {f"ml/{one['metadata']['name']}": one for one in project.items("east", "pods", "-n", "ml")}


def restarts_when_ready(project: Project, pod: str) -> int | None:
    found = pods(project)[pod]
    return restarts_and_end(found)[0] if ready(found) else None


def restarts_and_end(pod: dict[str, Any]) -> tuple[int, str]:
    """How often it was started again, and why the last time."""
    [container] = pod["status"]["containerStatuses"]
    ended = container["lastState"].get("terminated", {})
    return int(container["restartCount"]), f"{ended.get('exitCode')}: {ended.get('message')}"


def ready(pod: dict[str, Any]) -> bool:
    conditions = pod["status"].get("conditions", [])
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)
