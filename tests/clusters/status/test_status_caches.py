"""How far the weights of caches are, by the Job of each and the words of its pod."""

import copy
from pathlib import Path
from typing import Any

import pytest
from fleet_of_one import CLASS, CLUSTER, DEPLOYMENT, together
from status_fleet import NOW, POD, WORKLOAD, ago, all_serving, desired_in, pod

from inferfleet.clusters.status.read import Key, LiveCluster
from inferfleet.clusters.status.status import status
from inferfleet.clusters.status.values import CacheStatus, Phase
from inferfleet.desired.values import Desired

CACHE = """\
apiVersion: inferfleet.dev/v1alpha1
kind: ModelCache
metadata: {name: qwen3, namespace: ml}
spec:
  source:
    huggingFace: {repository: Qwen/Qwen3-8B, revision: 0123456789abcdef0123456789abcdef01234567}
  size: 20Gi
  to: {claim: {storageClassName: rwx}}
"""
CACHED = DEPLOYMENT.replace("  workers:", "  engine: {model: {cache: qwen3}}\n  workers:")
FILLER = "qwen3-weights-abc"


@pytest.fixture
def fleet(tmp_path: Path) -> Desired:
    return desired_in(tmp_path, together(CLASS, CLUSTER, CACHED, CACHE))


def _job(fleet: Desired) -> Key:
    return next(
        (one.kind, "ml", one.kubernetes_name) for one in fleet.clusters[0].objects if one.kind == "Job"
    )


def _told(
    fleet: Desired, *, job: dict[str, Any], container: dict[str, Any] | None, words: str = ""
) -> CacheStatus:
    live = all_serving(fleet)
    objects = copy.deepcopy(dict(live.objects))
    key = _job(fleet)
    objects[key]["status"] = job
    labels = {"inferfleet.dev/cache": "qwen3", "batch.kubernetes.io/job-name": key[2]}
    filler = {
        "metadata": {"name": FILLER, "namespace": "ml", "labels": labels},
        "status": {"phase": "Running", "containerStatuses": [{"name": "fill", **(container or {})}]},
    }
    pods = (*live.pods, *([filler] if container else []))
    seen = LiveCluster(objects, pods, words={FILLER: words} if words else {})
    (cache,) = status(fleet, {"east": seen}, NOW).caches
    return cache


def test_weights_that_are_there_are_ready(fleet: Desired) -> None:
    assert _told(fleet, job={"succeeded": 1}, container=None) == CacheStatus("ml/qwen3", "east", Phase.READY)


def test_weights_that_are_fetched_say_how_far_they_are(fleet: Desired) -> None:
    running = {"state": {"running": {"startedAt": ago(60)}}}
    words = "62 %, about 18 minutes"
    assert _told(fleet, job={}, container=running, words=words) == CacheStatus(
        "ml/qwen3", "east", Phase.STARTING, words
    )


def test_what_keeps_weights_away_is_told_in_the_words_of_the_job(fleet: Desired) -> None:
    why = "its files of Qwen/Qwen3-8B: the hub answered 401. Write token in the cache"
    ended = {"exitCode": 1, "reason": "Error", "message": f"{why}\n"}
    waiting = {"state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": {"terminated": ended}}
    told = _told(fleet, job={}, container=waiting)
    assert told == CacheStatus("ml/qwen3", "east", Phase.FAILED, f"ended with exit code 1: {why}")


def test_a_job_without_a_pod_waits(fleet: Desired) -> None:
    assert _told(fleet, job={}, container=None) == CacheStatus(
        "ml/qwen3", "east", Phase.PENDING, "it has no pod yet"
    )


def test_weights_on_a_cluster_that_does_not_answer_are_unknown(fleet: Desired) -> None:
    assert status(fleet, {}, NOW).caches == (CacheStatus("ml/qwen3", "east", Phase.UNKNOWN),)


def test_pods_that_wait_for_weights_say_so_for_as_long_as_it_takes(fleet: Desired) -> None:
    live = all_serving(fleet)
    waits = pod(live.objects[WORKLOAD], POD, "engine")
    waits["status"] = {
        "phase": "Pending",
        "initContainerStatuses": [
            {"name": "wait-for-weights", "state": {"running": {"startedAt": ago(40_000)}}}
        ],
        "containerStatuses": [{"name": "engine", "state": {"waiting": {"reason": "PodInitializing"}}}],
    }
    seen = LiveCluster(live.objects, (waits, *live.pods[1:]))
    (deployment,) = status(fleet, {"east": seen}, NOW).deployments
    (told,) = deployment.placements[0].pods
    assert (told.phase, told.message, told.seconds, told.budget) == (
        Phase.STARTING,
        "waits for its weights",
        40_000,
        None,
    )
