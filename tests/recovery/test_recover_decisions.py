"""What is decided about operations that did not end, and what the state is afterwards."""

from small_state import GOOGLE, IN, POOL, Values, config_map, exported, pool, resource, state, urn

from inferfleet.documents.problems import Problem
from inferfleet.recovery.state import (
    Absent,
    Action,
    Decision,
    Present,
    StackResource,
    State,
    decide,
    edited,
    refreshes,
    restored,
)

A, B = config_map("a"), config_map("b")
ON_A = urn("kubernetes:core/v1:ConfigMap", "east/ml/a")
ON_B = urn("kubernetes:core/v1:ConfigMap", "east/ml/b")
ON_POOL = urn(POOL, "east/h100")
WANTS_NEW = {(POOL, "east/h100"): f"{IN}/h100-new"}


def creating(*values: Values) -> tuple[tuple[str, Values], ...]:
    return tuple(("creating", values) for values in values)


def actions(interrupted: State) -> list[tuple[Action, str]]:
    return [(one.action, one.why) for one in decide(interrupted, {}, {})]


def test_a_state_in_which_all_ended_asks_for_nothing() -> None:
    interrupted = state(config_map("a", made=True), resource("inferfleet:components:X", "east", custom=False))
    assert decide(interrupted, {}, {}) == ()


def test_an_object_that_is_on_its_cluster_enters_the_state_with_the_owner_of_its_fields() -> None:
    export = exported(pending=creating(A))
    decisions = decide(State(export), {ON_A: Present("pulumi-kubernetes-1")}, {})
    assert decisions == (
        Decision(
            "creating",
            StackResource(A),
            Action.TAKE_OVER,
            "it is on its cluster",
            "ml/a",
            "pulumi-kubernetes-1",
        ),
    )
    outputs = {"__fieldManager": "pulumi-kubernetes-1"}
    assert edited(export, decisions) == exported({**A, "id": "ml/a", "outputs": outputs})
    assert refreshes(decisions) == ((ON_A,),)


def test_an_object_that_is_not_there_is_forgotten() -> None:
    export = exported(config_map("c", made=True), pending=creating(A))
    decisions = decide(State(export), {ON_A: Absent()}, {})
    assert [(decision.action, decision.why) for decision in decisions] == [
        (Action.FORGET, "it is not on its cluster")
    ]
    assert edited(export, decisions) == exported(config_map("c", made=True))
    assert refreshes(decisions) == ()


def test_what_a_later_update_made_is_not_taken_over_twice() -> None:
    interrupted = state(
        config_map("a", made=True), pool("h100-new", made=True), pending=creating(A, pool("h100-new"))
    )
    later = (Action.FORGET, "the state has it: a later update created it")
    assert actions(interrupted) == [later, later]


def test_while_one_operation_cannot_be_judged_the_state_stays_as_it_is() -> None:
    export = exported(pending=(*creating(A, B), ("updating", pool("h100-new"))))
    silent = Problem("cluster 'east' does not answer", "Fix it")
    decisions = decide(State(export), {ON_A: silent, ON_B: Present()}, {})
    assert [(decision.action, decision.problem) for decision in decisions[:2]] == [
        (Action.LEAVE, silent),
        (Action.TAKE_OVER, None),
    ]
    assert edited(export, decisions) is None


def test_an_update_or_a_deletion_is_looked_at_and_one_of_what_is_gone_forgotten() -> None:
    pending = (("updating", A), ("deleting", B), ("reading", config_map("c")))
    interrupted = state(config_map("a", made=True), config_map("b", made=True), pending=pending)
    looked = (Action.LOOK, "it is unknown how far the operation came")
    assert actions(interrupted) == [looked, looked, (Action.FORGET, "the state does not have it any more")]
    decisions = decide(interrupted, {}, {})
    assert refreshes(decisions) == ((ON_A, ON_B),)
    assert edited(interrupted.export, decisions) == exported(
        config_map("a", made=True), config_map("b", made=True)
    )


def test_without_anything_to_enter_or_to_forget_the_state_is_only_looked_at() -> None:
    interrupted = state(config_map("a", made=True), pending=(("updating", A),))
    assert edited(interrupted.export, decide(interrupted, {}, {})) is None


def test_what_pulumi_alone_has_is_made_again() -> None:
    provider = resource("pulumi:providers:kubernetes", "east")
    component = resource("inferfleet:components:X", "east", custom=False)
    remembered = resource("pulumi:index:Stash", "east/ml/web-decode-l4/registrar", inputs={"input": "x"})
    again = (Action.FORGET, "only Pulumi has it, and creates it again")
    assert actions(state(pending=creating(provider, component, remembered))) == [again] * 3


