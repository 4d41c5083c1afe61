"""What storage, pools and the end of pods ask of the two sides of a pair."""

from typing import Any

import pytest
from inferfleet.fleet.pairs.across import fabric_problems, generation_problems
from inferfleet.fleet.pairs.check import check
from pair import MODEL, NIXL, pair, pods, said, transfer

from inferfleet.fleet.spot import Spot

ARGS = "spec.workers.template.spec.containers[0].args"
THEIRS = "spec.prefill.workers.template.spec.containers[0]"
SPOT = Spot("ml/qwen", "east", (("decode", "h100"), ("prefill", "l4")))


@pytest.mark.parametrize("name", ["ExampleConnector", "MultiConnector"])
def test_files_are_of_one_gpu_and_one_revision(name: str) -> None:
    config = '{"kv_connector":"ExampleConnector","kv_role":"kv_both"'
    config += ',"kv_connector_extra_config":{"shared_storage_path":"/kv/"}}'
    if name == "MultiConnector":
        config = (
            f'{{"kv_connector":"{name}","kv_role":"kv_both",'
            f'"kv_connector_extra_config":{{"connectors":[{config}]}}}}'
        )
    told = check(
        pair(
            pods(MODEL, "-tp=2", *transfer(config)),
            pods(MODEL, *transfer(config.replace("/kv/", "/kv/$(INFERFLEET_REVISION)"))),
            sizes=({"tensor": 2}, {"tensor": 1}),
            apart={"connector": "SharedStorage"},
        )
    )
    assert [(problem.path, problem.what, problem.next_step) for problem in told] == [
        (
            "spec.workers.topology.tensor",
            "topology.tensor of decode is 2, and vLLM's ExampleConnector has one file for the parts of a "
            "cache that all these GPUs hold",
            "Lower it to 1, or name LMCacheConnectorV1",
        ),
        (
            f"{ARGS}[2]",
            "shared_storage_path is '/kv/', and vLLM's ExampleConnector finds files there by the tokens of a "
            "prompt alone, so pods of two revisions would read each other's",
            "Add the revision to it, as in /kv/$(INFERFLEET_REVISION)",
        ),
    ] + (
        [
            (
                f"{THEIRS}.args[1]",
                "in --kv-transfer-config decode has shared_storage_path '/kv/' and prefill has "
                "shared_storage_path '/kv/$(INFERFLEET_REVISION)': both must hand on in the same way",
                "Write shared_storage_path alike for both",
            )
        ]
        if name == "ExampleConnector"
        else []
    )


@pytest.mark.parametrize(
    ("env", "fabrics", "sure", "expected"),
    [
        ({}, (True, True), True, []),
        ({}, (False, False), True, []),
        ({"UCX_TLS": "tcp,cuda_copy"}, (True, False), True, []),
        ({"UCX_TLS": "rc,cuda_copy"}, (True, True), True, []),
        (
            {"UCX_TLS": "rc_x,cuda_copy"},
            (True, False),
            True,
            [
                (
                    "error",
                    f"{THEIRS}.env[0].value",
                    "UCX_TLS of prefill is 'rc_x,cuda_copy', which is RDMA alone, and the class of pool "
                    "l4 of cluster east has no network between GPUs",
                )
            ],
        ),
        (
            {"UCX_TLS": "rc,cuda_copy"},
            (False, True),
            False,
            [
                (
                    "warning",
                    "spec.workers.template.spec.containers[0].env[0].value",
                    "UCX_TLS of decode is 'rc,cuda_copy', which is RDMA alone, and the class of pool h100 of "
                    "cluster east has no network between GPUs",
                )
            ],
        ),
        (
            {},
            (True, False),
            True,
            [
                (
                    "warning",
                    THEIRS,
                    "the class of pool h100 of decode has a network between GPUs, and that of pool l4 of "
                    "cluster east of prefill has none, so KV caches go over TCP",
                )
            ],
        ),
    ],
)
def test_a_network_of_one_side_alone_is_told(
    env: dict[str, str], fabrics: tuple[bool, bool], sure: bool, expected: list[Any]
) -> None:
    line = (MODEL, *transfer(NIXL % "kv_both"))
    deployment = pair(pods(*line, env=env), pods(*line, env=env))
    told = fabric_problems(
        deployment, SPOT, fabrics=dict(zip(("decode", "prefill"), fabrics, strict=True)), sure=sure
    )
    assert [(problem.severity, problem.path, problem.what) for problem in told] == expected


