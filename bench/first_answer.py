"""Measures how long a newcomer waits: `make up` in a fresh clone, on a machine whose cache has nothing.

    python bench/first_answer.py built               # nothing can be fetched: what is needed is built
    python bench/first_answer.py fetched             # releases and images come from a mirror on loopback
    python bench/first_answer.py fetched --cut 30    # whose line is cut after 30 seconds
    python bench/first_answer.py built --cut 30      # so does what Go downloads, and that line is cut

The mirror is filled here, with the programs of this user's own toolchain, packed as releases and images are,
and the run has checksums of these. So it shows the way and not the projects' own files: those are larger, and
on other lines. `--megabits` is the speed of the mirror's line. Each run has a toolchain folder and, when it
builds, a cache of Go's of its own; what it starts ends with it. A cold build takes some 40 minutes of
processor time.
"""

import argparse
import gzip
import hashlib
import io
import json
import os
import pickle
import re
import resource
import shlex
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from sandbox.toolchain.parts import OF_STACKS
from sandbox.toolchain.progress import Progress
from sandbox.toolchain.releases import RELEASES, WHOLE, Archive, Image, Release, architecture
from sandbox.toolchain.tools import Tools, make_tools

ROOT = Path(__file__).resolve().parent.parent
STACK = "local"
# Every command runs so: with the folder of the run as its toolchain, and the releases of the mirror.
_INFERFLEET = """
import pickle, sys
from pathlib import Path
from sandbox.toolchain import releases, resolve, supply, tools
folder, table = Path(sys.argv[1]), Path(sys.argv[2])
for module in (resolve, supply, tools):
    module.store = lambda: folder
if table.exists():
    releases.RELEASES = pickle.loads(table.read_bytes())
sys.argv = ["inferfleet", *sys.argv[3:]]
from inferfleet.cli.main import app
app()
"""


@dataclass
class Line:
    """The line between a server and its clients: so many megabits a second for all, until it is cut."""

    megabits: float
    sent: int = 0
    is_cut: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def send(self, block: bytes) -> None:
        """Return once the block would have passed. Raises ConnectionError after the cut."""
        if self.is_cut:
            raise ConnectionError
        with self._lock:
            self.sent += len(block)
            time.sleep(len(block) * 8 / self.megabits / 1e6)


class _Handler(SimpleHTTPRequestHandler):
    """Serves the files of a folder over a line."""

    def __init__(self, *arguments: Any, line: Line, **options: Any) -> None:
        self.line = line
        super().__init__(*arguments, **options)

    def copyfile(self, source: Any, outputfile: Any) -> None:
        try:
            while block := source.read(1 << 16):
                self.line.send(block)
                outputfile.write(block)
        except ConnectionError:
            self.close_connection = True

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextmanager
def served(folder: Path, line: Line, cut: float | None) -> Iterator[str]:
    """Yield the URL at which the folder is served; after `cut` seconds nobody is there any more."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, line=line, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()

        def end() -> None:
            line.is_cut = True
            server.shutdown()
            server.server_close()

        timer = threading.Timer(cut or 1e6, end)
        timer.daemon = True
        timer.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            timer.cancel()
            end()


def fill(folder: Path, tools: Tools) -> tuple[Release, ...]:
    """Write a mirror with all releases, made of the parts that are here; return them with its checksums."""
    return tuple(
        replace(release, archives=tuple(_packed(archive, folder, tools) for archive in release.archives))
        for release in RELEASES
    )


def _packed(archive: Archive | Image, folder: Path, tools: Tools) -> Archive | Image:
    contents = {path: _content(name, tools) for name, path in archive.files.items()}
    if isinstance(archive, Image):
        layers = [_write(folder, archive, "blobs", _tar({"etc/os-release": b"base"}))]
        layers += [_write(folder, archive, "blobs", _tar(contents))]
        manifest = {"layers": [{"digest": digest, "size": size} for digest, size in layers]}
        digest, _ = _write(folder, archive, "manifests", json.dumps(manifest).encode())
        platform = {"os": "linux", "architecture": architecture()}
        index = {"manifests": [{"digest": digest, "platform": platform}]}
        digest, _ = _write(folder, archive, "manifests", json.dumps(index).encode())
        return replace(archive, digest=digest)
    content = contents[WHOLE] if WHOLE in contents else _tar(contents)
    _put(folder, archive.address(architecture()), content)
    return replace(archive, checksums={architecture(): f"sha256:{hashlib.sha256(content).hexdigest()}"})


def _content(name: str, tools: Tools) -> bytes:
    """Return the content of a file that a part of this user's toolchain has."""
    files = (part.folder / name for part in tools.parts if part.folder)
    return next(file for file in files if file.is_file()).read_bytes()


