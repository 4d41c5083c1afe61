"""topology-spread shown on a whole pod, and constraints that can never hold."""

import copy
from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError

from inferfleet.plugins.api import Edited, PluginError, Request
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
    assert edit(generated, in_zones(pod_request, "a", "b"), config) == Edited(expected)


def test_zones_and_nodes_can_both_be_asked_for(generated: dict[str, Any], pod_request: Request) -> None:
    zones = edit(generated, pod_request, Config())
    nodes = edit(zones.template, pod_request, Config(topology_key="kubernetes.io/hostname"))
    spreads = nodes.template["spec"]["topologySpreadConstraints"]
    assert [spread["topologyKey"] for spread in spreads] == [
        "topology.kubernetes.io/zone",
        "kubernetes.io/hostname",
    ]


def test_more_zones_than_the_pool_has_are_refused(generated: dict[str, Any], pod_request: Request) -> None:
    config = Config.model_validate({**HARD, "minDomains": 2})
    with pytest.raises(PluginError) as raised:
        edit(generated, in_zones(pod_request, "us-east5-a"), config)
    assert str(raised.value) == (
        "minDomains 2 cannot hold: pool east/h100 is in zone us-east5-a alone, where at most 1 of the pods "
        "could run at a time; add zones to the pool, or lower minDomains"
    )


@pytest.mark.parametrize(
    ("zones", "said"),
    [
        ((), "the zones of pool east/h100 are not known, so whether DoNotSchedule can hold was not checked"),
        (("a",), "pool east/h100 is in zone a alone, so its pods cannot be spread over zones"),
    ],
)
def test_what_cannot_be_checked_or_has_no_effect_is_said(
    generated: dict[str, Any], pod_request: Request, zones: tuple[str, ...], said: str
) -> None:
    edited = edit(generated, in_zones(pod_request, *zones), Config.model_validate(HARD))
    assert edited.remarks == (said,)


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"minDomains": 2}, "minDomains 2 needs whenUnsatisfiable: DoNotSchedule"),
        ({**HARD, "nodeAffinityPolicy": "Ignore"}, "counts nodes of other pools"),
        ({"whenUnsatisfiable": "Never"}, "DoNotSchedule"),
    ],
)
def test_a_config_that_kubernetes_refuses_or_that_keeps_pods_pending_is_refused(
    config: dict[str, Any], said: str
) -> None:
    with pytest.raises(ValidationError, match=said):
        Config.model_validate(config)


def test_another_constraint_of_the_same_kind_is_refused(
    generated: dict[str, Any], pod_request: Request
) -> None:
    edited = edit(generated, pod_request, Config())
    with pytest.raises(PluginError, match=r"zone ScheduleAnyway already, with maxSkew 1; .* remove one"):
        edit(edited.template, pod_request, Config(max_skew=3))


def test_a_key_of_the_selector_is_no_match_label_key(generated: dict[str, Any], pod_request: Request) -> None:
    config = Config(match_label_keys=("inferfleet.dev/role",))
    with pytest.raises(PluginError, match=r"has inferfleet\.dev/role, which the selector of the pods has"):
        edit(generated, pod_request, config)