SPELLED = ("--attention-backend=FLASHINFER",)


@pytest.mark.parametrize(
    ("args", "decode", "prefill", "expected"),
    [
        ((), (9, 0), (9, 0), []),
        ((), (9, 0), None, []),
        ((), (8, 0), (8, 9), []),
        ((), (10, 0), (9, 0), [("warning", "the attention backend", "--attention-backend")]),
        (SPELLED, (10, 0), (9, 0), []),
        (SPELLED, (9, 0), (7, 5), [("warning", "the number format", "--dtype")]),
        ((*SPELLED, "--dtype=half"), (9, 0), (7, 5), []),
        (
            (),
            (9, 0),
            (7, 5),
            [("error", "the attention backend and the number format", "--attention-backend and --dtype")],
        ),
    ],
)
def test_gpus_of_two_generations_are_told_the_same(
    args: tuple[str, ...],
    decode: tuple[int, int],
    prefill: tuple[int, int] | None,
    expected: list[tuple[str, str, str]],
) -> None:
    line = pods(MODEL, *transfer(NIXL % "kv_both"), *args)
    told = generation_problems(pair(line, line), SPOT, capabilities={"decode": decode, "prefill": prefill})
    assert [(problem.severity, problem.what, problem.next_step) for problem in told] == [
        (
            severity,
            f"decode is on GPUs of compute capability {decode[0]}.{decode[1]} (pool h100 of cluster east) "
            f"and prefill on {prefill[0]}.{prefill[1]} (pool l4), by which vLLM chooses {chosen}, and a KV "
            "cache is only read where they are the same",
            f"Write {flags} alike for both, or choose nodes of one generation by nodeSelector",
        )
        for severity, chosen, flags in expected
        if prefill
    ]


def test_a_class_under_its_other_name_is_the_same() -> None:
    pull = NIXL.replace("NixlConnector", "NixlPullConnector")
    line = [pods(MODEL, *transfer(config % "kv_both")) for config in (NIXL, pull)]
    assert said(pair(*line)) == []


@pytest.mark.parametrize(
    ("name", "lenient", "severity"),
    [
        ("NixlConnector", "decode", "warning"),
        ("NixlConnector", "prefill", "error"),
        ("NixlPushConnector", "decode", "error"),
    ],
)
def test_versions_are_compared_by_the_side_that_opens_the_handshake(
    name: str, lenient: str, severity: str
) -> None:
    def side(role: str, version: str) -> Any:
        extra = ',"kv_connector_extra_config":{"enforce_handshake_compat":false}' if role == lenient else ""
        config = f'{{"kv_connector":"{name}","kv_role":"kv_both"{extra}}}'
        return pods(MODEL, *transfer(config), image=f"vllm/vllm-openai:{version}")

    told = said(pair(side("decode", "v0.17.0"), side("prefill", "v0.18.0")))
    assert [severity for severity, _, what in told if "runs" in what] == [severity]


def test_what_configures_the_model_itself_is_compared() -> None:
    config = transfer(NIXL % "kv_both")
    model = "--model=deepseek-ai/DeepSeek-R1"
    told = said(
        pair(
            pods(model, *config, "--hf-overrides={}"),
            pods(model, *config, env={"VLLM_MLA_DISABLE": "1"}),
        )
    )
    assert [(severity, what) for severity, _, what in told] == [
        (
            "warning",
            "decode has --hf-overrides {} and prefill has no --hf-overrides: a model that is configured "
            "otherwise makes other caches",
        ),
        (
            "error",
            "decode has VLLM_MLA_DISABLE=0 and prefill has VLLM_MLA_DISABLE=1: a cache of latent attention "
            "is read by no other",
        ),
    ]
