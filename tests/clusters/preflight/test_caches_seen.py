"""What clusters tell of caches: which Jobs have fetched all, and which classes make disks."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from fake_cluster import KINDS, FakeCluster
from small_gke import decided, written

from inferfleet.clusters.connections.api import Api
from inferfleet.clusters.preflight.observe import Observation, observe
from inferfleet.clusters.preflight.volumes import volume_problems
from inferfleet.desired.values import Component, Connection, Desired, DesiredCluster, KubeObject
from inferfleet.fleet.decisions import Plan

Start = Callable[..., FakeCluster]
OURS = {
    "app.kubernetes.io/managed-by": "inferfleet",
    "inferfleet.dev/stack": "prod",
    "inferfleet.dev/cache": "qwen3",
}
KNOWN = {
    **KINDS,
    "batch/v1": {"Job": ("jobs", True)},
    "storage.k8s.io/v1": {"StorageClass": ("storageclasses", False)},
    "v1": {**KINDS["v1"], "PersistentVolumeClaim": ("persistentvolumeclaims", True)},
}


def thing(kind: str, name: str, namespace: str | None = None, **more: Any) -> dict[str, Any]:
    version = next(version for version, kinds in KNOWN.items() if kind in kinds)
    metadata = {"name": name, "labels": more.pop("labels", {})}
    return {
        "apiVersion": version,
        "kind": kind,
        "metadata": metadata | ({"namespace": namespace} if namespace else {}),
        **more,
    }


CLAIM = thing("PersistentVolumeClaim", "qwen3-weights-1", "ml", spec={"storageClassName": "rwx"})
JOB = thing("Job", "qwen3-weights-1", "ml", labels=OURS)


def _look(fake: FakeCluster) -> Observation:
    objects = tuple(KubeObject(f"east/ml/{one['kind']}", one) for one in (CLAIM, JOB))
    cluster = DesiredCluster(
        Connection("east", "existing/east", "active", config_key="east"),
        (Component("ModelCache", "east/ml/qwen3", objects),),
    )
    return observe(Desired("prod", (cluster,), Plan(), frozenset(), ()), {"east": fake.kubeconfig})


def _with(cluster: Start, *objects: dict[str, Any]) -> Observation:
    return _look(cluster(objects=list(objects), kinds=KNOWN))


def test_a_job_that_has_succeeded_has_filled_its_cache(cluster: Start) -> None:
    other = thing("Job", "qwen3-weights-2", "ml", labels=OURS)
    seen = _with(cluster, {**JOB, "status": {"succeeded": 1}}, {**other, "status": {"active": 1}})
    assert seen.filled == {("east", "ml", "qwen3-weights-1")}


def test_a_job_that_fetches_says_how_far_it_is(cluster: Start) -> None:
    labels = {**OURS, "batch.kubernetes.io/job-name": "qwen3-weights-1"}
    pod = thing("Pod", "qwen3-weights-1-a", "ml", labels=labels, status={"phase": "Running"})
    fake = cluster(objects=[{**JOB, "status": {"active": 1}}, pod], kinds=KNOWN)
    fake.behind = {"/api/v1/namespaces/ml/pods/qwen3-weights-1-a/log": (200, "62 %, about 18 minutes")}
    seen = _look(fake)
    assert (seen.filled, seen.filling) == (
        frozenset(),
        {("east", "ml", "qwen3-weights-1"): '"62 %, about 18 minutes"'},
    )


def test_how_far_weights_are_need_not_be_readable(cluster: Start) -> None:
    fake = cluster(objects=[{**JOB, "status": {"active": 1}}], kinds=KNOWN)
    fake.status["/api/v1/pods"] = 403
    seen = _look(fake)
    assert (seen.problems, seen.filling) == ((), {})


def test_deployments_with_workloads_run(cluster: Start) -> None:
    labels = {**OURS, "inferfleet.dev/deployment": "chat"}
    template = {"metadata": {"labels": {}}, "spec": {"containers": []}}
    workload = thing("Deployment", "chat-decode-l4", "ml", labels=labels, spec={"template": template})
    assert _with(cluster, workload).running == {"ml/chat"}


@pytest.mark.parametrize("driver", ["pd.csi.storage.gke.io", "ebs.csi.aws.com"])
def test_a_class_of_disks_is_refused(cluster: Start, driver: str) -> None:
    seen = _with(cluster, {**thing("StorageClass", "rwx"), "provisioner": driver})
    assert [(problem.key, problem.path, problem.what) for problem in seen.problems] == [
        (
            "ml/qwen3",
            "spec.to.claim.storageClassName",
            f"StorageClass rwx on cluster 'east' makes disks ({driver}), which one node mounts at a time: no "
            "claim of ModelCache ml/qwen3 would ever be served",
        )
    ]


def test_any_other_class_is_taken(cluster: Start) -> None:
    assert _with(cluster, {**thing("StorageClass", "rwx"), "provisioner": "nfs.example.com"}).problems == ()
    assert _with(cluster).problems == ()


class _Filestore:
    """An API server with a class of Filestore."""

    def __init__(self, network: str) -> None:
        self._network = network

    def get(self, path: str) -> dict[str, Any]:
        assert path == "/apis/storage.k8s.io/v1/storageclasses/rwx"
        driver = "filestore.csi.storage.gke.io"
        return {"provisioner": driver, "parameters": {"network": self._network} if self._network else {}}


@pytest.mark.parametrize(
    ("network", "told"), [("", "default"), ("vpc-of-others", "vpc-of-others"), ("its own", None)]
)
def test_volumes_of_filestore_are_in_the_cluster_s_own_network(
    tmp_path: Path, network: str, told: str | None
) -> None:
    made, cloud = decided(written(tmp_path))
    own = str(cloud.resource(cloud.key).inputs["network"]).rpartition("/")[2]
    objects = (KubeObject("east/ml/claim", CLAIM), KubeObject("east/ml/job", JOB))
    (cluster,) = made.clusters
    with_cache = replace(cluster, components=(Component("ModelCache", "east/ml/qwen3", objects),))
    found = list(volume_problems(cast("Api", _Filestore(own if told is None else network)), with_cache))
    expected = [
        f"StorageClass rwx on cluster 'east' makes volumes in network {told}, and its nodes are in {own}: "
        "none of them would reach a volume of ModelCache ml/qwen3"
    ]
    assert [problem.what for problem in found] == (expected if told else [])
