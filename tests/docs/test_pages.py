"""The pages for people keep what they promise: links lead somewhere, documents in them are valid."""

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from inferfleet.desired import desired
from inferfleet.documents import load
from inferfleet.documents.kinds.settings import Settings
from inferfleet.documents.loading.stack import load_stack
from inferfleet.fleet.lock.lock import Lock

ROOT = Path(__file__).parent.parent.parent
CATALOGUE = ROOT / "classes"
_FENCE = re.compile(r"^( *)```(\w*)[^\n]*\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
# Folders of tools hold pages of other people.
_OURS = ("", "docs", "sandbox", "bench", "tests", "inferfleet", "stacks", "classes")


def pages() -> list[Path]:
    inside = (path for folder in _OURS if folder for path in (ROOT / folder).rglob("*.md"))
    return sorted({*ROOT.glob("*.md"), *inside})


def prose(page: Path) -> str:
    """The page without what stands in code."""
    return re.sub(r"`[^`\n]*`", "", _FENCE.sub("", page.read_text()))


def links(page: Path) -> list[str]:
    """Targets of all links that lead to a place in the repository, images too."""
    targets = re.findall(r"\]\(\s*<?([^)>\s]+)", prose(page))
    return [target for target in targets if not re.match(r"[a-z][a-z0-9+.-]*:", target)]


@cache
def anchors(page: Path) -> frozenset[str]:
    """What a link to a heading of the page may name, as GitHub makes it of the heading's text."""
    text = _FENCE.sub("", page.read_text())
    titles = re.findall(r"^#+ +(.*?) *$", text, re.MULTILINE)
    return frozenset(re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles)


def leads_nowhere(page: Path, target: str) -> bool:
    path, _, anchor = target.partition("#")
    file = (page.parent / path).resolve() if path else page
    if not file.exists() or not file.is_relative_to(ROOT):
        return True
    return bool(anchor) and (file.suffix != ".md" or anchor not in anchors(file))


def documents(page: Path) -> Iterator[str]:
    """Blocks of YAML that hold whole documents. The others show parts of one, or other people's files."""
    for indent, language, body in _FENCE.findall(page.read_text()):
        if language == "yaml" and re.search(r"^ *kind: ", body, re.MULTILINE):
            yield "".join(line.removeprefix(indent) for line in body.splitlines(keepends=True))


def written(page: Path, folder: Path) -> Path:
    for place, body in enumerate(documents(page)):
        (folder / f"{place}.yaml").write_text(body)
    return folder


PAGES = [str(page.relative_to(ROOT)) for page in pages()]
WITH_DOCUMENTS = [name for name in PAGES if any(documents(ROOT / name))]


@pytest.mark.parametrize("name", PAGES)
def test_every_relative_link_leads_somewhere(name: str) -> None:
    page = ROOT / name
    assert [target for target in links(page) if leads_nowhere(page, target)] == []


@pytest.mark.parametrize("name", WITH_DOCUMENTS)
def test_whole_documents_on_a_page_are_valid_together(name: str, tmp_path: Path) -> None:
    found = load([written(ROOT / name, tmp_path)], settings=Settings(stack="docs"), catalogue=CATALOGUE)
    assert desired(found, Lock(stack="docs")).plan.unplaced == ()


def test_the_readme_shows_one_document_of_each_kind_and_all_of_it_can_be_deployed(tmp_path: Path) -> None:
    folder = written(ROOT / "README.md", tmp_path)
    found = load([folder], settings=Settings(stack="readme"), catalogue=CATALOGUE)
    kinds = sorted(kind for (kind, _), file in found.sources.items() if file.is_relative_to(folder))
    assert kinds == ["InferenceClass", "InferenceCluster", "ModelDeployment", "ModelService"]
    made = desired(found, Lock(stack="readme"))
    assert (made.plan.unplaced, [str(one) for one in made.warnings]) == ((), [])


def test_the_preview_in_the_readme_says_what_the_program_says() -> None:
    documents, _ = load_stack(ROOT, "local", base=ROOT)
    before = desired(documents, Lock(stack="local")).plan.lock
    east = documents.clusters["east"]
    drained = east.model_copy(update={"spec": east.spec.model_copy(update={"state": "drained"})})
    after = desired(replace(documents, clusters={**documents.clusters, "east": drained}), before)
    shown = " ".join((ROOT / "README.md").read_text().split())
    assert f"warning: {after.warnings[0]}" in shown
    moved = {change.spot.cluster: (change.before, change.after) for change in after.plan.changes}
    assert moved == {"east": (1, 0), "west": (1, 2)}


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 120


def test_every_module_that_the_house_names_is_there() -> None:
    """Paths of files in code, below the root, `inferfleet`, or the folder of the page."""
    missing = []
    for page in (ROOT / "ARCHITECTURE.md", ROOT / "sandbox" / "README.md"):
        for path in re.findall(r"`([\w./-]+\.py)`", page.read_text()):
            if not any((folder / path).exists() for folder in (ROOT, ROOT / "inferfleet", page.parent)):
                missing.append(f"{page.name}: {path}")
    assert missing == []


@pytest.mark.parametrize(
    ("target", "nowhere"),
    [
        ("docs/README.md", False),
        ("docs/nothing.md", True),
        ("docs/README.md#guides", False),
        ("docs/README.md#nothing", True),
        ("../elsewhere.md", True),
    ],
)
def test_a_link_that_leads_nowhere_is_found(target: str, nowhere: bool) -> None:
    assert leads_nowhere(ROOT / "README.md", target) is nowhere
