"""Fetches a release into the per-user cache: checked, atomically, and given up early where it fails."""

import hashlib
import json
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
from typing import Any
from urllib.parse import urlsplit

from sandbox.locking import locked
from sandbox.toolchain import registry
from sandbox.toolchain.progress import Progress
from sandbox.toolchain.releases import WHOLE, Archive, Choice, Image, Release
from sandbox.toolchain.side_by_side import Stop

# Seconds in which a host must answer at all, and in which a download must bring something.
ANSWER = 2.0
SILENCE = 15.0
_CHUNK = 1 << 20
# Bytes that a manifest of an image may have: the specification asks registries to take so many.
_MANIFEST = 4 << 20


class NotFetched(Exception):  # noqa: N818 (it is a reason, after which the part is built)
    """Raised with the reason why a release cannot be used. `url` is where it should have come from."""

    def __init__(self, reason: str, url: str = "") -> None:
        super().__init__(reason)
        self.url = url


def reachable(urls: Iterable[str], seconds: float = ANSWER) -> dict[str, int]:
    """Return the URLs whose host answers in time, whatever it answers, with the bytes that it says are there.

    All are asked at once. 0 bytes means that it does not say.
    """
    asked = tuple(urls)
    answered: dict[str, int] = {}

    def ask(url: str) -> None:
        try:
            request = urllib.request.Request(url, method="HEAD")
            with urllib.request.urlopen(request, timeout=seconds) as answer:
                answered[url] = int(answer.headers.get("Content-Length") or 0)
        except urllib.error.HTTPError:
            answered[url] = 0
        except (OSError, HTTPException, ValueError):
            return

    # Looking up a name has no time limit of its own, so nobody waits for these threads.
    threads = [threading.Thread(target=ask, args=(url,), daemon=True) for url in asked]
    for thread in threads:
        thread.start()
    end = time.monotonic() + seconds
    for thread in threads:
        thread.join(max(0.0, end - time.monotonic()))
    there = dict(answered)
    hosts = {urlsplit(url).netloc for url in there}
    return {url: there.get(url, 0) for url in asked if urlsplit(url).netloc in hosts}


def fetch(
    release: Release,
    arch: str,
    cache: Path,
    choice: Choice,
    *,
    count: str,
    progress: Progress,
    seconds: float,
    stop: Stop,
) -> Path:
    """Return the folder of the release in `cache`, fetched unless it is there. Raises NotFetched and Stopped.

    `seconds` is how long all of it may take. A killed process leaves nothing that is taken for complete.
    """
    target = cache / release.key(arch)
    name = release.name
    waiting = f"{name}: process {{}} is fetching it; waiting"
    lock = cache / f"{target.name}.lock"
    with locked(lock, waiting=lambda pid: progress.say(waiting.format(pid)), check=stop.check):
        if target.exists():
            return target
        work = cache / f"{target.name}.downloading"
        shutil.rmtree(work, ignore_errors=True)
        (work / "out").mkdir(parents=True)
        transfer = _Transfer(arch, choice, work, time.monotonic() + seconds, stop)
        try:
            with (
                progress.step(name, f"[{count}] downloading {name} {release.version}") as step,
                ThreadPoolExecutor(len(release.archives)) as pool,
            ):
                pending = [pool.submit(transfer.get, archive) for archive in release.archives]
                while not all(future.done() for future in pending):
                    time.sleep(0.2)
                    step.tick(transfer.shown())
                    for future in pending:
                        if future.done() and future.exception():
                            transfer.deadline = 0.0
                            future.result()
                for future in pending:
                    future.result()
            (work / "out").rename(target)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    return target


