"""Labels that templates ask of nodes choose pools: what documents say of them, a cloud, or capacity.lock."""

from dataclasses import replace
from datetime import date
from typing import Any

import pytest
from small_fleet import class_, cluster, deployment, fleet, gke, lock, placed, role

from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.inference_cluster import InferenceCluster
from inferfleet.documents.kinds.workers import Workers
from inferfleet.fleet.decisions import Plan
from inferfleet.fleet.demands import declared_demands
from inferfleet.fleet.lock.capacity import Observation
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.node_conditions import REQUIRED, known_labels
from inferfleet.fleet.planning import plan

EMPTY = Lock(stack="test")
ZONE = "topology.kubernetes.io/zone"


def _requires(*expressions: tuple[str, str, list[str]]) -> dict[str, Any]:
    written = [{"key": key, "operator": operator, "values": values} for key, operator, values in expressions]
    return {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": written}]}}}}


def _with_selectors(east: InferenceCluster, selectors: dict[str, dict[str, str]]) -> InferenceCluster:
    pools = [
        pool.model_copy(update={"node_selector": selectors.get(pool.name)}) for pool in east.spec.node_pools
    ]
    return east.model_copy(update={"spec": east.spec.model_copy(update={"node_pools": tuple(pools)})})


def _planned(documents: Documents, locked: Lock = EMPTY, **labels: Any) -> Plan:
    """The plan; `labels` are what a cloud gives to nodes, by pool of cluster east."""
    declared, east = declared_demands(documents), documents.clusters["east"]
    by_pool = {
        ("east", pool): known_labels(east, east.spec.pool(pool), of_pool) for pool, of_pool in labels.items()
    }
    return plan(documents, locked, replace(declared, labels={**declared.labels, **by_pool}))


def _why(planned: Plan) -> list[str]:
    return [reason.why for reason in planned.unplaced[0].reasons]


RACKS = _with_selectors(
    cluster("east", {"l4": ("l4", 1), "h100": ("h100", 1)}),
    {"l4": {"rack": "r1"}, "h100": {"rack": "r2", "tier": "gold"}},
)


@pytest.mark.parametrize(
    ("pod", "pool"),
    [
        ({}, "l4"),
        ({"nodeSelector": {"rack": "r2"}}, "h100"),
        ({"nodeSelector": {"kubernetes.io/os": "linux"}}, "l4"),
        (_requires(("rack", "NotIn", ["r1"])), "h100"),
        (_requires(("rack", "In", ["r1", "r9"])), "l4"),
        # Of the other pool it is not known.
        ({"nodeSelector": {"tier": "gold"}}, "h100"),
    ],
)
def test_a_template_chooses_the_pool_whose_labels_it_names(pod: dict[str, Any], pool: str) -> None:
    planned = plan(fleet(RACKS, deployment("m", 1, pod=pod)), EMPTY)
    assert (placed(planned), planned.problems) == ({f"m east/{pool}": 1}, ())


def test_the_label_of_pools_without_a_selector_of_their_own_is_one_of_them() -> None:
    east = cluster("east", {"l4": ("l4", 1), "h100": ("h100", 1)})
    planned = plan(
        fleet(east, deployment("m", 1, pod={"nodeSelector": {"inferfleet.dev/pool": "h100"}})), EMPTY
    )
    assert (placed(planned), planned.problems) == ({"m east/h100": 1}, ())


def test_a_pool_that_is_full_does_not_make_others_suit() -> None:
    gold = {"nodeSelector": {"tier": "gold"}}
    planned = plan(
        fleet(RACKS, deployment("m", 9, pod=gold), deployment("n", 1, pod={"nodeSelector": {"rack": "r2"}})),
        EMPTY,
    )
    assert placed(planned) == {"m east/h100": 7, "n east/h100": 1}
    assert _why(planned) == [
        "1 of 1 nodes full: 0 free GPUs on the emptiest node, needs 1",
        "whether its nodes have tier=gold is not known, and those of east/h100 do",
    ]
    assert [reason.step for reason in planned.unplaced[0].reasons] == [
        "",
        "run inferfleet capacity --write, which asks nodes for tier; or write it into pool east/l4 if all "
        "have it (labels on GKE, else nodeSelector)",
    ]
    of_rack = plan(fleet(RACKS, deployment("n", 9, pod={"nodeSelector": {"rack": "r2"}})), EMPTY)
    assert _why(of_rack)[1] == "its nodes have rack=r1, and the template needs rack=r2"


def test_labels_that_nobody_knows_are_a_warning_for_all_pools_that_are_used() -> None:
    east = cluster("east", {"p": ("l4", 1), "q": ("l4", 1)})
    fast = {"nodeSelector": {"disk": "fast"}}
    planned = plan(fleet(east, deployment("m", 5, pod=fast), deployment("n", 1, pod={})), EMPTY)
    assert placed(planned) == {"m east/p": 4, "m east/q": 1, "n east/q": 1}
    assert [str(problem) for problem in planned.problems] == [
        "spec.workers.template.spec.nodeSelector: its pods need nodes with disk=fast, and whether those of "
        "pool east/p, east/q, where they are placed, have that is not known; pods for which none has it stay "
        "Pending. Have its nodes asked: inferfleet capacity --write, which notes up to 32 values of a label; "
        "or, if all of them have it, write disk into the pool: on GKE into labels, else into nodeSelector "
        "beside inferfleet.dev/pool or what it has"
    ]
    assert (
        plan(fleet(east, deployment("m", 5, pod=fast), deployment("n", 1, pod={})), planned.lock).changes
        == ()
    )


def _seen(**labels: Any) -> Lock:
    """A lock beside a capacity.lock with these labels, by pool of cluster east."""
    day = date(2026, 11, 20)
    seen = {("east", pool): Observation(day, 1, labels=of_pool) for pool, of_pool in labels.items()}
    return replace(EMPTY, seen=seen)


def test_what_was_seen_of_nodes_counts_where_documents_say_nothing() -> None:
    east, fast = cluster("east", {"p": ("l4", 1), "q": ("l4", 1)}), {"nodeSelector": {"disk": "fast"}}
    locked = _seen(p={"disk": (None,)}, q={"disk": ("fast",)})
    planned = plan(fleet(east, deployment("m", 5, pod=fast)), locked)
    assert (placed(planned), planned.problems) == ({"m east/q": 4}, ())
    assert _why(planned)[0] == (
        "its nodes have no label disk (capacity.lock, 2026-11-20), and the template needs disk=fast"
    )
    # It is no fault of the document.
    nowhere = plan(
        fleet(east, deployment("m", 1, pod=fast)), _seen(p={"disk": (None,)}, q={"disk": ("slow",)})
    )
    assert (len(_why(nowhere)), nowhere.problems) == (2, ())
    said = _with_selectors(east, {"p": {"disk": "fast"}})
    assert placed(plan(fleet(said, deployment("m", 1, pod=fast)), locked)) == {"m east/p": 1}


def test_a_label_that_some_nodes_of_a_pool_have_will_do_with_a_warning() -> None:
    east = gke("east", {"p": ("l4", 2)}, zones={"p": ["us-east5-a", "us-east5-b"]})
    zones = {ZONE: ("us-east5-a", "us-east5-b")}
    planned = _planned(fleet(east, deployment("m", 1, pod={"nodeSelector": {ZONE: "us-east5-a"}})), p=zones)
    assert placed(planned) == {"m east/p": 1}
    assert [problem.what for problem in planned.problems] == [
        f"only nodes with {ZONE}=us-east5-a of pool east/p take its pods, and the plan counts all nodes there"
    ]


def test_what_a_cloud_gives_to_nodes_counts() -> None:
    east = gke("east", {"l4": ("l4", 1), "h100": ("h100", 1)})
    gpu = "cloud.google.com/gke-accelerator"
    planned = _planned(
        fleet(east, deployment("m", 1, pod={"nodeSelector": {gpu: "nvidia-h100-80gb"}})),
        l4={gpu: ("nvidia-l4",)},
        h100={gpu: ("nvidia-h100-80gb",)},
    )
    assert (placed(planned), planned.problems) == ({"m east/h100": 1}, ())


def test_a_class_says_which_product_a_label_cannot_name() -> None:
    """Pools that exist and say nothing of their nodes; only classes tell their products apart."""
    gpu = {"name": "gpu", "driver": "gpu.nvidia.com", "deviceClassName": "gpu.nvidia.com", "count": 1}
    small, large = (
        class_(name, 1, devices=[{**gpu, "attributes": {"productName": {"string": product}}}])
        for name, product in (("small", "NVIDIA L4"), ("large", "NVIDIA H100 80GB HBM3"))
    )
    product = {"nodeSelector": {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}}
    east = cluster("east", {"a": ("small", 1), "b": ("large", 1)})
    planned = plan(fleet(small, large, east, deployment("m", 2, pod=product)), EMPTY)
    assert placed(planned) == {"m east/b": 1}
    assert _why(planned)[0] == (
        "its nodes have nvidia.com/gpu.product=NVIDIA-L4, and the template needs "
        "nvidia.com/gpu.product=NVIDIA-H100-80GB-HBM3"
    )
    assert ["nvidia.com/gpu.product=NVIDIA-H100-80GB-HBM3" in str(one) for one in planned.problems] == [True]


@pytest.mark.parametrize(
    ("google", "place"), [("nvidia-h100-80gb", "b"), ("nvidia-h100-mega-80gb", "b"), ("nvidia-l4", "a")]
)
def test_a_class_of_nvidias_says_which_one_google_would_name(google: str, place: str) -> None:
    gpu = {"name": "gpu", "driver": "gpu.nvidia.com", "deviceClassName": "gpu.nvidia.com", "count": 1}
    small, large = (
        class_(name, 1, devices=[{**gpu, "attributes": {"productName": {"string": product}}}])
        for name, product in (("small", "NVIDIA L4"), ("large", "NVIDIA H100 80GB HBM3"))
    )
    pod = {"nodeSelector": {"cloud.google.com/gke-accelerator": google}}
    east = cluster("east", {"a": ("small", 1), "b": ("large", 1)})
    assert placed(plan(fleet(small, large, east, deployment("m", 1, pod=pod)), EMPTY)) == {
        f"m east/{place}": 1
    }


def test_a_class_with_a_recipe_says_it_in_the_words_of_google_too() -> None:
    """An existing cluster of GKE's, whose pools say nothing of their nodes."""
    recipes = {"small": ("g2-standard-48", "nvidia-l4"), "large": ("a3-highgpu-8g", "nvidia-h100-80gb")}
    small, large = (
        class_(
            name,
            8,
            provisioning={
                "provider": "GKE",
                "gke": {"machineType": machine, "accelerator": {"type": accelerator, "count": 8}},
            },
        )
        for name, (machine, accelerator) in recipes.items()
    )
    h100 = {"nodeSelector": {"cloud.google.com/gke-accelerator": "nvidia-h100-80gb"}}
    east = cluster("east", {"a": ("small", 1), "b": ("large", 1)})
    planned = plan(fleet(small, large, east, deployment("m", 1, pod=h100)), EMPTY)
    assert placed(planned) == {"m east/b": 1}
    assert [(one.severity, "gke-accelerator" in one.what) for one in planned.problems] == [("warning", True)]


def test_a_running_replica_whose_selector_changed_moves_or_stops_the_run() -> None:
    asks = deployment("m", 2, pod={"nodeSelector": {"rack": "r2"}})
    planned = plan(fleet(RACKS, asks), lock({"m east/l4": 2}))
    assert placed(planned) == {"m east/h100": 2}
    why = "its nodes have rack=r1, and the template needs rack=r2"
    assert list(planned.departure_reasons.values()) == [why]
    full = plan(fleet(RACKS, asks, deployment("n", 1, gpus=8)), lock({"m east/l4": 2, "n east/h100": 1}))
    assert [(problem.severity, problem.what) for problem in full.problems] == [
        (
            "error",
            f"2 replicas of ml/m cannot leave east/l4 ({why}): east/h100: 1 of 1 nodes full: 0 free GPUs on "
            "the emptiest node, needs 1",
        )
    ]


def test_a_label_that_nodes_were_seen_without_moves_nothing_that_runs() -> None:
    east = cluster("east", {"p": ("l4", 1), "q": ("l4", 1)})
    locked = replace(lock({"m east/p": 1}), seen=_seen(p={"disk": (None,)}, q={"disk": ("fast",)}).seen)
    planned = plan(fleet(east, deployment("m", 2, pod={"nodeSelector": {"disk": "fast"}})), locked)
    assert placed(planned) == {"m east/p": 1, "m east/q": 1}
    assert [(problem.severity, problem.what) for problem in planned.problems] == [
        (
            "warning",
            "its pods need nodes with disk=fast, and those of pool east/p, where replicas stay, have no "
            "label disk (capacity.lock, 2026-11-20); pods that are made anew there stay Pending",
        )
    ]
    # That one ends first, which is the next step where it should move.
    both = replace(planned.lock, seen=locked.seen)
    fewer = plan(fleet(east, deployment("m", 1, pod={"nodeSelector": {"disk": "fast"}})), both)
    assert (placed(fewer), fewer.problems) == ({"m east/q": 1}, ())


def test_what_documents_say_counts_before_what_was_seen() -> None:
    """Both tell that nodes lack something: the replica moves because its document is at fault."""
    asks = deployment("m", 1, pod={"nodeSelector": {"disk": "fast", "rack": "r2"}})
    locked = replace(lock({"m east/l4": 1}), seen=_seen(l4={"disk": (None,)}, h100={"disk": ("fast",)}).seen)
    planned = plan(fleet(RACKS, asks), locked)
    assert (placed(planned), planned.problems) == ({"m east/h100": 1}, ())


@pytest.mark.parametrize("field", ["matchExpressions", "matchFields"])
def test_nobody_is_told_to_write_the_name_of_a_node_into_a_pool(field: str) -> None:
    key = "kubernetes.io/hostname" if field == "matchExpressions" else "metadata.name"
    term = {field: [{"key": key, "operator": "NotIn", "values": ["bad"]}]}
    pod = {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [term]}}}}
    planned = plan(fleet(cluster("east", {"p": ("l4", 1)}), deployment("m", 1, pod=pod)), EMPTY)
    assert [(placed(planned), problem.next_step) for problem in planned.problems] == [
        (
            {"m east/p": 1},
            "Plans know no single nodes: cordon one that pods must not have, or make those that they must "
            "have a pool of their own",
        )
    ]


