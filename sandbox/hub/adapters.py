"""Makes up LoRA adapters for the tiny model that vLLM serves in the sandbox, without PyTorch.

Each has weights of its own, by its seed, which change each answer of the model: two adapters say the same to
no prompt of some length.
"""

import json
import random
import struct
from pathlib import Path

# Layers of the model and the size of a token's vector, as `vllm/own_python/tiny_model.py` makes it.
LAYERS, HIDDEN = 2, 64
RANK = 4


def write(folder: Path, *, seed: str, rank: int = RANK, hidden: int = HIDDEN) -> None:
    """Write an adapter of a rank for vectors of this size into a folder that exists."""
    values = random.Random(seed)
    tensors: dict[str, tuple[int, int]] = {}
    for layer in range(LAYERS):
        name = f"base_model.model.model.layers.{layer}.self_attn.q_proj"
        tensors[f"{name}.lora_A.weight"] = (rank, hidden)
        tensors[f"{name}.lora_B.weight"] = (hidden, rank)
    header, content = {}, b""
    for name, (rows, columns) in tensors.items():
        numbers = [values.gauss(0, 1) for _ in range(rows * columns)]
        begin = len(content)
        content += struct.pack(f"<{len(numbers)}f", *numbers)
        header[name] = {"dtype": "F32", "shape": [rows, columns], "data_offsets": [begin, len(content)]}
    # https://github.com/huggingface/safetensors#format
    text = json.dumps(header).encode()
    (folder / "adapter_model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + content)
    config = {"peft_type": "LORA", "r": rank, "lora_alpha": rank, "target_modules": ["q_proj"]}
    (folder / "adapter_config.json").write_text(json.dumps(config))
