"""docs/changes.md is what the table of changes says."""

from pathlib import Path

from bench.pages.changes import page

DOCS = Path(__file__).parents[3] / "docs" / "changes.md"


def test_the_page_about_changes_is_current() -> None:
    """After an edit of the table: make docs."""
    assert DOCS.read_text(encoding="utf-8") == page()
