"""Waivers let things off until their day; conditions that cannot be asked are refused with their place."""

from dataclasses import replace
from datetime import date

import pytest
from digested import loaded
from documents import API, Document
from small_sides import STACK, head, head_with_lock, l4, model, place, standing

from inferfleet.desired import desired
from inferfleet.documents import work
from inferfleet.documents.documents import Documents
from inferfleet.documents.problems import InvalidDocuments
from inferfleet.fleet.lock.lock import Lock
from inferfleet.review.digest.comparison import stack_digest
from inferfleet.review.policy import enforcement
from inferfleet.review.policy.conditions import Condition, size
from inferfleet.review.policy.enforcement import policy_problems
from inferfleet.review.policy.facts import Team

DAY = date(2026, 11, 23)


def policy(cel: str = "model.gpus < 1", *, each: str = "model", **spec: str) -> Document:
    rule = {"each": each, "cel": cel, "message": "models are small.", **spec}
    return {"apiVersion": API, "kind": "Policy", "metadata": {"name": "small"}, "spec": rule}


def waiver(until: str, of: str | None = "ml/qwen", **spec: str) -> Document:
    exception = {"policy": "small", "until": until, "reason": "until the next round", **spec}
    exception |= {"of": of} if of else {}
    return {"apiVersion": API, "kind": "Waiver", "metadata": {"name": "w"}, "spec": exception}


def told(*documents: Document, today: date = DAY) -> list[tuple[str, str, str]]:
    """Severity, kind and what of everything that policies say."""
    made: Documents = loaded(documents, STACK)
    lock = Lock(stack=STACK)
    problems = policy_problems(made, lock, desired(made, lock), today=today)
    return [(problem.severity, problem.kind, problem.what) for problem in problems]


# A text of a few characters that is joined with itself 24 times.
DOUBLED = (
    "cel.bind(t0, model.name, "
    + "".join(f"cel.bind(t{n}, t{n - 1} + t{n - 1}, " for n in range(1, 25))
    + 't24 == "")'
    + ")" * 24
)
FLEET = (l4(), place("east"), model())


@pytest.mark.parametrize("of", ["ml/qwen", None])
def test_a_waiver_lets_off_until_the_end_of_its_day(of: str | None) -> None:
    let_off = (
        "notice",
        "Waiver",
        "model ml/qwen breaks policy small, and waiver w lets it off until 2026-11-23: until the next round",
    )
    assert told(*FLEET, policy(), waiver("2026-11-23", of)) == [let_off]


def test_after_its_day_the_policy_holds_again() -> None:
    ((severity, kind, what),) = told(*FLEET, policy(), waiver("2026-11-22"))
    assert (severity, kind) == ("error", "ModelDeployment")
    assert what.endswith("models are small (model.gpus is 1); waiver w of it ended on 2026-11-22")


def test_a_waiver_that_lets_nothing_off_is_told() -> None:
    other = told(*FLEET, policy("model.gpus < 2"), waiver("2026-12-31"))
    what = "waiver w lets nothing off policy small, which 'ml/qwen' does not break"
    assert other == [("notice", "Waiver", what)]
    of_all = told(*FLEET, policy("model.gpus < 2"), waiver("2026-12-31", of=None))
    assert of_all == [("notice", "Waiver", "waiver w lets nothing off policy small")]
    over = told(*FLEET, policy("model.gpus < 2"), waiver("2026-11-01"))
    assert over == [("notice", "Waiver", "waiver w ended on 2026-11-01")]


@pytest.mark.parametrize(
    ("until", "refused"), [("2027-05-22", False), ("2027-05-23", True), ("9999-12-31", True)]
)
def test_a_waiver_holds_for_at_most_180_days_from_the_day_of_the_run(until: str, refused: bool) -> None:
    what = f"waiver w holds until {until}, which is more than 180 days ahead"
    said = told(*FLEET, policy(), waiver(until))
    assert [problem for problem in said if problem[0] == "error"] == [("error", "Waiver", what)] * refused


def test_the_next_step_says_where_a_waiver_of_such_a_policy_belongs() -> None:
    made = loaded([*FLEET, policy()], STACK)
    shared = replace(made, of_all_stacks=frozenset({("Policy", "small")}))
    planned, lock = desired(made, Lock(stack=STACK)), Lock(stack=STACK)
    steps = [
        problem.next_step
        for documents in (made, shared)
        for problem in policy_problems(documents, lock, planned, today=DAY)
    ]
    waiver = f"Change it, or have a Waiver of policy small ({made.where('Policy', 'small', 'spec.cel')})"
    assert steps == [
        f"{waiver} with of: ml/qwen let it off until a day",
        f"{waiver} from the same folder with of: ml/qwen let it off until a day",
    ]


