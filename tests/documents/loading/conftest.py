"""Documents as text, loaded from a folder of their own."""

from collections.abc import Callable
from pathlib import Path

import pytest
from fleet_text import Mistake

from inferfleet.documents import Documents, InvalidDocuments, Problem, load
from inferfleet.documents.problems import Where

Load = Callable[..., Documents]
Problems = Callable[..., list[Problem]]


@pytest.fixture
def load_text(tmp_path: Path) -> Load:
    """Load a text as a.yaml, and more files by name, without any catalogue."""

    def loaded(text: str | bytes = "", **files: str) -> Documents:
        (tmp_path / "a.yaml").write_bytes(text if isinstance(text, bytes) else text.encode())
        for name, more in files.items():
            (tmp_path / f"{name}.yaml").write_text(more)
        return load([tmp_path], catalogue=None, base=tmp_path)

    return loaded


@pytest.fixture
def problems_in(load_text: Load) -> Problems:
    """The problems of a text that must have some."""

    def problems(text: str | bytes = "", **files: str) -> list[Problem]:
        with pytest.raises(InvalidDocuments) as raised:
            load_text(text, **files)
        return list(raised.value.problems)

    return problems


@pytest.fixture
def mistake(problems_in: Problems) -> Mistake:
    """The only problem of a text in which one thing is written otherwise."""

    def told(text: str, old: str, new: str) -> tuple[Where | None, str, str, str]:
        assert text.count(old) == 1
        (problem,) = problems_in(text.replace(old, new))
        return problem.where, problem.path, problem.what, problem.next_step

    return told
