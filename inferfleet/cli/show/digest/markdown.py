"""A digest as one comment of a pull request: at most MOST bytes, folded, what weighs most first."""

from collections.abc import Iterator

from inferfleet.cli.show.digest.beyond import beyond
from inferfleet.cli.show.digest.sections import (
    Section,
    difference,
    differences,
    new_of,
    sections,
    services_that_end,
)
from inferfleet.cli.show.digest.words import code, plain
from inferfleet.review.digest.values import Digest, StackDigest, StackState

# GitHub takes 65,536 characters for a comment; workflows put a few lines around it.
MOST = 60 * 1024
# By this first line a workflow finds the comment that it wrote before.
MARK = "<!-- inferfleet digest -->"
_STATES: dict[StackState, str] = {
    "refused": "refused",
    "not compared": "not compared: the base has errors",
    "removed": "removed",
    "added": "new",
    "changed": "changes",
    "unchanged": "no resource changes",
}


def markdown(digest: Digest) -> str:
    """Return the digest in Markdown, with as many entries of each section as fit, so that none hides another.

    What is left out is counted where it would stand. Where not even the titles of sections fit, there is the
    table of stacks alone.
    """
    ordered = sorted(digest.stacks, key=_weight)
    parts = [(stack, sections(stack)) for stack in ordered]
    most = max((len(section.entries) for _, of in parts for section in of), default=0)
    whole = _text(digest, parts, most)
    if len(whole.encode()) <= MOST:
        return whole
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if _fits(digest, parts, middle) else (low, middle - 1)
    text = _text(digest, parts, low)
    return text if len(text.encode()) <= MOST else _overview_alone(digest, ordered)


_Parts = list[tuple[StackDigest, tuple[Section, ...]]]


def _fits(digest: Digest, parts: _Parts, most: int) -> bool:
    return len(_text(digest, parts, most).encode()) <= MOST


def _text(digest: Digest, parts: _Parts, most: int) -> str:
    lines = [*_head(digest), *_overview([stack for stack, _ in parts])]
    for stack, of_stack in parts:
        if of_stack:
            lines += ["", f"### {code(stack.stack)}"]
            for section in of_stack:
                lines += _section(section, most)
    return "\n".join(lines) + "\n"


def _overview_alone(digest: Digest, stacks: list[StackDigest]) -> str:
    number = len(stacks)
    while True:
        more = f"\nand {len(stacks) - number} more stacks." if number < len(stacks) else ""
        text = "\n".join([*_head(digest), *_overview(stacks[:number])]) + f"\n{more}\n"
        if len(text.encode()) <= MOST or not number:
            return text
        number = number * 9 // 10


def _head(digest: Digest) -> Iterator[str]:
    yield MARK
    yield "## What changes in the fleet"
    yield ""
    yield f"{_compared(digest)}, by documents and locks alone: no cluster was asked."
    if digest.files or digest.others:
        yield from beyond(digest.files, digest.others)
    for remark in digest.remarks:
        yield ""
        yield f"> {plain(remark.what)}. {plain(remark.step)}"
    yield ""


def _compared(digest: Digest) -> str:
    base = code(digest.base[:12])
    if not digest.head:
        return f"Compared with {base}"
    uncommitted = " with changes that are not committed," if digest.uncommitted else ""
    return f"Commit {_head_of(digest)}{uncommitted} compared with {base}"


def _head_of(digest: Digest) -> str:
    """Return the commit as people know it; of a merge that a host made, nobody knows the hash."""
    head = code(digest.head[:12])
    return f"{code(digest.merges[:12])}, merged as {head}," if digest.merges else head


def _overview(stacks: list[StackDigest]) -> Iterator[str]:
    if not stacks:
        yield "There is no stack."
        return
    yield (
        "| stack | | models | gaps | no longer served | GPUs that start, end or restart | cost | problems | "
        "new warnings |"
    )
    yield "|---|---|---|---|---|---|---|---|---|"
    for stack in stacks:
        errors = sum(told.severity == "error" for told in stack.problems)
        cells = (
            code(stack.stack).replace("|", "\\|"),
            _STATES[stack.state],
            len(stack.models) or "",
            sum(model.gap for model in stack.models) or "",
            sum(model.ends for model in stack.models) + len(services_that_end(stack)) or "",
            sum(model.gpus for model in stack.models) or "",
            ", ".join(map(difference, differences(stack))),
            errors or "",
            len(new_of(stack, "warning")) or "",
        )
        yield f"| {' | '.join(map(str, cells))} |"


def _section(section: Section, most: int) -> Iterator[str]:
    yield ""
    number = len(section.entries)
    yield f"<details{' open' if section.opened else ''}><summary>{section.title} ({number})</summary>"
    yield ""
    if section.head and most:
        yield section.head
    yield from section.entries[:most]
    if number > most:
        yield ""
        yield f"and {number - most} more, which `inferfleet digest --json` has."
    yield ""
    yield "</details>"


def _weight(stack: StackDigest) -> tuple[bool, bool, int, str]:
    """Refused ones come first, unchanged ones last, and the others by the GPUs that start, end or restart."""
    return (
        stack.state != "refused",
        stack.state == "unchanged",
        -sum(model.gpus for model in stack.models),
        stack.stack,
    )
