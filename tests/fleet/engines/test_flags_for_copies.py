"""Flags for load balancing with which vLLM ends at once, in workers of one pod and of several."""

import pytest
from worker_pods import COPIES, DP, NODES, said, worker

from inferfleet.api.kinds.model_deployment import ModelDeployment

IN_POD = {"tensor": 1, "data": 2, "data_local": 2}
ONE_EACH = {"tensor": 1, "data": 2}
RANK = "-r=$(LWS_WORKER_INDEX)"


@pytest.mark.parametrize(
    ("deployment", "wanted"),
    [
        (
            worker(("-dpm",), tensor=1),
            "-dpm spreads requests over copies of the model, but topology.data is 1, and vLLM ends with it "
            "where there is one copy",
        ),
        (
            worker(("--data-parallel-rank=0", "-dp=1"), tensor=1),
            "--data-parallel-rank spreads requests over copies of the model, but topology.data is 1, and "
            "vLLM ends with it where there is one copy",
        ),
        (worker(("-dpm", "-dp=2"), tensor=1), "-dp is '2', but topology.data is 1"),
        (
            worker(("-dpm", "-dpl=2"), **IN_POD),
            "-dpm is among the arguments of the engine and --data-parallel-size is not, and vLLM ends "
            "without",
        ),
        (
            worker("vllm serve m -dpm -dp 2", **IN_POD),
            "-dpm is among the arguments of the engine and --data-parallel-size-local is not, and vLLM ends "
            "without",
        ),
        (
            worker(("-dp=2", "-dpr=$(LWS_WORKER_INDEX)", DP[2]), **ONE_EACH),
            "-dpr is among the arguments of the engine and --data-parallel-size-local is not, and vLLM ends "
            "without",
        ),
        (
            worker(("-dp=2", "-dpl=2", "-dpm", "-dpe"), **IN_POD),
            "-dpm and -dpe are two ways to spread requests over copies of the model, and vLLM ends when it "
            "is told more than one",
        ),
        (
            worker((*DP, "-dpm", "-dph", RANK), **COPIES),
            "-dpm and -dph are two ways to spread requests over copies of the model, and vLLM ends when it "
            "is told more than one",
        ),
        (
            worker(("-dp=2", "-dpe", "-dpr=$(LWS_WORKER_INDEX)", DP[2]), **ONE_EACH),
            "-dpe and -dpr are two ways to spread requests over copies of the model, and vLLM ends when it "
            "is told more than one",
        ),
        (
            worker(("-dp=2", "-dpm", "-dpl=1", DP[2], RANK), **ONE_EACH),
            "-dpm gives each copy in a pod a port, but topology.dataLocal is 1, and vLLM takes it with 2 or "
            "more",
        ),
        (
            worker(("-dp=2", "-dpl=2", "-dpn=0"), **IN_POD),
            "-dpn is for pods with one copy, but topology.dataLocal is 2",
        ),
        (
            worker(("-dp=2", "-dpe", RANK, DP[2]), **ONE_EACH),
            "-dpe needs the rank of the pod's copy, and vLLM takes it from -r only where --nnodes is given",
        ),
        (
            worker(("--headless",), tensor=1),
            "--headless is given to the only pod of a worker, which would serve no requests",
        ),
    ],
)
def test_flags_with_which_vllm_ends_are_one_error(deployment: ModelDeployment, wanted: str) -> None:
    assert said(deployment) == ([wanted], [])


@pytest.mark.parametrize(
    "deployment",
    [
        worker(("-dp=2", "-dpl=2", "-dpm"), **IN_POD),
        worker(("-dp=2", "-dpe", "-dpn=$(LWS_WORKER_INDEX)", DP[2]), **ONE_EACH),
        worker(("-dp=2", "-dpe", RANK, "--nnodes=2", DP[2]), **ONE_EACH),
        worker((*DP, "-dpm", "-dpr=$(START)"), **COPIES),
        worker(("-dp=1",), tensor=1),
        worker(("--data-parallel-size=2", "-dpl=2", "-dpm"), engine="Other", **IN_POD),
    ],
)
def test_one_way_of_load_balancing_with_its_sizes_is_right(deployment: ModelDeployment) -> None:
    assert said(deployment) == ([], [])


@pytest.mark.parametrize("args", ["vllm serve m -dpm $SIZES", ("-dpm", "--config=/etc/vllm.yaml")])
def test_sizes_that_may_come_from_elsewhere_are_a_warning(args: str | tuple[str, ...]) -> None:
    errors, warnings = said(worker(args, **IN_POD))
    assert errors == []
    assert warnings == [
        "topology.data is 2, but --data-parallel-size is not among the arguments of the engine",
        "topology.dataLocal is 2, but --data-parallel-size-local is not among the arguments of the engine",
    ]


def test_copies_of_a_further_role_have_one_port_in_each_pod() -> None:
    def found(*args: str) -> list[str]:
        document = worker(("-tp=8",), tensor=8).model_dump(by_alias=True, exclude_unset=True)
        copies = worker((*DP, *args), **COPIES).model_dump(by_alias=True, exclude_unset=True)
        document["spec"]["roles"] = {"encode": {"workers": copies["spec"]["workers"]}}
        return said(ModelDeployment.model_validate(document))[0]

    own = "--data-parallel-multi-port-external-lb"
    refused = f"{own} gives each copy in a pod a port, but the Service of role encode has one"
    assert found(own, RANK) == [refused]
    assert found("-dph", *NODES) == []
