"""What a digest says of small changes, whole values."""

from dataclasses import replace

import pytest
from digested import loaded, side
from documents import API, Document, cluster, service
from small_sides import IMAGE, PRICE, STACK, head, head_with_lock, l4, model, place, standing

from inferfleet.documents.problems import Problem, Where
from inferfleet.fleet.lock.lock import Lock
from inferfleet.review.digest.comparison import stack_digest
from inferfleet.review.digest.values import (
    ClassUse,
    ClusterChange,
    CostChange,
    DoorChange,
    Drain,
    ImageChange,
    ListedProblem,
    MissingReplicas,
    ModelChange,
    PickerChange,
    PlaceChange,
    PoolChange,
    Restart,
    Resumption,
    RouteChange,
    StackDigest,
)

EAST, WEST = place("east"), place("west")
_ONE_POD = "it has one pod, and nothing serves there until the new one has loaded its model"
NEXT = "docker.io/vllm/vllm-openai:v0.31.0"
DRAINED = place("east", state="drained")


def test_a_model_that_moves_says_from_where_to_where_and_why() -> None:
    base = standing(l4(), EAST, WEST, model())
    made = stack_digest(STACK, base, head(base, l4(), DRAINED, WEST, model()))
    assert made.models == (
        ModelChange(
            "ml/qwen", "changed", 1, 1, 2, False,
            places=(
                PlaceChange("east/l4", 1, 0, "drained", 130, waits=False),
                PlaceChange("west/l4", 0, 1, "", 0, waits=False),
            ),
            restarts=(), scales=(), rolls=(), pickers=(),
            lines=("ml/qwen: east/l4 1 -> 0, west/l4 0 -> 1", "  leaves east/l4: drained"),
        ),
    )  # fmt: skip
    assert made.drains == (Drain("east", "drained", 1, 0, ()),)
    assert made.clusters == (
        ClusterChange("east", "changed", ("spec.state",), "cluster east is drained, and was active"),
    )


def test_a_model_that_fits_only_once_another_has_left_is_without_service_meanwhile() -> None:
    def whole(name: str, region: str) -> Document:
        made = model(name, clusterSelector={"matchLabels": {"region": region}})
        made["spec"]["workers"]["topology"] = {"tensor": 4}
        return made

    base = standing(l4(), EAST, WEST, whole("first", "east"), whole("second", "west"))
    made = stack_digest(STACK, base, head(base, l4(), EAST, WEST, whole("second", "east")))
    second, first = made.models
    assert (first.change, first.gap, second.change, second.gap) == ("removed", False, "changed", True)
    assert [place.waits for place in second.places] == [True, False]
    assert (
        "east/l4: pods start there once others have left, for which this update does not wait" in second.lines
    )


@pytest.mark.parametrize("replicas", [1, 2])
def test_a_model_that_is_wanted_and_loses_all_that_ran_has_a_gap(replicas: int) -> None:
    base = standing(l4(), EAST, WEST, model(replicas=replicas))
    gone = (place("east", state="abandoned"), place("west", state="abandoned"))
    made = stack_digest(STACK, base, head(base, l4(), *gone, model(replicas=replicas, unplaced="Warn")))
    [lost] = made.models
    assert (lost.before, lost.after, lost.gap) == (replicas, 0, True)
    assert [(one.deployment, one.replicas, one.running) for one in made.missing] == [
        ("ml/qwen", replicas, replicas)
    ]


def test_a_lock_that_comes_with_the_change_says_the_same() -> None:
    base = standing(l4(), EAST, WEST, model())
    documents = (l4(), DRAINED, WEST, model())
    assert stack_digest(STACK, base, head_with_lock(base, *documents)) == stack_digest(
        STACK, base, head(base, *documents)
    )


def test_a_move_that_somebody_wrote_into_the_lock_is_told_as_that() -> None:
    base = standing(l4(), EAST, WEST, model())
    ((spot, replicas),) = base.lock.placements.items()
    moved = replace(base.lock, placements={spot._replace(cluster="west"): replicas})
    made = stack_digest(STACK, base, side(base.documents, moved))
    assert made.models[0].places == (
        PlaceChange("east/l4", 1, 0, "placement.lock says so", 130, waits=False),
        PlaceChange("west/l4", 0, 1, "", 0, waits=False),
    )