def test_a_running_replica_stays_where_its_label_is_not_known() -> None:
    planned = plan(
        fleet(RACKS, deployment("m", 2, pod={"nodeSelector": {"tier": "gold"}})), lock({"m east/l4": 1})
    )
    assert placed(planned) == {"m east/l4": 1, "m east/h100": 1}
    assert [problem.severity for problem in planned.problems] == ["warning"]


def test_labels_that_no_pool_has_are_an_error_of_the_template() -> None:
    planned = plan(fleet(RACKS, deployment("m", 1, pod={"nodeSelector": {"rack": "r3"}})), EMPTY)
    assert [str(problem) for problem in planned.problems] == [
        "spec.workers.template.spec.nodeSelector: no pool of the clusters that clusterSelector matches has "
        "nodes for this template (east/h100: its nodes have rack=r2, and the template needs rack=r3; east/"
        "l4: its nodes have rack=r1, and the template needs rack=r3). Correct it, or add a pool with "
        "such nodes"
    ]


def test_each_role_has_pools_by_its_own_template() -> None:
    encoder = role(pod={"nodeSelector": {"rack": "r2"}})
    model = deployment("m", 1, pod={"nodeSelector": {"rack": "r1"}}, roles={"encoder": encoder})
    planned = plan(fleet(RACKS, model), EMPTY)
    assert [str(placement.spot) for placement in planned.placements] == ["ml/m east decode=l4 encoder=h100"]