class _Transfer:
    """The downloads of one release. Each ends at the deadline, or when it is stopped."""

    def __init__(self, arch: str, choice: Choice, work: Path, deadline: float, stop: Stop) -> None:
        self.arch, self.choice, self.work = arch, choice, work
        self.deadline, self.stop = deadline, stop
        self.done: dict[str, tuple[int, int]] = {}

    def shown(self) -> str:
        """Return how much is there of how much, in MB."""
        there, all_of_it = (
            (sum(column) for column in zip(*self.done.values(), strict=True)) if self.done else (0, 0)
        )
        return f"{there >> 20} of {all_of_it >> 20} MB"

    def get(self, archive: Archive | Image) -> None:
        """Fetch, check and unpack one archive, or what is needed of an image."""
        if isinstance(archive, Image):
            self._get_image(archive)
            return
        url = self.choice.address(archive.address(self.arch))
        wanted = {path: name for name, path in archive.files.items()}
        file = self._read(url, archive.checksums[self.arch])
        self._refuse_missing(url, self._unpacked(wanted, url, file))

    def _get_image(self, image: Image) -> None:
        """Fetch layers from the last one on until the files are there: what they are built upon is no use."""
        wanted = {path: name for name, path in image.files.items()}
        try:
            manifest = self._manifest(image, image.digest)
            if digest := registry.manifest_digest(manifest, self.arch):
                manifest = self._manifest(image, digest)
            for layer in registry.layers(manifest):
                url = self.choice.address(f"{image.repository}/blobs/{layer.digest}")
                wanted = self._unpacked(wanted, url, self._read(url, layer.digest, size=layer.size))
                if not wanted:
                    return
        except (KeyError, TypeError, ValueError) as error:
            raise NotFetched(f"the manifest of {image.name} cannot be read: {error}") from error
        self._refuse_missing(image.name, wanted)

    def _manifest(self, image: Image, digest: str) -> dict[str, Any]:
        url = self.choice.address(f"{image.repository}/manifests/{digest}")
        manifest: dict[str, Any] = json.loads(self._read(url, digest, limit=_MANIFEST).read_bytes())
        return manifest

    def _read(self, url: str, checksum: str, *, size: int = 0, limit: int | None = None) -> Path:
        """Return the file with what is at the URL, once its checksum is right; or raise NotFetched.

        `size` is how many bytes it has where the server does not say, `limit` how many it may have at most.
        """
        algorithm, _, expected = checksum.partition(":")
        digest = hashlib.new(algorithm)
        file = self.work / hashlib.sha256(url.encode()).hexdigest()[:12]
        accept = f"{registry.MANIFESTS}, */*"
        there = 0
        try:
            with registry.opened(url, accept=accept, seconds=SILENCE) as answer, file.open("wb") as out:
                size = int(answer.headers.get("Content-Length") or size)
                while block := answer.read1(_CHUNK):
                    self.stop.check()
                    if time.monotonic() > self.deadline:
                        raise NotFetched(f"{url} takes longer than to build it")
                    there += len(block)
                    if limit is not None and there > limit:
                        raise NotFetched(f"{url} has more than {limit} bytes")
                    digest.update(block)
                    out.write(block)
                    self.done[url] = (there, size)
        except (OSError, HTTPException, ValueError) as error:
            raise NotFetched(f"{url}: {error}", url) from error
        if there < size:
            raise NotFetched(f"{url} ended after {there} of {size} bytes", url)
        if digest.hexdigest() != expected:
            what = f"{url} has {algorithm} {digest.hexdigest()[:16]}... where {expected[:16]}... is pinned"
            raise NotFetched(f"{what}. It is not used")
        return file

    def _unpacked(self, wanted: dict[str, str], url: str, file: Path) -> dict[str, str]:
        """Unpack the wanted files, and nothing else of the archive. Return which were not in it.

        Files in folders of their own are no programs.
        """
        out = self.work / "out"
        if program := wanted.get(WHOLE):
            file.chmod(0o755)
            file.rename(out / program)
            return {}
        left = dict(wanted)
        try:
            with tarfile.open(file) as tar:
                for member in tar:
                    if member.isfile() and (name := left.pop(member.name.removeprefix("./"), None)):
                        source, target = tar.extractfile(member), out / name
                        assert source is not None  # as of every member that is a file
                        target.parent.mkdir(parents=True, exist_ok=True)
                        with source, target.open("wb") as copy:
                            shutil.copyfileobj(source, copy, _CHUNK)
                        target.chmod(0o755 if target.parent == out else 0o644)
        except (OSError, tarfile.TarError, EOFError) as error:
            raise NotFetched(f"{url} cannot be unpacked: {error}") from error
        file.unlink()
        return left

    def _refuse_missing(self, where: str, left: dict[str, str]) -> None:
        if left:
            raise NotFetched(f"{where} has no {', '.join(sorted(left))}")
