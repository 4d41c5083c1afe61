"""A class whose price goes: what it cost is unknown from then on, and nothing is saved."""

from documents import API, Document
from small_sides import PRICE, STACK, head, l4, model, place, standing

from inferfleet.cli.verbs.digest_markdown import differences, sections
from inferfleet.review.digest.comparison import stack_digest
from inferfleet.review.digest.values import ClassUse, CostChange

REST = (place("east", nodes=2), model())


def policy(cel: str) -> Document:
    spec = {"each": "fleet", "cel": cel, "message": "ask us"}
    return {"apiVersion": API, "kind": "Policy", "metadata": {"name": "budget"}, "spec": spec}


def test_a_price_that_goes_saves_nothing_and_is_warned_of() -> None:
    base = standing(l4(PRICE), *REST)
    made = stack_digest(STACK, base, head(base, l4(), *REST))
    assert made.uses == (ClassUse("l4", (1, 1), (2, 2), ("8.00", ""), "USD", ""),)
    assert (made.costs, made.unpriced, differences(made)) == ((), (0, 2), ())
    (warning,) = [problem for problem in made.problems if problem.severity == "warning" and problem.new]
    assert (warning.path, warning.what) == (
        "spec.price",
        "the price of class l4 went: an hour of its 2 nodes cost 8.00 USD, and what 2 nodes cost now is "
        "unknown, so no sum and no policy counts it",
    )
    (section,) = [section for section in sections(made) if section.title.startswith("GPUs and cost")]
    assert (section.title, section.entries[0]) == (
        "GPUs and cost",
        "| `l4` | 1 | 2 | 8.00 -> unknown | USD |",
    )


def test_nodes_that_go_with_their_price_are_saved() -> None:
    base = standing(l4(PRICE), *REST)
    made = stack_digest(STACK, base, head(base, l4(PRICE), place("east"), model()))
    assert made.costs == (CostChange("USD", "8.00", "4.00"),)


def test_policies_see_no_cost_where_a_price_went_before_or_after() -> None:
    """As of a class that never had one: what is not known is neither more nor less than before."""
    seen = policy("stack.cost == 0.0 && stack.costBefore == 0.0 && fleet.models.all(m, m.costBefore == 0.0)")
    base = standing(l4(PRICE), *REST, policy("true"))
    made = stack_digest(STACK, base, head(base, l4(), *REST, seen))
    assert [problem.what for problem in made.problems if problem.severity == "error"] == []
    strict = policy("stack.unpriced <= stack.unpricedBefore")
    made = stack_digest(STACK, base, head(base, l4(), *REST, strict))
    (problem,) = [problem for problem in made.problems if problem.severity == "error"]
    assert "stack.unpriced is 2, stack.unpricedBefore is 0" in problem.what
