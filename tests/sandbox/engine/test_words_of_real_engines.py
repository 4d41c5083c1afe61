"""Whether the stand-in takes and refuses command lines as the engines themselves do, and in their words."""

import re

from real_parsers import refusals, with_real_parsers

from sandbox.engine.command.arguments import read
from sandbox.engine.command.flags import SGLANG, VLLM
from sandbox.engine.command.tables import table_of
from sandbox.engine.failure import EngineFailure
from sandbox.engine.handover.transfer import config_of

NIXL = '"kv_connector": "NixlConnector", "kv_role": "kv_both"'
# Words that take the place of what only the engine can say: addresses, class names, and where pydantic's
# explanations begin.
APART = (
    (re.compile(r"<function loads at \w+>"), "JSON"),
    (re.compile(r"(validation error)s? for \w+"), r"\1"),
    (re.compile(r" \[type=.*", re.DOTALL), ""),
    (re.compile(r"(Invalid JSON:).*", re.DOTALL), r"\1"),
    (re.compile(r"\s*Hint: .*", re.DOTALL), ""),
)
OF_VLLM = (
    "Q",
    "--enforce-eager --port 1 Q",
    "--model Q",
    "--port=1 --model=Q",
    "Q --tensor-parallel=8",
    "Q --tensor_parallel_size=2 -tp 4",
    "Q --served_model_name a b",
    "Q --max-model-len=32k",
    "Q --max-model-len -1",
    "Q --max-model-len auto",
    "Q --max-model-len 1.5K",
    "Q --max-num-seqs 1K",
    "Q --enforce-eager --no-enforce-eager",
    "Q -O3",
    "Q -O 2",
    "Q --hf-overrides any",
    "Q --limit-mm-per-prompt.image 4",
    f"Q --kv-transfer-config {{{NIXL}}}",
    f"Q --kv-transfer-config {{{NIXL}}} --kv_transfer_config.kv_role=kv_both",
    f'Q --kv-transfer-config {{{NIXL}, "kv_load_failure_policy": "retry"}}',
    f'Q --kv-transfer-config {{{NIXL}, "kv_connector_extra_config": 1}}',
    'Q --kv-transfer-config {"kv_connector": "NixlConnector"}',
    'Q --kv-transfer-config {"kv_rolle": "N"}',
    'Q --kv-transfer-config {"kv_role": "prefill"}',
    "Q --kv-transfer-config {kv",
    "Q --kv-transfer-config [1]",
    "Q --kv-transfer-config.kv_connector",
    "Q --max-nums-seqs=4",
    "Q --swap-space 4",
    "Q --task embed",
    "Q --bogus x --other",
    "Q B",
    "M --model Other",
    "--model",
    "--served-model-name chat Q",
    "Q --dtype=bf16",
    "Q --dtype None",
    "Q --max",
    "Q -tp x",
    "Q --port=8k",
    "Q --port",
    "Q --gpu-memory-utilization=most",
    "Q --enforce-eager=1",
    "Q --limit-mm-per-prompt x",
    "Q --shutdown-timeout 90s",
    "Q --shutdown-timeout 1.5",
    "Q --data-parallel-size-local None",
    "Q -dp 4 -dpl 2 --headless",
    "Q --attention-backend flash-attn",
    "Q --attention-config.backend=FLASH_ATTN",
    "Q --load-format x",
    "Q --max-logprobs -1",
)
OF_SGLANG = (
    "--model Q --tp=2 --pp-size 2",
    "--model-path=Q --attn-dp-size=4 --tp=4",
    "--model-path=Q --dp=4",
    "--model-path=Q --ep 2",
    "--model-path=Q --context-length 32k",
    "--model-path=Q --pp=2",
    "--model-path=Q --served-model-name a b",
    "--model-path=Q --trust_remote_code",
    "--model-path=Q --cuda-graph-max-bs=8",
    "--model-path=Q --tp=x",
    "--model-path=Q --disaggregation-mode=both",
    "Q",
)


@with_real_parsers
def test_the_stand_in_says_what_engines_say() -> None:
    lines = [["vLLM", *_words(line)] for line in OF_VLLM] + [["SGLang", *_words(line)] for line in OF_SGLANG]
    said = dict(zip(map(tuple, lines), map(_comparable, refusals(lines)), strict=True))
    assert {words: _comparable(_refusal(*words)) for words in said} == said


def _words(line: str) -> list[str]:
    """The words of a line. JSON is one word."""
    return re.split(r" (?![^{]*\})", line)


def _refusal(engine: str, *words: str) -> str | None:
    flags, launcher = {"vLLM": (VLLM, "serve"), "SGLang": (SGLANG, "sglang.launch_server")}[engine]
    table, judged = table_of(flags, "")
    try:
        given = read((launcher, *words), flags, table, judged=judged)
        if text := given.text("--kv-transfer-config"):
            config_of(text)
    except EngineFailure as refused:
        return str(refused).rpartition(": error: ")[2]
    return None


def _comparable(refusal: str | None) -> str | None:
    for pattern, replacement in APART:
        refusal = refusal and pattern.sub(replacement, refusal)
    return refusal
