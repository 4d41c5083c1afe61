"""Where engines of decode pods listen: behind a routing proxy, which takes `engine.port`."""

from typing import Any

import pytest
from apart import apart, workers

from inferfleet.api.problems import Problem
from inferfleet.fleet import engine_args, ports
from inferfleet.fleet.ports import Health
from inferfleet.fleet.shapes import Shape

DECODE = "spec.workers.template.spec.containers[0]"
WIDE = {"tensor": 1, "data": 2, "dataLocal": 2}
MANY = ["--data-parallel-size=2", "--data-parallel-size-local=2", "--data-parallel-multi-port-external-lb"]


def _errors(document: Any) -> list[tuple[str, str, str]]:
    return [
        (problem.what, problem.next_step, problem.path)
        for problem in engine_args.check(document)
        if problem.severity == "error"
    ]


def test_requests_come_to_one_port_of_both_roles_and_engines_listen_on_their_own() -> None:
    document, one = apart(), Shape(1, 2)
    assert {
        role: (
            ports.serving_ports(document, role, one),
            ports.engine_ports(document, role, one),
            ports.health(document, role),
            ports.metrics_ports(document, role),
        )
        for role in ("decode", "prefill")
    } == {
        "decode": ((8000,), (8200,), Health(8200, "/health", "/health"), (8200,)),
        "prefill": ((8000,), (8000,), Health(8000, "/health", "/health"), (8000,)),
    }


def test_copies_have_a_port_each_in_both_roles_and_the_pool_has_those_of_the_wider_one() -> None:
    decode = workers("--port=8200")
    document = apart(decode, workers(*MANY, topology=WIDE))
    assert (ports.pool_ports(document, "decode"), ports.pool_ports(document, "prefill")) == (
        (8000,),
        (8000, 8001),
    )
    assert ports.target_ports(document) == (8000, 8001)


@pytest.mark.parametrize(
    ("args", "errors"),
    [
        (["--port=8200"], []),
        (["--port", "$(PORT)"], []),
        (
            ["--port=8000"],
            [
                (
                    "--port is '8000', but in decode pods the routing proxy takes engine.port 8000 and "
                    "passes requests on to port 8200",
                    "Write --port 8200, or another port there and as prefill.proxy.enginePort",
                    f"{DECODE}.args[0]",
                )
            ],
        ),
        (
            ["vllm", "serve", "m"],
            [
                (
                    "--port is not among the arguments of the engine, which listens on 8000 without it, but "
                    "in decode pods the routing proxy takes that port and passes requests on to port 8200",
                    "Add --port 8200, or plugin engine-args",
                    DECODE,
                )
            ],
        ),
        (
            ["--port=8200", "--data-parallel-supervisor-port=8001", *MANY],
            [
                (
                    "--data-parallel-supervisor-port is 8001, but the routing proxy takes requests on 8000 "
                    "to 8001",
                    "Give --data-parallel-supervisor-port another port",
                    f"{DECODE}.args[1]",
                )
            ],
        ),
    ],
)
def test_the_command_line_of_a_decode_engine_leaves_the_port_to_its_proxy(
    args: list[str], errors: list[tuple[str, str, str]]
) -> None:
    topology = WIDE if MANY[0] in args else None
    assert _errors(apart(workers(*args, topology=topology))) == errors


def test_an_image_may_set_the_port_of_a_decode_engine() -> None:
    warnings = [problem for problem in engine_args.check(apart(workers())) if "--port" in problem.what]
    assert warnings == [
        Problem(
            "prefill.proxy.enginePort is 8200, but --port is not among the arguments of the engine",
            "Add --port 8200, unless the image or a configuration file sets it",
            "spec.workers.template.spec",
            kind="ModelDeployment",
            key="ml/qwen",
            severity="warning",
        )
    ]


@pytest.mark.parametrize(
    ("decode", "fields", "error"),
    [
        (
            workers("--port=8000"),
            {"proxy": {"enginePort": 8000}},
            (
                "the engine of decode pods would listen on 8000, and the routing proxy in the same pod takes "
                "requests on 8000",
                "Write prefill.proxy.enginePort, a port that is none of the proxy's",
                "spec.prefill.proxy.enginePort",
            ),
        ),
        (
            workers("--port=8001", *MANY, topology=WIDE),
            {"proxy": {"enginePort": 8001}},
            (
                "the engine of decode pods would listen on 8001 to 8002, and the routing proxy in the same "
                "pod takes requests on 8000 to 8001",
                "Write prefill.proxy.enginePort, a port that is none of the proxy's",
                "spec.prefill.proxy.enginePort",
            ),
        ),
        (
            workers("--port=65535", *MANY, topology=WIDE),
            {"proxy": {"enginePort": 65535}},
            (
                "prefill.proxy.enginePort is 65535, and its 2 copies in a pod would listen up to port 65536, "
                "but the last port is 65535",
                "Lower prefill.proxy.enginePort",
                "spec.workers.topology.dataLocal",
            ),
        ),
        (
            workers("--port=8200"),
            {"engine": {"port": 80}, "prefill": workers("--port=80")},
            (
                "engine.port is 80, where the routing proxy of decode pods takes requests, and the user of "
                "its image may not listen on ports below 1024",
                "Write a port from 1024 on, such as 8000",
                "spec.engine.port",
            ),
        ),
    ],
)
def test_ports_that_proxy_and_engine_cannot_have_are_refused(
    decode: dict[str, Any], fields: dict[str, Any], error: tuple[str, str, str]
) -> None:
    assert _errors(apart(decode, **fields)) == [error]
