"""What a change does to a pool that stands: refused, replaced, its nodes replaced, or nothing to tell."""

from dataclasses import replace
from typing import Any

import pytest
from small_changes import SPOT, STANDING, changes, l4, standing
from small_clouds import cluster, pool

from inferfleet.documents.kinds.inference_class import InferenceClass
from inferfleet.documents.kinds.inference_cluster import InferenceCluster

SCOPES = "nodeConfig.oauthScopes"


def test_without_a_change_nothing_is_told() -> None:
    assert changes(standing(cluster()), cluster()) == ([], [], [])


def test_sizes_labels_taints_and_channels_are_in_place_and_not_told() -> None:
    edited = cluster(
        "east",
        pool(maxNodeCount=9, labels={"a": "b"}, taints=[{"key": "k", "value": "v", "effect": "NoSchedule"}]),
        releaseChannel="RAPID",
        privateNodes=False,
        maintenancePolicy={"dailyMaintenanceWindow": {"startTime": "09:00"}},
    )
    assert changes(standing(cluster()), edited) == ([], [], [])


def test_labels_of_machines_replace_the_nodes_and_those_of_nodes_do_not() -> None:
    told = 'labels or resourceLabels (resourceLabels {"team": "ml"} -> {"team": "web"})'
    assert changes(standing(cluster(labels={"team": "ml"})), cluster(labels={"team": "web"})) == (
        [f"pool east/l4 has its nodes replaced: {told}; 2 replicas (2 of ml/coder)"],
        [],
        [
            f"spec.nodePools[0]: GKE replaces the nodes of {STANDING}, some at a time, in up to "
            f"60 min: {told}. "
            "Expect the replicas on them to restart on other nodes"
        ],
    )


@pytest.mark.parametrize(
    ("recipe", "told", "allow"),
    [
        ({"count": 8}, "accelerator.count 4 -> 8", "accelerator.count"),
        ({"driver": "DEFAULT"}, "driver (gpuDriverVersion LATEST -> DEFAULT)", "driver"),
        ({"localSsd": {"count": 4}}, "localSsd (localSsdCount unset -> 4)", "localSsd"),
        ({"compactPlacement": True}, "compactPlacement (type unset -> COMPACT)", "compactPlacement"),
        ({"pods": 64}, "node.pods (maxPodsPerNode 110 -> 64)", "node.pods"),
    ],
)
def test_a_recipe_that_replaces_a_pool_with_replicas_is_refused_with_the_field_and_both_values(
    recipe: dict[str, Any], told: str, allow: str
) -> None:
    assert changes(standing(cluster()), cluster(), recipe_of=l4(**recipe)) == (
        [],
        [
            f"spec.nodePools[0]: {STANDING} would be replaced, for this cannot change in place: {told}. "
            f"Allow it with spec.cluster.gke.replace.allow: [{allow}]; or change it back, and add a second "
            "pool to move to"
        ],
        [],
    )


@pytest.mark.parametrize("now", [{"name": "b"}, {"name": "a", "block": "b1"}, None])
def test_another_reservation_is_told_by_its_own_field(now: dict[str, str] | None) -> None:
    def reserving(reservation: dict[str, str] | None) -> InferenceCluster:
        capacity = {"model": "Reservation", "reservation": reservation}
        return cluster("east", pool("l4", zones=["us-east5-a"], capacity=capacity))

    _, (problem,), _ = changes(standing(reserving({"name": "a"})), reserving(now))
    assert "replace.allow: [capacity.reservation];" in problem
    assert "capacity.model" not in problem


@pytest.mark.parametrize(
    ("capacity", "allow"),
    [
        ({"model": "Spot"}, "capacity.model"),
        ({"model": "Reservation", "reservation": {"name": "abc"}}, "capacity.model"),
        ({"model": "FlexStart", "maxRunDuration": "24h"}, "capacity.model, capacity.maxRunDuration"),
    ],
)
def test_a_pool_with_replicas_asks_for_its_capacity_model_to_be_allowed(
    capacity: dict[str, Any], allow: str
) -> None:
    _, (problem,), _ = changes(standing(cluster()), cluster("east", pool(capacity=capacity)))
    assert f"replace.allow: [{allow}];" in problem
    allowed = cluster("east", pool(capacity=capacity), replace={"allow": allow.split(", ")})
    assert changes(standing(cluster()), allowed)[1] == []


def test_a_pool_without_replicas_is_replaced_and_told() -> None:
    spot = cluster("east", pool(capacity={"model": "Spot"}))
    assert changes(standing(cluster(), replicas=0), spot) == (
        [f"pool east/l4 is replaced: {SPOT}; new nodes are created first"],
        [],
        [],
    )


def test_an_allowed_replacement_says_who_moves_and_in_which_order() -> None:
    lock = standing(cluster(), replicas=1)
    first = {"allow": ["capacity.model"]}
    spot = [
        cluster("east", pool(capacity={"model": "Spot"}), replace=first | order)
        for order in ({}, {"order": "DeleteFirst"})
    ]
    one = "1 replica (1 of ml/coder)"
    assert changes(lock, spot[0]) == (
        [f"pool east/l4 is replaced: {SPOT}; new nodes are created first; the new nodes take over {one}"],
        [],
        [],
    )
    assert changes(lock, spot[1]) == (
        [f"pool east/l4 is replaced: {SPOT}; old nodes are deleted first; the new nodes take over {one}"],
        [],
        [
            f"spec.nodePools[0]: pool east/l4 with {one} is replaced, and its old nodes are deleted before "
            "new ones are created. Expect a gap in serving, or set spec.cluster.gke.replace.order: "
            "CreateFirst"
        ],
    )


