"""Makes the model that vLLM serves in the sandbox, of 100,000 random parameters, and a LoRA adapter for it.

It reads any prompt byte by byte, and answers letters and spaces: some 40, where nothing says how many.
"""

import json
import math
import os
import string
from pathlib import Path

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

MODEL, ADAPTER = "model", "adapter"
# Tokens of the longest prompt and its answer: as long as models of today have them.
LENGTH = 131072
_SPECIAL = ("<s>", "</s>", "<pad>")
_CHAT = "{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}assistant: "
# Layers, the size of a token's vector, the size of its attention heads, and ranks of an adapter.
_LAYERS, _HIDDEN, _HEAD, _RANK = 2, 64, 32, 4
# How many tokens an answer has on average.
_ANSWER = 40


def made(folder: Path) -> Path:
    """Return the folder with the model and the adapter, after making it where it is not there."""
    if not folder.exists():
        new = folder.with_name(f".{folder.name}.{os.getpid()}")
        torch.manual_seed(0)
        _write_model(new / MODEL)
        _write_adapter(new / ADAPTER)
        new.rename(folder)
    return folder


def _write_model(folder: Path) -> None:
    tokenizer = _tokenizer()
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=tokenizer.vocab_size,
            hidden_size=_HIDDEN,
            intermediate_size=2 * _HIDDEN,
            num_hidden_layers=_LAYERS,
            num_attention_heads=_HIDDEN // _HEAD,
            num_key_value_heads=1,
            max_position_embeddings=LENGTH,
            bos_token_id=0,
            eos_token_id=1,
            pad_token_id=2,
        )
    )
    _say_letters(model, tokenizer)
    # Half the size of what it is made in, and as fast on processors with AVX-512.
    model.to(torch.bfloat16).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _tokenizer() -> PreTrainedTokenizerFast:
    words = [*_SPECIAL, *sorted(pre_tokenizers.ByteLevel.alphabet())]
    tokenizer = Tokenizer(models.BPE(vocab={word: number for number, word in enumerate(words)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    begin, end, pad = _SPECIAL
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token=begin,
        eos_token=end,
        pad_token=pad,
        chat_template=_CHAT,
        model_max_length=LENGTH,
    )


def _say_letters(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast) -> None:
    """Give each token a chance of its own, by the last place of all vectors, which no layer changes."""
    letters = tokenizer.convert_tokens_to_ids([*string.ascii_lowercase, "Ġ"])
    chances = torch.full((tokenizer.vocab_size,), 1e-6)
    chances[letters] = (1 - 1 / _ANSWER) / len(letters)
    chances[1] = 1 / _ANSWER
    with torch.no_grad():
        model.model.embed_tokens.weight[:, -1] = 1.0
        for layer in model.model.layers:
            layer.self_attn.o_proj.weight[-1] = 0.0
            layer.mlp.down_proj.weight[-1] = 0.0
        # A vector is divided by its length, of which the last place is nearly all.
        model.lm_head.weight[:, -1] = chances.log() / math.sqrt(_HIDDEN)


def _write_adapter(folder: Path) -> None:
    folder.mkdir(parents=True)
    weights = {}
    for layer in range(_LAYERS):
        name = f"base_model.model.model.layers.{layer}.self_attn.q_proj"
        weights[f"{name}.lora_A.weight"] = torch.randn(_RANK, _HIDDEN)
        weights[f"{name}.lora_B.weight"] = torch.randn(_HIDDEN, _RANK)
    save_file(weights, folder / "adapter_model.safetensors")
    config = {"peft_type": "LORA", "r": _RANK, "lora_alpha": _RANK, "target_modules": ["q_proj"]}
    (folder / "adapter_config.json").write_text(json.dumps(config))