def test_followers_must_have_the_labels_of_their_pool_too() -> None:
    engine = {"containers": [{"name": "engine", "image": "engine:1"}]}
    model = deployment("m", 1)
    workers = {
        "topology": {"tensor": 1, "pipeline": 2},
        "entry": {"template": {"spec": engine}},
        "follower": {"template": {"spec": {**engine, "nodeSelector": {"rack": "r2"}}}},
    }
    racks = _with_selectors(
        cluster("east", {"l4": ("l4", 2), "h100": ("h100", 2)}),
        {"l4": {"rack": "r1"}, "h100": {"rack": "r2"}},
    )
    spec = model.spec.model_copy(update={"workers": Workers.model_validate(workers)})
    assert placed(plan(fleet(racks, model.model_copy(update={"spec": spec})), EMPTY)) == {"m east/h100": 1}


def test_spread_counts_only_places_that_a_template_takes() -> None:
    fast = {"nodeSelector": {"disk": "fast"}}
    east, west, south = (
        _with_selectors(cluster(name, {"p": ("l4", 2)}), {"p": {"disk": disk}})
        for name, disk in (("east", "fast"), ("west", "fast"), ("south", "slow"))
    )
    spread = {"mode": "Require", "maxSkew": 1}
    planned = plan(fleet(east, west, south, deployment("m", 4, pod=fast, spread=spread)), EMPTY)
    assert (placed(planned), planned.unplaced) == ({"m east/p": 2, "m west/p": 2}, ())


def test_what_every_template_tolerates_needs_no_toleration_of_the_document() -> None:
    taint = {"key": "dedicated", "value": "ml", "effect": "NoExecute"}
    east = cluster("east", {"l4": ("l4", 1)}, taints=[taint])
    by_itself = {"tolerations": [{"key": "dedicated", "operator": "Exists"}]}
    assert placed(plan(fleet(east, deployment("m", 1, pod=by_itself)), EMPTY)) == {"m east/l4": 1}
    two = deployment("m", 1, pod=by_itself, roles={"encoder": role()})
    assert _why(plan(fleet(east, two), EMPTY)) == ["taint dedicated=ml:NoExecute is not tolerated"]
    assert _why(plan(fleet(east, deployment("m", 1, pod={"tolerations": [{"key": "other"}]})), EMPTY)) == [
        "taint dedicated=ml:NoExecute is not tolerated"
    ]
