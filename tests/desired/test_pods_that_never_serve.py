"""Pods that the API server takes and that would never start, or serve: refused, whoever wrote them."""

from typing import Any

import pytest
from said_of_both import TRIED, Change, Spec, beside, by_document, by_plugin, engine, pod

from inferfleet.api.kinds.base import API_VERSION
from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.api.loading.validation import validated
from inferfleet.api.problems import Problem

ASKS = {"httpGet": {"path": "/health", "port": "metrics"}}


def probe(*command: str) -> Change:
    """A readiness probe of the engine that runs a command."""
    return engine(readinessProbe={"exec": {"command": list(command)}})


def hook(**handler: Any) -> Change:
    return engine(lifecycle={"preStop": handler})


def rooted(pod: Spec, container: Spec) -> Change:
    """Security contexts of the pod and of the engine."""

    def change(spec: Spec) -> None:
        spec["securityContext"] = pod
        spec["containers"][0]["securityContext"] = container

    return change


ROOT = (
    "container 'engine' runs as user 0, which is root, but it has runAsNonRoot: true, with which kubelets do "
    "not start root"
)


@pytest.mark.parametrize(
    ("change", "place", "what", "next_step"),
    [
        (
            pod(schedulingGates=[{"name": "example.com/quota"}]),
            "spec.schedulingGates",
            "the pod waits for the scheduling gate 'example.com/quota', but nothing lifts gates of these "
            "pods, so they would never be scheduled",
            "Remove it; queues such as Kueue add gates of their own when a pod is created",
        ),
        (
            pod(os={"name": "windows"}),
            "spec.os.name",
            "the pod is for Windows, but nodes with accelerators run Linux, where kubelets end such a pod",
            "Remove os, or write linux",
        ),
        (
            engine(livenessProbe=ASKS),
            "spec.containers[engine].livenessProbe.httpGet.port",
            "livenessProbe of container 'engine' asks port 'metrics', but that container has 'http' alone, "
            "so it would fail each time",
            "Write the number of the port, or name the port so among the container's ports",
        ),
        (
            beside(startupProbe={"tcpSocket": {"port": "http"}}),
            "spec.containers[side].startupProbe.tcpSocket.port",
            "startupProbe of container 'side' asks port 'http', but that container names no port, "
            "so it would fail each time",
            "Write the number of the port, or name the port so among the container's ports",
        ),
        (
            pod(
                initContainers=[
                    {"name": "side", "image": "side:1", "restartPolicy": "Always", "readinessProbe": ASKS}
                ]
            ),
            "spec.initContainers[side].readinessProbe.httpGet.port",
            "readinessProbe of container 'side' asks port 'metrics', but that container names no port, "
            "so it would fail each time",
            "Write the number of the port, or name the port so among the container's ports",
        ),
        (
            hook(**ASKS),
            "spec.containers[engine].lifecycle.preStop.httpGet.port",
            "preStop of container 'engine' asks port 'metrics', but that container has 'http' alone, "
            "so it would fail each time",
            "Write the number of the port, or name the port so among the container's ports",
        ),
        (
            hook(tcpSocket={"port": 8000}),
            "spec.containers[engine].lifecycle.preStop.tcpSocket",
            "preStop of container 'engine' connects to a port, but Kubernetes runs no such hook, it only "
            "fails",
            "Write exec, httpGet or sleep instead of tcpSocket",
        ),
        (
            rooted({"runAsNonRoot": True, "runAsUser": 0}, {}),
            "spec.securityContext.runAsUser",
            ROOT,
            "Choose another user, or remove runAsNonRoot",
        ),
        (
            rooted({"runAsNonRoot": True, "runAsUser": 1000}, {"runAsUser": 0}),
            "spec.containers[engine].securityContext.runAsUser",
            ROOT,
            "Choose another user, or remove runAsNonRoot",
        ),
        (
            rooted({"runAsUser": 0}, {"runAsNonRoot": True}),
            "spec.securityContext.runAsUser",
            ROOT,
            "Choose another user, or remove runAsNonRoot",
        ),
        (
            engine(env=[{"name": "A", "value": "a\0b"}]),
            "spec.containers[engine].env[A].value",
            "variable 'A' of container 'engine' has a NUL character, but Linux starts no program with one",
            "Remove it, or encode it",
        ),
        (
            engine(env=[{"name": "A", "value": "x" * 131_070}]),
            "spec.containers[engine].env[A].value",
            "variable 'A' of container 'engine' has 131,072 bytes, but Linux starts no program with a text "
            "of more than 131,071",
            "Put it into a file, such as one of a ConfigMap that the container mounts",
        ),
        (
            engine(command=["serve", "ä" * 65_536]),
            "spec.containers[engine].command[1]",
            "item 1 of command of container 'engine' has 131,072 bytes, but Linux starts no program with a "
            "text of more than 131,071",
            "Put it into a file, such as one of a ConfigMap that the container mounts",
        ),
        *(
            (
                probe(*command),
                "spec.containers[engine].readinessProbe.exec.command",
                f"the readinessProbe ends with {end!r}, which never fails, but endpoints get requests, "
                "and rollouts go on, as soon as the engine is ready",
                "Ask the engine by httpGet; without any probe in the template inferfleet generates all three",
            )
            for command, end in (
                (("true",), "true"),
                (("/bin/true",), "true"),
                (("sh", "-c", "exit 0"), "exit 0"),
                (("bash", "-ec", "curl -f http://localhost:8000/health || true"), "true"),
                (("echo", "ready"), "echo"),
            )
        ),
    ],
)
def test_what_could_never_start_or_serve_is_refused(
    change: Change, place: str, what: str, next_step: str
) -> None:
    assert by_document(change) == [what]
    assert by_plugin(lambda template: change(template["spec"])) == [
        Problem(
            f"{TRIED}{place}: {what} (deployment ml/a, role decode on east/l4)",
            next_step,
            "plugins[0]",
            kind="Settings",
            key="test",
        )
    ]


