"""A digest in Markdown: never too long for a comment, and nothing in it acts."""

import re
from dataclasses import replace
from typing import get_args

import pytest

from inferfleet.cli.verbs.digest_markdown import LONGEST, MOST, code, markdown, plain, sections
from inferfleet.review.digest.values import (
    Digest,
    FileChange,
    FileKind,
    ListedProblem,
    ModelChange,
    ResourceChange,
    RouteChange,
    StackDigest,
)

COMMIT, HEAD = "0123456789abcdef0123456789abcdef01234567", "fedcba9876543210fedcba9876543210fedcba98"


def _model(number: int, *, gap: bool = False, gpus: int = 1) -> ModelChange:
    name = f"ml/model-{number:04}"
    return ModelChange(
        name, "changed", 1, 1, gpus, gap, (), (), (), (), (), (f"{name}: a/l4 1 -> 0, b/l4 0 -> 1",)
    )


def _stack(name: str = "prod", models: int = 0, resources: int = 0) -> StackDigest:
    return StackDigest(
        name,
        "changed",
        models=tuple(_model(number) for number in range(models)),
        resources=tuple(
            ResourceChange(f"Deployment a/ml/x{number}", "update", ()) for number in range(resources)
        ),
    )


def _digest(*stacks: StackDigest) -> Digest:
    return Digest(COMMIT, HEAD, "", False, "", (), 0, (), stacks)


@pytest.mark.parametrize(
    "stacks",
    [
        [_stack(models=5_000, resources=50_000)],
        [_stack(models=40, resources=50_000)],
        [_stack(f"s{number:03}", models=300) for number in range(100)],
        [_stack(f"s{number:05}", models=1) for number in range(5_000)],
    ],
    ids=["many models", "many resources", "many stacks", "too many stacks"],
)
def test_a_comment_is_never_too_long_and_nearly_as_long_as_it_may_be(stacks: list[StackDigest]) -> None:
    text = markdown(_digest(*stacks))
    assert 0.8 * MOST < len(text.encode()) <= MOST


@pytest.mark.parametrize(
    ("head", "merges", "uncommitted", "told"),
    [
        (HEAD, "", False, "Commit `fedcba987654` compared with `0123456789ab`"),
        (
            HEAD,
            "",
            True,
            "Commit `fedcba987654` with changes that are not committed, compared with `0123456789ab`",
        ),
        (
            HEAD,
            "a" * 40,
            False,
            "Commit `aaaaaaaaaaaa`, merged as `fedcba987654`, compared with `0123456789ab`",
        ),
        ("", "", False, "Compared with `0123456789ab`"),
    ],
)
def test_a_comment_names_the_commit_that_it_is_of(
    head: str, merges: str, uncommitted: bool, told: str
) -> None:
    digest = replace(_digest(), head=head, merges=merges, uncommitted=uncommitted)
    assert markdown(digest).splitlines()[3] == f"{told}, by documents and locks alone: no cluster was asked."


def test_files_of_every_kind_leave_room_for_what_changes() -> None:
    kinds = get_args(FileKind)
    files = tuple(
        FileChange("\N{TAMIL LETTER A}" * 4_000, kind, "added") for kind in kinds for _ in range(1_000)
    )
    text = markdown(replace(_digest(_stack(models=500)), files=files, others=7))
    assert 0.8 * MOST < len(text.encode()) <= MOST
    assert text.count("and 990 more") == len(kinds)
    assert "7 other files differ, which no digest reads." in text.splitlines()


def test_what_is_left_out_is_counted() -> None:
    stack = _stack(models=2_000)
    text = markdown(_digest(stack))
    shown = len(re.findall(r"^- \*\*`ml/model-", text, re.MULTILINE))
    assert f"and {2_000 - shown} more, which `inferfleet digest --json` has." in text


def test_one_long_section_hides_no_short_one() -> None:
    stack = replace(_stack(models=3, resources=50_000), gone=(_told("odd"),))
    text = markdown(_digest(stack))
    assert [f"`ml/model-{number:04}`" in text for number in range(3)] == [True] * 3
    assert "odd. Mend it" in text


