"""Prints the metrics that vLLM serves, as JSON: its families and their types, as the running server has them.

It serves a Llama with 115,000 random weights, which is made here, on a CPU: about five minutes on two cores.
"""

import importlib.metadata
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import real
from prometheus_client.parser import text_string_to_metric_families

ADDRESS = "127.0.0.1:18432"
READY_SECONDS = 1800
# Metrics that are there with a flag alone, and what the server needs to be small.
FLAGS = (
    *("--enforce-eager", "--kv-cache-memory-bytes", "64M", "--max-model-len", "64", "--max-num-seqs", "2"),
    *("--kv-cache-metrics", "--enable-mfu-metrics", "--cudagraph-metrics"),
    *("--enable-lora", "--max-lora-rank", "8"),
    *("--speculative-config", '{"method": "ngram", "num_speculative_tokens": 1, "prompt_lookup_max": 2}'),
)


def make_model(folder: Path) -> None:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    words = {word: place for place, word in enumerate(["<s>", "</s>", "<pad>", *letters])}
    tokenizer = Tokenizer(models.BPE(vocab=words, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", pad_token="<pad>"
    ).save_pretrained(folder)
    LlamaForCausalLM(
        LlamaConfig(
            vocab_size=320,
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=2,
            max_position_embeddings=128,
            bos_token_id=0,
            eos_token_id=1,
        )
    ).save_pretrained(folder)


def ask(path: str, body: dict[str, Any] | None = None) -> str:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"http://{ADDRESS}{path}", data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return str(answer.read().decode())


def wait_until_ready(server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline and server.poll() is None:
        try:
            ask("/health")
        except (urllib.error.URLError, OSError):
            time.sleep(1)
        else:
            return
    raise RuntimeError(f"vLLM was not ready in {READY_SECONDS} s, or ended with {server.poll()}")


def families() -> list[dict[str, str]]:
    with tempfile.TemporaryDirectory() as folder:
        make_model(Path(folder))
        host, _, port = ADDRESS.partition(":")
        vllm = Path(sys.executable).with_name("vllm")
        command = [str(vllm), "serve", folder, "--host", host, "--port", port, *FLAGS]
        settings = {"OMP_NUM_THREADS": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind", "VLLM_CACHE_ROOT": folder}
        server = subprocess.Popen(command, env=os.environ | settings, stdout=sys.stderr)
        try:
            wait_until_ready(server)
            ask("/v1/completions", {"model": folder, "prompt": "a", "max_tokens": 4})
            text = ask("/metrics")
        finally:
            server.terminate()
            server.wait()
    return [
        {"name": family.name, "type": family.type}
        for family in sorted(text_string_to_metric_families(text), key=lambda family: family.name)
        # prometheus_client tells besides of counters and histograms when they began.
        if family.name.startswith("vllm:") and not family.name.endswith("_created")
    ]


if __name__ == "__main__":
    # What `real` sets of the environment is for the server, too.
    assert real
    version = importlib.metadata.version("vllm").partition("+")[0]
    print(json.dumps({"engine": "vLLM", "version": version, "families": families()}))
