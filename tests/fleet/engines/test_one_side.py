"""What is said of prefill and decode beyond the pairs that `inferfleet validate` shows: ways, pods, "
"clusters."""

from typing import Any

import pytest
from inferfleet.fleet.pairs.check import check
from pair import IMAGE, MODEL, NIXL, NODES, entries, pair, pods, said, transfer

from inferfleet.api.kinds.inference_cluster import Images
from inferfleet.api.kinds.model_deployment import ModelDeployment

ARGS = "spec.workers.template.spec.containers[0].args"
THEIRS = "spec.prefill.workers.template.spec.containers[0]"
SGLANG = ("--host=0.0.0.0", "--model-path=m")


def _sglang(decode: tuple[str, ...], prefill: tuple[str, ...], **more: Any) -> ModelDeployment:
    return pair(pods(*SGLANG, *decode), pods(*SGLANG, *prefill), engine="SGLang", **more)


def _unified(*args: str, **spec: Any) -> ModelDeployment:
    document = pair(pods(*args), proxied=False, **spec).model_dump(by_alias=True, exclude_unset=True)
    del document["spec"]["prefill"]
    return ModelDeployment.model_validate(document)


@pytest.mark.parametrize(
    ("deployment", "expected"),
    [
        (
            _sglang(("--disaggregation-mode=prefill",), ("--disaggregation-mode=prefill",)),
            [
                (
                    "error",
                    f"{ARGS}[2]",
                    "--disaggregation-mode is 'prefill', and these pods are those of decode",
                )
            ],
        ),
        (
            _sglang(
                ("--disaggregation-mode=decode", "--page-size=32"),
                ("--disaggregation-mode=prefill", "--page-size=64"),
            ),
            [
                (
                    "error",
                    f"{THEIRS}.args[3]",
                    "decode has --page-size 32 and prefill has --page-size 64: a cache is handed on in "
                    "blocks of one size",
                )
            ],
        ),
        (
            _sglang(
                ("--disaggregation-mode=decode",),
                ("--disaggregation-mode=prefill", "--disaggregation-transfer-backend=nixl"),
            ),
            [
                (
                    "error",
                    f"{THEIRS}.args[3]",
                    "decode has no --disaggregation-transfer-backend (mooncake by default) and prefill has "
                    "--disaggregation-transfer-backend nixl: both must hand on in the same way",
                )
            ],
        ),
        (
            _sglang(
                ("--disaggregation-mode=decode", "--tp=4"),
                ("--disaggregation-mode=prefill", "--tp=2"),
                sizes=({"tensor": 4}, {"tensor": 2}),
            ),
            [
                (
                    "warning",
                    "spec.prefill.workers.topology.tensor",
                    "topology.tensor of prefill is 2 and of decode 4, and for models without latent "
                    "attention SGLang hands on token by token then",
                )
            ],
        ),
        (
            _sglang((), ("--disaggregation-mode=prefill",)),
            [
                (
                    "warning",
                    "spec.workers.template.spec.containers[0]",
                    "--disaggregation-mode is not among the arguments of decode, and without it SGLang hands "
                    "nothing on",
                )
            ],
        ),
        (
            _sglang((), (), apart={"connector": "NIXL"}),
            [
                (
                    "error",
                    "spec.prefill.connector",
                    "connector NIXL is not one of SGLang, which hands KV caches on by SGLang",
                )
            ],
        ),
        (
            pair(engine="TensorRT-LLM", decode=pods("--host=0.0.0.0"), prefill=pods("--host=0.0.0.0")),
            [
                (
                    "error",
                    "spec.prefill",
                    "engine.type is TensorRT-LLM, and the routing proxy of llm-d asks prefill pods of "
                    "vLLM and SGLang",
                )
            ],
        ),
        (
            pair(engine="Other"),
            [
                (
                    "notice",
                    "spec.engine.type",
                    "engine.type is Other, so of prefill and decode only images and topologies are compared",
                )
            ],
        ),
        (
            pair(pods(MODEL)),
            [
                (
                    "warning",
                    "spec.workers.template.spec.containers[0]",
                    "--kv-transfer-config is not among the arguments of decode, and without it vLLM "
                    "hands nothing on",
                )
            ],
        ),
        (
            _unified(MODEL, *transfer(NIXL % "kv_producer")),
            [
                (
                    "warning",
                    f"{ARGS}[1]",
                    "kv_role is 'kv_producer', and the deployment has no prefill of its own: nobody "
                    "takes its KV caches, or makes them",
                )
            ],
        ),
        (_unified(MODEL, *transfer(NIXL % "kv_both")), []),
        (
            _unified(*SGLANG, "--disaggregation-mode=decode", engine="SGLang"),
            [
                (
                    "error",
                    f"{ARGS}[2]",
                    "--disaggregation-mode is decode, and the deployment has no prefill of its own: "
                    "SGLang refuses requests that no other half takes part in",
                )
            ],
        ),
    ],
)
def test_each_way_has_rules_of_its_own(deployment: ModelDeployment, expected: list[Any]) -> None:
    assert said(deployment) == expected


def test_followers_are_compared_too() -> None:
    line = (MODEL, "-tp=16", *NODES, *transfer(NIXL % "kv_both"))
    deployment = pair(
        entries(pods(*line), pods(*line, "--headless")),
        entries(pods(*line), pods(*line, "--headless", "--block-size=64")),
        sizes=({"tensor": 16}, {"tensor": 16}),
    )
    assert [(problem.path, problem.what, problem.beside) for problem in check(deployment)] == [
        (
            "spec.prefill.workers.follower.template.spec.containers[0].args[8]",
            "decode has no --block-size and a follower of prefill has --block-size 64: without it the "
            "size follows from model and GPU",
            "spec.workers.entry.template.spec.containers[0]",
        )
    ]


def test_what_a_plugin_adds_is_not_missing() -> None:
    deployment = pair(pods(MODEL), pods(MODEL))
    written = {("decode", "Entry"), ("prefill", "Entry")}
    assert [*check(deployment, written=written)] == []


def test_what_a_variable_holds_is_not_compared() -> None:
    args = 'exec vllm serve "$MODEL" --dtype $TYPE --kv-transfer-config "$KV"'
    assert said(pair(pods(script=args), pods("--model=m", "--dtype=half", *transfer(NIXL % "kv_both")))) == []


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        (IMAGE, []),
        ("vllm/vllm-openai:v0.16.0", [("error", "and vLLM refuses KV caches of another version")]),
        (
            "ours:1",
            [("warning", "and pods are only known to understand each other's KV caches in the same version")],
        ),
    ],
)
def test_an_image_that_a_cluster_names_is_compared(image: str, expected: list[tuple[str, str]]) -> None:
    deployment = pair(pods(MODEL, *transfer(NIXL % "kv_both"), image=None))
    images = Images.model_validate({"engine": {"vLLM": image}})
    told = [(severity, what.rpartition(", ")[2]) for severity, _, what in said(deployment, [images])]
    assert told == expected