def test_refused_stacks_come_first_and_unchanged_ones_last() -> None:
    stacks = (
        StackDigest("a", "unchanged"),
        _stack("b", models=1),
        _stack("c", models=2),
        StackDigest("d", "refused", problems=(_told("wrong", severity="error"),)),
    )
    text = markdown(_digest(*stacks))
    rows = re.findall(r"^\| `(\w)` \| ([a-z ]+) \|", text, re.MULTILINE)
    assert rows == [("d", "refused"), ("c", "changes"), ("b", "changes"), ("a", "no resource changes")]


def _told(what: str, *, severity: str = "warning") -> ListedProblem:
    return ListedProblem(severity, what, "Mend it", "stacks/prod/models.yaml", 3, "spec.replicas", new=True)  # type: ignore[arg-type]


HOSTILE = (
    "<img src=x onerror=y> ![x](http://example.com/a.png) [a](javascript:b) @everyone #12 !34 GH-5 "
    "www.example.com `code` | cell | **bold**\n::set-output name=x::y\n##[group]\x1b[31m </details>"
)


def test_nothing_in_a_message_acts() -> None:
    text = plain(HOSTILE)
    assert "\n" not in text
    assert "\x1b" not in text
    unescaped = re.sub(r"\\.", "", text.replace("<!-- -->", "\0"))
    assert not re.search(r"[<>\[\]`*_|#~]", unescaped)
    assert not re.search(r"@\w|://\w|www\.\w|GH-\d|!\d", text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("costs $a+b$ or $`x`$", r"costs &#36;a+b&#36; or &#36;\`x\`&#36;"),
        (":rocket: :a_b: at 10:30", r":<!-- -->rocket: :<!-- -->a\_b: at 10:30"),
        ("org/repo#2 and #3", r"org/repo\#<!-- -->2 and \#<!-- -->3"),
        ("0123456789abcdef is 1234567", "012345<!-- -->6789ab<!-- -->cdef is 123456<!-- -->7"),
        ("$1 %2 ~3 &4", r"&#36;<!-- -->1 %<!-- -->2 \~<!-- -->3 \&<!-- -->4"),
    ],
)
def test_formulas_emoji_issues_and_commits_stay_text(text: str, shown: str) -> None:
    assert plain(text) == shown


def test_a_stack_with_a_bar_in_its_name_keeps_its_row() -> None:
    (row,) = [line for line in markdown(_digest(_stack("a|b"))).splitlines() if line.startswith("| `")]
    assert row.startswith("| `a\\|b` | ")
    assert len(re.findall(r"(?<!\\)\|", row)) == 10


def test_a_message_is_shortened_and_a_name_is_code() -> None:
    assert len(plain("a" * 5_000)) == LONGEST == len(code("a" * 5_000)) - 2
    assert code("a`b\nc") == "`ab\\nc`"


def test_hostile_words_stay_inside_their_section() -> None:
    stack = replace(_stack(), problems=(_told(HOSTILE),))
    text = markdown(_digest(stack))
    assert text.count("<details") == text.count("</details>") == 1
    assert not [line for line in text.splitlines() if line.startswith(("::", "##["))]


def test_a_class_of_the_catalogue_has_a_name_and_no_file() -> None:
    """Where its file is differs from machine to machine."""
    told = replace(_told("odd"), file="", line=0, path="spec.price", catalogue="gke-h100-mega-8x")
    stack = replace(_stack(), problems=(told,))
    assert "- `catalogue: gke-h100-mega-8x` `spec.price` odd. Mend it" in markdown(_digest(stack))


def test_what_is_no_longer_served_is_open_and_counted_with_the_stack() -> None:
    (model,) = _stack(models=1).models
    route = RouteChange("ml/chat", "east", ("ml/model 1",), (), (), ends=True)
    stack = replace(_stack(), models=(replace(model, gap=False, ends=True),), services=(route,))
    text = markdown(_digest(stack))
    assert "<details open><summary>Models, 1 no longer served (1)</summary>" in text
    assert "<details open><summary>Services, 1 no longer served (1)</summary>" in text
    assert re.search(r"^\| `prod` \| changes \| 1 \|  \| 2 \|", text, re.MULTILINE)


def test_a_stack_in_which_nothing_changes_has_no_sections() -> None:
    assert sections(StackDigest("prod", "unchanged", unpriced=(3, 3))) == ()
