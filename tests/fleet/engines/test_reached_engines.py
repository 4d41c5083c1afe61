"""Copies of a model that an engine starts by itself."""

from worker_pods import OPEN, said, worker

from inferfleet.api.problems import Problem
from inferfleet.fleet.engine_args import check

START = ("python3", "-m", "sglang.launch_server")


def test_tensorrt_llm_starts_one_copy_in_a_pod_too() -> None:
    line = ("trtllm-serve", "m", OPEN)
    assert list(check(worker(line, engine="TensorRT-LLM", tensor=1, data=8, data_local=8))) == [
        Problem(
            "topology.data is 8, and TensorRT-LLM starts one copy of the model",
            "Raise spec.replicas instead",
            "spec.workers.topology.data",
            kind="ModelDeployment",
            key="default/kimi",
        )
    ]
    both = worker((*START, "--dp=2", OPEN), engine="SGLang", tensor=1, data=2, data_local=2)
    assert said(both) == ([], [])


def test_tensorrt_llm_by_itself_in_one_template_is_told_once() -> None:
    line = "trtllm-serve m --host 0.0.0.0 --tp_size 8 --pp_size 2"
    assert said(worker(line, engine="TensorRT-LLM", tensor=8, pipeline=2)) == (
        ["a pod of a worker of 2 pods runs trtllm-serve by itself, on its own GPUs"],
        [],
    )
    copies = worker("trtllm-serve m --host 0.0.0.0 --tp_size 8", engine="TensorRT-LLM", tensor=8, data=2)
    assert said(copies) == (["topology.data is 2, and TensorRT-LLM starts one copy of the model"], [])