def test_replicas_that_cannot_leave_a_drained_cluster_are_named() -> None:
    base = standing(l4(), EAST, model())
    made = stack_digest(STACK, base, head(base, l4(), DRAINED, model()))
    assert (made.models, made.drains) == (
        (),
        (Drain("east", "drained", 1, 1, ("1 replica of ml/qwen on east/l4",)),),
    )
    (warning,) = (told for told in made.problems if told.severity == "warning" and told.new)
    assert warning.what.startswith("1 replica of ml/qwen cannot leave east/l4 (drained)")


def test_pods_restart_in_order_where_their_template_differs() -> None:
    base = standing(l4(), EAST, WEST, model(replicas=2))
    made = stack_digest(STACK, base, head(base, l4(), EAST, WEST, model(replicas=2, image=NEXT)))
    assert made.models[0].restarts == tuple(
        Restart(
            f"Deployment {cluster}/ml/qwen-decode-l4", "decode", 1, 1, order,
            ("spec.containers[engine].image",), _ONE_POD, True, 130,
            (ImageChange("containers[engine].image", IMAGE, NEXT),),
        )
        for order, cluster in enumerate(("east", "west"), start=1)
    )  # fmt: skip
    assert (made.models[0].gpus, made.models[0].gap) == (2, True)
    assert made.models[0].lines[0] == (
        f"1 pod of Deployment east/ml/qwen-decode-l4 restarts (containers[engine].image {IMAGE} -> {NEXT}): "
        f"{_ONE_POD}"
    )


def test_an_image_is_told_with_the_first_digits_of_its_digest() -> None:
    pinned = f"ghcr.io/acme/engine:v2@sha256:{'0123456789abcdef' * 4}"
    base = standing(l4(), EAST, model())
    (changed,) = stack_digest(STACK, base, head(base, l4(), EAST, model(image=pinned))).models
    short = "ghcr.io/acme/engine:v2@sha256:0123456789ab"
    assert changed.restarts[0].images == (ImageChange("containers[engine].image", IMAGE, short),)


def test_a_model_that_is_removed_or_has_no_replicas_any_more_ends() -> None:
    base = standing(l4(), EAST, model("gone"), model("idle"), model("stays"))
    made = stack_digest(STACK, base, head(base, l4(), EAST, model("idle", replicas=0), model("stays")))
    assert [(one.deployment, one.change, one.gap, one.ends) for one in made.models] == [
        ("ml/gone", "removed", False, True),
        ("ml/idle", "changed", False, True),
    ]


def test_placements_of_a_model_restart_together_where_updates_wait_for_no_pods() -> None:
    base = standing(l4(), EAST, WEST, model(replicas=2), **{"await": "applied"})
    after = head(base, l4(), EAST, WEST, model(replicas=2, image=NEXT), **{"await": "applied"})
    (changed,) = stack_digest(STACK, base, after).models
    assert [restart.order for restart in changed.restarts] == [1, 1]


@pytest.mark.parametrize(
    ("spec", "serving"),
    [
        ({"rollout": "Surge"}, "a new pod is ready before an old one ends"),
        ({"replicas": 2}, "one pod of 2 after another, and the others take the requests meanwhile"),
    ],
)
def test_nothing_is_a_gap_where_other_pods_serve(spec: dict[str, object], serving: str) -> None:
    base = standing(l4(), EAST, model(**spec))
    made = stack_digest(STACK, base, head(base, l4(), EAST, model(image=NEXT, **spec)))
    assert [(restart.serving, restart.gap) for restart in made.models[0].restarts] == [(serving, False)]
    assert not made.models[0].gap


