"""Lines of placement.lock that are written otherwise and move nothing."""

from dataclasses import replace
from typing import Any

import pytest
from digested import side
from small_sides import STACK, head, l4, model, place, standing

from inferfleet.cli.verbs.digest_markdown import sections
from inferfleet.review.digest.comparison import stack_digest
from inferfleet.review.digest.update import Side
from inferfleet.review.digest.values import DocumentChange, FieldChange, StackDigest

FLEET = (l4(), place("east"), model())
ONE, OTHER = "6e0c0d4e-1f0b-4b8e-9a55-0a1b2c3d4e5f", "7f1d1e5f-2a1c-5c9f-8b66-1b2c3d4e5f60"


def with_line(before: Side, **fields: Any) -> Side:
    lock = before.lock
    clusters = {"east": replace(lock.clusters["east"], **fields)}
    return side(before.documents, replace(lock, clusters=clusters))


def digested(before: Side, after: Side) -> StackDigest:
    made = stack_digest(STACK, before, after)
    assert made.resources == ()
    return made


@pytest.mark.parametrize(
    ("before", "after", "field", "said"),
    [
        (
            ONE,
            None,
            FieldChange("clusters.east.uid", "removed", f'"{ONE}"', "", shown=True),
            f'is gone, and was "{ONE}": the next update takes whatever cluster answers',
        ),
        (
            ONE,
            OTHER,
            FieldChange("clusters.east.uid", "changed", f'"{ONE}"', f'"{OTHER}"', shown=True),
            f'is "{OTHER}", and was "{ONE}": the next update is refused unless the cluster that answers has '
            "the new one",
        ),
        (
            None,
            ONE,
            FieldChange("clusters.east.uid", "added", "", f'"{ONE}"', shown=True),
            f'is new: "{ONE}": the next update is refused unless the cluster that answers has it',
        ),
    ],
)
def test_another_uid_of_a_cluster_is_told_with_what_the_next_update_does(
    before: str | None, after: str | None, field: FieldChange, said: str
) -> None:
    made = digested(with_line(standing(*FLEET), uid=before), with_line(standing(*FLEET), uid=after))
    assert (made.state, made.written) == ("changed", (DocumentChange("Lock", STACK, "changed", (field,)),))
    (section,) = [section for section in sections(made) if section.title.startswith("Settings")]
    assert (section.opened, tuple(entry.replace("<!-- -->", "") for entry in section.entries)) == (
        True,
        (f"- Lock **`{STACK}`** is changed\n  - `clusters.east.uid` {said}",),
    )


def test_a_line_that_no_plan_makes_so_is_told() -> None:
    made = digested(standing(*FLEET), with_line(standing(*FLEET), protected=True))
    (entry,) = made.written
    assert entry.fields == (FieldChange("clusters.east.protected", "added", "", "true", shown=True),)


def test_a_line_of_a_cluster_that_is_cut_is_told() -> None:
    before = with_line(standing(*FLEET), uid=ONE)
    made = digested(before, side(before.documents, replace(before.lock, clusters={})))
    (entry,) = made.written
    line = f'{{"source": "Existing", "uid": "{ONE}"}}'
    assert entry.fields == (FieldChange("clusters.east", "removed", line, "", shown=True),)


@pytest.mark.parametrize(
    ("nodes", "field"),
    [
        (9, FieldChange("pools.east/l4.nodes", "changed", "1", "9", shown=True)),
        (None, FieldChange("pools.east/l4", "removed", '{"nodes": 1}', "", shown=True)),
    ],
)
def test_nodes_of_a_pool_that_no_document_has_are_told(nodes: int | None, field: FieldChange) -> None:
    """With more than it has the pool would seem to have shrunk, and be left by what runs there."""
    before = standing(*FLEET)
    known = {"east/l4": nodes} if nodes else {}
    (entry,) = digested(before, side(before.documents, replace(before.lock, nodes=known))).written
    assert entry.fields == (field,)


def test_a_lock_that_is_as_the_base_leaves_it_is_not_told() -> None:
    before = with_line(standing(*FLEET), uid=ONE)
    assert digested(before, head(before, *FLEET)).written == ()
