"""The command lines of vLLM that are written, by topology, balance and connector."""

import json
from typing import Any

import pytest
from declared import MODEL, declared, words

from inferfleet.documents.kinds.workers import Position

SERVE = f"vllm serve {MODEL}"
NODES = "--nnodes=$(LWS_GROUP_SIZE) --node-rank=$(LWS_WORKER_INDEX) --master-addr=$(LWS_LEADER_ADDRESS) "
NODES += "--master-port=29501"
RPC, SUPERVISED = "--data-parallel-rpc-port=29550", "--data-parallel-supervisor-port=9256"
MEETS = "--data-parallel-address=$(LWS_LEADER_ADDRESS)"
PREFILL = {"workers": {"topology": {"tensor": 1}}}


@pytest.mark.parametrize(
    ("topology", "workers", "line"),
    [
        ({"tensor": 1}, {}, "--port=8000 --shutdown-timeout=90"),
        ({"tensor": 4}, {}, "--port=8000 --tensor-parallel-size=4 --shutdown-timeout=90"),
        (
            {"tensor": 2, "data": 4, "dataLocal": 4, "expert": True},
            {},
            "--port=8000 --tensor-parallel-size=2 --data-parallel-size=4 --enable-expert-parallel "
            "--shutdown-timeout=90",
        ),
        (
            {"tensor": 2, "data": 4, "dataLocal": 4},
            {"balance": "Port"},
            "--port=8000 --tensor-parallel-size=2 --data-parallel-size=4 --data-parallel-size-local=4 "
            f"--data-parallel-multi-port-external-lb {SUPERVISED} --shutdown-timeout=90",
        ),
    ],
)
def test_one_pod_is_told_its_topology(topology: dict[str, Any], workers: dict[str, Any], line: str) -> None:
    assert words(declared(topology, workers=workers)) == f"{SERVE} {line}"


def test_what_a_document_declares_beside_it_is_told_and_its_own_args_come_last() -> None:
    engine = {
        "model": {"repository": "m", "revision": "abc", "token": {"secretRef": {"name": "hf"}}},
        "servedNames": ["chat", "code"],
        "port": 9000,
        "drain": "5m",
        "args": ["--max-num-seqs", "64"],
    }
    assert words(declared(engine=engine)) == (
        "vllm serve m --revision=abc --served-model-name chat code --port=9000 --shutdown-timeout=300 "
        "--max-num-seqs 64"
    )


@pytest.mark.parametrize(
    ("topology", "balance", "entry", "follower"),
    [
        (
            {"tensor": 8, "pipeline": 2},
            None,
            f"--port=8000 --tensor-parallel-size=8 --pipeline-parallel-size=2 {NODES} --shutdown-timeout=90",
            f"--tensor-parallel-size=8 --pipeline-parallel-size=2 {NODES} --headless",
        ),
        (
            {"tensor": 1, "data": 16, "dataLocal": 8},
            "Engine",
            f"--port=8000 --data-parallel-size=16 --data-parallel-size-local=8 {RPC} {NODES} "
            "--shutdown-timeout=90",
            f"--data-parallel-size=16 --data-parallel-size-local=8 {RPC} {NODES} --headless",
        ),
        (
            {"tensor": 1, "data": 16, "dataLocal": 8},
            "Pod",
            f"--port=8000 --data-parallel-size=16 --data-parallel-size-local=8 {RPC} "
            f"--data-parallel-hybrid-lb {NODES} --shutdown-timeout=90",
            None,
        ),
        (
            {"tensor": 8, "data": 2},
            "Pod",
            f"--port=8000 --tensor-parallel-size=8 --data-parallel-size=2 {RPC} {MEETS} "
            "--data-parallel-rank=$(LWS_WORKER_INDEX) --shutdown-timeout=90",
            None,
        ),
        (
            {"tensor": 1, "data": 16, "dataLocal": 8},
            "Port",
            "--port=8000 --data-parallel-size=16 --data-parallel-size-local=8 "
            f"--data-parallel-multi-port-external-lb {SUPERVISED} {RPC} {MEETS} "
            "--node-rank=$(LWS_WORKER_INDEX) "
            "--shutdown-timeout=90",
            None,
        ),
        (
            {"tensor": 8, "pipeline": 2, "data": 2},
            None,
            "--port=8000 --tensor-parallel-size=8 --pipeline-parallel-size=2 --data-parallel-size=2 "
            f"{RPC} {NODES} --shutdown-timeout=90",
            f"--tensor-parallel-size=8 --pipeline-parallel-size=2 --data-parallel-size=2 {RPC} {NODES} "
            "--headless",
        ),
    ],
)
def test_pods_of_a_worker_meet_and_followers_serve_where_each_has_whole_copies(
    topology: dict[str, Any], balance: str | None, entry: str, follower: str | None
) -> None:
    document = declared(topology, workers={"balance": balance})
    both: tuple[Position, ...] = ("Entry", "Follower")
    assert [words(document, position=position) for position in both] == [
        f"{SERVE} {entry}",
        f"{SERVE} {follower or entry}",
    ]


