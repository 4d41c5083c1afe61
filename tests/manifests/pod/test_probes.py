"""Probes of a team's own that a working engine fails are told, and no others."""

from typing import Any

import pytest

from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.fleet.shapes import Shape
from inferfleet.fleet.spot import Spot
from inferfleet.manifests.pod.clashes import document_contradictions
from inferfleet.manifests.pod.hardware import Hardware
from inferfleet.manifests.pod.probes import probe_mistakes
from inferfleet.manifests.pod.stand import Stand
from inferfleet.manifests.pod.template import pod_template

Said = list[tuple[str, str]]
VLLM = ["vllm", "serve", "m"]
LEAVE = "leave the probes out, and inferfleet writes all three"
FROM_MAP = {"name": "PORT", "valueFrom": {"configMapKeyRef": {"name": "m", "key": "port"}}}
UNLESS = ", unless a file or variable gives another port"
STARTS = {"httpGet": {"path": "/health", "port": "http"}, "periodSeconds": 10, "failureThreshold": 180}


def _stand(
    *beside: dict[str, Any],
    kind: str = "vLLM",
    startup: str | None = None,
    role: str = "decode",
    **engine: Any,
) -> Stand:
    container = {"name": "engine", "image": "x", "command": VLLM, **engine}
    document = ModelDeployment.model_validate(
        {
            "metadata": {"name": "qwen", "namespace": "ml"},
            "spec": {
                "replicas": 1,
                "engine": {"type": kind, **({"startup": startup} if startup else {})},
                "workers": {
                    "topology": {"tensor": 1},
                    "template": {"spec": {"containers": [container, *beside]}},
                },
            },
        }
    )
    spot = Spot("ml/qwen", "east", (("decode", "h100"),))
    needs = Hardware("nvidia.com/gpu", 1, 1, {"inferfleet.dev/pool": "h100"})
    return Stand(document, spot, role, "Entry", Shape(1, 1), needs)


def _refused(stand: Stand) -> Said:
    found = document_contradictions(stand)
    return [(one.path.removeprefix("spec.workers.template.spec.containers[0]."), one.what) for one in found]


def _warned(*beside: dict[str, Any], **fields: Any) -> Said:
    stand = _stand(*beside, **fields)
    found = probe_mistakes(pod_template(stand)["spec"], stand)
    return [(mistake.what, mistake.next_step) for mistake in found]


def _asks(**way: Any) -> dict[str, Any]:
    return {"httpGet": {"path": "/health", "port": "http", **way}}


def test_a_probe_on_a_port_where_nothing_listens_is_refused() -> None:
    what = (
        "readinessProbe of container 'engine' asks port 9000, but vLLM listens on 8000, so it would fail "
        "each time"
    )
    assert _refused(_stand(readinessProbe=_asks(port=9000))) == [("readinessProbe.httpGet.port", what)]
    tcp = _stand(readinessProbe={"tcpSocket": {"port": 9000}})
    assert _refused(tcp) == [("readinessProbe.tcpSocket.port", what)]


@pytest.mark.parametrize(
    ("beside", "fields", "unless"),
    [
        ([{"name": "side", "image": "side:1"}], {}, ""),
        ([], {"command": ["bash", "-c", "serve-health & exec vllm serve m"]}, ""),
        ([], {"command": [], "args": ["m"]}, ""),
        ([], {"command": [*VLLM, "--config=/c.yaml"]}, UNLESS),
        ([], {"args": ["--port=$(PORT)"], "env": [FROM_MAP]}, UNLESS),
        ([], {"args": ["--port", "$(PORT)"], "env": [FROM_MAP]}, UNLESS),
        ([], {"envFrom": [{"configMapRef": {"name": "m"}}]}, UNLESS),
    ],
)
def test_where_something_else_may_listen_or_give_the_port_it_is_a_warning(
    beside: list[dict[str, Any]], fields: dict[str, Any], unless: str
) -> None:
    asks = {"readinessProbe": _asks(port=9000)}
    assert _refused(_stand(*beside, **asks, **fields)) == []
    assert _warned(*beside, **asks, **fields) == [
        (
            "readinessProbe of container 'engine' asks port 9000, but vLLM listens on 8000, so it would fail "
            f"each time{unless}",
            f"Write http, which is the name of the engine's port, or {LEAVE}",
        )
    ]


def test_a_variable_of_another_flag_gives_no_port() -> None:
    key = {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "k", "key": "k"}}}
    known = {"name": "PORT", "value": "8000"}
    stand = _stand(
        args=["--api-key=$(KEY)", "--port=$(PORT)"], env=[key, known], livenessProbe=_asks(port=9000)
    )
    assert [at for at, _ in _refused(stand)] == ["livenessProbe.httpGet.port"]


