"""What `make facts` lists: facts that are old, and images that are newer in files that a person saved."""

from datetime import date
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from bench.facts import Fact, Newer, facts, images, lines, modules, newer

TABLE = '''\
"""What some program takes.

https://example.com/first, read on 2026-01-02
"""

from inferfleet.cloud.gke.facts.sources import Source

# Nothing was looked up here.
SIZE = 3
# Older, 2025-12-01, and newer, 2026-03-04: https://example.com/a/
# long/address
ROWS = {"one": (Source("a page", "https://example.com/third", "2026-10-01"),)}
IMAGE = "registry.example/some/image:v1.1.9@sha256:00"
'''


def module_of(folder: Path) -> ModuleType:
    file = folder / "table.py"
    file.write_text(TABLE)
    spec = spec_from_file_location("inferfleet.table", file)
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_sources_and_comments_with_a_day_are_facts_oldest_first(tmp_path: Path) -> None:
    found = facts([module_of(tmp_path)])
    assert [(fact.day.isoformat(), fact.what[:20], fact.address) for fact in found] == [
        ("2026-01-02", "What some program ta", "https://example.com/first"),
        ("2026-03-04", "Older, 2025-12-01, a", "https://example.com/a/long/address"),
        ("2026-10-01", "a page", "https://example.com/third"),
    ]


def test_what_is_older_than_sixty_days_is_listed_with_its_address() -> None:
    fact = Fact(date(2026, 9, 1), "tables.gke", "a page", "https://example.com")
    saved = Newer("registry.example/some/image", "v1", "v2", "page.html")
    assert list(lines([fact], [saved], today=date(2026, 10, 31))) == [
        "registry.example/some/image: v1 here, v2 in page.html"
    ]
    assert list(lines([fact], [], today=date(2026, 11, 1))) == [
        "2026-09-01  tables.gke  a page",
        "            https://example.com",
    ]


def test_tags_that_are_newer_in_saved_files_are_found_by_number(tmp_path: Path) -> None:
    ours = images([module_of(tmp_path)])
    assert ours == {"registry.example/some/image": "v1.1.9"}
    folder = tmp_path / "saved"
    folder.mkdir()
    (folder / "installer.yaml").write_text("image: registry.example/some/image:v1.1.10\n")
    (folder / "old.html").write_text("<b>registry.example/some/image:v1.1.8</b> registry.example/other:v9")
    assert newer(ours, folder) == [
        Newer("registry.example/some/image", "v1.1.9", "v1.1.10", "installer.yaml")
    ]


def test_the_tables_of_this_repository_have_sources_and_images() -> None:
    every = tuple(modules())
    assert any(fact.what == "GKE, flex-start" for fact in facts(every))
    assert "us-docker.pkg.dev/gce-ai-infra/gpudirect-gib/nccl-plugin-gib" in images(every)
