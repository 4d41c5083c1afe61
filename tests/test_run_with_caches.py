"""What one run does of deployments whose weights are not on their cluster yet."""

from pathlib import Path

import pytest
from fleet_of_one import DEPLOYMENT, UID
from recorded_project import EAST, LOCK, Project, recorded

from inferfleet.clusters.preflight.observe import Observation
from inferfleet.run import Prepared
from inferfleet.serving.metadata import SKIP_AWAIT

COMMIT = "0123456789abcdef0123456789abcdef01234567"
CACHE = f"""\
---
apiVersion: inferfleet.dev/v1alpha1
kind: ModelCache
metadata: {{name: qwen3, namespace: ml}}
spec:
  source: {{huggingFace: {{repository: Qwen/Qwen3-8B, revision: {COMMIT}}}}}
  size: 20Gi
  to: {{claim: {{storageClassName: rwx}}}}
"""
CACHED = DEPLOYMENT.replace("replicas: 1\n", "replicas: 1\n  engine: {model: {cache: qwen3}}\n") + CACHE
WEST = EAST.replace("name: east", "name: west")
WAITS = "weights of ModelCache ml/qwen3 are not on cluster east yet, from which ml/qwen on east/l4 loads: "


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    made = recorded(tmp_path, monkeypatch)
    made.write("stacks/prod/models.yaml", CACHED)
    return made


def _objects(prepared: Prepared) -> dict[str, bool]:
    """Claims, Jobs and workloads, by whether an update waits for them."""
    return {
        f"{one.kind} {one.kubernetes_name}": SKIP_AWAIT not in one.manifest["metadata"].get("annotations", {})
        for cluster in prepared.desired.clusters
        for one in cluster.objects
        if one.kind in ("PersistentVolumeClaim", "Job") or "decode" in one.kubernetes_name
        if one.kind != "PodDisruptionBudget"
    }


def _told(prepared: Prepared) -> list[str]:
    return [problem.what for problem in prepared.warnings if "ModelCache" in problem.what]


def test_an_update_makes_new_pods_and_does_not_wait_for_them(project: Project) -> None:
    prepared = project.prepare()
    assert _told(prepared) == [
        f"{WAITS}its pods start and wait for them, and this update does not wait for its pods"
    ]
    claim = next(name.partition(" ")[2] for name in _objects(prepared) if name.startswith("Job"))
    assert _objects(prepared) == {
        f"PersistentVolumeClaim {claim}": False,
        f"Job {claim}": False,
        "Deployment qwen-decode-l4": False,
    }
    assert prepared.lock_text == LOCK


def test_an_update_waits_for_pods_whose_weights_are_there(project: Project) -> None:
    job = next(name.partition(" ")[2] for name in _objects(project.prepare()) if name.startswith("Job"))
    filled = frozenset([("east", "ml", job)])
    project.clusters.answer = Observation(uids={"east": UID}, filled=filled, running=frozenset(["ml/qwen"]))
    prepared = project.prepare()
    assert _told(prepared) == []
    assert _objects(prepared)["Deployment qwen-decode-l4"] is True
    assert prepared.desired.plan.paused == ()


def test_an_update_says_how_far_weights_are(project: Project) -> None:
    job = next(name.partition(" ")[2] for name in _objects(project.prepare()) if name.startswith("Job"))
    far = {("east", "ml", job): "62 %, about 18 minutes"}
    project.clusters.answer = Observation(uids={"east": UID}, filling=far)
    assert _told(project.prepare()) == [
        f"{WAITS.replace('yet,', 'yet (62 %, about 18 minutes),')}its pods start and wait for them, and this "
        "update does not wait for its pods"
    ]


def test_what_runs_stays_where_it_is_until_its_weights_are_there(project: Project) -> None:
    """Its document goes to another cluster: the lock keeps it where it runs, and nothing of it changes."""
    project.write("stacks/prod/placement.lock", LOCK)
    project.write("stacks/prod/west.yaml", WEST.replace("name: west", "name: west, labels: {tier: new}"))
    selector = "replicas: 1\n  clusterSelector: {matchLabels: {tier: new}}\n"
    project.write("stacks/prod/models.yaml", CACHED.replace("replicas: 1\n", selector))
    project.clusters.answer = Observation(uids={"east": UID}, running=frozenset(["ml/qwen"]))
    prepared = project.prepare()
    assert _told(prepared) == [
        f"{WAITS.replace('east', 'west')}nothing of the deployment changes in this update"
    ]
    assert prepared.desired.plan.paused == ("ml/qwen",)
    assert "ml/qwen east decode=l4: 1" in (prepared.lock_text or "")
    assert not any("is paused" in problem.what for problem in prepared.warnings)


def test_nodes_are_not_started_for_pods_that_wait(project: Project) -> None:
    project.write("stacks/prod/clusters.yaml", EAST.replace("nodeCount: 1", "maxNodeCount: 2"))
    prepared = project.prepare()
    assert _told(prepared) == [f"{WAITS}nothing of the deployment changes in this update"]
    assert {name.partition(" ")[0] for name in _objects(prepared)} == {"PersistentVolumeClaim", "Job"}
    assert "ml/qwen" not in (prepared.lock_text or "")