def test_new_nodes_that_need_the_reservation_of_the_old_ones_are_warned_about() -> None:
    reserved = pool(capacity={"model": "Reservation", "reservation": {"name": "abc"}})
    after = cluster("east", reserved, replace={"allow": ["driver"]})
    _, problems, warnings = changes(
        standing(cluster("east", reserved)), after, recipe_of=l4(driver="DEFAULT")
    )
    assert (problems, warnings) == (
        [],
        [
            f"spec.nodePools[0]: {STANDING} is replaced, and its old nodes hold the reservation that the new "
            "ones need. Make room for both in it, or set spec.cluster.gke.replace.order: DeleteFirst"
        ],
    )


@pytest.mark.parametrize(
    ("edited", "made_as", "told"),
    [
        (cluster(), l4(diskSizeGb=300), "diskSizeGb (sizeGb 100 -> 300)"),
        (cluster(), l4(imageStreaming=True), "imageStreaming (enabled false -> true)"),
    ],
)
def test_replaced_nodes_are_told_with_the_replicas_that_start_again(
    edited: InferenceCluster, made_as: InferenceClass, told: str
) -> None:
    assert changes(standing(cluster()), edited, recipe_of=made_as) == (
        [f"pool east/l4 has its nodes replaced: {told}; 2 replicas (2 of ml/coder)"],
        [],
        [
            f"spec.nodePools[0]: GKE replaces the nodes of {STANDING}, some at a time, in up to "
            f"60 min: {told}. "
            "Expect the replicas on them to restart on other nodes"
        ],
    )


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (["us-east5-a", "us-east5-b"], ["us-east5-a"], '["us-east5-a", "us-east5-b"] -> ["us-east5-a"]'),
        (["us-east5-a"], ["us-east5-b"], '["us-east5-a"] -> ["us-east5-b"]'),
        ([], ["us-east5-a"], 'unset -> ["us-east5-a"]'),
    ],
)
def test_a_zone_less_is_told_with_the_replicas_that_may_start_again(
    before: list[str], after: list[str], told: str
) -> None:
    was, will = (cluster("east", pool(**({"zones": zones} if zones else {}))) for zones in (before, after))
    assert changes(standing(was), will) == (
        [f"pool east/l4 has its nodes replaced: zones (nodeLocations {told}); 2 replicas (2 of ml/coder)"],
        [],
        [
            f"spec.nodePools[0]: GKE deletes the nodes of removed zones of {STANDING}, some at a "
            f"time, in up to 60 min: zones "
            f"(nodeLocations {told}). Expect the replicas on them to restart on other nodes"
        ],
    )


def test_a_zone_more_restarts_nothing() -> None:
    one, two = (cluster("east", pool(zones=[f"us-east5-{zone}" for zone in zones])) for zones in ("a", "ab"))
    assert changes(standing(one), two) == ([], [], [])


def test_another_zone_replaces_a_pool_whose_networks_are_of_one_zone() -> None:
    before, after = (cluster("east", pool("l4", "h200", zones=[f"us-east5-{zone}"])) for zone in "ab")
    _, (problem,), _ = changes(standing(before), after)
    assert "in place: zones (network east-51d4d6-rdma-a -> east-51d4d6-rdma-b, " in problem
    assert "replace.allow: [zones]" in problem


def test_allowing_what_never_replaces_a_pool_is_a_mistake() -> None:
    allow = ["accelerator.cout", "nodeCount", "driver", "nodeConfig.oauthScopes"]
    assert changes(standing(cluster()), cluster(replace={"allow": allow}))[1] == [
        "spec.cluster.gke.replace.allow[0]: 'accelerator.cout' does not name a field whose change replaces a "
        "pool. Did you mean accelerator.count?",
        "spec.cluster.gke.replace.allow[1]: 'nodeCount' does not name a field whose change replaces a pool. "
        "Fields that do: "
        "accelerator.count, accelerator.partitionSize, accelerator.sharing, accelerator.type, "
        "additionalNodeNetworkConfigs, "
        "bootDiskKmsKey, capacity.hostMaintenance, capacity.maxRunDuration, capacity.model, "
        "capacity.reservation, "
        "compactPlacement, driver, localSsd, "
        "networking.acceleratorNetworkProfile, networking.gpuDirect, node.pods, secondaryBootDisks, "
        "serviceAccount, zones",
    ]


def test_a_setting_that_no_document_decides_is_told_and_allowed_by_its_path() -> None:
    lock = standing(cluster())
    pools = {
        "east/l4": replace(
            lock.pools["east/l4"], settings={**lock.pools["east/l4"].settings, SCOPES: ["old"]}
        )
    }
    _, (problem,), _ = changes(replace(lock, pools=pools), cluster())
    assert f"in place: {SCOPES} " in problem
    assert f"replace.allow: [{SCOPES}]" in problem
    assert changes(replace(lock, pools=pools), cluster(replace={"allow": [SCOPES]}))[1] == []
