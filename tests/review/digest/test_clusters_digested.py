"""A cluster on GKE that is replaced by another: its pools are too, and policies see it."""

from documents import API, Document
from gke_edits_stack import kind
from gke_fleet import gke
from small_sides import STACK, head, standing

from inferfleet.review.digest.comparison import stack_digest
from inferfleet.review.digest.values import PoolChange

PLAIN = kind("plain", "g2-standard-8", "nvidia-l4", 1, product="NVIDIA L4")
WHY = "region (location us-east5 -> us-east4)"


def east(region: str) -> Document:
    made = gke("east", region, {"name": "l4", "className": "plain", "nodeCount": 1, "zones": [f"{region}-a"]})
    made["spec"]["cluster"]["gke"]["deletionProtection"] = False
    return made


def policy() -> Document:
    spec = {"each": "pool", "cel": 'pool.change != "replaced"', "message": "add another pool first"}
    return {"apiVersion": API, "kind": "Policy", "metadata": {"name": "pools"}, "spec": spec}


def test_pools_of_a_cluster_that_is_replaced_are_replaced_with_it() -> None:
    base = standing(PLAIN, east("us-east5"))
    made = stack_digest(STACK, base, head(base, PLAIN, east("us-east4")))
    assert [cluster.summary for cluster in made.clusters] == [
        f"cluster east is replaced: {WHY}; the old one is deleted with everything on it"
    ]
    assert made.pools == (
        PoolChange(
            "east", "l4", "replaced", 1, 1, ("region",), f"pool east/l4 is replaced: {WHY}; with its cluster"
        ),
    )
    pools = [resource for resource in made.resources if resource.resource.startswith("NodePool")]
    assert [(pool.resource, pool.operation, set(pool.fields)) for pool in pools] == [
        ("NodePool east/l4", "replace", {"cluster", "location"}),
        ("NodePool east/system", "replace", {"cluster", "location"}),
    ]


def test_policies_on_the_change_of_pools_see_it() -> None:
    base = standing(PLAIN, east("us-east5"), policy())
    made = stack_digest(STACK, base, head(base, PLAIN, east("us-east4"), policy()))
    (problem,) = [problem for problem in made.problems if problem.severity == "error"]
    assert problem.what.startswith("pool east/l4 breaks policy pools")
