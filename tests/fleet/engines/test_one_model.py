"""Entry and followers of a worker load parts of one model: what both templates must say alike."""

from typing import Any

import pytest
from worker_pods import COPIES, DP, NODES, RAY, SGLANG, SIZES, TP_PP, said, worker

from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.fleet.shapes import Shape

ENTRY = (*SIZES, *NODES)
HEADLESS = (*ENTRY, "--headless")
HYBRID = (*DP, "-dph", "-dpr=$(START)")
ONE = "but the pods of a worker are one engine"


@pytest.mark.parametrize(
    ("entry", "follower", "wanted"),
    [
        (("--model=a",), ("--model=b",), "the model 'a' and its followers have 'b'"),
        (("--dtype=half",), (), "--dtype half and its followers have no --dtype (auto by default)"),
        (("--max-model-len=8192",), (), "--max-model-len 8192 and its followers have no --max-model-len"),
        (
            ("--kv-cache-dtype=fp8",),
            ("--kv_cache_dtype", "auto"),
            "--kv-cache-dtype fp8 and its followers have --kv_cache_dtype auto",
        ),
        ((), ("-ep",), "no -ep and its followers have -ep"),
    ],
)
def test_another_model_or_form_of_it_is_an_error(
    entry: tuple[str, ...], follower: tuple[str, ...], wanted: str
) -> None:
    deployment = worker((*ENTRY, *entry), (*HEADLESS, *follower), **TP_PP)
    errors, warnings = said(deployment)
    assert errors == [f"the entry of a worker has {wanted}, {ONE}"]
    assert warnings == []


@pytest.mark.parametrize(
    "deployment",
    [
        worker((*ENTRY, "--dtype=auto"), HEADLESS, **TP_PP),
        worker((*ENTRY, "--served-model-name=a"), HEADLESS, **TP_PP),
        worker((*ENTRY, "--model=a"), (*HEADLESS, "--model=$(MODEL)"), **TP_PP),
        worker(("a", *ENTRY), (*HEADLESS, "--model", "a"), **TP_PP),
        worker(
            f"{RAY} leader --ray_cluster_size=2; vllm serve a -tp 8 -pp 2 --dtype half",
            f"{RAY} worker --ray_address=$LWS_LEADER_ADDRESS",
            **TP_PP,
        ),
    ],
)
def test_nothing_is_said_of_what_is_the_same_or_does_not_matter(deployment: ModelDeployment) -> None:
    assert said(deployment) == ([], [])


def test_pods_that_all_serve_have_one_name_for_the_model() -> None:
    deployment = worker((*HYBRID, "--served-model-name=a"), (*HYBRID, "--served-model-name=b"), **COPIES)
    assert said(deployment)[0] == [
        "the entry of a worker has --served-model-name a and its followers have --served-model-name b, " + ONE
    ]


def test_the_model_of_sglang_has_flags_of_its_own() -> None:
    line = (*SGLANG, "--dist-init-addr=$(LWS_LEADER_ADDRESS):20000")
    deployment = worker((*line, "--model-path=a"), (*line, "--model-path=b"), engine="SGLang", tensor=16)
    assert said(deployment, Shape(2, 8))[0] == [
        f"the entry of a worker has the model 'a' and its followers have 'b', {ONE}"
    ]


def _changed(**spec: Any) -> ModelDeployment:
    deployment = worker(ENTRY, HEADLESS, **TP_PP)
    document = deployment.model_dump(by_alias=True, exclude_unset=True)
    follower = document["spec"]["workers"]["follower"]["template"]["spec"]
    follower["containers"][0] |= spec.pop("engine", {})
    follower |= spec
    return ModelDeployment.model_validate(document)


def test_another_image_is_a_warning() -> None:
    assert said(_changed(engine={"image": "y"})) == (
        [],
        [
            "the entry of a worker runs x and its followers run y, and pods of one engine are only known to "
            "understand each other in the same version"
        ],
    )


def test_another_priority_is_an_error() -> None:
    assert said(_changed(priorityClassName="low"))[0] == [
        "the entry of a worker has no priorityClassName and its followers have priorityClassName low, but "
        "when "
        "one of its pods is preempted, all start anew"
    ]
