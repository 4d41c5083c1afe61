"""What engines of both roles are told so that KV caches find their way."""

from typing import Any

import pytest
from apart import apart, stand, workers

from inferfleet.serving.pod.check import document_problems
from inferfleet.serving.pod.template import PlacedPod, pod_template

KEEPS = ("VLLM_HTTP_TIMEOUT_KEEP_ALIVE", "3700")
HOST, PORT = "VLLM_NIXL_SIDE_CHANNEL_HOST", "VLLM_NIXL_SIDE_CHANNEL_PORT"


def _engine(where: PlacedPod) -> dict[str, Any]:
    assert list(document_problems(where)) == []
    [engine] = pod_template(where)["spec"]["containers"]
    return dict(engine)


def _env(where: PlacedPod) -> list[tuple[str, str]]:
    return [(each["name"], each.get("value", "a field")) for each in _engine(where)["env"]]


def _set(**values: str) -> dict[str, Any]:
    return {"env": [{"name": name, "value": value} for name, value in values.items()]}


@pytest.mark.parametrize(
    ("fabric", "chosen"),
    [
        ("None", [("UCX_TLS", "cuda_ipc,cuda_copy,tcp")]),
        ("RDMA", []),
        ("GKE", [("UCX_IB_ROCE_REACHABILITY_MODE", "all")]),
    ],
)
@pytest.mark.parametrize("role", ["decode", "prefill"])
def test_ucx_is_told_by_the_fabric_of_the_class(
    role: str, fabric: str, chosen: list[tuple[str, str]]
) -> None:
    expected = [KEEPS, (HOST, "a field"), (PORT, "5600"), *chosen]
    assert _env(stand(apart(), role, fabric=fabric)) == expected


@pytest.mark.parametrize(
    "engine", [{"resources": {"limits": {"rdma/ib": 1}}}, {"envFrom": [{"configMapRef": {"name": "ucx"}}]}]
)
def test_ucx_is_left_alone_where_a_template_may_give_it_adapters(engine: dict[str, Any]) -> None:
    document = apart(workers(engine=engine))
    assert _env(stand(document)) == [KEEPS, (HOST, "a field"), (PORT, "5600")]


def test_what_a_template_sets_stays() -> None:
    own = {"VLLM_HTTP_TIMEOUT_KEEP_ALIVE": "600", HOST: "$(MY_IP)", PORT: "6000", "UCX_TLS": "tcp"}
    made = _engine(stand(apart(workers(engine=_set(**own)))))
    assert {each["name"]: each["value"] for each in made["env"]} == own


def test_of_a_shared_storage_pods_know_their_revision_and_no_side_channel() -> None:
    made = _engine(stand(apart(connector="SharedStorage")))
    label = {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.labels['inferfleet.dev/revision']"}}
    assert (made["env"], made["ports"]) == (
        [{"name": KEEPS[0], "value": KEEPS[1]}, {"name": "INFERFLEET_REVISION", "valueFrom": label}],
        [{"name": "http", "containerPort": 8200}],
    )


def test_proxies_ask_mooncake_where_prefill_tells_the_way() -> None:
    document = apart(connector="Mooncake")
    proxy = pod_template(stand(document))["spec"]["initContainers"][0]
    assert "--mooncake-bootstrap-port=8998" in proxy["args"]
    made = _engine(stand(document, "prefill"))
    assert made["ports"][-1] == {"name": "bootstrap", "containerPort": 8998}
    assert _env(stand(document, "prefill")) == [KEEPS, ("VLLM_MOONCAKE_BOOTSTRAP_PORT", "8998")]


def test_proxies_ask_sglang_where_prefill_tells_the_way() -> None:
    document = apart(engine={"type": "SGLang"})
    proxy = pod_template(stand(document))["spec"]["initContainers"][0]
    assert {"name": "SGLANG_BOOTSTRAP_PORT", "value": "8998"} in proxy["env"]
    assert proxy["args"][:3] == ["--port=30000", "--model-server-port=8200", "--kv-connector=sglang"]
    made = _engine(stand(document, "prefill"))
    assert (made["ports"], made["env"]) == (
        [{"name": "http", "containerPort": 30000}, {"name": "bootstrap", "containerPort": 8998}],
        [
            {"name": "SGLANG_TIMEOUT_KEEP_ALIVE", "value": "3700"},
            {"name": "SGLANG_ENABLE_HEALTH_ENDPOINT_GENERATION", "value": "false"},
        ],
    )
