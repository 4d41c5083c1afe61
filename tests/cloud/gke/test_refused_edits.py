"""What docs/edits.md quotes of refusals is what the program says, without an engine."""

from pathlib import Path

import pytest
import yaml
from gke_edits import Edit
from gke_edits_page import EDITS
from gke_edits_stack import Documents as Written
from gke_edits_stack import documents

from inferfleet.desired import desired
from inferfleet.documents import Documents, InvalidDocuments, load
from inferfleet.documents.kinds.settings import Settings
from inferfleet.fleet.lock.lock import Lock

REFUSED = [edit for edit in EDITS if edit.refused]


def _loaded(folder: Path, written: Written) -> Documents:
    folder.mkdir()
    (folder / "all.yaml").write_text(yaml.safe_dump_all(written.values()))
    return load([folder], catalogue=None, settings=Settings(stack="edits"))


@pytest.mark.parametrize("edit", REFUSED, ids=lambda edit: edit.title)
def test_an_edit_is_refused_in_the_words_of_the_page(tmp_path: Path, edit: Edit) -> None:
    before = documents()
    lock = desired(_loaded(tmp_path / "before", before), Lock(stack="edits")).plan.lock
    with pytest.raises(InvalidDocuments) as refused:
        desired(_loaded(tmp_path / "after", edit.of(before)), lock)
    assert edit.refused in str(refused.value)
