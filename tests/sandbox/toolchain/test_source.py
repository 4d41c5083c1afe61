"""A program that has no option for what the sandbox needs is built from an edited copy of its source."""

from pathlib import Path

import pytest

from sandbox.problem import SandboxProblem
from sandbox.toolchain.edits import Edit
from sandbox.toolchain.source import copy_source, edit


def _module(folder: Path) -> Path:
    for name in ("go.mod", "main.go", "main_test.go", "README.md", "inner/listen.go", "inner/base.yaml"):
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"text of {name}")
        file.chmod(0o444)  # as in Go's module cache
    return folder


def _texts(folder: Path) -> dict[str, str]:
    return {str(file.relative_to(folder)): file.read_text() for file in folder.rglob("*") if file.is_file()}


def test_the_copy_has_what_is_compiled_or_embedded_and_can_be_edited(tmp_path: Path) -> None:
    copy_source(_module(tmp_path / "module"), tmp_path / "copy")
    edit(tmp_path / "copy", [Edit("inner/listen.go", "text of", "changed")])
    assert _texts(tmp_path / "copy") == {
        "go.mod": "text of go.mod",
        "main.go": "text of main.go",
        "inner/listen.go": "changed inner/listen.go",
        "inner/base.yaml": "text of inner/base.yaml",
    }


@pytest.mark.parametrize(("left_out", "rest"), [("inner", set()), ("inner/listen.go", {"inner/base.yaml"})])
def test_the_copy_lacks_what_is_left_out(tmp_path: Path, left_out: str, rest: set[str]) -> None:
    copy_source(_module(tmp_path / "module"), tmp_path / "copy", without=[left_out])
    assert _texts(tmp_path / "copy").keys() == {"go.mod", "main.go", *rest}


@pytest.mark.parametrize(("old", "times"), [("no such text", 0), ("t", 2)])
def test_an_edit_that_does_not_fit_exactly_once_is_refused(tmp_path: Path, old: str, times: int) -> None:
    with pytest.raises(SandboxProblem, match=f"main.go has '{old}' {times} times and not once"):
        edit(_module(tmp_path), [Edit("main.go", old, "x")])