@pytest.mark.parametrize(("waiting", "gaps"), [("ready", [False, False]), ("applied", [True, True])])
def test_a_second_pool_of_the_cluster_takes_requests_unless_both_restart_at_once(
    waiting: str, gaps: list[bool]
) -> None:
    """Each pool has room for one replica."""
    east = cluster("east", pools={"a": ("l4", 1), "b": ("l4", 1)})

    def whole(image: str) -> Document:
        made = model(image=image, replicas=2)
        made["spec"]["workers"]["topology"] = {"tensor": 4}
        return made

    base = standing(l4(), east, whole(IMAGE), **{"await": waiting})
    (changed,) = stack_digest(STACK, base, head(base, l4(), east, whole(NEXT), **{"await": waiting})).models
    assert [restart.gap for restart in changed.restarts] == gaps


def test_values_of_fields_are_not_told() -> None:
    base = standing(l4(), EAST, model(env="one"))
    made = stack_digest(STACK, base, head(base, l4(), EAST, model(env="canary-Zx81")))
    assert made.models[0].restarts[0].fields == ("spec.containers[engine].env[KEY].value",)
    assert "canary" not in repr(made)


def test_an_amount_written_otherwise_restarts_nothing() -> None:
    def asking(cpu: str) -> dict[str, object]:
        made = model()
        (engine,) = made["spec"]["workers"]["template"]["spec"]["containers"]
        engine["resources"] = {"requests": {"cpu": cpu}}
        return made

    base = standing(l4(), EAST, asking("2"))
    assert stack_digest(STACK, base, head(base, l4(), EAST, asking("2000m"))).state == "unchanged"


def test_a_picker_that_is_replaced_says_what_is_another_in_it() -> None:
    base = standing(l4(), EAST, model())
    picked = model(endpointPicker={"resources": {"requests": {"cpu": "2"}}})
    made = stack_digest(STACK, base, head(base, l4(), EAST, picked))
    assert made.models[0].pickers == (PickerChange("east", ("resources",), False),)


def test_nodes_cost_what_their_class_says_and_unknown_stays_unknown() -> None:
    base = standing(l4(PRICE), EAST, model())
    made = stack_digest(STACK, base, head(base, l4(PRICE), place("east", 3), model(replicas=2)))
    assert (made.uses, made.costs, made.unpriced) == (
        (ClassUse("l4", (1, 2), (1, 3), ("4.00", "12.00"), "USD", ""),),
        (CostChange("USD", "4.00", "12.00"),),
        (0, 0),
    )
    assert made.pools == (
        PoolChange(
            "east",
            "l4",
            "changed",
            1,
            3,
            ("nodeCount",),
            "pool east/l4 has 3 nodes in its document, and had 1",
        ),
    )
    base = standing(l4(), EAST, model())
    unknown = stack_digest(STACK, base, head(base, l4(), place("east", 3), model()))
    assert (unknown.uses, unknown.costs, unknown.unpriced) == (
        (ClassUse("l4", (1, 1), (1, 3), ("", ""), "", ""),),
        (),
        (1, 3),
    )


def test_routes_and_weights_of_services_that_change_are_told() -> None:
    named = {"engine": {"model": "some/model"}}
    qwen, gemma = model(**named), model("gemma", **named)
    base = standing(l4(), EAST, qwen, gemma, service("chat", qwen=1, gemma=1))
    qwen, gemma = model(replicas=2, **named), model("gemma", replicas=3, **named)
    after = head(base, l4(), EAST, qwen, gemma, service("chat", qwen=3, gemma=1))
    assert stack_digest(STACK, base, after).services == (
        RouteChange(
            "ml/chat", "east", ("ml/gemma 1", "ml/qwen 1"), ("ml/gemma 1", "ml/qwen 3"),
            ("rules[0].backendRefs[qwen].weight",),
        ),
    )  # fmt: skip


