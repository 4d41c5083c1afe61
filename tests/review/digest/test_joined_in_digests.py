"""Warnings of a kind are one in a digest: those that are new apart from those that the base has too."""

from inferfleet.documents.problems import Problem, Where
from inferfleet.review.digest.comparison import listed_problems
from inferfleet.review.digest.values import ListedProblem


def _warning(name: str, line: int) -> Problem:
    where = Where("models.yaml", line)
    what = f"{name} has no version"
    return Problem(what, "Mend it", "spec.engine", where, "ModelDeployment", name, severity="warning")


def _told(what: str, line: int, *, new: bool) -> ListedProblem:
    return ListedProblem("warning", what, "Mend it", "models.yaml", line, "spec.engine", new)


def test_a_warning_more_is_new_and_others_of_its_kind_are_not() -> None:
    known = [_warning("ml/a", 1), _warning("ml/c", 3)]
    moved = [_warning("ml/a", 11), _warning("ml/b", 12), _warning("ml/c", 13), _warning("ml/d", 14)]
    assert listed_problems(moved, known) == (
        _told("ml/a has no version (also ml/c)", 11, new=False),
        _told("ml/b has no version (also ml/d)", 12, new=True),
    )


def test_nothing_is_new_where_nothing_came() -> None:
    known = [_warning("ml/a", 1), _warning("ml/c", 3)]
    assert listed_problems(known, known) == (_told("ml/a has no version (also ml/c)", 1, new=False),)
