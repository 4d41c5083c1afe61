"""The generated pod template, whole, and where it follows what the team wrote."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from inferfleet.documents.kinds.base import Taint
from inferfleet.documents.kinds.inference_class import Device
from inferfleet.documents.kinds.inference_cluster import NodePool
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.documents.problems import Problem
from inferfleet.fleet.shapes import Shape
from inferfleet.fleet.spot import Spot
from inferfleet.serving.pod.check import document_problems, other_port_problems
from inferfleet.serving.pod.hardware import Hardware, hardware
from inferfleet.serving.pod.template import PlacedPod, pod_template

Make = Callable[..., ModelDeployment]

IDENTITY = {
    "inferfleet.dev/deployment": "qwen",
    "inferfleet.dev/role": "decode",
    "inferfleet.dev/placement": "h100",
    "inferfleet.dev/serves": "true",
    "llm-d.ai/model": "qwen",
    "llm-d.ai/role": "both",
    "llm-d.ai/engine-type": "vllm",
    "llm-d.ai/inference-serving": "true",
}
HEALTH = {"httpGet": {"path": "/health", "port": "http"}}
KEEPS = {"name": "VLLM_HTTP_TIMEOUT_KEEP_ALIVE", "value": "3700"}
ENGINE = {
    "name": "engine",
    "image": "vllm:1",
    "env": [KEEPS],
    "ports": [{"name": "http", "containerPort": 8000}],
    "startupProbe": HEALTH | {"periodSeconds": 10, "timeoutSeconds": 5, "failureThreshold": 180},
    "readinessProbe": HEALTH | {"periodSeconds": 5, "timeoutSeconds": 5},
    "livenessProbe": HEALTH | {"periodSeconds": 10, "timeoutSeconds": 5, "failureThreshold": 3},
    "terminationMessagePolicy": "FallbackToLogsOnError",
    "volumeMounts": [{"name": "dshm", "mountPath": "/dev/shm"}],
    "lifecycle": {"preStop": {"sleep": {"seconds": 30}}},
    "resources": {"limits": {"nvidia.com/gpu": "2"}, "requests": {"nvidia.com/gpu": "2"}},
}
POD = {
    "containers": [ENGINE],
    "volumes": [{"name": "dshm", "emptyDir": {"medium": "Memory"}}],
    "terminationGracePeriodSeconds": 130,
    "nodeSelector": {"inferfleet.dev/pool": "h100"},
    "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
    "enableServiceLinks": False,
}
TOGETHER = {
    "weight": 100,
    "podAffinityTerm": {
        "labelSelector": {"matchLabels": {"inferfleet.dev/shares-node": "true"}},
        "namespaceSelector": {},
        "topologyKey": "kubernetes.io/hostname",
    },
}
ZONE = {"weight": 1, "podAffinityTerm": {"topologyKey": "zone"}}


def _pod(document: ModelDeployment, spot: Spot, needs: Hardware) -> dict[str, Any]:
    placed = _placed(document, spot, needs)
    assert not list(document_problems(placed))
    return pod_template(placed)


def _placed(document: ModelDeployment, spot: Spot, needs: Hardware) -> PlacedPod:
    return PlacedPod(document, spot, "decode", "Entry", Shape(1, needs.gpus), needs)


def test_a_minimal_template_gets_all_that_serving_needs(
    deployment: Make, spot: Spot, whole: Hardware
) -> None:
    assert _pod(deployment(), spot, whole) == {"metadata": {"labels": IDENTITY}, "spec": POD}


def test_a_pod_smaller_than_its_node_is_drawn_to_others(
    deployment: Make, spot: Spot, quarter: Hardware
) -> None:
    preferred = {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [TOGETHER]}}
    assert _pod(deployment(), spot, quarter) == {
        "metadata": {"labels": IDENTITY | {"inferfleet.dev/shares-node": "true"}},
        "spec": POD | {"affinity": preferred},
    }


def test_what_the_team_wrote_is_kept(deployment: Make, spot: Spot, quarter: Hardware) -> None:
    own = {
        "engine": {
            "args": ["serve"],
            "env": [{"name": "OWN", "value": "$(INFERFLEET_PORT)"}],
            "ports": [{"containerPort": 8000}, {"name": "rpc", "containerPort": 5555}],
            "readinessProbe": {"tcpSocket": {"port": 8000}},
            "terminationMessagePolicy": "File",
            "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm/"}],
            "lifecycle": {"preStop": {"exec": {"command": ["true"]}}},
            "resources": {"limits": {"memory": "64Gi", "nvidia.com/gpu": 2}, "requests": None},
        },
        "sidecars": [{"name": "log", "image": "log:1"}],
        "volumes": [{"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "8Gi"}}],
        "terminationGracePeriodSeconds": 600,
        "nodeSelector": {"disk": "fast"},
        "tolerations": [{"operator": "Exists"}],
        "affinity": {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [ZONE]}},
        "enableServiceLinks": True,
        "restartPolicy": "Always",
        "priorityClassName": "high",
        "hostname": None,
    }
    assert _pod(deployment(own, {"team": "a"}), spot, quarter) == {
        "metadata": {"labels": {"team": "a", **IDENTITY, "inferfleet.dev/shares-node": "true"}},
        "spec": {
            "containers": [
                {
                    "name": "engine",
                    "image": "vllm:1",
                    "args": ["serve"],
                    # A command of the team's own may use what the document declares.
                    "env": [
                        KEEPS,
                        *(
                            {"name": f"INFERFLEET_{name}", "value": value}
                            for name, value in (
                                ("PORT", "8000"),
                                ("TENSOR", "2"),
                                ("PIPELINE", "1"),
                                ("DATA", "1"),
                                ("DATA_LOCAL", "1"),
                                ("DRAIN", "560"),
                            )
                        ),
                        {"name": "OWN", "value": "$(INFERFLEET_PORT)"},
                    ],
                    "ports": [
                        {"containerPort": 8000, "name": "http"},
                        {"name": "rpc", "containerPort": 5555},
                    ],
                    "readinessProbe": {"tcpSocket": {"port": 8000}},
                    "terminationMessagePolicy": "File",
                    "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm/"}],
                    "lifecycle": {"preStop": {"exec": {"command": ["true"]}}},
                    "resources": {
                        "limits": {"memory": "64Gi", "nvidia.com/gpu": "2"},
                        "requests": {"nvidia.com/gpu": "2"},
                    },
                },
                {"name": "log", "image": "log:1"},
            ],
            "volumes": [{"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "8Gi"}}],
            "terminationGracePeriodSeconds": 600,
            "nodeSelector": {"disk": "fast", "inferfleet.dev/pool": "h100"},
            "tolerations": [
                {"operator": "Exists"},
                {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
            ],
            "affinity": {
                "podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [ZONE, TOGETHER]}
            },
            "enableServiceLinks": True,
            "restartPolicy": "Always",
            "priorityClassName": "high",
        },
    }


@pytest.mark.parametrize(
    ("grace", "lifecycle"),
    [
        (40, {"preStop": {"sleep": {"seconds": 20}}}),
        (60, {"preStop": {"sleep": {"seconds": 30}}}),
        (0, None),
    ],
)
def test_the_drain_ends_well_within_the_grace_period(
    deployment: Make, spot: Spot, whole: Hardware, grace: int, lifecycle: dict[str, Any] | None
) -> None:
    pod = _pod(deployment({"terminationGracePeriodSeconds": grace}), spot, whole)
    assert pod["spec"]["containers"][0].get("lifecycle") == lifecycle


def test_grace_period_and_drain_follow_from_each_other(deployment: Make, spot: Spot, whole: Hardware) -> None:
    model = {"model": "Qwen/Qwen3-32B"}
    pod = _pod(deployment(engine={**model, "drain": "10m"}), spot, whole)["spec"]
    assert pod["terminationGracePeriodSeconds"] == 640
    assert "--shutdown-timeout=600" in pod["containers"][0]["args"]
    written = deployment({"terminationGracePeriodSeconds": 60}, engine=model)
    assert "--shutdown-timeout=20" in _pod(written, spot, whole)["spec"]["containers"][0]["args"]
    slept = deployment({"engine": {"lifecycle": {"preStop": {"sleep": {"seconds": 131}}}}})
    assert _pod(slept, spot, whole)["spec"]["terminationGracePeriodSeconds"] == 231


@pytest.mark.parametrize(
    ("engine", "port", "probe", "failures"),
    [
        ({"type": "SGLang"}, 30000, {"httpGet": {"path": "/health", "port": "http"}}, 180),
        (
            {"type": "Triton", "port": 9000},
            9000,
            {"httpGet": {"path": "/v2/health/ready", "port": "http"}},
            180,
        ),
        ({"type": "Other", "startup": "95s"}, 8000, {"tcpSocket": {"port": "http"}}, 10),
    ],
)
def test_port_and_probes_follow_the_engine(
    deployment: Make,
    spot: Spot,
    whole: Hardware,
    engine: dict[str, Any],
    port: int,
    probe: dict[str, Any],
    failures: int,
) -> None:
    container = _pod(deployment(engine=engine), spot, whole)["spec"]["containers"][0]
    assert container["ports"] == [{"name": "http", "containerPort": port}]
    assert container["startupProbe"] == {
        **probe,
        "periodSeconds": 10,
        "timeoutSeconds": 5,
        "failureThreshold": failures,
    }


def test_an_engine_has_its_time_to_load_before_a_liveness_probe_of_the_team_counts(
    deployment: Make, spot: Spot, whole: Hardware
) -> None:
    asks = {"httpGet": {"path": "/livez", "port": 8000}, "timeoutSeconds": 3}
    liveness = asks | {"initialDelaySeconds": 120, "failureThreshold": 3, "periodSeconds": 10}
    own = {"engine": {"livenessProbe": liveness}}
    container = _pod(deployment(own, engine={"startup": "1h"}), spot, whole)["spec"]["containers"][0]
    assert {name: probe for name, probe in container.items() if name.endswith("Probe")} == {
        "livenessProbe": liveness,
        "startupProbe": asks | {"periodSeconds": 10, "failureThreshold": 360},
    }


@pytest.mark.parametrize(
    ("engine", "listed", "warned"),
    [
        ({"type": "Other"}, [7997], True),
        ({"type": "Other", "port": 7997}, [7997], False),
        ({"type": "Other"}, [8000, 9090], False),
        ({}, [], False),
    ],
)
def test_an_engine_that_lists_another_port_than_requests_come_to_is_warned_of(
    deployment: Make, spot: Spot, whole: Hardware, engine: dict[str, Any], listed: list[int], warned: bool
) -> None:
    own = {"engine": {"ports": [{"containerPort": port} for port in listed]}}
    found = [*other_port_problems(_placed(deployment(own, engine=engine), spot, whole))]
    expected = Problem(
        "the engine lists port 7997, and requests come to port 8000, which is that of Other",
        "Write engine.port: 7997, or whichever it serves on",
        "spec.engine.port",
        kind="ModelDeployment",
        key="ml/qwen",
        severity="warning",
    )
    assert found == ([expected] if warned else [])


@pytest.mark.parametrize("port", [8000, "serve"])
def test_a_probe_by_https_where_requests_come_by_http_is_refused(
    deployment: Make, spot: Spot, whole: Hardware, port: int | str
) -> None:
    own = {
        "engine": {
            "ports": [{"name": "serve", "containerPort": 8000}, {"name": "tls", "containerPort": 8443}],
            "livenessProbe": {"httpGet": {"port": "tls", "scheme": "HTTPS"}},
            "readinessProbe": {"httpGet": {"port": port, "scheme": "HTTPS"}},
        }
    }
    placed = _placed(deployment(own), spot, whole)
    assert [(one.what, one.path) for one in document_problems(placed)] == [
        (
            f"readinessProbe asks port {port} by HTTPS, and requests come there by plain HTTP",
            "spec.workers.template.spec.containers[0].readinessProbe.httpGet.scheme",
        )
    ]


@pytest.mark.parametrize(
    ("ports", "listed", "asked"),
    [
        ([{"containerPort": 8000, "name": "serve"}], [{"containerPort": 8000, "name": "serve"}], "serve"),
        (
            [{"containerPort": 9000, "name": "http"}],
            [{"containerPort": 9000, "name": "http"}, {"name": "engine", "containerPort": 8000}],
            "engine",
        ),
        (
            [{"containerPort": 8000, "protocol": "UDP", "name": "quic"}],
            [
                {"containerPort": 8000, "protocol": "UDP", "name": "quic"},
                {"name": "http", "containerPort": 8000},
            ],
            "http",
        ),
    ],
)
def test_ports_keep_the_names_that_a_template_gives_them(
    deployment: Make,
    spot: Spot,
    whole: Hardware,
    ports: list[dict[str, Any]],
    listed: list[dict[str, Any]],
    asked: str,
) -> None:
    container = _pod(deployment({"engine": {"ports": ports}}), spot, whole)["spec"]["containers"][0]
    assert container["ports"] == listed
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert container[probe]["httpGet"] == {"path": "/health", "port": asked}


def test_nothing_is_shared_with_the_document_or_between_pods(
    deployment: Make, spot: Spot, quarter: Hardware
) -> None:
    document = deployment({"tolerations": [{"operator": "Exists"}]})
    before = document.model_dump_json()
    first, second = (
        pod_template(PlacedPod(document, spot, "decode", "Entry", Shape(1, quarter.gpus), quarter))
        for _ in "ab"
    )
    text = json.dumps(second)
    for one in (first["spec"]["tolerations"], first["spec"]["volumes"], first["metadata"]["labels"]):
        one.clear()
    assert (document.model_dump_json(), json.dumps(second)) == (before, text)


def test_hardware_follows_class_and_pool() -> None:
    device = Device(name="gpu", driver="gpu.amd.com", device_class_name="x", count=8)
    taint = Taint(key="team", value="ml", effect="NoSchedule")
    pool = NodePool(name="mi300", class_name="c", node_count=1, taints=(taint,))
    labelled = NodePool(name="mi300", class_name="c", node_count=1, node_selector={"gpu": "mi300"})
    assert hardware(device=device, gpus=8, pool=pool) == Hardware(
        "amd.com/gpu", 8, 8, {"inferfleet.dev/pool": "mi300"}, (taint,), whole="amd.com/gpu"
    )
    assert hardware(device=device, gpus=8, pool=labelled).node_selector == {"gpu": "mi300"}


def test_nodes_that_hand_out_slices_keep_the_taint_of_the_whole_device(deployment: Make, spot: Spot) -> None:
    device = Device(name="slice", driver="gpu.nvidia.com", resource="nvidia.com/mig-1g.10gb", count=7)
    needs = hardware(device=device, gpus=1, pool=NodePool(name="mig", class_name="c", node_count=1))
    spec = _pod(deployment(), spot, needs)["spec"]
    assert spec["containers"][0]["resources"] == {
        "limits": {"nvidia.com/mig-1g.10gb": "1"},
        "requests": {"nvidia.com/mig-1g.10gb": "1"},
    }
    assert spec["tolerations"] == [
        {"key": "nvidia.com/mig-1g.10gb", "operator": "Exists", "effect": "NoSchedule"},
        {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
    ]


def test_pods_say_how_many_devices_they_have_by_a_resource_of_no_known_vendor(
    deployment: Make, spot: Spot
) -> None:
    device = Device(name="card", driver="gpu.acme.com", resource="acme.com/gpu", count=8)
    needs = hardware(device=device, gpus=2, pool=NodePool(name="acme", class_name="c", node_count=1))
    assert _pod(deployment(), spot, needs)["metadata"]["annotations"] == {"inferfleet.dev/gpus": "2"}


def test_a_pool_s_taints_are_tolerated_and_the_device_s_only_once(deployment: Make, spot: Spot) -> None:
    taints = (
        Taint(key="nvidia.com/gpu", value="present", effect="NoSchedule"),
        Taint(key="nvidia.com/gpu", value="present", effect="NoExecute"),
        Taint(key="team", effect="NoSchedule"),
    )
    needs = Hardware("nvidia.com/gpu", 2, 2, {}, taints)
    assert _pod(deployment(), spot, needs)["spec"]["tolerations"] == [
        {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
        {"key": "nvidia.com/gpu", "operator": "Equal", "value": "present", "effect": "NoExecute"},
        {"key": "team", "operator": "Equal", "value": "", "effect": "NoSchedule"},
    ]
