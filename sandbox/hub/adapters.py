"""Makes up LoRA adapters for the tiny model that vLLM serves in the sandbox, without PyTorch.

Each has weights of its own, by its seed, so that it prefers other letters than its model and other adapters.
"""

import json
import random
import struct
from pathlib import Path

# Layers of the model and the size of a token's vector, as `vllm/own_python/tiny_model.py` makes it.
LAYERS, HIDDEN = 2, 64
RANK = 4
# How much of a vector is the adapter's: with more the model would say other bytes than letters.
_STRENGTH = 2.0


def write(folder: Path, *, seed: str, rank: int = RANK, hidden: int = HIDDEN) -> None:
    """Write an adapter of a rank for vectors of this size into a folder that exists."""
    values = random.Random(seed)
    header, content = {}, b""
    for layer in range(LAYERS):
        name = f"base_model.model.model.layers.{layer}.mlp.down_proj"
        into = [values.gauss(0, 1) for _ in range(rank * 2 * hidden)]
        # The last place of a vector is for the chance of each letter, which no layer changes.
        out = [values.gauss(0, _STRENGTH) * (row < hidden - 1) for row in range(hidden) for _ in range(rank)]
        for part, shape, numbers in (("A", [rank, 2 * hidden], into), ("B", [hidden, rank], out)):
            begin = len(content)
            content += struct.pack(f"<{len(numbers)}f", *numbers)
            offsets = [begin, len(content)]
            header[f"{name}.lora_{part}.weight"] = {"dtype": "F32", "shape": shape, "data_offsets": offsets}
    # https://github.com/huggingface/safetensors#format
    text = json.dumps(header).encode()
    (folder / "adapter_model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + content)
    config = {"peft_type": "LORA", "r": rank, "lora_alpha": rank, "target_modules": ["down_proj"]}
    (folder / "adapter_config.json").write_text(json.dumps(config))
