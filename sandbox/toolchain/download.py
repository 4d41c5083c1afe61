"""Fetches a release into the per-user cache: checked, atomically, and given up early where it fails."""

import hashlib
import shutil
import tarfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException
from pathlib import Path
from urllib.parse import urlsplit

from sandbox.locking import locked
from sandbox.toolchain.progress import Progress
from sandbox.toolchain.releases import WHOLE, Archive, Choice, Release

# Seconds in which a host must answer at all, and in which a download must bring something.
ANSWER = 2.0
SILENCE = 15.0
_CHUNK = 1 << 20


class NotFetched(Exception):  # noqa: N818 (it is a reason, after which the part is built)
    """Raised with the reason why a release cannot be used."""


def reachable(urls: Iterable[str], seconds: float = ANSWER) -> frozenset[str]:
    """Return the URLs whose host answers in time, whatever it answers. All hosts are asked at once."""
    by_host: dict[str, list[str]] = {}
    for url in urls:
        by_host.setdefault(f"{urlsplit(url).scheme}://{urlsplit(url).netloc}", []).append(url)
    answered: set[str] = set()

    def ask(host: str) -> None:
        try:
            request = urllib.request.Request(by_host[host][0], method="HEAD")
            urllib.request.urlopen(request, timeout=seconds).close()
        except urllib.error.HTTPError:
            pass
        except (OSError, HTTPException):
            return
        answered.add(host)

    # Looking up a name has no time limit of its own, so nobody waits for these threads.
    threads = [threading.Thread(target=ask, args=(host,), daemon=True) for host in by_host]
    for thread in threads:
        thread.start()
    end = time.monotonic() + seconds
    for thread in threads:
        thread.join(max(0.0, end - time.monotonic()))
    return frozenset(url for host in tuple(answered) for url in by_host[host])


def fetch(
    release: Release,
    arch: str,
    cache: Path,
    choice: Choice,
    *,
    count: str,
    progress: Progress,
    seconds: float,
) -> Path:
    """Return the folder of the release in `cache`, fetched unless it is there. Raises NotFetched.

    `seconds` is how long all of it may take. A killed process leaves nothing that is taken for complete.
    """
    target = cache / release.key(arch)
    name = release.name
    waiting = f"{name}: process {{}} is fetching it; waiting"
    with locked(cache / f"{target.name}.lock", waiting=lambda pid: progress.say(waiting.format(pid))):
        if target.exists():
            return target
        work = cache / f"{target.name}.downloading"
        shutil.rmtree(work, ignore_errors=True)
        (work / "out").mkdir(parents=True)
        transfer = _Transfer(arch, choice, work, time.monotonic() + seconds)
        try:
            with progress.step(name, f"[{count}] downloading {name} {release.version}"):
                with ThreadPoolExecutor(len(release.archives)) as pool:
                    pending = [pool.submit(transfer.get, archive) for archive in release.archives]
                    try:
                        while not all(future.done() for future in pending):
                            time.sleep(0.2)
                            progress.tick(transfer.shown())
                    except BaseException:
                        transfer.deadline = 0.0
                        raise
                for future in pending:
                    future.result()
            (work / "out").rename(target)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    return target


class _Transfer:
    """The downloads of one release. Each ends at the deadline, which may be moved to now."""

    def __init__(self, arch: str, choice: Choice, work: Path, deadline: float) -> None:
        self.arch, self.choice, self.work, self.deadline = arch, choice, work, deadline
        self.done: dict[str, tuple[int, int]] = {}

    def shown(self) -> str:
        """Return how much is there of how much, in MB."""
        there, all_of_it = (
            (sum(column) for column in zip(*self.done.values(), strict=True)) if self.done else (0, 0)
        )
        return f"{there >> 20} of {all_of_it >> 20} MB"

    def get(self, archive: Archive) -> None:
        """Fetch, check and unpack one archive. Nothing is unpacked before its checksum is right."""
        url = self.choice.address(archive.address(self.arch))
        algorithm, _, expected = archive.checksums[self.arch].partition(":")
        file = self.work / hashlib.sha256(url.encode()).hexdigest()[:12]
        digest = hashlib.new(algorithm)
        try:
            with urllib.request.urlopen(url, timeout=SILENCE) as answer, file.open("wb") as out:
                size = int(answer.headers.get("Content-Length") or 0)
                while block := answer.read1(_CHUNK):
                    if time.monotonic() > self.deadline:
                        raise NotFetched(f"{url} takes longer than to build it")
                    digest.update(block)
                    out.write(block)
                    self.done[url] = (self.done.get(url, (0, 0))[0] + len(block), size)
        except (OSError, HTTPException, ValueError) as error:
            raise NotFetched(f"{url}: {error}") from error
        if digest.hexdigest() != expected:
            what = f"{url} has {algorithm} {digest.hexdigest()[:16]}... where {expected[:16]}... is pinned"
            raise NotFetched(f"{what}. It is not used")
        self._unpack(archive, url, file)

    def _unpack(self, archive: Archive, url: str, file: Path) -> None:
        """Unpack the programs, and nothing else of the archive."""
        wanted = {path: name for name, path in archive.files.items()}
        if program := wanted.get(WHOLE):
            file.chmod(0o755)
            file.rename(self.work / "out" / program)
            return
        try:
            with tarfile.open(file) as tar:
                for member in tar:
                    if member.isfile() and (name := wanted.pop(member.name.removeprefix("./"), None)):
                        source, target = tar.extractfile(member), self.work / "out" / name
                        assert source is not None  # as of every member that is a file
                        with source, target.open("wb") as out:
                            shutil.copyfileobj(source, out, _CHUNK)
                        target.chmod(0o755)
        except (OSError, tarfile.TarError, EOFError) as error:
            raise NotFetched(f"{url} cannot be unpacked: {error}") from error
        if wanted:
            raise NotFetched(f"{url} has no {', '.join(sorted(wanted))}")
