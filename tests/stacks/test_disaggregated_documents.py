"""The stack `disaggregated` renders both models in their shapes, with the sizes that its comments promise."""

import re

import pytest
from rendered_disaggregated import FOLDER, disaggregated, documents, part_of, pods

from sandbox.engine.settings import settings
from sandbox.engine.steering import Steering

GIB, KIB = 1024**3, 1024
# By deployment and role: workers, pods of each, GPUs of a pod; and the pool.
SHAPES = {
    ("qwen3-32b", "decode"): ((3, 1, 2), "h200"),
    ("qwen3-32b", "prefill"): ((5, 1, 1), "h100"),
    ("deepseek-r1", "decode"): ((1, 2, 8), "h100"),
    ("deepseek-r1", "prefill"): ((1, 2, 8), "h100"),
}
# Bytes of weights, one per parameter, and two in tables of the vocabulary and routers. By config.json of
# Qwen3-32B-FP8: hidden_size 5120, 64 layers, 64 heads and 8 of keys and values of 128, intermediate_size
# 25,600, vocab_size 151,936. Of DeepSeek-R1-0528: hidden_size 7168, 61 layers of latent attention
# (q_lora_rank 1536, kv_lora_rank 512, 128 heads of 128 + 64 and 128), 3 with intermediate_size 18,432, 58
# with 256 experts and a shared one of 2048, vocab_size 129,280. Its layer that predicts one more token is
# loaded for speculation alone.
_QWEN = 64 * 5_120 * (2 * 64 * 128 + 2 * 8 * 128 + 3 * 25_600)
_MLA = 7_168 * (1_536 + 512 + 64 + 128 * 128) + 128 * (1_536 * (128 + 64) + 512 * (128 + 128))
_DEEPSEEK = 61 * _MLA + 3 * 7_168 * (3 * 18_432 + 58 * 257 * 2_048)
WEIGHTS = {
    "qwen3-32b": _QWEN + 2 * (2 * 151_936 * 5_120),
    "deepseek-r1": _DEEPSEEK + 2 * (2 * 129_280 * 7_168 + 58 * 256 * 7_168),
}
# Per token, in BF16. Qwen3-32B, config.json: num_hidden_layers 64, num_key_value_heads 8, head_dim 128, keys
# and values. DeepSeek-R1: 61 layers of kv_lora_rank 512 and qk_rope_head_dim 64, once for both.
TOKEN = {"qwen3-32b": 2 * 64 * 8 * 128 * 2, "deepseek-r1": 61 * (512 + 64) * 2}
# Part of a GPU's memory that an engine takes: vLLM's default (gpu_memory_utilization in vllm/config/cache.py
# at 002f10e0), and --mem-fraction-static of the document.
PART = {"qwen3-32b": 0.92, "deepseek-r1": 0.85}


def room(deployment: str, role: str) -> float:
    """Bytes for KV caches on all GPUs of one engine, before what activations need."""
    (_, size, gpus), pool = SHAPES[deployment, role]
    [found] = [one for one in documents().clusters["hopper"].spec.node_pools if one.name == pool]
    [device] = [one for one in documents().classes[found.class_name].spec.devices if one.name == "gpu"]
    memory = int(str(device.capacity["memory"].value).removesuffix("Mi")) * 1024**2
    return size * gpus * memory * PART[deployment] - WEIGHTS[deployment]


def comment(deployment: str) -> str:
    """The comment at the top of a document, as one line."""
    lines = (FOLDER / f"{deployment}.yaml").read_text().splitlines()
    return " ".join(line.removeprefix("#").strip() for line in lines if line.startswith("#"))


def numbers(pattern: str, deployment: str) -> list[int]:
    [found] = re.findall(pattern, comment(deployment))
    return [int(number.replace(",", "")) for number in ([found] if isinstance(found, str) else found)]


def test_all_replicas_have_a_place_and_nothing_is_warned_of() -> None:
    made = disaggregated()
    assert (made.plan.unplaced, made.warnings) == ((), ())
    places = {placement.spot.deployment: placement.spot.pools for placement in made.plan.placements}
    assert {
        (name, role): pool
        for deployment, of in places.items()
        for name in [deployment.partition("/")[2]]
        for role, pool in of
    } == {key: pool for key, (_, pool) in SHAPES.items()}


@pytest.mark.parametrize(("deployment", "role"), SHAPES)
def test_a_role_is_rendered_in_its_shape(deployment: str, role: str) -> None:
    assert pods(deployment, role) == SHAPES[deployment, role][0]


@pytest.mark.parametrize(("deployment", "role"), SHAPES)
def test_the_stand_in_engine_reads_each_pod_as_its_part_of_the_role(deployment: str, role: str) -> None:
    """Every pod of a worker starts, knows all of its flags, and is told how caches are handed on."""
    size = SHAPES[deployment, role][0][1]
    read = [settings(part_of(deployment, role, index), Steering()) for index in range(size)]
    # Nobody asks followers anything.
    assert [note for one in read if one.answers == "requests" for note in one.notes] == []
    # An engine of NIXL can do both, whatever its kv_role.
    assert {one.transfer.role for one in read if one.transfer} in ({role}, {"both"})
    assert [one.answers for one in read] == ["requests", *["health"] * (size - 1)]


def test_both_roles_exchange_caches_of_one_layout() -> None:
    for deployment in TOKEN:
        both = [settings(part_of(deployment, role, 0), Steering()).transfer for role in ("decode", "prefill")]
        alike = {
            (one.way, one.layout.model, one.layout.version, one.layout.block_size) for one in both if one
        }
        assert len(alike) == 1


def test_sizes_in_the_comment_on_qwen3_are_those_of_its_model_and_gpus() -> None:
    weights, one, two, token, *tokens = numbers(
        r"([\d,]+) GiB of weights leave ([\d,]+) GiB of an H100 and ([\d,]+) GiB of two H200 for the KV "
        r"cache, at ([\d,]+) KiB per token in BF16: ([\d,]+) and ([\d,]+) tokens",
        "qwen3-32b",
    )
    assert (weights, token) == (round(WEIGHTS["qwen3-32b"] / GIB), TOKEN["qwen3-32b"] // KIB)
    assert one == pytest.approx(room("qwen3-32b", "prefill") / GIB, rel=0.02)
    assert two == pytest.approx(room("qwen3-32b", "decode") / GIB, rel=0.02)
    assert tokens == pytest.approx([one * GIB / TOKEN["qwen3-32b"], two * GIB / TOKEN["qwen3-32b"]], rel=0.03)


def test_sizes_in_the_comment_on_deepseek_are_those_of_its_model_and_gpus() -> None:
    """Every GPU of a tensor group has the whole cache, because all heads share it."""
    weights, gpus, each, left, tokens, token = numbers(
        r"([\d,]+) GiB of weights on ([\d,]+) GPUs are ([\d,]+) of 80 GiB each; at 0.85, ([\d,]+) GiB hold "
        r"([\d,]+) tokens of ([\d,]+) KiB",
        "deepseek-r1",
    )
    assert (weights, gpus, token) == (
        round(WEIGHTS["deepseek-r1"] / GIB),
        16,
        round(TOKEN["deepseek-r1"] / KIB),
    )
    assert each == round(WEIGHTS["deepseek-r1"] / 16 / GIB)
    assert left == pytest.approx(room("deepseek-r1", "decode") / 16 / GIB, abs=1)
    assert tokens == pytest.approx(left * GIB / TOKEN["deepseek-r1"], rel=0.02)
