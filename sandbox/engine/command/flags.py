"""The flags of the engines by type: enough to read a command line and to notice unknown flags.

Sources: `vllm serve --help` (vllm/engine/arg_utils.py, entrypoints/openai/cli_args.py),
sglang/srt/server_args.py, tensorrt_llm/commands/serve.py. The lists are not complete, so an unknown flag is a
warning and no error. The numbers that shape a replica (tensor, port) are in `inferfleet.profiles.engines`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class EngineFlags:
    """The flags of one engine.

    `program` is its name in error messages; `launchers` are the words before its own arguments. `integers`,
    `fractions`, `texts` and `switches` are its flags by type; `many` take several values. `model`, `served`,
    `slots` and `length` name the flags for the model, its served names, its concurrent requests and its
    maximum length. `positional`: the model may come without a flag. `dashes`: its parser takes underscores
    for dashes. `host`: the address it listens on by default. `strict_model`: it refuses requests for other
    models.
    """

    program: str
    launchers: tuple[str, ...]
    model: tuple[str, ...]
    positional: bool
    host: str
    integers: frozenset[str]
    fractions: frozenset[str]
    texts: frozenset[str]
    switches: frozenset[str]
    slots: str
    length: str
    served: str = "--served-model-name"
    default_model: str | None = None
    many: tuple[str, ...] = ()
    dashes: bool = False
    strict_model: bool = False
    short: Mapping[str, str] = field(default_factory=dict)


def _flags(names: str) -> frozenset[str]:
    return frozenset(f"--{name}" for name in names.split())


VLLM = EngineFlags(
    program="vllm serve",
    launchers=("serve", "vllm.entrypoints.openai.api_server", "vllm.entrypoints.cli.main"),
    model=("--model",),
    positional=True,
    default_model="Qwen/Qwen3-0.6B",
    host="0.0.0.0",
    dashes=True,
    strict_model=True,
    many=("--served-model-name", "--lora-modules"),
    slots="--max-num-seqs",
    length="--max-model-len",
    integers=_flags(
        "max-num-seqs max-num-batched-tokens max-model-len block-size seed nnodes node-rank master-port "
        "data-parallel-size-local data-parallel-start-rank data-parallel-rank data-parallel-rpc-port "
        "data-parallel-supervisor-port "
        "data-parallel-address-port max-loras max-lora-rank max-cpu-loras max-logprobs stream-interval "
        "num-gpu-blocks-override long-prefill-token-threshold max-num-partial-prefills uvicorn-port "
        "api-server-count num-redundant-experts decode-context-parallel-size prefill-context-parallel-size "
        "shutdown-timeout max-parallel-loading-workers dbo-decode-token-threshold "
        "dbo-prefill-token-threshold max-cudagraph-capture-size kv-cache-memory-bytes"
    ),
    fractions=_flags("gpu-memory-utilization swap-space cpu-offload-gb kv-offloading-size"),
    texts=_flags(
        "model served-model-name host tokenizer tokenizer-mode revision code-revision tokenizer-revision "
        "hf-config-path hf-overrides dtype kv-cache-dtype quantization load-format download-dir "
        "config-format distributed-executor-backend master-addr data-parallel-address data-parallel-backend "
        "all2all-backend kv-transfer-config kv-events-config ec-transfer-config speculative-config "
        "compilation-config attention-backend reasoning-parser tool-call-parser tool-parser-plugin "
        "chat-template chat-template-content-format default-chat-template-kwargs generation-config "
        "override-generation-config limit-mm-per-prompt mm-processor-kwargs media-io-kwargs lora-modules "
        "prefix-caching-hash-algo scheduling-policy runner convert task guided-decoding-backend "
        "structured-outputs-config uvicorn-log-level root-path api-key ssl-keyfile ssl-certfile "
        "allowed-origins allowed-methods allowed-headers middleware response-role otlp-traces-endpoint "
        "collect-detailed-traces model-loader-extra-config kv-offloading-backend eplb-config "
        "disable-access-log-for-endpoints additional-config config worker-cls worker-extension-cls "
        "allowed-local-media-path logits-processors scheduler-cls mm-encoder-tp-mode optimization-level "
        "moe-backend"
    ),
    switches=_flags(
        "trust-remote-code enforce-eager enable-lora enable-prefix-caching enable-chunked-prefill "
        "enable-auto-tool-choice enable-expert-parallel enable-eplb enable-sleep-mode headless "
        "disable-log-requests disable-log-stats enable-log-requests disable-uvicorn-access-log "
        "disable-custom-all-reduce disable-sliding-window disable-cascade-attn async-scheduling "
        "disable-frontend-multiprocessing enable-prompt-tokens-details enable-server-load-tracking "
        "enable-request-id-headers enable-force-include-usage data-parallel-hybrid-lb "
        "data-parallel-external-lb data-parallel-multi-port-external-lb skip-tokenizer-init "
        "enable-prompt-embeds calculate-kv-scales disable-hybrid-kv-cache-manager use-tqdm-on-load "
        "enable-dbo skip-mm-profiling enable-log-outputs enable-ssl-refresh disable-fastapi-docs "
        "return-tokens-as-token-ids enable-mm-embeds interleave-mm-strings language-model-only"
    ),
    short={
        "-q": "--quantization",
        "-sc": "--speculative-config",
        "-cc": "--compilation-config",
        "-n": "--nnodes",
        "-r": "--node-rank",
        "-ep": "--enable-expert-parallel",
        "-dpn": "--data-parallel-rank",
        "-dpr": "--data-parallel-start-rank",
        "-dpa": "--data-parallel-address",
        "-dpp": "--data-parallel-rpc-port",
        "-dpb": "--data-parallel-backend",
        "-dph": "--data-parallel-hybrid-lb",
        "-dpe": "--data-parallel-external-lb",
        "-dpm": "--data-parallel-multi-port-external-lb",
    },
)

SGLANG = EngineFlags(
    program="launch_server.py",
    launchers=("sglang.launch_server", "launch_server", "serve"),
    model=("--model-path", "--model"),
    positional=False,
    host="127.0.0.1",
    slots="--max-running-requests",
    length="--context-length",
    integers=_flags(
        "context-length max-running-requests max-total-tokens max-prefill-tokens chunked-prefill-size "
        "page-size max-queued-requests random-seed stream-interval nnodes node-rank ep-size ep "
        "expert-parallel-size moe-dp-size cuda-graph-max-bs base-gpu-id gpu-id-step tokenizer-worker-num "
        "watchdog-timeout speculative-num-steps speculative-eagle-topk speculative-num-draft-tokens "
        "max-loras-per-batch max-lora-rank disaggregation-bootstrap-port num-continuous-decode-steps "
        "ep-num-redundant-experts hicache-size log-requests-level cpu-offload-gb dist-timeout attn-cp-size "
        "max-micro-batch-size"
    ),
    fractions=_flags("mem-fraction-static schedule-conservativeness download-timeout hicache-ratio"),
    texts=_flags(
        "model-path model tokenizer-path tokenizer-mode host served-model-name dtype quantization "
        "kv-cache-dtype load-format model-loader-extra-config revision chat-template completion-template "
        "dist-init-addr nccl-init-addr attention-backend prefill-attention-backend decode-attention-backend "
        "sampling-backend grammar-backend schedule-policy load-balance-method log-level log-level-http "
        "reasoning-parser tool-call-parser api-key admin-api-key device download-dir "
        "json-model-override-args lora-paths lora-backend lora-target-modules moe-a2a-backend "
        "moe-runner-backend deepep-mode speculative-algorithm speculative-draft-model-path "
        "disaggregation-mode disaggregation-transfer-backend disaggregation-ib-device "
        "preferred-sampling-params cuda-graph-bs file-storage-path hicache-storage-backend "
        "hicache-write-policy hicache-mem-layout otlp-traces-endpoint fp8-gemm-backend config "
        "mm-attention-backend kv-events-config bucket-time-to-first-token"
    ),
    switches=_flags(
        "trust-remote-code enable-metrics enable-metrics-for-all-schedulers enable-dp-attention "
        "enable-dp-lm-head enable-torch-compile enable-lora enable-mixed-chunk enable-cache-report "
        "enable-hierarchical-cache enable-multimodal enable-eplb enable-two-batch-overlap "
        "enable-memory-saver enable-p2p-check enable-request-time-stats-logging enable-trace "
        "enable-symm-mem enable-nan-detection enable-mscclpp disable-radix-cache disable-cuda-graph "
        "disable-cuda-graph-padding disable-custom-all-reduce disable-overlap-schedule "
        "disable-chunked-prefix-cache disable-shared-experts-fusion skip-tokenizer-init skip-server-warmup "
        "is-embedding log-requests show-time-cost allow-auto-truncate enable-deepep-moe "
        "enable-flashinfer-allreduce-fusion disable-fast-image-processor"
    ),
)

TRTLLM = EngineFlags(
    program="trtllm-serve",
    launchers=("trtllm-serve", "serve"),
    model=(),
    positional=True,
    host="localhost",
    served="--served_model_name",
    slots="--max_batch_size",
    length="--max_seq_len",
    integers=_flags(
        "max_batch_size max_seq_len max_num_tokens max_beam_width ep_size cp_size gpus_per_node "
        "num_postprocess_workers cluster_size"
    ),
    fractions=_flags("kv_cache_free_gpu_memory_fraction free_gpu_memory_fraction"),
    texts=_flags(
        "tokenizer custom_tokenizer host backend log_level extra_llm_api_options config revision "
        "reasoning_parser tool_parser chat_template metadata_server_config_file server_role "
        "otlp_traces_endpoint disagg_cluster_uri media_io_kwargs custom_module_dirs served_model_name "
        "extra_visual_gen_options"
    ),
    switches=_flags(
        "trust_remote_code enable_chunked_prefill fail_fast_on_attention_window_too_large grpc no-telemetry "
        "telemetry"
    ),
)

# Of Triton and of engines that endpoint pickers have no name for, the arguments are not known.
BY_LABEL = {"vllm": VLLM, "sglang": SGLANG, "trtllm-serve": TRTLLM}
