"""Type tokens are a part of every URN: moving or renaming code must not change one."""

from typing import get_args

from recording import run

from inferfleet.components.cloud import BY_KIND
from inferfleet.desired.values import Component, ComponentKind, Connection, Desired, DesiredCluster
from inferfleet.fleet.decisions import Plan

TOKENS = {
    "inferfleet:components:ClusterAddon",
    "inferfleet:components:Fleet",
    "inferfleet:components:ModelEndpoint",
    "inferfleet:components:ModelCache",
    "inferfleet:components:ModelReplicas",
    "inferfleet:components:ModelService",
    "inferfleet:components:FrontDoor",
    "inferfleet:components:FrontDoorService",
    "inferfleet:components:ServingStack",
}
OF_CLOUD = {
    "inferfleet:components:GkeCluster",
    "inferfleet:components:GkeNetwork",
    "inferfleet:components:GpuNodePool",
    "inferfleet:components:WeightsBucket",
}


def test_components_have_the_tokens_that_states_know() -> None:
    components = tuple(Component(kind, f"east/{kind}", ()) for kind in get_args(ComponentKind))
    east = DesiredCluster(Connection("east", "existing/east", "active"), components)
    _, monitor = run(Desired("local", (east,), Plan(), frozenset(), ()), preview=True)
    assert {token for token, _ in monitor.requests} == {
        *TOKENS,
        "pulumi:providers:kubernetes",
        "pulumi:pulumi:Stack",
    }


def test_components_of_the_cloud_are_called_as_states_know_them() -> None:
    assert {made.__name__ for made in BY_KIND.values()} == set(BY_KIND)
    assert {f"inferfleet:components:{made.__name__}" for made in BY_KIND.values()} == OF_CLOUD
