"""What the sandbox writes is its owner's alone."""

import os
from pathlib import Path

from sandbox.private import owner_only, write_file


def _mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_files_are_closed_to_others_from_the_start_whatever_the_caller_s_umask(tmp_path: Path) -> None:
    before = os.umask(0o000)
    try:
        with owner_only():
            (tmp_path / "folder").mkdir()
            with owner_only():
                (tmp_path / "folder" / "inner").touch()
            (tmp_path / "folder" / "outer").touch()
        (tmp_path / "afterwards").touch()
        write_file(tmp_path / "new" / "file", "text")
    finally:
        assert os.umask(before) == 0o000
    modes = {path.name: oct(_mode(path)) for path in tmp_path.rglob("*")}
    assert modes == {
        "folder": "0o700",
        "inner": "0o600",
        "outer": "0o600",
        "afterwards": "0o666",
        "new": "0o700",
        "file": "0o600",
    }
