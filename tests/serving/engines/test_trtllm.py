"""The command line of TensorRT-LLM that is written, in one pod."""

from typing import Any

import pytest
from declared import MODEL, declared, words


@pytest.mark.parametrize(
    ("topology", "engine", "line"),
    [
        ({"tensor": 1}, {}, f"{MODEL} --host=0.0.0.0 --port=8000"),
        (
            {"tensor": 4, "expert": True},
            {"port": 9000, "args": ["--max_batch_size=8"]},
            f"{MODEL} --host=0.0.0.0 --port=9000 --tp_size=4 --ep_size=4 --max_batch_size=8",
        ),
        (
            {"tensor": 1},
            {"model": {"repository": "m", "revision": "abc"}},
            "m --revision=abc --host=0.0.0.0 --port=8000",
        ),
    ],
)
def test_one_pod_is_told_what_a_document_declares(
    topology: dict[str, Any], engine: dict[str, Any], line: str
) -> None:
    document = declared(topology, engine={"type": "TensorRT-LLM", **engine})
    assert words(document) == f"trtllm-serve {line}"