def _write(folder: Path, image: Image, kind: str, content: bytes) -> tuple[str, int]:
    digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
    _put(folder, f"{image.repository}/{kind}/{digest}", content)
    return digest, len(content)


def _put(folder: Path, url: str, content: bytes) -> None:
    """Write what a mirror has in place of what is at the URL."""
    file = folder / urlsplit(url).netloc / urlsplit(url).path.lstrip("/")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)


def _tar(files: Mapping[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for path, content in files.items():
            entry = tarfile.TarInfo(path)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return gzip.compress(out.getvalue(), 6, mtime=0)


@dataclass
class Clock:
    """Prints lines with the seconds since it began."""

    began: float = field(default_factory=time.monotonic)

    def say(self, line: str) -> None:
        """Print a line."""
        print(f"{time.monotonic() - self.began:7.1f} s  {line}", flush=True)

    def run(self, command: list[str], folder: Path, environment: Mapping[str, str], *, show: str = "") -> int:
        """Run a command, print the lines that match `show`, and return its exit code."""
        with subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process:
            for line in process.stdout or ():
                if re.search(show, line):
                    self.say(line.rstrip())
        return process.returncode


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("way", choices=("built", "fetched"))
    parser.add_argument("--cut", type=float, metavar="SECONDS", help="cut the line after so many seconds")
    parser.add_argument("--megabits", type=float, default=100.0, help="speed of the line; default: 100")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="first-answer-") as scratch:
        folder = Path(scratch)
        environment, served_folder, table = {**os.environ}, folder / "mirror", folder / "releases"
        fetched = arguments.way == "fetched"
        if fetched:
            table.write_bytes(pickle.dumps(fill(served_folder, make_tools(Progress(), OF_STACKS))))
        else:
            environment |= {"INFERFLEET_DOWNLOAD": "never", "GOCACHE": str(folder / "go-build")}
            environment["GOMODCACHE"] = str(folder / "modules")
            served_folder = _module_cache()
        subprocess.run(["git", "clone", "--quiet", "--shared", str(ROOT), str(folder / "clone")], check=True)
        line = Line(arguments.megabits)
        try:
            with served(served_folder, line, arguments.cut) as url:
                if fetched:
                    environment["INFERFLEET_MIRROR"] = url
                elif arguments.cut:
                    environment["GOPROXY"] = url
                _first_answer(folder, table, environment)
        finally:
            print(f"{line.sent / 1e6:.0f} MB came over the line")
            _down(folder, table, environment)


def _module_cache() -> Path:
    found = subprocess.run(["go", "env", "GOMODCACHE"], capture_output=True, text=True, check=True)
    return Path(found.stdout.strip()) / "cache" / "download"


def _first_answer(folder: Path, table: Path, environment: Mapping[str, str]) -> None:
    """Do what `make up` does once the environment of Python is there."""
    clone, clock = folder / "clone", Clock()
    inferfleet = _command(folder, table)
    code = clock.run(
        [*inferfleet, "sandbox", "up", "--stack", STACK, "--owner", str(os.getpid())], clone, environment
    )
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    clock.say(f"sandbox up ended with code {code}, after {(used.ru_utime + used.ru_stime) / 60:.1f} CPU-min")
    if code:
        return
    printed = subprocess.run(
        [*inferfleet, "sandbox", "env", "--stack", STACK],
        cwd=clone,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    pairs = (shlex.split(line)[1].partition("=") for line in printed.stdout.splitlines())
    variables = {**environment, **{name: value for name, _, value in pairs}}
    clock.run(["pulumi", "stack", "select", "--create", STACK], clone, variables, show="^$")
    up = ["pulumi", "up", "--stack", STACK, "--yes", "--skip-preview", "--continue-on-error", "--color=never"]
    clock.run(up, clone, variables, show="^ +[+] |error|Duration")
    clock.run([*inferfleet, "sandbox", "chat", "--stack", STACK], clone, variables)


def _down(folder: Path, table: Path, environment: Mapping[str, str]) -> None:
    command = [*_command(folder, table), "sandbox", "down", "--stack", STACK]
    subprocess.run(command, cwd=folder / "clone", env=environment, check=True)
    # Go protects what it keeps of modules against writing.
    if (folder / "modules").exists():
        subprocess.run(["chmod", "-R", "u+w", str(folder / "modules")], check=True)


def _command(folder: Path, table: Path) -> list[str]:
    return [sys.executable, "-c", _INFERFLEET, str(folder / "toolchain"), str(table)]


if __name__ == "__main__":
    main()
