"""The command lines of SGLang that are written."""

from typing import Any

import pytest
from declared import MODEL, declared, words

SERVE = f"python3 -m sglang.launch_server --model-path={MODEL}"
OPEN = "--host=0.0.0.0 --port=30000 --enable-metrics"
SGLANG = {"type": "SGLang"}
NODES = (
    "--nnodes=$(LWS_GROUP_SIZE) --node-rank=$(LWS_WORKER_INDEX) --dist-init-addr=$(LWS_LEADER_ADDRESS):20000"
)


@pytest.mark.parametrize(
    ("topology", "line"),
    [
        ({"tensor": 1}, ""),
        ({"tensor": 2}, " --tp-size=2"),
        ({"tensor": 1, "data": 4, "dataLocal": 4}, " --dp-size=4"),
        ({"tensor": 8, "attention": 8, "expert": True}, " --tp-size=8 --attn-dp-size=8 --ep-size=8"),
    ],
)
def test_one_pod_is_told_its_topology(topology: dict[str, Any], line: str) -> None:
    assert words(declared(topology, engine=SGLANG)) == f"{SERVE} {OPEN}{line}"


def test_what_a_document_declares_beside_it_is_told_and_its_own_args_come_last() -> None:
    engine = {
        **SGLANG,
        "model": {"repository": "m", "revision": "abc"},
        "servedNames": ["chat"],
        "port": 9000,
        "args": ["--mem-fraction-static=0.8"],
    }
    assert words(declared(engine=engine)) == (
        "python3 -m sglang.launch_server --model-path=m --revision=abc --served-model-name=chat "
        "--host=0.0.0.0 --port=9000 --enable-metrics --mem-fraction-static=0.8"
    )


@pytest.mark.parametrize(
    ("topology", "sizes"),
    [
        ({"tensor": 8, "pipeline": 2}, "--tp-size=8 --pp-size=2"),
        ({"tensor": 16}, "--tp-size=16"),
        ({"tensor": 16, "attention": 16}, "--tp-size=16 --attn-dp-size=16"),
    ],
)
def test_pods_of_a_worker_meet_at_their_entry_which_alone_serves(
    topology: dict[str, Any], sizes: str
) -> None:
    document = declared(topology, engine=SGLANG)
    assert words(document, pods=2) == f"{SERVE} {OPEN} {sizes} {NODES}"
    assert words(document, position="Follower", pods=2) == f"{SERVE} {sizes} {NODES}"


def test_prefill_and_decode_know_their_part_and_prefill_where_to_tell_the_way() -> None:
    document = declared(engine=SGLANG, prefill={"workers": {"topology": {"tensor": 2}}})
    assert words(document) == (
        f"{SERVE} --host=0.0.0.0 --port=8200 --enable-metrics --disaggregation-mode=decode"
    )
    assert words(document, "prefill") == (
        f"{SERVE} {OPEN} --tp-size=2 --disaggregation-mode=prefill --disaggregation-bootstrap-port=8998"
    )