@pytest.mark.parametrize(
    "change",
    [
        pod(schedulingGates=[]),
        pod(os={"name": "linux"}),
        engine(
            livenessProbe={"httpGet": {"path": "/", "port": "http"}},
            readinessProbe=ASKS | {"httpGet": {"path": "/", "port": 8000}},
        ),
        beside(ports=[{"name": "metrics", "containerPort": 9000}], readinessProbe=ASKS),
        beside(readinessProbe={"exec": {"command": ["true"]}}),
        hook(httpGet={"path": "/drain", "port": "http"}),
        probe("curl", "-f", "http://localhost:8000/health"),
        probe("sh", "-c", "true && curl -f http://localhost:8000/health"),
        probe("sh", "-c", "exit 1 || true"),
        probe("sh", "-c", "echo $(false); false"),
        probe("python3", "-c", "true"),
        rooted({"runAsUser": 0}, {}),
        rooted({"runAsNonRoot": True, "runAsUser": 0}, {"runAsUser": 1000}),
        rooted({"runAsNonRoot": True, "runAsUser": 0}, {"runAsNonRoot": False}),
        engine(env=[{"name": "A", "value": "x" * 131_069}]),
        engine(env=[{"name": "A", "value": "$(B)" * 40_000}]),
    ],
)
def test_what_can_serve_is_taken(change: Change) -> None:
    assert by_document(change) == []
    assert by_plugin(lambda template: change(template["spec"])) == []


def test_a_token_in_a_probe_that_never_fails_is_not_told() -> None:
    (what,) = by_document(probe("sh", "-c", "curl --user a:hunter2hunter2 localhost || true"))
    assert "hunter2" not in what


def test_a_template_has_no_status() -> None:
    template = {"spec": {"containers": [{"name": "engine", "image": "engine:1"}]}, "status": {}}
    workers = {"topology": {"tensor": 1}, "template": template}
    _, problems = validated(
        ModelDeployment,
        {
            "apiVersion": API_VERSION,
            "kind": "ModelDeployment",
            "metadata": {"name": "a", "namespace": "ml"},
            "spec": {"replicas": 1, "workers": workers},
        },
    )
    assert [(problem.path, problem.what) for problem in problems] == [
        ("spec.workers.template.status", "unknown field 'status'")
    ]
    (problem,) = by_plugin(lambda template: template.update(status={}))
    assert (problem.path, problem.what) == (
        "plugins[0]",
        f"{TRIED}returned a template that Kubernetes refuses: status: Kubernetes 1.36 has no field 'status' "
        "here (deployment ml/a, role decode on east/l4)",
    )
