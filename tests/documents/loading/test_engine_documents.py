"""What stands in `engine` and `prefill` of documents, as it is read."""

from collections.abc import Callable

import pytest

from inferfleet.documents import Documents, Problem

DEPLOYMENT = """\
apiVersion: inferfleet.dev/v1alpha1
kind: ModelDeployment
metadata: {name: chat, namespace: ml}
spec:
  replicas: 1
  workers: {count: 1, topology: {tensor: 1}}
  engine:
"""
SECRET = "hf_" + "a" * 34


def test_args_of_prefill_are_a_list(load_text: Callable[..., Documents]) -> None:
    prefill = "  prefill: {workers: {topology: {tensor: 1}}, args: [--seed=1, --max-num-seqs=8]}\n"
    spec = load_text(f"{DEPLOYMENT}    model: m\n{prefill}").deployments["ml/chat"].spec
    assert spec.prefill is not None
    assert spec.prefill.args == ("--seed=1", "--max-num-seqs=8")


@pytest.mark.parametrize("token", [SECRET, f"{{secretRef: {SECRET}}}"])
def test_a_token_in_a_document_is_refused_and_not_told(
    problems_in: Callable[..., list[Problem]], token: str
) -> None:
    problems = problems_in(f"{DEPLOYMENT}    model: {{repository: m, token: {token}}}\n")
    assert [problem.next_step for problem in problems] == [
        "Put it into a Secret and write token: {secretRef: {name: NAME}}, and rotate it"
    ]
    assert SECRET not in str(problems)


@pytest.mark.parametrize(
    ("model", "step"),
    [
        ("hf://Qwen/Qwen3-8B", "Write the name alone, such as Qwen/Qwen3-8B"),
        ("https://huggingface.co/Qwen/Qwen3-8B", "Write the name alone, such as Qwen/Qwen3-8B"),
        ("Qwen/Qwen3 8B", "Write the name of a model, or a path"),
        ("--port", "Write the name of a model, or a path"),
    ],
)
def test_what_is_no_name_of_a_model_is_refused(
    problems_in: Callable[..., list[Problem]], model: str, step: str
) -> None:
    assert [problem.next_step for problem in problems_in(f"{DEPLOYMENT}    model: {model}\n")] == [step]


def test_more_args_than_an_engine_has_flags_are_refused(problems_in: Callable[..., list[Problem]]) -> None:
    args = ", ".join(["--seed=1"] * 1001)
    [problem] = problems_in(f"{DEPLOYMENT}    model: m\n    args: [{args}]\n")
    assert (problem.path, problem.what) == ("spec.engine.args", "args has more than 1000 entries")
