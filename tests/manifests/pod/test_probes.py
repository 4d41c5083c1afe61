"""Probes of a team's own that a working engine fails are told, and no others."""

from typing import Any

import pytest
from probed_pods import LEAVE, VLLM, Said, asking, refused, stand_of, warned

FROM_MAP = {"name": "PORT", "valueFrom": {"configMapKeyRef": {"name": "m", "key": "port"}}}
UNLESS = ", unless a file or variable gives another port"
STARTS = {"httpGet": {"path": "/health", "port": "http"}, "periodSeconds": 10, "failureThreshold": 180}


def test_a_probe_on_a_port_where_nothing_listens_is_refused() -> None:
    what = (
        "readinessProbe of container 'engine' asks port 9000, but vLLM listens on 8000, so it would fail "
        "each time"
    )
    assert refused(stand_of(readinessProbe=asking(port=9000))) == [("readinessProbe.httpGet.port", what)]
    tcp = stand_of(readinessProbe={"tcpSocket": {"port": 9000}})
    assert refused(tcp) == [("readinessProbe.tcpSocket.port", what)]


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
    asks = {"readinessProbe": asking(port=9000)}
    assert refused(stand_of(*beside, **asks, **fields)) == []
    assert warned(*beside, **asks, **fields) == [
        (
            "readinessProbe of container 'engine' asks port 9000, but vLLM listens on 8000, so it would fail "
            f"each time{unless}",
            f"Write http, which is the name of the engine's port, or {LEAVE}",
        )
    ]


def test_a_variable_of_another_flag_gives_no_port() -> None:
    key = {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "k", "key": "k"}}}
    known = {"name": "PORT", "value": "8000"}
    stand = stand_of(
        args=["--api-key=$(KEY)", "--port=$(PORT)"], env=[key, known], livenessProbe=asking(port=9000)
    )
    assert [at for at, _ in refused(stand)] == ["livenessProbe.httpGet.port"]


