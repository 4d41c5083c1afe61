"""Where pods of one worker meet: the same for all of them, and on a port that is for nothing else."""

import pytest
from inferfleet.fleet.engine_args import check
from worker_pods import COPIES, DP, NODES, SGLANG, SIZES, TP_PP, said, worker

from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.api.problems import Problem
from inferfleet.fleet.shapes import Shape

ENTRY = (*SIZES, *NODES)
HEADLESS = (*ENTRY, "--headless")
HYBRID = (*DP, "-dph", "-dpr=$(START)")
ONE = "but the pods of a worker are one engine"


def _sglang(*ends: str) -> ModelDeployment:
    lines = [(*SGLANG, f"--dist-init-addr=$(LWS_LEADER_ADDRESS){end}") for end in ends]
    return worker(*lines, engine="SGLang", tensor=16)


@pytest.mark.parametrize(
    ("deployment", "wanted"),
    [
        (
            worker((*ENTRY, "--master-port=29600"), (*HEADLESS, "--master-port=29700"), **TP_PP),
            "the entry of a worker has --master-port 29600 and its followers have --master-port 29700, "
            f"{ONE}",
        ),
        (
            worker((*ENTRY, "--master-port=29600"), HEADLESS, **TP_PP),
            "the entry of a worker has --master-port 29600 and its followers have no --master-port "
            f"(29501 by default), {ONE}",
        ),
        (
            worker(HYBRID, (*HYBRID, "-dpp=5555"), **COPIES),
            "the entry of a worker has no -dpp (29550 by default) and its followers have -dpp 5555, " + ONE,
        ),
        (
            _sglang(":20000", ":5000"),
            "the entry of a worker has --dist-init-addr $(LWS_LEADER_ADDRESS):20000 and its followers have "
            f"--dist-init-addr $(LWS_LEADER_ADDRESS):5000, {ONE}",
        ),
        (
            worker(
                ENTRY, (*SIZES, *NODES[:2], "--master-addr=$(LWS_LEADER_ADDRESS).b", "--headless"), **TP_PP
            ),
            "the entry of a worker has --master-addr $(LWS_LEADER_ADDRESS) and its followers have "
            "--master-addr "
            f"$(LWS_LEADER_ADDRESS).b, {ONE}",
        ),
    ],
)
def test_entry_and_followers_meet_at_one_address_and_port(deployment: ModelDeployment, wanted: str) -> None:
    shape = Shape(2, 8) if deployment.spec.workers.topology.tensor == 16 else None
    assert said(deployment, *([shape] if shape else [])) == ([wanted], [])


@pytest.mark.parametrize(
    "deployment",
    [
        worker((*ENTRY, "--master-port=29501"), HEADLESS, **TP_PP),
        worker((*HYBRID, "-dpp", "29550"), HYBRID, **COPIES),
        worker((*ENTRY, "--master-port=$(PORT)"), (*HEADLESS, "--master-port=7000"), **TP_PP),
        worker(
            "vllm serve m -tp 8 -pp 2 --nnodes 2 --node-rank 0 --master-addr $LWS_LEADER_ADDRESS "
            "--master-port 7000",
            "vllm serve m -tp 8 -pp 2 --nnodes 2 --node-rank 1 --master-addr $LWS_LEADER_ADDRESS --headless "
            "$M",
            **TP_PP,
        ),
    ],
)
def test_nothing_is_said_of_ports_that_are_the_same_or_not_known(deployment: ModelDeployment) -> None:
    assert said(deployment) == ([], [])


@pytest.mark.parametrize(
    ("deployment", "wanted"),
    [
        (
            worker((*ENTRY, "--port=29501"), HEADLESS, engine={"port": 29501}, **TP_PP),
            "--master-port is 29501 where it is not given, but the engine serves requests on 29501",
        ),
        (
            worker((*HYBRID, "--port=29550"), engine={"port": 29550}, **COPIES),
            "--data-parallel-rpc-port is 29550 where it is not given, but the engine serves requests on "
            "29550",
        ),
        (
            worker((*SGLANG, "--dist-init-addr=$(LWS_LEADER_ADDRESS):30000"), engine="SGLang", tensor=16),
            "--dist-init-addr is 30000, but the engine serves requests on 30000",
        ),
        (
            worker((*DP, "-dpm", "-r=$(LWS_WORKER_INDEX)", "-dpp=9256"), **COPIES),
            "--data-parallel-supervisor-port is 9256 where it is not given, but the pods of the worker meet "
            "on "
            "9256, by -dpp",
        ),
        (
            worker((*ENTRY, "--master-port=70000"), (*HEADLESS, "--master-port=70000"), **TP_PP),
            "--master-port is '70000', which is no port",
        ),
        (
            worker((*HYBRID, f"-dpp={'9' * 5000}"), **COPIES),
            f"-dpp is '{'9' * 5000}', which is no port",
        ),
    ],
)
def test_a_port_where_pods_meet_is_for_nothing_else(deployment: ModelDeployment, wanted: str) -> None:
    shape = Shape(2, 8) if deployment.spec.workers.topology.tensor == 16 else None
    assert wanted in said(deployment, *([shape] if shape else []))[0]


def test_a_difference_names_both_places() -> None:
    deployment = worker((*ENTRY, "--master-port=7000"), (*HEADLESS, "--master-port=7001"), **TP_PP)
    assert list(check(deployment)) == [
        Problem(
            f"the entry of a worker has --master-port 7000 and its followers have --master-port 7001, {ONE}",
            "Write --master-port alike in both templates",
            "spec.workers.follower.template.spec.containers[0].args[6]",
            kind="ModelDeployment",
            key="default/kimi",
            beside="spec.workers.entry.template.spec.containers[0].args[5]",
        )
    ]