@pytest.mark.parametrize(
    ("beside", "fields"),
    [
        ([], {"readinessProbe": _asks()}),
        ([], {"readinessProbe": _asks(port=8000)}),
        ([], {"readinessProbe": _asks(port=9000), "ports": [{"containerPort": 9000}]}),
        (
            [{"name": "side", "image": "x", "ports": [{"containerPort": 9000}]}],
            {"readinessProbe": _asks(port=9000)},
        ),
        ([], {"readinessProbe": _asks(port=9000), "command": [*VLLM, "--health-port=9000"]}),
        ([], {"readinessProbe": _asks(port=9000), "env": [{"name": "HEALTH", "value": "0.0.0.0:9000"}]}),
        ([], {"readinessProbe": _asks(port=9000), "kind": "Other", "command": ["ours"]}),
        ([], {"readinessProbe": _asks(port=80, host="health.example.com")}),
        ([], {"kind": "Triton", "command": ["tritonserver"], "readinessProbe": {"grpc": {"port": 8001}}}),
        (
            [],
            {"kind": "Triton", "command": ["tritonserver"], "readinessProbe": {"tcpSocket": {"port": 8002}}},
        ),
        ([], {"readinessProbe": {"exec": {"command": ["curl", "localhost:9000"]}}}),
    ],
)
def test_nothing_is_said_of_a_port_on_which_something_listens_or_of_which_nothing_is_known(
    beside: list[dict[str, Any]], fields: dict[str, Any]
) -> None:
    assert (_refused(_stand(*beside, **fields)), _warned(*beside, **fields)) == ([], [])


def test_https_to_an_engine_without_tls_is_refused_and_a_warning_where_a_file_may_have_it() -> None:
    secure = {"readinessProbe": _asks(scheme="HTTPS")}
    what = (
        "readinessProbe of container 'engine' asks by HTTPS, but vLLM has no flag for TLS and takes plain "
        "HTTP there, so it would fail each time"
    )
    assert _refused(_stand(**secure)) == [("readinessProbe.httpGet.scheme", what)]
    by_file = {**secure, "command": [*VLLM, "--config=/etc/vllm.yaml"]}
    assert _refused(_stand(**by_file)) == []
    assert _warned(**by_file) == [(what, "Remove scheme, or write HTTP")]
    # That flag is told by itself, by the check of the command line.
    for flag in ("--ssl-keyfile=/k", "--ssl_keyfile=/k"):
        with_tls = {**secure, "args": [flag]}
        assert (_refused(_stand(**with_tls)), _warned(**with_tls)) == ([], [])


@pytest.mark.parametrize(
    ("kind", "command", "path"),
    [
        ("vLLM", VLLM, "/healthz"),
        ("vLLM", VLLM, "/v1/health/ready"),
        ("vLLM", VLLM, "/health_generate"),
        ("SGLang", ["python3", "-m", "sglang.launch_server"], "/readyz"),
        ("TensorRT-LLM", ["trtllm-serve", "m"], "/v2/health/ready"),
        ("Triton", ["tritonserver"], "/health"),
    ],
)
def test_a_path_that_the_engine_does_not_know_is_told(kind: str, command: list[str], path: str) -> None:
    health = "/v2/health/ready" if kind == "Triton" else "/health"
    assert _warned(kind=kind, command=command, readinessProbe=_asks(path=path)) == [
        (f"readinessProbe asks {path}, which {kind} answers with 404", f"Ask {health}, or {LEAVE}")
    ]


@pytest.mark.parametrize(
    ("by", "fields"),
    [
        ("--api-key", {"args": ["--api-key=$(KEY)"]}),
        ("--api-key", {"args": ["--api_key", "a", "b"]}),
        (
            "VLLM_API_KEY",
            {"env": [{"name": "VLLM_API_KEY", "valueFrom": {"secretKeyRef": {"name": "k", "key": "k"}}}]},
        ),
        ("--api-key", {"kind": "SGLang", "command": ["sglang", "serve"], "args": ["--api-key=x"]}),
    ],
)
def test_a_path_that_needs_the_key_is_told_without_it(by: str, fields: dict[str, Any]) -> None:
    kind = fields.get("kind", "vLLM")
    assert _warned(readinessProbe=_asks(path="/v1/models"), **fields) == [
        (
            f"readinessProbe asks /v1/models, which {kind} answers with 401, because it has a key by {by}",
            f"Ask /health, which needs no key, or {LEAVE}",
        )
    ]


