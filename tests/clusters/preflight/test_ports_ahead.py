"""Pods that run while their InferencePool already has other ports."""

from typing import Any

import pytest

from inferfleet.clusters.preflight.workloads import port_problems
from inferfleet.desired.values import Component, Connection, DesiredCluster, KubeObject
from inferfleet.documents.problems import Problem

PREFIX = "inferfleet.dev"
PORT, TOPOLOGY = "spec.engine.port", "spec.workers"


def template(*ports: int, active: bool = False) -> dict[str, Any]:
    labels = {f"{PREFIX}/deployment": "a", f"{PREFIX}/role": "decode", f"{PREFIX}/serves": "true"}
    annotations = {"inference.networking.k8s.io/active-ports": ",".join(map(str, ports))} if active else {}
    listed = [{"name": f"http-{i}" if i else "http", "containerPort": port} for i, port in enumerate(ports)]
    listed.append({"name": "metrics", "containerPort": 9090})
    engine = {"name": "engine", "ports": listed}
    return {"metadata": {"labels": labels, "annotations": annotations}, "spec": {"containers": [engine]}}


def named(probe: dict[str, Any]) -> dict[str, Any]:
    """A pod whose template has names of its own for its ports."""
    pod = template()
    [engine] = pod["spec"]["containers"]
    listed = [{"name": "health", "containerPort": 8081}, {"name": "serve", "containerPort": 8000}]
    engine |= {
        "ports": [*listed, {"name": "gossip", "containerPort": 8100, "protocol": "UDP"}],
        "readinessProbe": probe,
    }
    return pod


def workload(kind: str, spec: dict[str, Any], **labels: str) -> dict[str, Any]:
    return {
        "kind": kind,
        "metadata": {"name": "a-decode-l4", "namespace": "ml", "labels": labels},
        "spec": spec,
    }


def single(replicas: int = 2, pod: dict[str, Any] | None = None) -> dict[str, Any]:
    return workload("Deployment", {"replicas": replicas, "template": pod or template(8000)})


def pool(*ports: int) -> dict[str, Any]:
    return {
        "kind": "InferencePool",
        "metadata": {"name": "a", "namespace": "ml"},
        "spec": {
            "selector": {"matchLabels": {f"{PREFIX}/deployment": "a", f"{PREFIX}/serves": "true"}},
            "targetPorts": [{"number": port} for port in ports],
        },
    }


def wanting(*manifests: dict[str, Any]) -> DesiredCluster:
    objects = tuple(KubeObject("n", manifest) for manifest in manifests)
    return DesiredCluster(
        Connection("east", "existing/east", "active"), (Component("ModelReplicas", "c", objects),)
    )


def ahead(before: str, after: str, path: str) -> list[Problem]:
    what = (
        f"pods of ml/a-decode-l4 on cluster 'east' have {before}, and their InferencePool would send "
        f"requests to {after} as soon as the update begins: requests fail until the pods are replaced"
    )
    next_step = (
        "If they must not, write a deployment of another name beside this one, let services select both, and "
        "remove this one once the other serves"
    )
    return [Problem(what, next_step, path, kind="ModelDeployment", key="ml/a", severity="warning")]


def behind_proxy(*ports: int) -> dict[str, Any]:
    """A decode pod of the revision 3fa01c, whose engine listens elsewhere."""
    pod = template(8200)
    pod["metadata"]["labels"] |= {f"{PREFIX}/serves": "3fa01c", f"{PREFIX}/revision": "3fa01c"}
    listed = [{"name": f"proxy-{i}" if i else "proxy", "containerPort": port} for i, port in enumerate(ports)]
    pod["spec"]["initContainers"] = [{"name": "fetch"}, {"name": "routing-proxy", "ports": listed}]
    return pod


@pytest.mark.parametrize(
    ("port", "announced"),
    [(8000, []), (8200, ahead("port 8000", "port 8200", PORT))],
)
def test_requests_of_a_decode_pod_come_to_its_proxy(port: int, announced: list[Problem]) -> None:
    target = pool(port)
    target["spec"]["selector"]["matchLabels"][f"{PREFIX}/serves"] = "3fa01c"
    assert list(port_problems(wanting(target), [single(pod=behind_proxy(8000))])) == announced


@pytest.mark.parametrize(
    ("pod", "ports", "announced"),
    [
        (template(8000), (8000,), []),
        (template(8000), (8100,), ahead("ports 8000, 9090", "port 8100", PORT)),
        (template(8000), (8000, 8001), ahead("ports 8000, 9090", "port 8001", TOPOLOGY)),
        (
            template(8000, 8001, active=True),
            (8100, 8101),
            ahead("ports 8000, 8001, 9090", "ports 8100, 8101", PORT),
        ),
        (template(8000, 8001, active=True), (8000, 8001, 8002), []),
        (template(8000, 8001, active=True), (8000,), []),
        (named({"httpGet": {"port": "serve"}}), (8000,), []),
        (named({"httpGet": {"port": "health"}}), (8000,), []),
        (named({"exec": {"command": ["true"]}}), (8000,), []),
        (named({"httpGet": {"port": "serve"}}), (8100,), ahead("ports 8081, 8000", "port 8100", PORT)),
    ],
)
def test_ports_of_a_pool_that_pods_do_not_serve_on_are_announced(
    pod: dict[str, Any], ports: tuple[int, ...], announced: list[Problem]
) -> None:
    assert list(port_problems(wanting(pool(*ports)), [single(pod=pod)])) == announced


def test_pods_that_take_no_requests_and_those_of_no_pool_have_no_ports_to_announce() -> None:
    silent = template(8000)
    silent["metadata"]["labels"] = {f"{PREFIX}/deployment": "a"}
    assert list(port_problems(wanting(pool(8100)), [single(pod=silent), single(replicas=0)])) == []
    assert list(port_problems(wanting(), [single()])) == []