def test_a_policy_may_warn() -> None:
    assert [severity for severity, _, _ in told(*FLEET, policy(enforce="Warn"))] == ["warning"]


def test_a_waiver_names_a_policy_that_exists_and_a_day_of_the_calendar() -> None:
    with pytest.raises(InvalidDocuments) as raised:
        loaded([*FLEET, waiver("2026-02-30")], STACK)
    assert [problem.what for problem in raised.value.problems] == [
        "waiver w is of policy 'small', which does not exist",
        "until 2026-02-30 is no day of the calendar",
    ]


@pytest.mark.parametrize(
    ("cel", "what"),
    [
        ("model.gpu < 3", "column 14: undefined field 'gpu' not found in struct 'inferfleet.Model'"),
        ("model.cost < 3", "column 19: found no matching overload for '_<_' applied to '(double, int)'"),
        ("modle.gpus < 3", "column 8: undeclared reference to 'modle.gpus'"),
        (DOUBLED, "the expression can grow to more than 1,000,000 units of work"),
        ("model.gpus", "the expression gives int, not true or false"),
        ("fleet.models.size() < 3", "column 8: undeclared reference to 'fleet.models'"),
    ],
)
def test_a_condition_that_cannot_be_asked_is_refused_at_its_place(cel: str, what: str) -> None:
    assert told(*FLEET, policy(cel)) == [("error", "Policy", what)]


@pytest.mark.parametrize(
    ("cel", "why"),
    [
        ("1 / (model.gpus - 1) == 0", "divide by zero"),
        (
            'model.name.matches(model.name + "(")',
            "'qwen(' is not a regular expression (RE2), or it is too large",
        ),
        (
            'model.labels["tier"] == "a"',
            'a map in it lacks a key; ask for it as in labels[?"tier"].orValue("")',
        ),
    ],
)
def test_a_condition_that_has_no_value_is_broken(cel: str, why: str) -> None:
    ((_, _, what),) = told(*FLEET, policy(cel))
    assert what.endswith(f"(the condition cannot be evaluated: {why})")


def test_a_digest_counts_from_its_base_whether_the_lock_is_written_or_not() -> None:
    rule = policy("team.gpus - team.gpusBefore < 1", each="team")
    base = standing(l4(), place("east"), model(), rule)
    for made in (head, head_with_lock):
        after = made(base, l4(), place("east"), model(replicas=2), rule)
        (problem,) = stack_digest(STACK, base, after).problems
        assert problem.what.endswith("(team.gpus is 2, team.gpusBefore is 1)")
        assert (problem.severity, problem.new) == ("error", True)


def test_what_the_base_breaks_already_is_not_new_wherever_its_lines_are() -> None:
    base = standing(l4(), place("east"), model(), policy())
    (problem,) = stack_digest(STACK, base, head(base, policy(), l4(), place("east"), model())).problems
    assert (problem.severity, problem.new) == ("error", False)


def test_a_run_is_refused_before_a_policy_takes_it_past_its_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    made, lock = loaded((*FLEET, policy()), STACK), Lock(stack=STACK)
    planned = desired(made, lock)
    monkeypatch.setattr(work, "MAX_UNITS", 1_090)
    with work.counted(), pytest.raises(InvalidDocuments) as raised:
        policy_problems(made, lock, planned, today=DAY)
    assert [problem.what for problem in raised.value.problems] == [
        "evaluating policy small takes this run past 1,090 steps, the budget of all that one run does"
    ]


def test_a_condition_costs_by_the_size_of_what_it_is_asked_of() -> None:
    teams = [Team(name, 1, 1, 1, 1.0, 1.0) for name in ("a", "a" * 60)]
    cel = "team.name.split('').exists(letter, team.name.contains(letter))"
    small, large = (Condition("team", cel, {"team": size(team)}).steps for team in teams)
    assert small * 10 < large


def test_a_waiver_of_many_things_is_told_once() -> None:
    models = [model(name=f"m{number}") for number in range(5)]
    assert told(l4(), place("east", 2), *models, policy(), waiver("2026-12-31", of=None)) == [
        (
            "notice",
            "Waiver",
            "model ml/m0, model ml/m1, model ml/m2 and 2 more break policy small, and waiver w lets them off "
            "until 2026-12-31: until the next round",
        )
    ]


def test_after_a_thousand_broken_policies_no_more_are_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(enforcement, "MOST_BROKEN", 1)
    rules = [policy() | {"metadata": {"name": f"p{number}"}} for number in range(3)]
    said = told(*FLEET, *rules)
    assert [(severity, what) for severity, _, what in said] == [
        ("error", "model ml/qwen breaks policy p0: models are small (model.gpus is 1)"),
        ("error", "model ml/qwen breaks policy p1: models are small (model.gpus is 1)"),
        ("error", "there are more than 1 problems; policies from p2 on were not asked"),
    ]
