"""How long vLLM waits for its own processes: what is written for it, and what would end it too early."""

from typing import Any

import pytest
from inferfleet.fleet.engine_args import check
from worker_pods import COPIES, DP, NODES, SIZES, TP_PP, said, worker

from inferfleet.api.problems import Problem

VARIABLE = "VLLM_ENGINE_READY_TIMEOUT_S"
SLOW = {"type": "vLLM", "startup": "90m"}
POD = {"tensor": 4, "data": 2, "data_local": 2}
LINE = ("-tp=4", "-dp=2")


def _env(value: str) -> list[dict[str, str]]:
    return [{"name": "HOME", "value": "/x"}, {"name": VARIABLE, "value": value}]


def test_a_variable_below_the_startup_of_the_document_is_told_with_its_place() -> None:
    document = worker(LINE, env=_env("600"), engine=SLOW, **POD)
    assert list(check(document)) == [
        Problem(
            f"{VARIABLE} is '600', so the engine ends itself before the 5400 s of engine.startup",
            "Write 5400, or as many seconds as engine.startup has",
            "spec.workers.template.spec.containers[0].env[1].value",
            kind="ModelDeployment",
            key="default/kimi",
            severity="warning",
        )
    ]


@pytest.mark.parametrize("value", ["10m", ""])
def test_a_variable_that_is_no_number_is_told(value: str) -> None:
    told = f"{VARIABLE} is {value!r}, and the engine reads it as whole seconds"
    assert said(worker(LINE, env=_env(value), engine=SLOW, **POD)) == ([], [told])


@pytest.mark.parametrize("value", ["5400", "9000", "$(SECONDS)"])
def test_nothing_is_said_of_a_variable_that_lasts_or_is_not_known(value: str) -> None:
    assert said(worker(LINE, env=_env(value), engine=SLOW, **POD)) == ([], [])


def test_a_pod_of_several_api_servers_without_it_is_told_as_others_would_restart() -> None:
    told = (
        "a pod has 2 copies and several API servers, which end it when a copy loads for more than 600 s, but "
        "engine.startup is 5400 s"
    )
    assert said(worker(LINE, engine=SLOW, **POD)) == ([], [told])


@pytest.mark.parametrize(
    ("args", "topology"),
    [
        (("-tp=4",), {"tensor": 4}),
        ((*LINE, "-dpl=2", "-dpm"), POD),
        ((*DP, "-dph", "-r=$(LWS_WORKER_INDEX)"), COPIES),
    ],
)
def test_nothing_is_said_of_pods_that_have_one_api_server_or_are_given_it(
    args: Any, topology: dict[str, int]
) -> None:
    assert said(worker(args, engine=SLOW, **topology)) == ([], [])


def test_followers_are_read_too() -> None:
    document = worker((*SIZES, *NODES), (*SIZES, *NODES, "--headless"), env=_env("1"), engine=SLOW, **TP_PP)
    told = f"{VARIABLE} is '1', so the engine ends itself before the 5400 s of engine.startup"
    assert said(document) == ([], [told, told])