def test_what_a_gateway_of_the_fleet_does_otherwise_is_told() -> None:
    def gateway(*names: str) -> Document:
        callers = [{"name": name, "keys": [{"secretRef": {"name": "keys", "key": name}}]} for name in names]
        spec = {"clusters": ["east"], "listeners": {"http": {}}, "callers": callers}
        return {"apiVersion": API, "kind": "InferenceGateway", "metadata": {"name": "main"}, "spec": spec}

    def behind(*models: str) -> Document:
        made = service("chat", qwen=1)
        made["spec"] |= {"gateways": ["main"], "models": list(models)}
        return made

    secrets = {"secrets": {"inferfleet-system/keys": ["a", "b", "c"]}}
    reached = place("west", serving={"gateway": {"className": "istio", "address": "west.example.com"}})
    qwen = model(engine={"model": "some/model", "servedNames": ["chat", "qwen"]})
    base = standing(l4(), EAST, reached, qwen, gateway("a", "b", "c"), behind("chat"), **secrets)
    qwen = {**qwen, "spec": {**qwen["spec"], "replicas": 2}}
    made = stack_digest(
        STACK,
        base,
        head_with_lock(
            base, l4(), EAST, reached, qwen, gateway("a", "c", "b"), behind("chat", "qwen"), **secrets
        ),
    )
    assert made.doors == (
        DoorChange(
            "main",
            "east",
            "ml/chat",
            ("east 1",),
            ("east 1", "west 1"),
            (("chat",), ("chat", "qwen")),
            (("a", "b", "c"), ("a", "b", "c")),
        ),
    )


def test_replicas_without_a_place_are_told_once_with_what_would_place_them() -> None:
    base = standing(l4(), EAST, model())
    made = stack_digest(STACK, base, head(base, l4(), EAST, model(replicas=6)))
    (missing,) = made.missing
    assert missing == MissingReplicas("ml/qwen", 2, 0, False, missing.summary)
    assert missing.summary.startswith("2 of 6 replicas of ml/qwen found no place")
    assert made.state == "changed"


def test_a_warning_on_another_line_is_the_same_and_one_that_goes_is_told() -> None:
    base = standing(l4(), EAST, model("a"), model("b"))
    said = ListedProblem("warning", "odd", "Mend it", "a.yaml", 3, "", new=True)
    problem = Problem("odd", "Mend it", where=Where("a.yaml", 3), severity="warning")
    moved = replace(problem, where=Where("a.yaml", 9))
    with_warning, elsewhere = replace(base, notices=(problem,)), replace(base, notices=(moved,))
    assert stack_digest(STACK, base, with_warning).problems[0] == said
    assert stack_digest(STACK, with_warning, base).gone[0].what == "odd"
    same = stack_digest(STACK, with_warning, elsewhere)
    assert (same.state, same.gone, same.problems[0]) == ("unchanged", (), replace(said, line=9, new=False))


def test_errors_of_the_head_are_told_and_those_of_the_base_leave_nothing_to_compare() -> None:
    here = standing(l4(), EAST, model())
    wrong = Problem("field engin is unknown", "Remove it", "spec.engin", Where("a.yaml", 3))
    told = ListedProblem("error", wrong.what, wrong.next_step, "a.yaml", 3, "spec.engin", new=True)
    assert stack_digest(STACK, here, (wrong,)) == StackDigest(STACK, "refused", problems=(told,))
    assert stack_digest(STACK, (wrong,), (wrong,)).problems == (replace(told, new=False),)
    alone = stack_digest(STACK, (wrong,), here)
    assert (alone.state, alone.gone, alone.models) == ("not compared", (replace(told, new=False),), ())


def test_a_lost_cluster_is_not_touched() -> None:
    base = standing(l4(), EAST, WEST, model(replicas=2))
    lost = place("east", state="lost")
    made = stack_digest(STACK, base, head(base, l4(), lost, WEST, model(replicas=2, image=NEXT)))
    assert {resource.resource for resource in made.resources} == {"Deployment west/ml/qwen-decode-l4"}
    assert made.drains == (Drain("east", "lost", 1, 1, ("1 replica of ml/qwen on east/l4",)),)


def test_a_lock_that_was_not_committed_refuses_a_stack_that_is_locked() -> None:
    base = standing(l4(), EAST, WEST, model(), locked=True)
    after = head(base, l4(), EAST, WEST, model(replicas=2), locked=True)
    made = stack_digest(STACK, base, after)
    assert made.state == "refused"
    assert made.problems[0].what.startswith("placement.lock does not match the documents")
    with_lock = head_with_lock(base, l4(), EAST, WEST, model(replicas=2), locked=True)
    assert stack_digest(STACK, base, with_lock).state == "changed"


