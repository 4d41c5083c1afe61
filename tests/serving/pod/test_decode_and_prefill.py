"""Whole pod templates where prefill and decode are apart: in front of a decode engine is a routing proxy."""

import json
from typing import Any

import pytest
from apart import MODEL, apart, stand, workers

from inferfleet.serving.pod.check import document_problems, template_check
from inferfleet.serving.pod.template import PlacedPod, pod_template


def _labels(role: str, pool: str, **others: str) -> dict[str, str]:
    return {
        "inferfleet.dev/deployment": "qwen",
        "inferfleet.dev/role": role,
        "inferfleet.dev/placement": f"{pool}.3fa01c",
        "inferfleet.dev/serves": "3fa01c",
        "inferfleet.dev/revision": "3fa01c",
        "llm-d.ai/model": "qwen",
        "llm-d.ai/role": role,
        "llm-d.ai/engine-type": "vllm",
        "llm-d.ai/inference-serving": "true",
        **others,
    }


def _field(name: str, path: str) -> dict[str, Any]:
    return {"name": name, "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}}


def _value(name: str, value: str) -> dict[str, str]:
    return {"name": name, "value": value}


HEALTH = {"httpGet": {"path": "/health", "port": "http"}}
SIDE_CHANNEL = [
    _field("VLLM_NIXL_SIDE_CHANNEL_HOST", "status.podIP"),
    _value("VLLM_NIXL_SIDE_CHANNEL_PORT", "5600"),
]
TO_OTHERS = [
    _value("VLLM_HTTP_TIMEOUT_KEEP_ALIVE", "3700"),
    *SIDE_CHANNEL,
    _value("UCX_TLS", "cuda_ipc,cuda_copy,tcp"),
]
PROXY = {
    "name": "routing-proxy",
    "image": "ghcr.io/llm-d/llm-d-routing-sidecar:v0.7.1",
    "imagePullPolicy": "IfNotPresent",
    "restartPolicy": "Always",
    "args": ["--port=8000", "--vllm-port=8200", "--kv-connector=nixlv2", "--secure-proxy=false"],
    "env": [_field("POD_IP", "status.podIP"), _value("OTEL_TRACES_SAMPLER_ARG", "0")],
    "ports": [{"name": "proxy", "containerPort": 8000}],
    "startupProbe": {
        "httpGet": {"path": "/health", "port": "proxy"},
        "periodSeconds": 1,
        "failureThreshold": 60,
    },
    "securityContext": {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
    },
    "terminationMessagePolicy": "FallbackToLogsOnError",
}
NEW_PROXY = PROXY | {
    "image": "ghcr.io/llm-d/llm-d-router-disagg-sidecar:v0.10.0"
    "@sha256:1344adff65f96f76fc00c6003a1c63c1e9bb70f3628307f61f748a89a265b260",
    "args": [
        "--port=8000",
        "--model-server-port=8200",
        "--kv-connector=nixlv2",
        "--tracing=false",
        "--secure-proxy=false",
    ],
    "env": [_field("POD_IP", "status.podIP")],
}


def _args(role: str, *flags: str) -> list[str]:
    config = {"kv_connector": "NixlConnector", "kv_role": "kv_producer"}
    if role == "decode":
        config |= {"kv_load_failure_policy": "recompute", "kv_role": "kv_consumer"}
    transfer = json.dumps(config, sort_keys=True, separators=(",", ":"))
    return [MODEL, *flags, f"--kv-transfer-config={transfer}"]


def _engine(port: int, args: list[str], gpus: str = "2") -> dict[str, Any]:
    return {
        "name": "engine",
        "image": "vllm:1",
        "command": ["vllm", "serve"],
        "args": args,
        "ports": [{"name": "http", "containerPort": port}, {"name": "nixl-side", "containerPort": 5600}],
        "startupProbe": HEALTH | {"periodSeconds": 10, "timeoutSeconds": 5, "failureThreshold": 180},
        "readinessProbe": HEALTH | {"periodSeconds": 5, "timeoutSeconds": 5},
        "livenessProbe": HEALTH | {"periodSeconds": 10, "timeoutSeconds": 5, "failureThreshold": 3},
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "env": TO_OTHERS,
        "volumeMounts": [{"name": "dshm", "mountPath": "/dev/shm"}],
        "lifecycle": {"preStop": {"sleep": {"seconds": 30}}},
        "resources": {"limits": {"nvidia.com/gpu": gpus}, "requests": {"nvidia.com/gpu": gpus}},
    }


def _pod(engine: dict[str, Any], pool: str, **more: Any) -> dict[str, Any]:
    return {
        "containers": [engine],
        "volumes": [{"name": "dshm", "emptyDir": {"medium": "Memory"}}],
        "terminationGracePeriodSeconds": 130,
        "nodeSelector": {"inferfleet.dev/pool": pool},
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
        "enableServiceLinks": False,
        **more,
    }


def _made(where: PlacedPod) -> dict[str, Any]:
    assert list(document_problems(where)) == []
    template = pod_template(where)
    assert list(template_check(where)(template)) == []
    return template


@pytest.mark.parametrize(
    ("profile", "proxy"), [("scheduler-0.7", PROXY), ("gie-1.5", NEW_PROXY), ("router-0.10", NEW_PROXY)]
)
def test_requests_of_a_decode_pod_come_to_its_proxy(profile: str, proxy: dict[str, Any]) -> None:
    args = _args("decode", "--port=8200", "--tensor-parallel-size=2", "--shutdown-timeout=90")
    assert _made(stand(apart(), profile=profile)) == {
        "metadata": {"labels": _labels("decode", "h100")},
        "spec": _pod(_engine(8200, args), "h100", initContainers=[proxy]),
    }


@pytest.mark.parametrize("profile", ["scheduler-0.7", "gie-1.5", "router-0.10"])
def test_a_prefill_pod_has_no_proxy(profile: str) -> None:
    args = _args("prefill", "--port=8000", "--tensor-parallel-size=2", "--shutdown-timeout=90")
    assert _made(stand(apart(), "prefill", profile=profile)) == {
        "metadata": {"labels": _labels("prefill", "h200")},
        "spec": _pod(_engine(8000, args), "h200"),
    }


WIDE = {"tensor": 1, "data": 4, "dataLocal": 2}
EACH = [
    "--port=8200",
    "--data-parallel-size=4",
    "--data-parallel-size-local=2",
    "--data-parallel-multi-port-external-lb",
    "--data-parallel-supervisor-port=9256",
    "--data-parallel-rpc-port=29550",
    "--data-parallel-address=$(LWS_LEADER_ADDRESS)",
    "--node-rank=$(LWS_WORKER_INDEX)",
    "--shutdown-timeout=90",
]
ACTIVE = {
    "llm-d.ai/active-ports": "8000,8001",
    "inference.networking.k8s.io/active-ports": "8000,8001",
}
READY = _value("VLLM_ENGINE_READY_TIMEOUT_S", "1800")


@pytest.mark.parametrize("position", ["Entry", "Follower"])
@pytest.mark.parametrize(
    ("profile", "proxy"), [("scheduler-0.7", PROXY), ("gie-1.5", NEW_PROXY), ("router-0.10", NEW_PROXY)]
)
def test_each_pod_that_answers_has_a_proxy_with_a_port_for_each_copy(
    profile: str, proxy: dict[str, Any], position: str
) -> None:
    engine = _engine(8200, _args("decode", *EACH))
    supervised = {"httpGet": {"path": "/health", "port": 9256}}
    engine |= {
        "ports": [
            {"name": "http", "containerPort": 8200},
            {"name": "http-1", "containerPort": 8201},
            {"name": "nixl-side", "containerPort": 5600},
        ],
        "env": [TO_OTHERS[0], READY, *TO_OTHERS[1:]],
        "startupProbe": engine["startupProbe"] | supervised,
        "readinessProbe": engine["readinessProbe"] | {"httpGet": {"path": "/ready", "port": 9256}},
        "livenessProbe": engine["livenessProbe"] | supervised,
    }
    first, server, connector, *others = proxy["args"]
    with_ranks = proxy | {
        "args": [first, server, connector, "--data-parallel-size=2", *others],
        "ports": [{"name": "proxy", "containerPort": 8000}, {"name": "proxy-1", "containerPort": 8001}],
    }
    document = apart(workers(topology=WIDE), workers(topology={"tensor": 1}))
    assert _made(stand(document, "decode", position, profile=profile)) == {
        "metadata": {"labels": _labels("decode", "h100"), "annotations": ACTIVE},
        "spec": _pod(engine, "h100", initContainers=[with_ranks]),
    }


def test_a_prefill_pod_with_fewer_ports_than_its_pool_says_so() -> None:
    document = apart(workers(topology=WIDE), workers(topology={"tensor": 1}))
    assert pod_template(stand(document, "prefill"))["metadata"]["annotations"] == {
        "llm-d.ai/active-ports": "8000",
        "inference.networking.k8s.io/active-ports": "8000",
    }


def test_a_follower_that_computes_has_no_proxy_and_is_reached_by_other_engines() -> None:
    document = apart(workers(topology={"tensor": 8, "pipeline": 2}))
    entry, follower = (_made(stand(document, "decode", at))["spec"] for at in ("Entry", "Follower"))
    assert [each["name"] for each in entry["initContainers"]] == ["routing-proxy"]
    assert "initContainers" not in follower
    assert follower["containers"][0] == {
        "name": "engine",
        "image": "vllm:1",
        "command": ["vllm", "serve"],
        "args": _args(
            "decode",
            "--tensor-parallel-size=8",
            "--pipeline-parallel-size=2",
            "--nnodes=$(LWS_GROUP_SIZE)",
            "--node-rank=$(LWS_WORKER_INDEX)",
            "--master-addr=$(LWS_LEADER_ADDRESS)",
            "--master-port=29501",
            "--headless",
        ),
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "env": [READY, *TO_OTHERS[1:]],
        "ports": [{"name": "nixl-side", "containerPort": 5600}],
        "volumeMounts": [{"name": "dshm", "mountPath": "/dev/shm"}],
        "resources": {"limits": {"nvidia.com/gpu": "8"}, "requests": {"nvidia.com/gpu": "8"}},
    }
