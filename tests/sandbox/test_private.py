"""What the sandbox writes is its owner's alone."""

import os
from pathlib import Path

from sandbox.private import close_to_others, owner_only, write_file


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


def test_a_folder_of_an_earlier_version_is_closed_and_nothing_outside_of_it(tmp_path: Path) -> None:
    (tmp_path / "s" / "state").mkdir(parents=True)
    (tmp_path / "s" / "state" / "local.json").touch(mode=0o644)
    (tmp_path / "s" / "program").touch()
    (tmp_path / "s" / "program").chmod(0o755)
    (tmp_path / "outside").touch()
    (tmp_path / "outside").chmod(0o644)
    (tmp_path / "s" / "link").symlink_to(tmp_path / "outside")
    close_to_others(tmp_path / "s")
    assert [_mode(tmp_path / "s" / name) for name in ("", "state", "state/local.json", "program")] == [
        0o700,
        0o700,
        0o600,
        0o700,
    ]
    assert _mode(tmp_path / "outside") == 0o644
