"""What a digest says of a whole stack that comes or goes."""

import pytest
from small_sides import PRICE, STACK, l4, model, place, standing

from inferfleet.documents.problems import Problem
from inferfleet.review.digest.comparison import Version, stack_digest
from inferfleet.review.digest.values import CostChange, ListedProblem, StackDigest

EAST, WEST = place("east"), place("west")


def test_a_new_stack_has_all_of_its_models() -> None:
    made = stack_digest(STACK, None, standing(l4(PRICE), EAST, model()))
    (changed,) = made.models
    assert (made.state, changed.change, changed.before, changed.after) == ("added", "added", 0, 1)
    assert made.costs == (CostChange("USD", "0.00", "4.00"),)
    assert {resource.operation for resource in made.resources} == {"create"}


@pytest.mark.parametrize(
    ("base", "has"),
    [
        (standing(l4(PRICE), EAST, WEST, model()), "; clusters: east, west; models: ml/qwen"),
        (standing(l4(PRICE), EAST), "; clusters: east"),
        ((Problem("field engin is unknown", "Remove it"),), ""),
    ],
)
def test_of_a_stack_that_is_gone_no_deletion_is_told_but_what_runs_on(base: Version, has: str) -> None:
    said = ListedProblem(
        "warning",
        f"stack {STACK} is gone from the project, and that deletes nothing: no update runs for it any more, "
        f"so what the last one left runs on{has}",
        f"Where it should end, run `pulumi destroy --stack {STACK}` and then `pulumi stack rm {STACK}` in a "
        "checkout of the base, whose settings both need; where that was done, or somebody else keeps it, "
        "nothing is left to do",
        "",
        0,
        "",
        new=True,
    )
    assert stack_digest(STACK, base, None) == StackDigest(STACK, "removed", problems=(said,))
