"""Adapters that the stand-in for the hub makes up: as engines read them, and each with weights of its own."""

import json
import struct
from pathlib import Path
from typing import Any

import pytest

from sandbox.hub import adapters
from sandbox.hub.server import invent


def read(folder: Path) -> tuple[dict[str, Any], bytes]:
    """The header of the file of weights, and what follows it."""
    content = (folder / "adapter_model.safetensors").read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    return json.loads(content[8 : 8 + length]), content[8 + length :]


def test_an_adapter_has_two_matrices_for_each_layer_of_the_tiny_model(tmp_path: Path) -> None:
    adapters.write(tmp_path, seed="poems", rank=4)
    header, weights = read(tmp_path)
    name = "base_model.model.model.layers.{}.mlp.down_proj.lora_{}.weight"
    shapes = {
        name.format(layer, part): shape
        for layer in (0, 1)
        for part, shape in (("A", [4, 128]), ("B", [64, 4]))
    }
    assert {tensor: of_tensor["shape"] for tensor, of_tensor in header.items()} == shapes
    assert [each["data_offsets"][1] for each in header.values()][-1] == len(weights)
    config = json.loads((tmp_path / "adapter_config.json").read_text())
    assert config == {"peft_type": "LORA", "r": 4, "lora_alpha": 4, "target_modules": ["down_proj"]}


@pytest.mark.parametrize("other", ["poems-lora/" + "2" * 40, "jokes-lora/" + "1" * 40])
def test_another_repository_or_commit_has_other_weights(tmp_path: Path, other: str) -> None:
    first, again, second = (
        tmp_path / part for part in ("a/poems-lora/" + "1" * 40, "b/poems-lora/" + "1" * 40, f"a/{other}")
    )
    for commit in (first, again, second):
        commit.parent.mkdir(parents=True, exist_ok=True)
        invent(commit)
    assert read(first) == read(again)
    assert read(first)[1] != read(second)[1]
