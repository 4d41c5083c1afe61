"""Pulumi finds the salt in the settings, and a person does not."""

import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from sandbox import with_salt
from sandbox.with_salt import salt_in, salted

SETTINGS = "# A comment.\nconfig:\n  inferfleet:locked: false\n"
# What stands in for pulumi prints the settings that it sees and adds a salt if it is told one.
PROGRAM = """#!/bin/sh
cat "$1"
[ -z "$2" ] || echo "encryptionsalt: $2" >> "$1"
echo "passphrase ${PULUMI_CONFIG_PASSPHRASE-unset}"
umask
exit 3
"""


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """The settings, and where the salt is kept."""
    (tmp_path / "Pulumi.s.yaml").write_text(SETTINGS)
    return tmp_path / "Pulumi.s.yaml", tmp_path / "secrets" / "encryptionsalt"


def _kept(files: tuple[Path, Path], salt: str) -> None:
    files[1].parent.mkdir()
    files[1].write_text(salt + "\n")


def test_a_new_salt_is_kept_apart_and_put_in_for_the_next_command(files: tuple[Path, Path]) -> None:
    settings, kept = files
    with salted(settings, kept):
        settings.write_text(SETTINGS + "encryptionsalt: v1:new\n")
    assert (settings.read_text(), kept.read_text()) == (SETTINGS, "v1:new\n")
    assert (kept.stat().st_mode & 0o777, kept.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    with salted(settings, kept):
        assert settings.read_text() == SETTINGS + "encryptionsalt: v1:new\n"
    assert settings.read_text() == SETTINGS


def test_settings_that_exist_for_the_salt_alone_are_removed_again(files: tuple[Path, Path]) -> None:
    settings, kept = files
    settings.unlink()
    _kept(files, "v1:own")
    with salted(settings, kept):
        assert salt_in(settings) == "v1:own"
    assert not settings.exists()


def test_a_salt_of_somebody_else_stays_and_is_not_kept(files: tuple[Path, Path]) -> None:
    settings, kept = files
    _kept(files, "v1:own")
    settings.write_text(SETTINGS + "encryptionsalt: v1:theirs\n")
    with salted(settings, kept):
        assert salt_in(settings) == "v1:theirs"
    assert (salt_in(settings), kept.read_text()) == ("v1:theirs", "v1:own\n")


def test_a_salt_that_a_killed_command_left_is_taken_out_by_the_next(files: tuple[Path, Path]) -> None:
    settings, kept = files
    _kept(files, "v1:own")
    settings.write_text(SETTINGS + "encryptionsalt: v1:own\n")
    with salted(settings, kept):
        pass
    assert settings.read_text() == SETTINGS


def test_the_salt_stays_in_until_the_last_of_several_commands_ends(files: tuple[Path, Path]) -> None:
    settings, kept = files
    _kept(files, "v1:own")
    inside, leave = threading.Event(), threading.Event()

    def other() -> None:
        with salted(settings, kept):
            inside.set()
            leave.wait(300)

    thread = threading.Thread(target=other)
    thread.start()
    assert inside.wait(300)
    with salted(settings, kept):
        pass
    assert salt_in(settings) == "v1:own"
    leave.set()
    thread.join()
    assert settings.read_text() == SETTINGS


def test_nothing_is_written_through_a_link(files: tuple[Path, Path]) -> None:
    settings, kept = files
    _kept(files, "v1:own")
    real = settings.rename(settings.with_name("real"))
    settings.symlink_to(real)
    with salted(settings, kept):
        assert real.read_text() == SETTINGS


@pytest.mark.parametrize(
    "line", ["encryptionsalt: v1:a", 'encryptionsalt: "v1:a"', "encryptionsalt:  v1:a  "]
)
def test_a_salt_is_read_however_it_is_quoted(files: tuple[Path, Path], line: str) -> None:
    files[0].write_text(f"{line}\r\nconfig: {{}}\n")
    assert salt_in(files[0]) == "v1:a"


def test_the_program_runs_as_by_itself_but_for_salt_passphrase_and_umask(
    files: tuple[Path, Path], tmp_path: Path
) -> None:
    settings, kept = files
    _kept(files, "v1:own")
    program = tmp_path / "program"
    program.write_text(PROGRAM)
    program.chmod(0o700)
    command = [sys.executable, "-I", "-S", with_salt.__file__, str(settings), str(kept), str(program)]
    done = subprocess.run(
        [*command, str(settings), ""],
        env={"PULUMI_CONFIG_PASSPHRASE": "x", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == f"{SETTINGS}encryptionsalt: v1:own\npassphrase unset\n0077\n"
    assert (done.stderr, done.returncode, settings.read_text()) == ("", 3, SETTINGS)
    missing = subprocess.run([*command[:-1], "/no/pulumi"], capture_output=True, text=True, check=False)
    assert (missing.returncode, missing.stderr) == (
        1,
        "/no/pulumi cannot be started (No such file or directory). Run `inferfleet sandbox up`.\n",
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_the_program_ends_with_the_one_that_started_it(
    files: tuple[Path, Path], tmp_path: Path, number: signal.Signals
) -> None:
    settings, kept = files
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\necho $$\nexec sleep 60\n")
    program.chmod(0o700)
    command = [sys.executable, "-I", "-S", with_salt.__file__, str(settings), str(kept), str(program)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        running.stdout.readline()
        running.send_signal(number)
        # The pipe is closed once the program has ended.
        assert running.stdout.read() == ""
