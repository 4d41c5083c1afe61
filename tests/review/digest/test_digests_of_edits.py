"""Every edit on the page of edits: what its digest says, and that it claims what the engine plans.

End-to-end tests hold the plans of the edits against previews of the real engine.
"""

import pytest
from digested import ON_CLUSTER, claims, digested, standing, without_groups
from gke_edits import Edit
from golden import EDITS, file, text

from inferfleet.review.digest.comparison import stack_digest
from inferfleet.review.digest.values import StackDigest

EVERY = [(stack, edit) for stack, edits in EDITS.items() for edit in edits]


@pytest.mark.parametrize("stack", EDITS)
def test_digests_say_what_is_written_down(stack: str) -> None:
    assert text(stack) == file(stack).read_text(), "run: make docs, and read the diff"


@pytest.mark.parametrize(("stack", "edit"), EVERY, ids=lambda value: getattr(value, "title", value))
def test_a_digest_claims_what_the_engine_plans_and_announces(stack: str, edit: Edit) -> None:
    made = digested(edit, stack)
    if edit.title != ON_CLUSTER:
        assert (claims(made), made.state == "refused") == (without_groups(edit.plans), bool(edit.refused))
        assert any(edit.refused in f"{told.what}. {told.step}" for told in made.problems) or not edit.refused
    assert any(edit.says in told.what for told in made.problems) or not edit.says


def test_a_digest_forces_what_the_engine_forces() -> None:
    """Fields behind `replace` in the plans of edits are those that the digest names for the resource."""
    forced = {
        (edit.title, name): plan.removeprefix("replace").strip()
        for stack, edit in EVERY
        for name, plan in edit.plans.items()
        if plan.startswith("replace")
    }
    assert forced
    named = {
        (edit.title, made.resource): ", ".join(made.fields)
        for stack, edit in EVERY
        for made in digested(edit, stack).resources
        if made.operation == "replace"
    }
    wrong = {
        name: (named.get(name), paths)
        for name, paths in forced.items()
        if paths and not _agree(named.get(name, ""), paths)
    }
    assert (wrong, forced.keys() - named.keys()) == ({}, set())


def _agree(named: str, forced: str) -> bool:
    """The engine names a block that comes or goes as a whole, and a digest what is inside it."""
    ours, theirs = ([f"{path}." for path in paths.split(", ")] for paths in (named, forced))
    return all(any(path.startswith(block) for block in theirs) for path in ours) and all(
        any(path.startswith(block) for path in ours) for block in theirs
    )


@pytest.mark.parametrize("stack", EDITS)
def test_nothing_changes_without_an_edit(stack: str) -> None:
    base = standing(stack)
    made = stack_digest(stack, base, base)
    told = tuple(problem for problem in made.problems if not problem.new)
    assert made == StackDigest(stack, "unchanged", unpriced=made.unpriced, problems=told)