@pytest.mark.parametrize(
    "fields",
    [
        {"readinessProbe": _asks(path="/v1/models")},
        {"readinessProbe": _asks(path="/health?x=1"), "args": ["--api-key=x"]},
        {"readinessProbe": _asks(path="/ping"), "args": ["--api-key=x"]},
        {
            "readinessProbe": _asks(path="/v1/models", httpHeaders=[{"name": "Authorization", "value": "x"}]),
            "args": ["--api-key=x"],
        },
        {"readinessProbe": _asks(path="/healthz"), "command": ["ours"]},
        {"readinessProbe": _asks(path="/v1/health/ready"), "command": []},
        {"readinessProbe": _asks(path="/v1/health/ready"), "command": [], "args": ["--api-key=x"]},
        {"readinessProbe": _asks(path="/healthz"), "kind": "Other", "command": ["ours"]},
        {"readinessProbe": _asks(path="/healthz", port=9000), "ports": [{"containerPort": 9000}]},
    ],
)
def test_nothing_is_said_of_a_path_that_may_be_answered(fields: dict[str, Any]) -> None:
    assert _warned(**fields) == []


def test_a_liveness_that_ends_an_engine_while_it_loads_is_told_with_both_numbers() -> None:
    live = {"livenessProbe": {**_asks(), "initialDelaySeconds": 60}, "readinessProbe": _asks()}
    add = "Add a startupProbe with periodSeconds: 10 and failureThreshold"
    ends = "there is no startupProbe, so livenessProbe ends an engine that loads for more than 90 s"
    assert _warned(**live) == [
        (f"{ends}, and engine.startup, by default, is 1800 s", f"{add}: 180, or {LEAVE}")
    ]
    assert _warned(**live, startup="2m") == [
        (f"{ends}, and engine.startup is 120 s", f"{add}: 12, or {LEAVE}")
    ]
    assert _warned(**live, startup="90s") == []
    assert _warned(**live, startupProbe=STARTS) == []


def test_a_liveness_that_was_sized_for_its_model_is_told_only_against_a_time_that_is_written() -> None:
    def said(delay: int, startup: str | None = None) -> int:
        live = {**_asks(), "initialDelaySeconds": delay}
        return len(_warned(livenessProbe=live, readinessProbe=_asks(), startup=startup))

    assert [said(1200), said(270), said(269)] == [0, 0, 1]
    assert [said(1200, "30m"), said(1770, "30m"), said(120, "150s")] == [1, 0, 0]


def test_a_liveness_alone_lets_requests_come_before_the_engine_has_loaded() -> None:
    assert _warned(livenessProbe={**_asks(), "initialDelaySeconds": 1800}) == [
        (
            "there is a livenessProbe, and neither readinessProbe nor startupProbe, so the pod gets requests "
            "before its engine has loaded",
            f"Add a readinessProbe, or {LEAVE}",
        )
    ]


def test_a_startup_probe_and_engine_startup_say_the_same() -> None:
    [short] = _warned(startupProbe=STARTS, startup="45m")
    assert short == (
        "startupProbe ends an engine that loads for more than 1800 s, and engine.startup is 2700 s",
        "Write periodSeconds: 10 and failureThreshold: 270, or engine.startup: 1800s",
    )
    [long] = _warned(startupProbe={**STARTS, "initialDelaySeconds": 1800})
    assert long == (
        "startupProbe lets the engine load for 3600 s, and engine.startup, by default, is 1800 s, for which "
        "an update waits once the image is there: it ends with an error before",
        "Write engine.startup: 3600s",
    )
    assert _warned(startupProbe={**STARTS, "failureThreshold": 60}) == []  # nobody wrote how long it takes
    [unwritten] = _warned(startupProbe=_asks())
    assert unwritten[0] == (
        "startupProbe ends an engine that loads for more than 30 s, and engine.startup, by default, is 1800 s"
    )
    assert _warned(startupProbe={**STARTS, "initialDelaySeconds": 5}, startup="30m") == []


@pytest.mark.parametrize(
    ("live", "when"),
    [
        ({"failureThreshold": 1}, "one answer takes more than 1 s, within 1 s"),
        ({"failureThreshold": 1, "timeoutSeconds": 10}, "one answer takes more than 10 s, within 10 s"),
        ({"periodSeconds": 5}, "3 answers in a row take more than 1 s, within 11 s"),
    ],
)
def test_a_liveness_that_ends_a_busy_engine_is_told_with_the_seconds(live: dict[str, int], when: str) -> None:
    assert _warned(startupProbe=STARTS, livenessProbe={**_asks(), **live}) == [
        (
            f"livenessProbe ends the engine with all it has in hand when {when}, which a busy one may need",
            f"Write timeoutSeconds: 5, periodSeconds: 10 and failureThreshold: 3, or {LEAVE}",
        )
    ]
    assert _warned(startupProbe=STARTS, livenessProbe=_asks()) == []
    by_connection = {"tcpSocket": {"port": "http"}, **live}  # the kernel answers for the engine
    assert _warned(startupProbe=STARTS, livenessProbe=by_connection) == []


def test_the_probes_that_inferfleet_writes_are_right() -> None:
    assert [_warned(startup=startup) for startup in (None, "1s", "90m", "24h")] == [[]] * 4