@pytest.mark.parametrize(
    ("beside", "fields"),
    [
        ([], {"readinessProbe": asking()}),
        ([], {"readinessProbe": asking(port=8000)}),
        ([], {"readinessProbe": asking(port=9000), "ports": [{"containerPort": 9000}]}),
        (
            [{"name": "side", "image": "x", "ports": [{"containerPort": 9000}]}],
            {"readinessProbe": asking(port=9000)},
        ),
        ([], {"readinessProbe": asking(port=9000), "command": [*VLLM, "--health-port=9000"]}),
        ([], {"readinessProbe": asking(port=9000), "env": [{"name": "HEALTH", "value": "0.0.0.0:9000"}]}),
        ([], {"readinessProbe": asking(port=9000), "kind": "Other", "command": ["ours"]}),
        ([], {"readinessProbe": asking(port=80, host="health.example.com")}),
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
    assert (refused(stand_of(*beside, **fields)), warned(*beside, **fields)) == ([], [])


def test_https_to_an_engine_without_tls_is_refused_and_a_warning_where_a_file_may_have_it() -> None:
    secure = {"readinessProbe": asking(scheme="HTTPS")}
    what = (
        "readinessProbe of container 'engine' asks by HTTPS, but vLLM has no flag for TLS and takes plain "
        "HTTP there, so it would fail each time"
    )
    assert refused(stand_of(**secure)) == [("readinessProbe.httpGet.scheme", what)]
    by_file = {**secure, "command": [*VLLM, "--config=/etc/vllm.yaml"]}
    assert refused(stand_of(**by_file)) == []
    assert warned(**by_file) == [(what, "Remove scheme, or write HTTP")]
    # That flag is told by itself, by the check of the command line.
    for flag in ("--ssl-keyfile=/k", "--ssl_keyfile=/k"):
        with_tls = {**secure, "args": [flag]}
        assert (refused(stand_of(**with_tls)), warned(**with_tls)) == ([], [])


def test_a_liveness_that_ends_an_engine_while_it_loads_is_told_with_both_numbers() -> None:
    live = {"livenessProbe": {**asking(), "initialDelaySeconds": 60}, "readinessProbe": asking()}
    add = "Add a startupProbe with periodSeconds: 10 and failureThreshold"
    ends = "there is no startupProbe, so livenessProbe ends an engine that loads for more than 90 s"
    assert warned(**live) == [
        (f"{ends}, and engine.startup, by default, is 1800 s", f"{add}: 180, or {LEAVE}")
    ]
    assert warned(**live, startup="2m") == [
        (f"{ends}, and engine.startup is 120 s", f"{add}: 12, or {LEAVE}")
    ]
    assert warned(**live, startup="90s") == []
    assert warned(**live, startupProbe=STARTS) == []


def test_a_liveness_that_was_sized_for_its_model_is_told_only_against_a_time_that_is_written() -> None:
    def said(delay: int, startup: str | None = None) -> int:
        live = {**asking(), "initialDelaySeconds": delay}
        return len(warned(livenessProbe=live, readinessProbe=asking(), startup=startup))

    assert [said(1200), said(270), said(269)] == [0, 0, 1]
    assert [said(1200, "30m"), said(1770, "30m"), said(120, "150s")] == [1, 0, 0]


def test_a_liveness_alone_lets_requests_come_before_the_engine_has_loaded() -> None:
    assert warned(livenessProbe={**asking(), "initialDelaySeconds": 1800}) == [
        (
            "there is a livenessProbe, and neither readinessProbe nor startupProbe, so the pod gets requests "
            "before its engine has loaded",
            f"Add a readinessProbe, or {LEAVE}",
        )
    ]


def test_a_startup_probe_and_engine_startup_say_the_same() -> None:
    [short] = warned(startupProbe=STARTS, startup="45m")
    assert short == (
        "startupProbe ends an engine that loads for more than 1800 s, and engine.startup is 2700 s",
        "Write periodSeconds: 10 and failureThreshold: 270, or engine.startup: 1800s",
    )
    [long] = warned(startupProbe={**STARTS, "initialDelaySeconds": 1800})
    assert long == (
        "startupProbe lets the engine load for 3600 s, and engine.startup, by default, is 1800 s, for which "
        "an update waits once the image is there: it ends with an error before",
        "Write engine.startup: 3600s",
    )
    assert warned(startupProbe={**STARTS, "failureThreshold": 60}) == []  # nobody wrote how long it takes
    [unwritten] = warned(startupProbe=asking())
    assert unwritten[0] == (
        "startupProbe ends an engine that loads for more than 30 s, and engine.startup, by default, is 1800 s"
    )
    assert warned(startupProbe={**STARTS, "initialDelaySeconds": 5}, startup="30m") == []


def test_a_readiness_that_asks_later_than_an_update_waits_is_told() -> None:
    def said(delay: int, startup: str | None = None) -> Said:
        return warned(readinessProbe={**asking(), "initialDelaySeconds": delay}, startup=startup)

    late = "readinessProbe asks for the first time 4000 s after the container began, and engine.startup"
    waits = "for which an update waits once the image is there: it ends with an error before"
    remove = "Remove initialDelaySeconds, because a readinessProbe that fails ends nothing"
    assert said(4000) == [(f"{late}, by default, is 1800 s, {waits}", f"{remove}, or engine.startup: 4000s")]
    assert said(4000, "1h") == [(f"{late} is 3600 s, {waits}", f"{remove}, or engine.startup: 4000s")]
    assert [said(100_000, "24h")[0][1], said(1800), said(4000, "2h")] == [remove, [], []]


@pytest.mark.parametrize(
    ("live", "when"),
    [
        ({"failureThreshold": 1}, "one answer takes more than 1 s, within 1 s"),
        ({"failureThreshold": 1, "timeoutSeconds": 10}, "one answer takes more than 10 s, within 10 s"),
        ({"periodSeconds": 5}, "3 answers in a row take more than 1 s, within 11 s"),
    ],
)
def test_a_liveness_that_ends_a_busy_engine_is_told_with_the_seconds(live: dict[str, int], when: str) -> None:
    assert warned(startupProbe=STARTS, livenessProbe={**asking(), **live}) == [
        (
            f"livenessProbe ends the engine with all it has in hand when {when}, which a busy one may need",
            f"Write timeoutSeconds: 5, periodSeconds: 10 and failureThreshold: 3, or {LEAVE}",
        )
    ]
    assert warned(startupProbe=STARTS, livenessProbe=asking()) == []
    by_connection = {"tcpSocket": {"port": "http"}, **live}  # the kernel answers for the engine
    assert warned(startupProbe=STARTS, livenessProbe=by_connection) == []


def test_the_probes_that_inferfleet_writes_are_right() -> None:
    assert [warned(startup=startup) for startup in (None, "1s", "90m", "24h")] == [[]] * 4
