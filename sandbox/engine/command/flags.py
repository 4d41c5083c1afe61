"""What the stand-ins read of the command lines of their engines, by the engine's label.

Which flags an engine has is known from its own parser (`inferfleet.tables.flags`). Here stands which of
them say what a stand-in has to know, in the spelling under which `Arguments` keeps their values.

Sources: vllm/entrypoints/launchers/cli_args.py and vllm/engine/arg_utils.py of vLLM 0.32.0,
sglang/srt/server_args.py of SGLang 0.5.23, tensorrt_llm/commands/serve.py.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from inferfleet.tables.flags import Flag, FlagTable


@dataclass(frozen=True)
class EngineFlags:
    """The flags of one engine that say what it serves.

    `type_name` is what documents call it. `launchers` are the words before its own arguments, and `commands`
    those of them that take the model behind them, without a flag; `command` is the one that its images start.
    `program` is its name in what it says of a wrong value, and `main` that in what it says of words that it
    does not know. `sizes` are the flags of its parallel sizes. `host`: the address it listens on by default.
    `strict_model`: it refuses requests for other models. `version` is that of the table by which images are
    read that do not tell theirs, and `own` its flags where there is no table.
    """

    type_name: str
    program: str
    main: str
    launchers: tuple[str, ...]
    commands: tuple[str, ...]
    command: str
    model: str | None
    host: str
    slots: str
    length: str
    sizes: Mapping[str, str]
    served: str = "--served-model-name"
    version: str = ""
    default_model: str | None = None
    strict_model: bool = False
    own: FlagTable | None = None


def _table(*flags: Flag) -> FlagTable:
    return FlagTable(
        engine="TensorRT-LLM",
        version="",
        flags=flags,
        underscores=False,
        dotted=False,
        abbreviations=False,
        joined_level=False,
        suffixes={},
        removed={},
    )


VLLM = EngineFlags(
    type_name="vLLM",
    version="0.32",
    program="vllm serve",
    main="vllm",
    launchers=("serve", "vllm.entrypoints.openai.api_server"),
    commands=("serve",),
    command="serve",
    model="--model",
    default_model="Qwen/Qwen3-0.6B",
    host="0.0.0.0",
    strict_model=True,
    slots="--max-num-seqs",
    length="--max-model-len",
    sizes={
        "tensor": "--tensor-parallel-size",
        "pipeline": "--pipeline-parallel-size",
        "data": "--data-parallel-size",
        "data_local": "--data-parallel-size-local",
    },
)

SGLANG = EngineFlags(
    type_name="SGLang",
    version="0.5.23",
    program="sglang serve",
    main="sglang serve",
    launchers=("sglang.launch_server", "serve"),
    commands=("serve",),
    command="sglang.launch_server",
    model="--model-path",
    host="127.0.0.1",
    slots="--max-running-requests",
    length="--context-length",
    sizes={
        "tensor": "--tp-size",
        "pipeline": "--pp-size",
        "data": "--dp-size",
        "attention": "--attn-dp-size",
    },
)

TRTLLM = EngineFlags(
    type_name="TensorRT-LLM",
    program="trtllm-serve",
    main="trtllm-serve",
    launchers=("trtllm-serve", "serve"),
    commands=("trtllm-serve", "serve"),
    command="trtllm-serve",
    model=None,
    host="localhost",
    served="--served_model_name",
    slots="--max_batch_size",
    length="--max_seq_len",
    sizes={"tensor": "--tp_size", "pipeline": "--pp_size"},
    own=_table(
        Flag(("--host",)),
        Flag(("--port",), kind="int"),
        Flag(("--served_model_name",)),
        Flag(("--tp_size", "--tensor_parallel_size"), kind="int"),
        Flag(("--pp_size", "--pipeline_parallel_size"), kind="int"),
        Flag(("--max_batch_size",), kind="int"),
        Flag(("--max_seq_len",), kind="int"),
        Flag(("--kv_cache_free_gpu_memory_fraction", "--free_gpu_memory_fraction"), kind="float"),
    ),
)

# Of Triton and of engines that endpoint pickers have no name for, the arguments are not known.
BY_LABEL = {"vllm": VLLM, "sglang": SGLANG, "trtllm-serve": TRTLLM}
