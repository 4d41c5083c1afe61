"""Files are read and written whole."""

import fcntl
from pathlib import Path

import pytest

from inferfleet.documents.loading.files import read_text, write_text
from inferfleet.documents.problems import InvalidDocuments


def test_a_file_that_is_not_there_is_none(tmp_path: Path) -> None:
    assert read_text(tmp_path / "placement.lock") is None


def test_what_is_written_is_read_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    lock = tmp_path / "placement.lock"
    for text in ("one\n", "zwei ä\r\n"):
        write_text(lock, text)
        assert read_text(lock) == text
    assert list(tmp_path.iterdir()) == [lock]


def test_a_failed_write_leaves_the_old_text(tmp_path: Path) -> None:
    lock = tmp_path / "placement.lock"
    write_text(lock, "old")
    with pytest.raises(UnicodeEncodeError):
        write_text(lock, "\ud800")
    assert (read_text(lock), list(tmp_path.iterdir())) == ("old", [lock])


def test_the_mode_of_a_file_survives(tmp_path: Path) -> None:
    lock = tmp_path / "placement.lock"
    lock.write_text("old")
    lock.chmod(0o640)
    write_text(lock, "new")
    assert (lock.read_text(), lock.stat().st_mode & 0o777) == ("new", 0o640)


def test_nothing_is_written_through_a_symbolic_link(tmp_path: Path) -> None:
    (tmp_path / "real.lock").write_text("old")
    (tmp_path / "link.lock").symlink_to("real.lock")
    with pytest.raises(InvalidDocuments, match="is a symbolic link, and nothing is written through links"):
        write_text(tmp_path / "link.lock", "new")
    assert (tmp_path / "real.lock").read_text() == "old"


def test_a_file_that_cannot_be_written_is_told_by_its_own_name(tmp_path: Path) -> None:
    lock = tmp_path / "gone" / "placement.lock"
    with pytest.raises(FileNotFoundError) as refused:
        write_text(lock, "new")
    assert refused.value.filename == str(lock)


def test_what_killed_writes_left_goes_with_the_next_one_and_what_is_being_written_stays(
    tmp_path: Path,
) -> None:
    lock, killed, begun = (tmp_path / name for name in ("p.lock", ".p.lock.abcdefgh", ".p.lock.ijklmnop"))
    held, other = tmp_path / ".p.lock.qrstuvwx", tmp_path / ".other.lock.abcdefgh"
    for file, text in ((killed, "half"), (begun, ""), (held, "half"), (other, "half")):
        file.write_text(text)
    with held.open() as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        write_text(lock, "new")
    assert set(tmp_path.iterdir()) == {lock, begun, held, other}
