"""LeaderWorkerSets for end-to-end tests: two pods each, whose scripts differ in what a test is about."""

from typing import Any

NAMESPACE = "ml"
NODES = "vllm serve some/model --tensor-parallel-size 1 --pipeline-parallel-size 2 --nnodes $LWS_GROUP_SIZE"
JOINED = f"{NODES} --node-rank $LWS_WORKER_INDEX --master-addr $LWS_LEADER_ADDRESS"
HEADLESS = "$( [ $LWS_WORKER_INDEX -gt 0 ] && echo --headless )"
COPIES = (
    "vllm serve some/model --data-parallel-size $((LWS_GROUP_SIZE * 2)) --data-parallel-size-local 2 "
    "--data-parallel-address $LWS_LEADER_ADDRESS --data-parallel-rpc-port 5555"
)
START_RANK = "--data-parallel-start-rank $((LWS_WORKER_INDEX * 2))"
# The kubelet replaces these references, and no shell is needed.
SGLANG = [
    *("python3", "-m", "sglang.launch_server", "--model-path=some/model", "--host=0.0.0.0"),
    *("--tp=2", "--nnodes=$(LWS_GROUP_SIZE)", "--node-rank=$(LWS_WORKER_INDEX)"),
    "--dist-init-addr=$(LWS_LEADER_ADDRESS):20000",
]


def worker_set(
    name: str,
    script: str | list[str],
    *,
    gpus: int = 1,
    replicas: int = 1,
    restart: str = "RecreateGroupOnPodRestart",
    **spec: Any,
) -> dict[str, Any]:
    """`script` is run by a shell unless it is the words of a command. Only leaders are probed."""
    sglang = isinstance(script, list)
    container: dict[str, Any] = {
        "name": "engine",
        "image": "docker.io/some/engine:v1",
        "command": script if sglang else ["sh", "-c", f"exec {script}"],
        "resources": {"limits": {"nvidia.com/gpu": gpus}},
        "ports": [{"name": "http", "containerPort": 30000 if sglang else 8000}],
        "terminationMessagePolicy": "FallbackToLogsOnError",
    }
    ready = {"httpGet": {"path": "/health", "port": "http"}, "periodSeconds": 1}
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "replicas": replicas,
            "leaderWorkerTemplate": {
                "size": 2,
                "restartPolicy": restart,
                "leaderTemplate": _template(container | {"readinessProbe": ready}, sglang),
                "workerTemplate": _template(container, sglang),
            },
            **spec,
        },
    }


def _template(container: dict[str, Any], sglang: bool) -> dict[str, Any]:
    return {
        "metadata": {"labels": {"llm-d.ai/engine-type": "sglang" if sglang else "vllm"}},
        "spec": {
            "containers": [container],
            "terminationGracePeriodSeconds": 2,
            "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
        },
    }
