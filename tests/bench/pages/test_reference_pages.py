"""The pages of docs/reference say what the program says."""

from pathlib import Path

import pytest
from sentences import faults

from bench.pages.commands import commands
from bench.pages.reference import pages, write
from inferfleet.fleet.lock.lock import parse, text

PAGES = pages()
DOCS = Path(__file__).parents[3] / "docs" / "reference"


def test_the_pages_are_current() -> None:
    """After an edit of models, commands or tables: make docs."""
    assert {page.name: page.read_text(encoding="utf-8") for page in DOCS.iterdir()} == PAGES


def test_a_page_that_is_no_longer_made_is_removed(tmp_path: Path) -> None:
    (tmp_path / "old.md").write_text("# Old\n")
    write(tmp_path)
    assert sorted(page.name for page in tmp_path.iterdir()) == sorted(PAGES)


def test_every_kind_is_set_out_by_path_in_the_document() -> None:
    page = PAGES["model-service.md"]
    headings = [line for line in page.splitlines() if line.startswith("#")]
    assert headings == [
        "# ModelService",
        "## `metadata`",
        "## `spec`",
        "## `spec.endpoints[]`",
        "## `spec.endpoints[].selector`",
        "## `spec.endpoints[].selector.matchExpressions[]`",
        "## `spec.route`",
        "## `spec.timeouts`",
    ]


def test_the_example_of_a_lock_can_be_read() -> None:
    example = PAGES["placement-lock.md"].split("```yaml\n")[1].partition("```")[0]
    assert text(parse(example, file="placement.lock", stack="prod")) == example


def test_every_verb_is_on_the_page_of_commands() -> None:
    page = PAGES["commands.md"]
    verbs = ("validate", "plan", "render", "explain", "status", "recover", "classes", "schema", "sandbox up")
    assert [verb for verb in verbs if f"## `inferfleet {verb}`" not in page] == []


def test_every_command_and_each_of_its_options_says_in_whole_sentences_what_it_does() -> None:
    texts = {name: command.help or "" for name, command in commands()}
    for name, command in commands():
        if not hasattr(command, "list_commands"):
            texts |= {f"{name} {parameter.name}": parameter.help or "" for parameter in command.params}
    assert {name: faults(text, most=4) for name, text in texts.items() if faults(text, most=4)} == {}


@pytest.mark.parametrize("page", PAGES)
def test_no_name_in_angle_brackets_is_taken_for_a_tag(page: str) -> None:
    code = False
    for line in PAGES[page].splitlines():
        code = code != line.startswith("```")
        plain = "".join(line.split("`")[::2])
        assert code or "<" not in plain.replace("\\<", "").replace("<!--", "")
