"""Weights are fetched once per cluster: what comes later starts without a download, and pods wait for all.

The hub is a stand-in, which makes up small repositories and counts what it is asked.
"""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest
import yaml
from asking import ask, asked_all_the_time, url
from documents import API, Document, model
from project import ROOT, Project
from sandboxes import running

STACK = "weights"
FIRST, SECOND = "1" * 40, "2" * 40
SECONDS = 240.0
SHARED: Document = {"claim": {"storageClassName": "shared"}}


def _cache(revision: str = FIRST, to: Document | None = None) -> Document:
    return {
        "apiVersion": API,
        "kind": "ModelCache",
        "metadata": {"name": "tiny", "namespace": "ml"},
        "spec": {
            "source": {"huggingFace": {"repository": "acme/tiny", "revision": revision}},
            "size": "1Gi",
            **({"to": to} if to else {"to": SHARED, "whenRemoved": "Delete"}),
        },
    }


def _chat(replicas: int = 1, *, on: str = "east", name: str = "chat") -> Document:
    return model(name, on=on, replicas=replicas, engine={"model": {"cache": "tiny"}})


class Hub:
    """The stand-in of a stack."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def faults(self, **faults: Any) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        (self._folder / "faults.json").write_text(json.dumps(faults))

    def fetched(self) -> list[str]:
        """The files that were asked for since the last time, each as often as it was asked for."""
        log = self._folder / "requests.log"
        lines = log.read_text().splitlines() if log.exists() else []
        log.unlink(missing_ok=True)
        return [line.rpartition("/")[2] for line in lines if line.startswith("GET") and "/resolve/" in line]


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """The stack `weights` of the repository, and its clusters."""
    folder = ROOT / "stacks" / STACK
    clusters = [*yaml.safe_load_all((folder / "clusters.yaml").read_text())]
    with running(tmp_path_factory.mktemp(STACK), STACK, *clusters) as project:
        for file in folder.glob("*.yaml"):
            shutil.copy(file, project.documents)
        yield project
        left = project.destroy()
        assert left.code == 0, left.output


def _until(true: Callable[[], object]) -> None:
    until = monotonic() + SECONDS
    while not true():
        assert monotonic() < until
        sleep(0.5)


def _filled(project: Project, cluster: str) -> int:
    jobs = project.items(cluster, "jobs", "-l", "inferfleet.dev/cache=tiny")
    return sum((job.get("status") or {}).get("succeeded", 0) for job in jobs)


def _up(project: Project, *models: Document) -> dict[str, str]:
    """What an update did, by resource."""
    project.write("models", *models)
    done = project.up()
    assert done.code == 0, done.output
    return done.operations


def _serves(project: Project, cluster: str = "east", name: str = "chat", model: str = "shared") -> bool:
    return ask(url(project, cluster, f"ml/deployments/{name}"), model=model).status == 200


def test_the_stack_of_the_repository_fills_a_bucket_and_a_claim_and_serves(fleet: Project) -> None:
    hub = Hub(fleet.root / ".sandbox" / STACK / "hub")
    made = fleet.up()
    assert made.code == 0, made.output
    _until(lambda: _serves(fleet, "east", "qwen3-4b", "Qwen/Qwen3-4B"))
    _until(lambda: _serves(fleet, "east", "qwen3-8b", "Qwen/Qwen3-8B"))
    _until(lambda: _serves(fleet, "west", "qwen3-8b", "Qwen/Qwen3-8B"))
    # Five files of each of the two, however many pods read them.
    assert len(hub.fetched()) == 10
    (fleet.documents / "caches.yaml").unlink()
    _up(fleet)


def test_weights_are_there_before_pods(fleet: Project) -> None:
    hub = Hub(fleet.root / ".sandbox" / STACK / "hub")
    hub.faults(rate=50_000)
    made = _up(fleet, _cache(), _chat())
    assert "Deployment east/ml/chat-decode-l4" in made
    # The update did not wait for the hub; the pod does, and an update meanwhile changes nothing.
    (pod,) = fleet.items("east", "pods", "-l", "inferfleet.dev/role=decode")
    assert pod["status"]["phase"] == "Pending"
    assert _filled(fleet, "east") == 0
    assert _up(fleet, _cache(), _chat()) == {}
    hub.faults()
    _until(lambda: _filled(fleet, "east") and _filled(fleet, "west"))
    _until(lambda: _serves(fleet))
    hub.fetched()
    # It waits for pods from now on. A second replica and a move download nothing.
    assert _up(fleet, _cache(), _chat()) == {"Deployment east/ml/chat-decode-l4": "update"}
    _up(fleet, _cache(), _chat(2))
    assert _serves(fleet)
    _up(fleet, _cache(), _chat(on="west"))
    assert _serves(fleet, "west")
    assert hub.fetched() == []
    _up(fleet, _cache(), _chat(2))
    # Wrong bytes are never mounted; another commit changes nothing until it is there, and rolls then.
    hub.faults(flipped="model-00003-of-00003.safetensors")
    made = _up(fleet, _cache(SECOND), _chat(2))
    assert not any("chat" in name for name in made)
    assert _serves(fleet)
    _until(lambda: "came with hash" in _last_words(fleet))
    assert _filled(fleet, "east") == 0
    # Pods still have the claim of the first commit. Once none has, it goes with its files, as its cache says.
    assert len(_claims(fleet)) == 2
    hub.faults()
    _until(lambda: _filled(fleet, "east"))
    with asked_all_the_time(url(fleet, "east", "ml/deployments/chat")) as answers:
        assert "Deployment east/ml/chat-decode-l4" in _up(fleet, _cache(SECOND), _chat(2))
    assert answers
    assert [answer for answer in answers if answer.status != 200] == []
    _until(lambda: len(_claims(fleet)) == 1)


def test_a_bucket_is_filled_once_for_all_clusters(fleet: Project) -> None:
    hub = Hub(fleet.root / ".sandbox" / STACK / "hub")
    cache = _cache("3" * 40, {"bucket": {"name": "acme-weights"}})
    hub.fetched()
    _up(fleet, cache, _chat(on="west", name="other"))
    _until(lambda: _serves(fleet, "west", "other"))
    fetched = hub.fetched()
    assert len(fetched) == len(set(fetched)) == 5
    assert fleet.items("west", "jobs") == []
    # A move to the other cluster finds them there.
    _up(fleet, cache, _chat(on="east", name="other"))
    assert _serves(fleet, "east", "other")
    assert hub.fetched() == []


def _claims(project: Project) -> list[str]:
    claims = project.items("east", "persistentvolumeclaims", "-l", "inferfleet.dev/cache=tiny")
    return [claim["metadata"]["name"] for claim in claims]


def _last_words(project: Project) -> str:
    pods = project.items("east", "pods", "-l", "inferfleet.dev/cache=tiny")
    statuses = [status for pod in pods for status in pod["status"].get("containerStatuses", [])]
    return json.dumps([[status.get("lastState"), status.get("state")] for status in statuses])
