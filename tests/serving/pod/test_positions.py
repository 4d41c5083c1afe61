"""What pods of one worker have by their position: entries answer, followers compute, or serve copies too."""

from typing import Any

import pytest

from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.fleet.shapes import Shape
from inferfleet.fleet.spot import Spot
from inferfleet.serving.pod.hardware import Hardware
from inferfleet.serving.pod.template import PlacedPod, pod_template

SERVES, ENTRY = "inferfleet.dev/serves", "inferfleet.dev/entry"
PORTS = "llm-d.ai/active-ports"
SPOT = Spot("ml/qwen", "east", (("decode", "h100"), ("encoder", "h100")))


def _pod(
    position: Any,
    topology: dict[str, int],
    *,
    balance: str | None = None,
    role: str = "decode",
    gpus: int = 8,
) -> dict[str, Any]:
    workers = {"topology": topology, "balance": balance}
    document = ModelDeployment.model_validate(
        {
            "metadata": {"name": "qwen", "namespace": "ml"},
            "spec": {
                "replicas": 1,
                "engine": {"image": "vllm:1"},
                "workers": workers,
                "roles": {"encoder": {"workers": workers}},
            },
        }
    )
    shape = Shape(document.spec.workers.topology.pods_per_worker, gpus)
    hardware = Hardware("nvidia.com/gpu", gpus, 8, {"inferfleet.dev/pool": "h100"})
    return pod_template(PlacedPod(document, SPOT, role, position, shape, hardware, "vllm:1"))


def _engine(pod: dict[str, Any]) -> dict[str, Any]:
    [engine] = pod["spec"]["containers"]
    return dict(engine)


WIDE = {"tensor": 1, "data": 16, "dataLocal": 8}
KEEPS = {"name": "VLLM_HTTP_TIMEOUT_KEEP_ALIVE", "value": "3700"}
WAITS = {"name": "VLLM_ENGINE_READY_TIMEOUT_S", "value": "1800"}


def test_a_follower_that_computes_has_no_port_probe_or_drain_and_takes_no_requests() -> None:
    pod = _pod("Follower", {"tensor": 8, "pipeline": 2})
    assert _engine(pod) == {
        "name": "engine",
        "image": "vllm:1",
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "env": [WAITS],
        "volumeMounts": [{"name": "dshm", "mountPath": "/dev/shm"}],
        "resources": {"limits": {"nvidia.com/gpu": "8"}, "requests": {"nvidia.com/gpu": "8"}},
    }
    assert SERVES not in pod["metadata"]["labels"]
    assert pod["metadata"]["labels"]["inferfleet.dev/role"] == "decode"


def test_its_entry_is_the_pod_of_a_worker_of_one_that_waits_for_the_others() -> None:
    pod = _pod("Entry", {"tensor": 8, "pipeline": 2})
    assert _engine(pod) == {**_engine(_pod("Entry", {"tensor": 8})), "env": [KEEPS, WAITS]}
    assert pod["metadata"]["labels"][SERVES] == "true"


@pytest.mark.parametrize("position", ["Entry", "Follower"])
def test_with_data_parallelism_every_pod_serves_and_is_probed(position: str) -> None:
    pod = _pod(position, WIDE, balance="Pod")
    assert pod["metadata"]["labels"][SERVES] == "true"
    assert _engine(pod)["readinessProbe"]["httpGet"] == {"path": "/health", "port": "http"}


@pytest.mark.parametrize(
    ("topology", "balance"), [(WIDE, "Engine"), ({"tensor": 8, "pipeline": 2, "data": 2}, None)]
)
def test_followers_without_a_server_of_their_own_do_not_serve(
    topology: dict[str, int], balance: str | None
) -> None:
    assert SERVES not in _pod("Follower", topology, balance=balance)["metadata"]["labels"]


def test_a_pod_with_a_port_for_each_copy_says_which_and_is_asked_for_all_at_once() -> None:
    pod = _pod("Entry", WIDE)
    assert pod["metadata"]["annotations"][PORTS] == "8000,8001,8002,8003,8004,8005,8006,8007"
    engine = _engine(pod)
    assert engine["readinessProbe"]["httpGet"] == {"path": "/ready", "port": 9256}
    assert engine["livenessProbe"]["httpGet"] == {"path": "/health", "port": 9256}


