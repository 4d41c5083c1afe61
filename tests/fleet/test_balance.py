"""Who shares requests among the copies of a worker, and which of its pods serve."""

from typing import Any

import pytest
from declared import declared

from inferfleet.fleet.roles import balance, every_pod_serves

WIDE = {"tensor": 1, "data": 16, "dataLocal": 8}
SGLANG = {"type": "SGLang"}


@pytest.mark.parametrize(
    ("topology", "fields", "chosen", "all_serve"),
    [
        ({"tensor": 8}, {}, "Engine", False),
        ({"tensor": 8, "pipeline": 2}, {}, "Engine", False),
        ({"tensor": 1, "data": 4, "dataLocal": 4}, {}, "Engine", False),
        ({"tensor": 1, "data": 4, "dataLocal": 4}, {"balance": "Port"}, "Port", False),
        (WIDE, {}, "Port", True),
        (WIDE, {"balance": "Pod"}, "Pod", True),
        (WIDE, {"balance": "Engine"}, "Engine", False),
        (WIDE, {"engine": SGLANG}, "Engine", False),
        (WIDE, {"engine": SGLANG, "balance": "Pod"}, "Pod", True),
        ({"tensor": 8, "data": 2}, {}, "Pod", True),
        ({"tensor": 1, "data": 32, "dataLocal": 16}, {}, "Pod", True),
        ({"tensor": 8, "pipeline": 2, "data": 2}, {}, "Engine", False),
    ],
)
def test_the_picker_chooses_among_whole_copies_of_vllm_in_several_pods(
    topology: dict[str, Any], fields: dict[str, Any], chosen: str, all_serve: bool
) -> None:
    document = declared(topology, engine=fields.get("engine", {}), workers={"balance": fields.get("balance")})
    pods = document.spec.workers.topology.pods_per_worker
    assert balance(document, "decode") == chosen
    assert every_pod_serves(document, "decode", pods) is all_serve


def test_copies_of_a_further_role_are_behind_a_service_on_one_port() -> None:
    document = declared(roles={"encode": {"workers": {"topology": WIDE}}})
    assert (balance(document, "encode"), every_pod_serves(document, "encode", 2)) == ("Pod", True)


def test_where_a_copy_takes_several_nodes_the_entry_alone_serves() -> None:
    assert not every_pod_serves(declared({"tensor": 16, "data": 2}), "decode", 4)
