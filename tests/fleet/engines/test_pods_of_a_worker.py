"""What engines are told of the pods of one worker: what contradicts, and what is left out."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inferfleet.fleet.engine_args import check
from worker_pods import COPIES, DP, MEETS, NODES, OPEN, RAY, SGLANG, SIZES, TP_PP, said, worker

from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.api.problems import Problem
from inferfleet.fleet import ports
from inferfleet.fleet.shapes import Shape
from inferfleet.profiles.engines import engine


@pytest.mark.parametrize(
    ("deployment", "wanted"),
    [
        (
            worker((*SIZES, "--nnodes=3", *NODES[1:]), (*SIZES, *NODES, "--headless"), **TP_PP),
            ["--nnodes is '3', but by topology and nodes a worker has 2 pods"],
        ),
        (
            worker((*SIZES, *NODES), (*SIZES, *NODES, "-r=0", "--headless"), **TP_PP),
            ["-r is '0', but each pod of a worker has a number of its own"],
        ),
        (
            worker((*SIZES, *NODES[:2], "--master-addr=10.0.0.1"), (*SIZES, *NODES, "--headless"), **TP_PP),
            ["--master-addr is '10.0.0.1', but the pods of each worker meet at that of their own entry"],
        ),
        (
            worker((*SIZES, *NODES, "--headless"), (*SIZES, *NODES, "--headless"), **TP_PP),
            ["--headless is given to the entry of a worker, which would serve no requests"],
        ),
        (
            worker((*SIZES, *NODES), (*SIZES, *NODES), **TP_PP),
            [
                "the command line joins the pods of a worker and has no --headless for followers, which "
                "serve no requests"
            ],
        ),
        (
            worker((*SIZES, *NODES), (*SIZES, NODES[0], "--headless"), **TP_PP),
            [
                "the command line joins the pods of a worker and has no --node-rank",
                "the command line joins the pods of a worker and has no --master-addr",
            ],
        ),
        (
            worker((*DP, "-dpm", "-r=$(LWS_WORKER_INDEX)"), (*DP, "-dph", "-dpr=2"), **COPIES),
            [
                "-dph contradicts what is known of the worker: requests are spread by "
                "--data-parallel-multi-port-external-lb",
                "the command line joins the pods of a worker and has no "
                "--data-parallel-multi-port-external-lb",
            ],
        ),
        (
            worker((*DP, "-dph", "-dpr=$(LWS_WORKER_INDEX)"), **COPIES),
            ["-dpr is '$(LWS_WORKER_INDEX)', but each pod of a worker has 2 of its 4 copies"],
        ),
        *(
            (
                worker(f"vllm serve -dp 4 -dpl 2 -dph -dpa $LWS_LEADER_ADDRESS -dpr {written}", **COPIES),
                [f"-dpr is '{read}', but each pod of a worker has 2 of its 4 copies"],
            )
            for written, read in (
                ("$((LWS_WORKER_INDEX * 4))", "$(($(LWS_WORKER_INDEX)*4))"),
                ('"$(( 8 * ${LWS_WORKER_INDEX} ))"', "$((8*$(LWS_WORKER_INDEX)))"),
                ("$(($LWS_WORKER_INDEX))", "$(($(LWS_WORKER_INDEX)))"),
            )
        ),
        (
            worker((*DP, "-dpm", "-r=$(LWS_WORKER_INDEX)", "-dpp=8001"), **COPIES),
            ["-dpp is 8001, but the engine serves requests on 8000 to 8001"],
        ),
        (
            worker((*DP, "-dpm", "-r=$(LWS_WORKER_INDEX)", "--port=9255"), engine={"port": 9255}, **COPIES),
            [
                "--data-parallel-supervisor-port is 9256 where it is not given, but the engine serves "
                "requests on 9255 to 9256"
            ],
        ),
        (
            worker((*DP, "-dph", "-dpr=$(S)", "-ep"), (*DP, "-dph", "-dpr=$(S)"), **COPIES),
            [
                "the entry of a worker has -ep and its followers have no -ep, but the pods of a worker are "
                "one engine"
            ],
        ),
        (
            worker((*SGLANG[:3], "--node-rank=0", "--dist-init-addr=head"), engine="SGLang", tensor=16),
            [
                "--dist-init-addr is 'head', but it takes host and port",
                "--node-rank is '0', but each pod of a worker has a number of its own",
            ],
        ),
        (
            worker(
                f"{RAY} worker --ray_address=10.0.0.1; vllm serve m -tp 8 -pp 2",
                f"{RAY} worker --ray_cluster_size=3",
                **TP_PP,
            ),
            [
                "multi-node-serving.sh runs as 'worker' in the entry of a worker",
                "--ray_address is '10.0.0.1', but the pods of each worker meet at the address of their own "
                "entry",
                "--ray_cluster_size is '3', but a worker has 2 pods",
            ],
        ),
        (
            worker(
                "mpirun -n 8 trtllm-llmapi-launch trtllm-serve m --host 0.0.0.0 --tp_size 8 --pp_size 2",
                "trtllm-serve m --tp_size 8 --pp_size 2",
                engine="TensorRT-LLM",
                **TP_PP,
            ),
            [
                "mpirun starts 8 processes, but a worker has 16 GPUs",
                "a pod of a worker of 2 pods runs trtllm-serve by itself, on its own GPUs",
            ],
        ),
        (
            worker(("--dp=2", *SGLANG[1:], MEETS), engine="SGLang", tensor=1, data=2),
            ["topology.data is 2, and SGLang starts no copies in other pods"],
        ),
        (
            worker((*SIZES, "-dp=2", "-dph", *NODES), tensor=8, pipeline=2, data=2),
            [
                "-dph contradicts what is known of the worker: requests are spread by its entry",
                "the command line joins the pods of a worker and has no --headless for followers, which "
                "serve no requests",
            ],
        ),
        (
            worker(("-tp=8", *NODES), tensor=8),
            [
                "--nnodes is '$(LWS_GROUP_SIZE)', which is set in workers of several pods alone",
                "--node-rank is '$(LWS_WORKER_INDEX)', which is set in workers of several pods alone",
                "--master-addr is '$(LWS_LEADER_ADDRESS)', which is set in workers of several pods alone",
            ],
        ),
        (
            worker(("-tp=8", "--nnodes=2"), tensor=8),
            ["--nnodes is '2', but by its topology a worker has one pod"],
        ),
        (
            worker(("-tp=8", "-pp=$(LWS_GROUP_SIZE)", *NODES), ("--headless", *NODES), tensor=8, pipeline=4),
            [],
        ),
        (
            worker(("-tp=$(LWS_GROUP_SIZE)", "-pp=2", *NODES), (*SIZES, "--headless", *NODES), **TP_PP),
            ["-tp is '$(LWS_GROUP_SIZE)', but topology.tensor is 8"],
        ),
        (
            worker(
                ("-dp=16", "-dpl=16", "-dpm", "--data-parallel-supervisor-port=7000"),
                tensor=1,
                data=16,
                data_local=16,
            ),
            [
                "dataLocal is 16, and with --data-parallel-multi-port-external-lb each of these copies has a "
                "port, but an InferencePool has at most 8 target ports"
            ],
        ),
    ],
)
def test_what_contradicts_the_worker_is_an_error(deployment: ModelDeployment, wanted: list[str]) -> None:
    shape = Shape(2, 8) if deployment.spec.workers.topology.tensor == 16 else None
    errors, _ = said(deployment, *([shape] if shape else []))
    assert sorted(errors) == sorted(wanted)


@pytest.mark.parametrize(
    ("deployment", "wanted"),
    [
        (
            worker((*SIZES,), **TP_PP),
            ["a worker has 2 pods, and nothing in the command line joins them"],
        ),
        (
            worker(("-dp=4",), **COPIES),
            [
                "topology.dataLocal is 2, but --data-parallel-size-local is not among the arguments of the "
                "engine",
                "a worker has 2 pods, and nothing in the command line joins them",
            ],
        ),
        (
            worker(SGLANG[:2], engine="SGLang", tensor=16),
            ["a worker has 2 pods, and nothing in the command line joins them"],
        ),
    ],
)
def test_pods_that_nothing_joins_are_a_warning(deployment: ModelDeployment, wanted: list[str]) -> None:
    shape = Shape(2, 8) if deployment.spec.workers.topology.tensor == 16 else None
    errors, warnings = said(deployment, *([shape] if shape else []))
    assert (errors, warnings) == ([], wanted)


def test_what_is_wrong_in_both_templates_is_one_problem_with_two_places() -> None:
    entry = ("-tp=4", "-pp=2", *NODES)
    assert list(check(worker(entry, (*entry, "--headless"), **TP_PP))) == [
        Problem(
            "-tp is '4', but topology.tensor is 8",
            "Set -tp and topology.tensor to the same number; "
            "inferfleet reserves GPUs and ports by topology.tensor",
            "spec.workers.entry.template.spec.containers[0].args[0]",
            kind="ModelDeployment",
            key="default/kimi",
            beside="spec.workers.follower.template.spec.containers[0].args[0]",
        )
    ]


def test_a_problem_of_a_follower_points_into_its_template() -> None:
    deployment = worker((*SIZES, *NODES), (*SIZES, *NODES[:2], "--master-addr=a", "--headless"), **TP_PP)
    assert list(check(deployment)) == [
        Problem(
            "--master-addr is 'a', but the pods of each worker meet at that of their own entry",
            "Set --master-addr to $(LWS_LEADER_ADDRESS), which LeaderWorkerSets give each pod",
            "spec.workers.follower.template.spec.containers[0].args[4]",
            kind="ModelDeployment",
            key="default/kimi",
        )
    ]


def test_the_workers_of_a_further_role_are_checked_with_its_own_engine() -> None:
    template = {"spec": {"containers": [{"name": "engine", "image": "x", "args": ["--tp", "4", OPEN]}]}}
    document = {
        "metadata": {"name": "kimi"},
        "spec": {
            "replicas": 1,
            "workers": {"topology": {"tensor": 1}, "template": template | {"metadata": {}}},
            "roles": {
                "encode": {
                    "engine": {"type": "SGLang"},
                    "workers": {"topology": {"tensor": 2}, "template": template},
                }
            },
        },
    }
    found = list(check(ModelDeployment.model_validate(document)))
    assert [(problem.path, problem.what) for problem in found] == [
        (
            "spec.roles.encode.workers.template.spec.containers[0].args[0]",
            "--tp is '4', but topology.tensor is 2",
        )
    ]


OTHERS = (
    "mpirun",
    "ray",
    "start",
    "multi-node-serving.sh",
    "leader",
    "trtllm-serve",
    "-n",
    "1",
    "-1",
    "",
    "==",
)
WORDS = st.sampled_from(
    [*engine("vLLM").group_flags, *engine("SGLang").group_flags, *engine("vLLM").flags, *OTHERS, "a:b"]
) | st.just("$(LWS_WORKER_INDEX)")


@given(
    st.lists(WORDS | st.text(max_size=8), max_size=12),
    st.lists(WORDS | st.builds("{}={}".format, WORDS, WORDS), max_size=12),
    st.sampled_from(["vLLM", "SGLang", "TensorRT-LLM", "Triton", "Other"]),
    st.sampled_from([TP_PP, COPIES, {"tensor": 1}, {"tensor": 2, "data": 2, "pipeline": 3}]),
    st.booleans(),
)
def test_any_command_lines_of_a_worker_can_be_read(
    entry: list[str], follower: list[str], kind: str, topology: dict[str, int], script: bool
) -> None:
    lines: list[Any] = [" ".join(entry), " ".join(follower)] if script else [entry, follower]
    deployment = worker(*lines, engine=kind, **topology)
    list(check(deployment))
    shape = Shape(4, 2)
    assert ports.serving_ports(deployment, "decode", shape)[0] == ports.pool_ports(deployment, "decode")[0]
    ports.group_ports(deployment, "decode")
    ports.health(deployment, "decode")