def test_entries_of_other_roles_answer_and_take_no_requests_of_the_deployment() -> None:
    labels = _pod("Entry", {"tensor": 8}, role="encoder")["metadata"]["labels"]
    assert (SERVES in labels, labels[ENTRY]) == (False, "true")
    assert ENTRY not in _pod("Follower", {"tensor": 8, "pipeline": 2}, role="encoder")["metadata"]["labels"]


def test_pods_of_one_worker_keep_apart_where_a_node_could_hold_two() -> None:
    apart = {
        "labelSelector": {
            "matchLabels": {
                "inferfleet.dev/deployment": "qwen",
                "inferfleet.dev/role": "decode",
                "inferfleet.dev/placement": "h100",
            }
        },
        "matchLabelKeys": ["leaderworkerset.sigs.k8s.io/group-key"],
        "topologyKey": "kubernetes.io/hostname",
    }
    for position in ("Entry", "Follower"):
        term = _pod(position, {"tensor": 4, "pipeline": 2}, gpus=4)["spec"]["affinity"]["podAntiAffinity"]
        assert term == {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}
        assert "affinity" not in _pod(position, {"tensor": 8, "pipeline": 2})["spec"]


def test_an_engine_with_a_port_for_each_copy_waits_for_all_copies_of_its_pod() -> None:
    topology = {"tensor": 1, "data": 8, "dataLocal": 8}
    assert _engine(_pod("Entry", topology, balance="Port"))["env"] == [KEEPS, WAITS]
    assert _engine(_pod("Entry", topology))["env"] == [KEEPS]


def test_every_pod_of_another_role_that_serves_copies_is_behind_its_service() -> None:
    for balance in (None, "Pod"):
        pod = _pod("Follower", WIDE, balance=balance, role="encoder")
        assert pod["metadata"]["labels"][ENTRY] == "true"
        assert _engine(pod)["ports"] == [{"name": "http", "containerPort": 8000}]


@pytest.mark.parametrize(
    ("engine", "asked"),
    [
        # Workers of Dynamo behind their frontend listen nowhere.
        ({"type": "Other", "image": "worker:1"}, None),
        ({"type": "Other", "image": "worker:1", "port": 9000}, {"tcpSocket": {"port": "http"}}),
        ({"type": "vLLM", "image": "vllm:1"}, {"httpGet": {"path": "/health", "port": "http"}}),
        # The engine and the port of the deployment are those of its decode workers.
        (None, None),
    ],
)
def test_another_role_is_probed_where_its_engine_is_known_to_listen(
    engine: dict[str, Any] | None, asked: dict[str, Any] | None
) -> None:
    workers = {"topology": {"tensor": 8}}
    spec = {"replicas": 1, "engine": {"type": "Other", "image": "front:1", "port": 8000}, "workers": workers}
    role = {"workers": workers, **({"engine": engine} if engine else {})}
    document = ModelDeployment.model_validate(
        {"metadata": {"name": "qwen", "namespace": "ml"}, "spec": {**spec, "roles": {"encoder": role}}}
    )
    hardware = Hardware("nvidia.com/gpu", 8, 8, {"inferfleet.dev/pool": "h100"})

    def probes(role_name: str) -> dict[str, Any]:
        pod = pod_template(PlacedPod(document, SPOT, role_name, "Entry", Shape(1, 8), hardware, "front:1"))
        found = {name: probe for name, probe in _engine(pod).items() if name.endswith("Probe")}
        return {
            name: {key: probe[key] for key in ("tcpSocket", "httpGet") if key in probe}
            for name, probe in found.items()
        }

    kinds = ("startupProbe", "readinessProbe", "livenessProbe")
    assert probes("encoder") == (dict.fromkeys(kinds, asked) if asked else {})
    assert probes("decode") == {kind: {"tcpSocket": {"port": "http"}} for kind in kinds}
