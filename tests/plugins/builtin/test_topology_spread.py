"""topology-spread shown on a whole pod, and constraints that can never hold."""

import copy
from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError

from inferfleet.plugins.api import PluginError, Request
from inferfleet.plugins.builtin.topology_spread import Config, edit

HARD = {"whenUnsatisfiable": "DoNotSchedule"}


def in_zones(request: Request, *zones: str) -> Request:
    return replace(request, pool=replace(request.pool, zones=zones))


def test_pods_are_spread_by_their_own_selector_and_each_revision_apart(
    generated: dict[str, Any], pod_request: Request
) -> None:
    expected = copy.deepcopy(generated)
    expected["spec"]["topologySpreadConstraints"] = [
        {
            "topologyKey": "topology.kubernetes.io/zone",
            "whenUnsatisfiable": "DoNotSchedule",
            "maxSkew": 2,
            "labelSelector": {
                "matchLabels": {"inferfleet.dev/deployment": "web", "inferfleet.dev/role": "decode"}
            },
            "nodeAffinityPolicy": "Honor",
            "nodeTaintsPolicy": "Honor",
            "minDomains": 2,
            "matchLabelKeys": ["pod-template-hash"],
        }
    ]
    config = Config.model_validate({**HARD, "maxSkew": 2, "minDomains": 2})
    assert edit(generated, in_zones(pod_request, "a", "b"), config) == expected


def test_zones_and_nodes_can_both_be_asked_for(generated: dict[str, Any], pod_request: Request) -> None:
    zones = edit(generated, pod_request, Config())
    nodes = edit(zones, pod_request, Config(topology_key="kubernetes.io/hostname"))
    spreads = nodes["spec"]["topologySpreadConstraints"]
    assert [spread["topologyKey"] for spread in spreads] == [
        "topology.kubernetes.io/zone",
        "kubernetes.io/hostname",
    ]


def test_more_zones_than_the_pool_has_are_refused(generated: dict[str, Any], pod_request: Request) -> None:
    config = Config.model_validate({**HARD, "minDomains": 2})
    with pytest.raises(PluginError) as raised:
        edit(generated, in_zones(pod_request, "us-east5-a"), config)
    assert str(raised.value) == (
        "minDomains 2 cannot hold: the zones of pool east/h100 are us-east5-a, where at most 1 of the pods "
        "could run at a time; add zones to the pool, or lower minDomains"
    )


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({**HARD, "nodeAffinityPolicy": "Ignore"}, "counts nodes of other pools"),
        ({"whenUnsatisfiable": "Never"}, "DoNotSchedule"),
    ],
)
def test_a_config_that_keeps_pods_pending_is_refused(config: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        Config.model_validate(config)
