"""What plugins ask for is planned role by role, and for entries and followers apart."""

from dataclasses import replace
from typing import Any

import pytest
from small_stack import NOTHING, cluster, deployment, stack

from inferfleet.desired import desired
from inferfleet.desired.demands import edited, edited_demands
from inferfleet.desired.pods import chains, spot_pods
from inferfleet.documents.problems import InvalidDocuments
from inferfleet.fleet.demands import Demand
from inferfleet.fleet.shapes import Pod
from inferfleet.fleet.spot import Spot
from inferfleet.plugins.api import Config, Plugin, PodTemplate, Request, engine, mapping
from inferfleet.plugins.registry import builtin

GIB = 2**30
ENCODER = {
    "workers": {
        "topology": {"tensor": 1},
        "template": {"spec": {"containers": [{"name": "engine", "image": "encoder:1"}]}},
    }
}


def _memory(template: PodTemplate, request: Request, config: Config) -> PodTemplate:
    """Ask for 8Gi, and for 16Gi of encoders on west."""
    west = request.cluster.name == "west" and request.role == "encode"
    mapping(engine(template), "resources", "requests")["memory"] = "16Gi" if west else "8Gi"
    return template


REGISTRY = builtin().with_(Plugin("memory", Config, _memory, version="1.0.0"))
LINK = [{"name": "memory"}]


def _model(**spec: Any) -> Any:
    return deployment("a", plugins=LINK, roles={"encode": ENCODER}, **spec)


def test_each_role_has_a_demand_of_its_own() -> None:
    documents = stack(cluster("east"), _model())
    demands = edited_demands(documents, NOTHING, chains(documents, REGISTRY)).demands
    assert {role: by_pool["east", "l4"].pod for (_, role), by_pool in demands.edited.items()} == {
        "decode": Pod(1, 0, 8 * GIB),
        "encode": Pod(1, 0, 8 * GIB),
    }
    assert demands.edited["ml/a", "encode"]["east", "l4"].shares[0].pod == Pod(0, 0, 8 * GIB)


def test_a_role_that_asks_for_more_where_it_is_placed_is_an_error() -> None:
    documents = stack(cluster("east"), cluster("west"), _model(replicas=2))
    with pytest.raises(InvalidDocuments) as raised:
        desired(documents, NOTHING, registry=REGISTRY)
    assert [problem.what for problem in raised.value.problems] == [
        "plugin memory makes spec.containers[engine].resources.requests.memory of pods of "
        "ml/a 16Gi on west/l4, and 8Gi on east/l4, by which the plan counted; both are of class l4"
    ]


def test_followers_count_with_what_plugins_make_of_them() -> None:
    documents = stack(cluster("east"), deployment("a", plugins=LINK))
    spot = Spot("ml/a", "east", (("decode", "l4"),))
    (entry,), _, _ = spot_pods(documents, spot, chains(documents, REGISTRY), None)
    follower = replace(entry, placed=replace(entry.placed, position="Follower"))
    alike = Demand(Pod(1, 0, 0), 4, 0, gang=2)
    eight = Pod(1, 0, 8 * GIB)
    with_entry, with_follower = edited(alike, entry), edited(alike, follower)
    assert (with_entry.pod, with_entry.follower) == (eight, Pod(1, 0, 0))
    assert (with_follower.pod, with_follower.follower) == (Pod(1, 0, 0), eight)
    assert [share.pod for share in with_follower.follower_shares] == [Pod(0, 0, 8 * GIB)]
    both = edited(with_entry, follower)
    assert (both.pod, both.follower) == (eight, eight)