def test_tensor_over_several_nodes_is_one_copy_of_all_pods() -> None:
    document = declared({"tensor": 16, "data": 2})
    sizes = f"--tensor-parallel-size=16 --data-parallel-size=2 {RPC} {NODES}"
    assert words(document, pods=4) == f"{SERVE} --port=8000 {sizes} --shutdown-timeout=90"
    assert words(document, position="Follower", pods=4) == f"{SERVE} {sizes} --headless"


def _transfer(line: str) -> dict[str, Any]:
    [config] = [word for word in line.split() if word.startswith("--kv-transfer-config=")]
    found: dict[str, Any] = json.loads(config.partition("=")[2])
    return found


OPTIONS = {"kv_connector_extra_config": {"num_workers": 4}}
LOST = {"kv_load_failure_policy": "recompute"}


@pytest.mark.parametrize(
    ("fields", "decode", "prefill"),
    [
        ({}, {"kv_connector": "NixlConnector", **LOST}, {"kv_connector": "NixlConnector"}),
        (
            {"options": {**OPTIONS, "kv_load_failure_policy": "fail"}},
            {"kv_connector": "NixlConnector", "kv_load_failure_policy": "fail", **OPTIONS},
            {"kv_connector": "NixlConnector", "kv_load_failure_policy": "fail", **OPTIONS},
        ),
        (
            {"connector": "Mooncake", "options": OPTIONS},
            {"kv_connector": "MooncakeConnector", **OPTIONS},
            {"kv_connector": "MooncakeConnector", **OPTIONS},
        ),
    ],
)
def test_both_roles_are_told_how_caches_are_handed_on(
    fields: dict[str, Any], decode: dict[str, Any], prefill: dict[str, Any]
) -> None:
    document = declared(prefill={**PREFILL, **fields})
    assert (_transfer(words(document)), _transfer(words(document, "prefill"))) == (
        {**decode, "kv_role": "kv_consumer"},
        {**prefill, "kv_role": "kv_producer"},
    )


def test_decode_listens_behind_its_proxy_and_a_shared_storage_is_for_args_to_name() -> None:
    document = declared(prefill={**PREFILL, "connector": "SharedStorage", "proxy": {"enginePort": 8300}})
    assert words(document) == f"{SERVE} --port=8300 --shutdown-timeout=90"
    assert words(document, "prefill") == f"{SERVE} --port=8000 --shutdown-timeout=90"


@pytest.mark.parametrize(
    ("given", "decode", "prefill"),
    [(None, "--a=1", "--a=1"), ([], "--a=1", None), (["--b=2"], "--a=1", "--b=2")],
)
def test_args_of_prefill_take_the_place_of_the_engines(
    given: list[str] | None, decode: str | None, prefill: str | None
) -> None:
    fields = {} if given is None else {"args": given}
    document = declared(engine={"args": ["--a=1"]}, prefill={**PREFILL, **fields})

    def last(role: str) -> str | None:
        word = words(document, role).split()[-1]
        return None if word.startswith("--kv-transfer-config") else word

    assert (last("decode"), last("prefill")) == (decode, prefill)


def test_workers_of_a_further_role_hand_no_caches_on() -> None:
    document = declared(prefill=PREFILL, roles={"encode": {"workers": {"topology": {"tensor": 1}}}})
    assert words(document, "encode") == f"{SERVE} --port=8000 --shutdown-timeout=90"
