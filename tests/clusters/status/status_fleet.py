"""A small stack, and a cluster on which all of it stands and serves; tests break one thing of it."""

import copy
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from fleet_of_one import CLASS, CLUSTER, DEPLOYMENT, SERVICE, together

from inferfleet.clusters.status.read import Key, LiveCluster
from inferfleet.desired import desired
from inferfleet.desired.values import Desired
from inferfleet.documents import load
from inferfleet.fleet.lock.lock import Lock

DOCUMENTS = together(
    CLASS,
    CLUSTER,
    DEPLOYMENT.replace("  workers:", "  engine: {type: vLLM, startup: 20m}\n  workers:"),
    SERVICE,
)
NOW = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)
GATEWAY: Key = ("Gateway", "inferfleet-system", "inferfleet")
POOL: Key = ("InferencePool", "ml", "qwen")
ROUTE: Key = ("HTTPRoute", "ml", "qwen")
SERVICE: Key = ("Service", "ml", "qwen-epp")
WORKLOAD: Key = ("Deployment", "ml", "qwen-decode-l4")
POD, EPP_POD = "qwen-decode-l4-a", "qwen-epp-a"


def desired_in(folder: Path, text: str = DOCUMENTS) -> Desired:
    (folder / "all.yaml").write_text(text)
    return desired(load([folder]), Lock(stack="unnamed"))


def ago(seconds: int) -> str:
    return (NOW - timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")


def condition(kind: str, status: str = "True", **more: str) -> dict[str, str]:
    return {"type": kind, "status": status, **more}


def all_serving(fleet: Desired) -> LiveCluster:
    """Everything desired stands; controllers and kubelets have nothing left to do."""
    manifests = [copy.deepcopy(wanted.manifest) for cluster in fleet.clusters for wanted in cluster.objects]
    objects = {
        (manifest["kind"], manifest["metadata"].get("namespace", ""), manifest["metadata"]["name"]): manifest
        for manifest in manifests
    }
    gateway = [condition("Accepted"), condition("Programmed")]
    objects[GATEWAY]["status"] = {
        "conditions": gateway,
        "addresses": [{"type": "IPAddress", "value": "10.0.0.5"}],
    }
    for (kind, _, _), one in objects.items():
        if kind == "HTTPRoute":
            parent = {"name": "inferfleet", "namespace": "inferfleet-system"}
            told = [condition("Accepted"), condition("ResolvedRefs")]
            one["status"] = {"parents": [{"parentRef": parent, "conditions": told}]}
        if kind == "Deployment":
            one["metadata"]["generation"] = 2
            one["status"] = {"observedGeneration": 2, "updatedReplicas": one["spec"]["replicas"]}
    engine, picker = objects[WORKLOAD], objects["Deployment", "ml", "qwen-epp"]
    return LiveCluster(objects, (pod(engine, POD, "engine"), pod(picker, EPP_POD, "epp")))


def pod(workload: dict[str, Any], name: str, container: str) -> dict[str, Any]:
    """A ready pod of a workload, with one container."""
    template = copy.deepcopy(workload["spec"]["template"])
    return {
        "metadata": {
            "name": name,
            "namespace": workload["metadata"]["namespace"],
            "labels": template["metadata"]["labels"],
            "creationTimestamp": ago(100),
        },
        "spec": {**template["spec"], "nodeName": "l4-0"},
        "status": {
            "phase": "Running",
            "conditions": [condition("PodScheduled"), condition("Ready")],
            "containerStatuses": [
                {
                    "name": container,
                    "ready": True,
                    "started": True,
                    "restartCount": 0,
                    "state": {"running": {"startedAt": ago(90)}},
                }
            ],
        },
    }


def broken_pod(pod: dict[str, Any], *, restarts: int = 0, **container: Any) -> dict[str, Any]:
    """The pod with another status of its one container, and therefore not ready."""
    broken = copy.deepcopy(pod)
    before = broken["status"]["containerStatuses"][0]
    now = {"name": before["name"], "ready": False, "started": False, "restartCount": restarts, **container}
    broken["status"]["containerStatuses"] = [now]
    broken["status"]["conditions"] = [condition("PodScheduled"), condition("Ready", "False")]
    return broken
