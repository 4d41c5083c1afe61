"""What digests say of every edit on the page of edits, as text. `make docs` writes it."""

from collections.abc import Iterator
from pathlib import Path

import edits_of_workers
import gke_edits_page
from digested import digested
from edits_of_workers_stack import STACK
from gke_edits import Edit

from inferfleet.cli.verbs.digest_markdown import sections

FOLDER = Path(__file__).parent
EDITS: dict[str, tuple[Edit, ...]] = {
    "edits": gke_edits_page.EDITS,
    STACK: edits_of_workers.EDITS,
}
# Other tests hold it against what the engine plans.
_LEFT_OUT = "Every resource"


def text(stack: str) -> str:
    """Each edit with the sections of its digest, as a pull request shows them."""
    return "\n".join(line for edit in EDITS[stack] for line in _lines(edit, stack)) + "\n"


def file(stack: str) -> Path:
    return FOLDER / f"digests_of_{stack}.txt"


def _lines(edit: Edit, stack: str) -> Iterator[str]:
    made = digested(edit, stack)
    yield f"## {edit.title}: {made.state}"
    for section in sections(made):
        if section.title != _LEFT_OUT:
            yield section.title
            yield from section.entries
    yield ""


if __name__ == "__main__":
    for name in EDITS:
        file(name).write_text(text(name))