def test_equal_sides_have_nothing_to_tell_also_without_a_lock() -> None:
    documents = standing(l4(PRICE), EAST, WEST, model(replicas=2)).documents
    here = side(documents, Lock(stack=STACK))
    made = stack_digest(STACK, here, side(documents, base=here))
    assert made == StackDigest(STACK, "unchanged", unpriced=(0, 0), problems=made.problems)


def test_of_what_is_paused_only_its_documents_change() -> None:
    base = standing(l4(), EAST, WEST, model(), service("chat", qwen=1))
    later = model(paused=True, replicas=2, route={"enabled": False}, rollout="Surge")
    later["spec"]["workers"]["template"]["spec"]["containers"][0]["image"] = NEXT
    made = stack_digest(STACK, base, head(base, l4(), EAST, WEST, later, service("chat", qwen=1)))
    assert replace(made, written=(), problems=()) == StackDigest(STACK, "changed", unpriced=made.unpriced)
    assert [field.path for one in made.written for field in one.fields] == [
        "spec.paused",
        "spec.replicas",
        "spec.rollout",
        "spec.route.enabled",
        "spec.workers.template.spec.containers[engine].image",
    ]
    told = [f"{problem.what}. {problem.step}" for problem in made.problems if problem.new]
    assert told == ["ml/qwen is paused: nothing of it changes. Remove paused to have it changed"]


def test_pools_of_a_paused_cluster_neither_change_nor_cost_more() -> None:
    base = standing(l4(PRICE), EAST, WEST, model())
    later = head(base, l4(PRICE), EAST, place("west", nodes=3, state="paused"), model())
    made = stack_digest(STACK, base, later)
    told = "cluster west is paused, and was active"
    assert (made.pools, made.costs, made.uses, made.resources) == ((), (), (), ())
    assert made.clusters == (ClusterChange("west", "changed", ("spec.state",), told),)
    assert [field.path for one in made.written for field in one.fields] == ["spec.nodePools[l4].nodeCount"]


def test_what_goes_on_after_a_pause_is_a_warning_though_nothing_else_differs() -> None:
    code = model("code", clusterSelector={"matchLabels": {"region": "west"}})
    lock = standing(l4(), EAST, WEST, model(replicas=2), code).desired.plan.lock
    assert sorted(f"{spot}: {number}" for spot, number in lock.placements.items()) == [
        "ml/code west decode=l4: 1",
        "ml/qwen east decode=l4: 1",
        "ml/qwen west decode=l4: 1",
    ]
    qwen, paused, held = model(replicas=2), model(replicas=2, paused=True), place("west", state="paused")
    base = side(loaded((l4(), EAST, held, paused, code), STACK), lock)

    def resumed(*documents: Document) -> list[Resumption]:
        made = stack_digest(STACK, base, head(base, l4(), EAST, *documents, code))
        assert (made.models, made.resources) == ((), ())
        assert made.state == ("changed" if made.resumptions else "unchanged")
        step = "Run `pulumi preview`, which compares with what runs"
        warned = [(one.what, one.step) for one in made.problems if one.severity == "warning"]
        assert sorted(warned) == sorted((one.summary, step) for one in made.resumptions)
        return [replace(one, summary="") for one in made.resumptions]

    of_west, of_qwen = ("InferenceCluster", "west", "paused"), ("ModelDeployment", "ml/qwen", "paused")
    assert resumed(held, paused) == []
    assert resumed(held, qwen) == [Resumption(*of_qwen, 1, "")]
    assert resumed(WEST, paused) == [Resumption(*of_west, 1, "")]
    assert resumed(WEST, qwen) == [Resumption(*of_west, 1, ""), Resumption(*of_qwen, 2, "")]
    given_up = head(base, l4(), EAST, place("west", state="abandoned"), paused, code)
    assert stack_digest(STACK, base, given_up).resumptions == ()
