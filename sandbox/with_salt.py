"""Runs Pulumi with the stack's `encryptionsalt` in its settings, and takes it out again afterwards.

Pulumi keeps there what belongs to the passphrase, and writes a new one where there is none. But settings are
in version control, and the passphrase is this checkout's own. So the salt is kept beside the passphrase.

It is run as `python -I -S with_salt.py SETTINGS KEPT PROGRAM [ARGUMENT ...]`, and imports nothing but the
standard library so that it starts in a hundredth of a second.
"""

import ctypes
import fcntl
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_LINE = re.compile(r"^encryptionsalt:[ \t]*(.*?)[ \t]*\r?\n?\Z")
_SET_PARENT_DEATH_SIGNAL = 1  # prctl(2)


def is_launcher(program: Path) -> bool:
    """Return whether the program is a script that starts this module, and so no Pulumi of its own."""
    try:
        with open(program, "rb") as file:
            start = file.read(4096)
    except OSError:
        return False
    return start.startswith(b"#!/bin/sh\n") and b"with_salt.py" in start


def salt_in(settings: Path) -> str:
    """Return the salt in the settings, or ""."""
    found = [match[1] for line in _lines(settings) if (match := _LINE.match(line))]
    return found[0].strip("\"'") if found else ""


@contextmanager
def salted(settings: Path, kept: Path) -> Iterator[None]:
    """Put the kept salt into the settings for the block, and keep the one that is in them afterwards.

    Of several processes the last one takes it out. A salt that was not kept here stays where it is.
    """
    if settings.is_symlink():  # nothing is written through links
        yield
        return
    kept.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with open(os.open(kept, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600), "r+") as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        known, present = kept.read_text().strip(), salt_in(settings)
        if known and not present:
            _write(settings, [*_ended(_lines(settings)), f"encryptionsalt: {known}\n"])
        try:
            yield
        finally:
            if present in ("", known) and _alone(file.fileno()):
                _take_out(settings, kept)


def main(settings: str, kept: str, program: str, *arguments: str) -> int:
    """Run the program, with the caller's own passphrase hidden from it. Return its exit code."""
    if is_launcher(Path(program)):
        sys.exit(f"{program} starts itself. Run `inferfleet sandbox up`.")
    os.umask(0o077)
    # Pulumi prefers this variable to the file with the passphrase.
    os.environ.pop("PULUMI_CONFIG_PASSPHRASE", None)
    # Ctrl-C reaches the whole group, and the program decides what becomes of it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with salted(Path(settings), Path(kept)):
        try:
            running = subprocess.Popen([program, *arguments], preexec_fn=_as_the_caller_s_own)
        except OSError as error:
            sys.exit(f"{program} cannot be started ({error.strerror}). Run `inferfleet sandbox up`.")
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda received, _: running.send_signal(received))
        code = running.wait()
    return code if code >= 0 else 128 - code


def _as_the_caller_s_own() -> None:
    """Let the program end when this process is killed, and hear Ctrl-C."""
    ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _alone(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _take_out(settings: Path, kept: Path) -> None:
    salt = salt_in(settings)
    if not salt:
        return
    kept.write_text(salt + "\n")
    left = [line for line in _lines(settings) if not _LINE.match(line)]
    if any(line.strip() for line in left):
        _write(settings, left)
    else:
        settings.unlink()


def _lines(settings: Path) -> list[str]:
    try:
        with open(settings, encoding="utf-8", errors="surrogateescape", newline="") as file:
            return list(file)
    except FileNotFoundError:
        return []


def _ended(lines: list[str]) -> list[str]:
    return [*lines[:-1], lines[-1] if lines[-1].endswith("\n") else lines[-1] + "\n"] if lines else []


def _write(settings: Path, lines: list[str]) -> None:
    new = settings.with_name(f".{settings.name}.{os.getpid()}")
    with open(new, "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
        file.writelines(lines)
    new.chmod(settings.stat().st_mode & 0o777 if settings.exists() else 0o644)
    new.replace(settings)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
