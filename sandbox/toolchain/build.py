"""Builds one part into the per-user cache: atomically, one process at a time, and safe to interrupt."""

import json
import re
import shutil
import subprocess
import tempfile
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sandbox.locking import locked
from sandbox.problem import SandboxProblem
from sandbox.toolchain.edits import Edited
from sandbox.toolchain.go import go_environment
from sandbox.toolchain.machine import Machine
from sandbox.toolchain.parts import Files, Part
from sandbox.toolchain.progress import Progress, Step
from sandbox.toolchain.side_by_side import Stop
from sandbox.toolchain.source import COPY, copy_source, edit

_SHOWN = 2
_UNREACHABLE = "The network does not reach Go's module proxy: connect this machine, or check GOPROXY."


def build(
    part: Part, cache: Path, tool: Path, computer: Machine, *, count: str, progress: Progress, stop: Stop
) -> Path:
    """Return the folder of the part in `cache`, after building the part by the Go `tool` if it is not there.

    It may be interrupted at any point: Go keeps what is compiled, and `cache` only gets complete folders.
    Raises SandboxProblem and Stopped.
    """
    target = cache / part.key
    if target.exists():
        return target
    lock = cache / f"{part.key}.lock"
    waiting = f"{part.name}: process {{}} is building it; waiting"
    with locked(lock, waiting=lambda pid: progress.say(waiting.format(pid)), check=stop.check):
        if target.exists():
            return target
        about = f", about {computer.minutes(part.minutes)} min" if part.minutes else ""
        text = f"[{count}] {'building' if part.programs else 'fetching'} {part.name} {part.version}{about}"
        with (
            progress.step(part.name, text) as step,
            _work_folder(part, cache / f"{part.key}.building") as work,
        ):
            run = _Go(tool, work, computer, step, stop)
            out = work / "out"
            out.mkdir()
            for files in part.embedded:
                _copy(files, into=work, run=run)
            for files in part.files:
                _copy(files, into=out, run=run)
            for number, edited in enumerate(part.edited):
                _replace_source(edited, f"{COPY}{number}", run)
            if part.programs:
                packages = [program.package for program in part.programs]
                run("build", "-v", "-ldflags", part.ldflags, "-o", f"{out}/", *packages)
                for program in part.programs:
                    (out / _built_name(program.package)).rename(out / program.name)
            out.rename(target)
    return target


@contextmanager
def _work_folder(part: Part, folder: Path) -> Iterator[Path]:
    """Yield a fresh copy of the part's module, which is removed afterwards, as is what a killed run left."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(part.folder, folder)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _replace_source(edited: Edited, copy: str, run: "_Go") -> None:
    copy_source(run.downloaded(edited.module), run.folder / copy, without=edited.without)
    edit(run.folder / copy, edited.edits)
    run("mod", "edit", f"-replace={edited.module}=./{copy}")


def _copy(files: Files, *, into: Path, run: "_Go") -> None:
    source = run.downloaded(files.module) / files.folder
    matching = sorted(source.glob(files.pattern))
    if not matching:
        raise SandboxProblem(f"module {files.module} has no {files.folder}/{files.pattern}. Fix parts.py.")
    for file in matching:
        copy = into / files.into / file.name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)
        copy.chmod(0o755 if files.executable else 0o644)


def _built_name(package: str) -> str:
    """Return the name that `go build -o folder/` gives the program of a package.

    The package "." is our own module `.../toolchain`.
    """
    last = [element for element in package.split("/") if not re.fullmatch(r"v\d+", element)][-1]
    return "toolchain" if last == "." else last


@dataclass(frozen=True)
class _Go:
    """Runs the Go `tool` in the folder of a part, and shows what it says at the step until it is stopped."""

    tool: Path
    folder: Path
    computer: Machine
    step: Step
    stop: Stop

    def __call__(self, *arguments: str) -> str:
        """Return what the command prints to standard output. Raises SandboxProblem and Stopped."""
        messages: deque[str] = deque(maxlen=30)
        with (
            tempfile.TemporaryFile("w+") as answer,
            subprocess.Popen(
                [str(self.tool), *arguments],
                cwd=self.folder,
                env={**self.computer.collection, **go_environment()},
                stdin=subprocess.DEVNULL,
                stdout=answer,
                stderr=subprocess.PIPE,
                text=True,
            ) as process,
        ):
            try:
                reader = threading.Thread(target=lambda: messages.extend(_lines(process)), daemon=True)
                reader.start()
                while reader.is_alive():
                    reader.join(0.2)
                    self.stop.check()
                    self.step.tick(messages[-1] if messages else "")
            except BaseException:
                process.terminate()
                raise
            code = process.wait()
            answer.seek(0)
            text = answer.read()
            if code != 0:
                # `go mod download -json` prints its errors as JSON to standard output.
                errors = re.findall(r'"Error": "(.*)"', text)
                raise _failed(["go", *arguments], list(messages) + errors)
            return text

    def downloaded(self, module: str) -> Path:
        """Return the folder of the module's source, which Go has checked against go.sum."""
        return Path(json.loads(self("mod", "download", "-json", module))["Dir"])


def _lines(process: "subprocess.Popen[str]") -> Iterator[str]:
    for line in process.stderr or ():
        yield line.rstrip()


def _failed(command: list[str], messages: list[str]) -> SandboxProblem:
    """Return the problem with Go's own messages, and a next step for the usual causes."""
    lines = [line for line in messages if not line.startswith("go: downloading")]
    text = "\n  ".join(lines)
    causes = {
        "no space left": "Free disk space: a build needs about 6 GB for modules and Go's cache.",
        "signal: killed": "The machine ran out of memory: the largest program needs about 4 GB to link.",
        "checksum mismatch": "A module differs from its pinned checksum: clear it with `go clean -modcache`.",
        "connection refused": _UNREACHABLE,
        "dial tcp": _UNREACHABLE,
        "connection reset": _UNREACHABLE,
        "timeout": _UNREACHABLE,
        "EOF": _UNREACHABLE,
        "unexpected status": "The module proxy refused: check GOPROXY.",
        "404": "The module proxy does not have this module: check GOPROXY.",
    }
    step = next((step for sign, step in causes.items() if sign in text), "Fix the cause.")
    if step is _UNREACHABLE and len(lines) > _SHOWN:
        # Without a network there is a line for each module, and they differ in names alone.
        text = "\n  ".join([*lines[-_SHOWN:], f"and {len(lines) - _SHOWN} more of these"])
    return SandboxProblem(
        f"`{' '.join(command[:3])} ...` failed:\n  {text}\n"
        f"{step} Then run the same command again: what is compiled already is kept."
    )
