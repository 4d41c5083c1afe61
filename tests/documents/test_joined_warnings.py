"""Warnings and notices of a kind are told once, at the first place, with the names of the others."""

from collections.abc import Iterable
from dataclasses import replace

from inferfleet.documents.problems import Problem, Where, joined


def _warning(what: str, key: str, line: int) -> Problem:
    where = Where("models.yaml", line)
    return Problem(what, "Mend it", "spec.engine", where, "ModelDeployment", key, severity="warning")


def _of(keys: Iterable[str]) -> list[Problem]:
    return [_warning(f"{key} has no version", key, line) for line, key in enumerate(keys, 1)]


def test_warnings_that_differ_in_the_name_of_their_document_are_one() -> None:
    """The first keeps its line, three others are named, and the rest counted."""
    first, *others = _of(f"ml/m{number}" for number in range(100))
    what = "ml/m0 has no version (also ml/m1, ml/m2, ml/m3, and 96 more)"
    assert joined([first, *others]) == (replace(first, what=what),)


def test_the_first_is_that_of_the_first_line() -> None:
    a, b = _of(["ml/a", "ml/b"])
    assert joined([b, a]) == (replace(a, what="ml/a has no version (also ml/b)"),)


def test_a_name_is_not_looked_for_in_other_words() -> None:
    """`least` has the name of a cluster in it, and names of objects begin with those of documents."""
    east, west = (_warning(f"{name}-decode has at least a node", name, 3) for name in ("east", "west"))
    assert joined([east, west]) == (replace(east, what="east-decode has at least a node (also west)"),)


def test_warnings_that_say_something_else_stay_apart() -> None:
    one, other = _of(["ml/a", "ml/b"])
    told = (one, replace(other, what="ml/b has an old version"), replace(other, next_step="Wait"))
    assert joined(told) == told


def test_warnings_of_places_of_one_document_are_one() -> None:
    """What they are about is said in `about`, and they name that."""
    east, west = (
        replace(_warning(f"ml/a on {place} rolls", "ml/a", 3), about=f"ml/a on {place}")
        for place in ("east", "west")
    )
    assert joined([east, west]) == (replace(east, what="ml/a on east rolls (also ml/a on west)"),)


def test_fields_of_one_document_are_named_by_their_lines_or_paths() -> None:
    one = _warning("its image has no version", "ml/a", 3)
    other = replace(one, path="spec.prefill.engine", where=Where("models.yaml", 9))
    assert joined([one, other]) == (replace(one, what=f"{one.what} (also models.yaml:9)"),)
    other = replace(other, where=one.where)
    assert joined([one, other]) == (replace(one, what=f"{one.what} (also spec.prefill.engine)"),)


def test_places_of_one_text_are_named_by_their_lines() -> None:
    one = Problem("a key is not read", "Remove it", where=Where("a.yaml", 1), severity="notice")
    other = replace(one, where=Where("b.yaml", 2))
    assert joined([one, other]) == (replace(one, what="a key is not read (also b.yaml:2)"),)


def test_errors_are_told_each_at_its_line() -> None:
    errors = tuple(replace(problem, severity="error") for problem in _of(["ml/a", "ml/b"]))
    assert joined(errors) == errors


def test_errors_that_one_step_may_mend_are_one() -> None:
    one, other = (
        replace(problem, severity="error", mended_together=True) for problem in _of(["ml/a", "ml/b"])
    )
    assert joined([one, other]) == (replace(one, what=f"{one.what} (also ml/b)"),)


def test_the_same_warning_twice_is_one_without_other_names() -> None:
    (one,) = _of(["ml/a"])
    assert joined([one, one]) == (one,)