def test_what_was_taken_over_and_not_looked_at_is_looked_at_by_the_next_recovery() -> None:
    entered = config_map("a", id="ml/a", outputs={"__fieldManager": "pulumi-kubernetes-1"})
    interrupted = state(entered, pool("h100-new", id="x"))
    looked = (Action.LOOK, "taken over, and not refreshed yet")
    assert actions(interrupted) == [looked, looked]
    assert refreshes(decide(interrupted, {}, {})) == ((ON_A,), (ON_POOL,))


def test_the_engine_asks_google_about_a_cloud_resource() -> None:
    export = exported(pending=creating(pool("h100-new")))
    decisions = decide(State(export), {}, WANTS_NEW)
    assert [(decision.action, decision.id) for decision in decisions] == [
        (Action.TAKE_OVER_IF_THERE, f"{IN}/h100-new")
    ]
    assert edited(export, decisions) == exported(pool("h100-new", id=f"{IN}/h100-new"))


def test_a_pool_that_was_to_replace_another_takes_its_place_and_the_other_waits_for_its_deletion() -> None:
    export = exported(pool("h100-old", made=True), pending=creating(pool("h100-new")))
    decisions = decide(State(export), {}, WANTS_NEW)
    assert [(decision.action, decision.replaces, decision.why) for decision in decisions] == [
        (Action.TAKE_OVER_IF_THERE, True, f"it was to replace {IN}/h100-old")
    ]
    after = edited(export, decisions)
    new = pool("h100-new", id=f"{IN}/h100-new")
    assert after == exported(pool("h100-old", made=True, delete=True), new)
    assert restored(after, decisions) is None
    # Google did not have it: the refresh took it out of the state.
    gone = exported(pool("h100-old", made=True, delete=True))
    assert restored(gone, decisions) == exported(pool("h100-old", made=True))


def test_a_pool_beside_the_wanted_one_is_named_for_people_to_delete() -> None:
    interrupted = state(pool("h100-new", made=True), pending=creating(pool("h100-old")))
    (decision,) = decide(interrupted, {}, WANTS_NEW)
    what = f"NodePool east/h100: {IN}/h100-old was created beside {IN}/h100-new, and is not wanted"
    assert (decision.action, decision.problem) == (
        Action.FORGET,
        Problem(what, "If Google has it, delete it there"),
    )


def test_of_two_pools_of_one_document_only_the_wanted_one_enters_the_state() -> None:
    interrupted = state(pending=creating(pool("h100-old"), pool("h100-new")))
    assert [(one.action, one.id) for one in decide(interrupted, {}, WANTS_NEW)] == [
        (Action.TAKE_OVER_IF_THERE, f"{IN}/h100-new"),
        (Action.FORGET, f"{IN}/h100-old"),
    ]


def test_which_of_two_pools_is_wanted_is_not_guessed() -> None:
    interrupted = state(pool("h100-old", made=True), pending=creating(pool("h100-new")))
    (decision,) = decide(interrupted, {}, None)
    assert decision.action is Action.LEAVE


def test_a_cloud_resource_without_an_id_is_left_to_people() -> None:
    strange = resource("gcp:storage/bucket:Bucket", "b", provider=GOOGLE)
    (decision,) = decide(state(pending=creating(strange)), {}, {})
    step = "Answer for it yourself: pulumi refresh asks about each in a terminal"
    assert decision.problem == Problem("Bucket b: its ID does not follow from its inputs", step)


def test_an_id_that_the_provider_gave_is_kept() -> None:
    export = exported(pending=creating(pool("h100-new", id="given", outputs={"x": 1}, created="today")))
    decisions = decide(State(export), {}, WANTS_NEW)
    assert edited(export, decisions) == exported(pool("h100-new", id="given"))


def test_each_provider_is_asked_by_a_command_of_its_own() -> None:
    pending = creating(A, pool("h100-new"), B)
    decisions = decide(state(pending=pending), {ON_A: Present(), ON_B: Present()}, WANTS_NEW)
    assert refreshes(decisions) == ((ON_POOL,), (ON_A, ON_B))


def test_thousands_of_objects_fit_on_command_lines() -> None:
    """Linux takes 128 KiB for one argument and 2 MiB for all, macOS 1 MiB for all."""
    objects = [config_map(f"a{number}", made=True) for number in range(2_500)]
    interrupted = state(*objects, pending=tuple(("updating", each) for each in objects))
    commands = refreshes(decide(interrupted, {}, {}))
    assert [len(urns) for urns in commands] == [1_000, 1_000, 500]
    assert [urn for urns in commands for urn in urns] == [each["urn"] for each in objects]


def test_an_operation_that_was_cut_off_twice_is_one() -> None:
    assert len(state(pending=creating(A, A)).pending) == 1


def test_nothing_that_was_handed_in_is_changed() -> None:
    export = exported(pool("h100-old", made=True), pending=creating(pool("h100-new")))
    edited(export, decide(State(export), {}, WANTS_NEW))
    assert export == exported(pool("h100-old", made=True), pending=creating(pool("h100-new")))
