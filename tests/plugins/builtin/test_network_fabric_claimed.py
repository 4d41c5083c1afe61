"""network-fabric where GKE makes the networks, and pods have claims for the cards."""

import copy
from dataclasses import replace
from typing import Any

import pytest
from gke_pods import RDMA

from inferfleet.plugins.api import PluginError, engine
from inferfleet.plugins.builtin.network_fabric import Config, edit


def test_pods_that_claim_their_cards_name_no_networks(generated: dict[str, Any]) -> None:
    engine(generated).update(command=["vllm", "serve"], args=["--model=qwen"])
    claiming = replace(RDMA, pool=replace(RDMA.pool, networks=(), claims_cards=True))
    expected = edit(copy.deepcopy(generated), RDMA, Config())
    assert isinstance(expected, dict)
    for key in ("networking.gke.io/default-interface", "networking.gke.io/interfaces"):
        del expected["metadata"]["annotations"][key]
    before = generated["metadata"].get("annotations")
    made = edit(copy.deepcopy(generated), claiming, Config())
    assert isinstance(made, dict)
    assert made["metadata"].get("annotations") == before
    assert made["spec"] == expected["spec"]
    with pytest.raises(PluginError, match="claim their network cards, so networks has no use"):
        edit(copy.deepcopy(generated), claiming, Config(networks=("a",)))
    with pytest.raises(PluginError, match="because nothing chooses the network cards next to its GPUs"):
        edit(copy.deepcopy(generated), replace(claiming, gpus=4), Config())
