"""Fetches the weights of a ModelCache onto its volume: the program of a Job.

It runs as it stands here in an image that has Hugging Face's client, and nothing of inferfleet imports it. On
the volume `model/` has whole files alone, each compared with the hash in the hub's tree before it came there,
so a run that was killed goes on after the last of them. What lies in the folder of parts is of one run: the
client gives parts of files another name each time, and does not go on with those of a run that was killed. It
is on a disk of the node where the volume is a bucket.
`<commit>.filled` is written when all files are there: until then no engine starts. `progress` says in words
how far it is.

Hugging Face's own download compares sizes alone, and takes other bytes of the same size for the file
(huggingface_hub 2.4, src/huggingface_hub/file_download.py).
"""

import fnmatch
import hashlib
import json
import os
import shutil
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

MODEL, PROGRESS = "model", "progress"
# Files that are fetched at once: more do not help where one comes in several parts already.
AT_ONCE = 4
SECONDS_BETWEEN_WORDS = 5.0
CHUNK = 1 << 24
GIB = 1 << 30


class CannotFill(Exception):  # noqa: N818 (it says what)
    """Why the weights cannot be fetched, with the next step."""


@dataclass(frozen=True)
class File:
    """A file of the repository: its path, its bytes, and their hash by the hub's tree."""

    path: str
    size: int
    sha256: str | None
    """Of files that the hub keeps apart from Git (LFS, Xet)."""
    blob: str
    """Git's own hash, of all others."""


def main() -> int:
    """Fetch what the variables say. Returns the exit code: 1 where the container is to be started again."""
    try:
        fill(Path(os.environ["WEIGHTS_VOLUME"]), Path(os.environ["WEIGHTS_PART"]), os.environ)
    except CannotFill as why:
        print(why, flush=True)
        return 1
    return 0


def fill(volume: Path, part: Path, variables: Mapping[str, str]) -> None:
    """Fetch the files of a repository at a commit by way of the folder `part`, compare them, and write the
    marker last.

    Raises CannotFill.
    """
    repository, commit = variables["WEIGHTS_REPOSITORY"], variables["WEIGHTS_REVISION"]
    marker = volume / f"{commit}.filled"
    if marker.exists():
        print(f"{repository} at {commit} is there", flush=True)
        return
    endpoint = variables["HF_ENDPOINT"]
    hub = Hub(endpoint, repository, commit, variables.get("HF_TOKEN") or None)
    files = list(selected(hub.tree(), json.loads(variables["WEIGHTS_FILES"])))
    if not files:
        patterns = ", ".join(json.loads(variables["WEIGHTS_FILES"]))
        raise CannotFill(f"no file of {repository} at {commit} is like {patterns}. Change files of the cache")
    total, size = sum(file.size for file in files), int(variables["WEIGHTS_SIZE"])
    if total > size:
        raise CannotFill(
            f"the {len(files)} files of {repository} take {_gib(total)}, and the size of the cache is "
            f"{_gib(size)}. Raise size to {-(-total // GIB)}Gi or more, or fetch fewer files"
        )
    missing = [file for file in files if not _is_whole(volume / MODEL / file.path, file.size)]
    needed, free = sum(file.size for file in missing), shutil.disk_usage(variables["WEIGHTS_ROOT"]).free
    if needed > free:
        raise CannotFill(
            f"{_gib(needed)} are missing, and the volume has {_gib(free)} free. Give it more room"
        )
    shutil.rmtree(part, ignore_errors=True)
    volume.mkdir(parents=True, exist_ok=True)
    words = Words(volume, part, total)
    with words, ThreadPoolExecutor(AT_ONCE) as pool:
        for _ in pool.map(lambda file: fetch(hub, file, volume, part), missing):
            pass
    shutil.rmtree(part, ignore_errors=True)
    _write(volume / PROGRESS, "100 %")
    _write(marker, json.dumps({"repository": repository, "files": [file.path for file in files]}))
    print(f"{repository} at {commit} is there: {len(files)} files, {_gib(total)}", flush=True)


def selected(files: Iterable[File], patterns: Iterable[str]) -> Iterator[File]:
    """Yield the files that a pattern is like; one without a slash is for files in no folder."""
    every = tuple(patterns)
    for file in files:
        nested = "/" in file.path
        if any(fnmatch.fnmatchcase(file.path, one) for one in every if ("/" in one) == nested):
            yield file


def fetch(hub: "Hub", file: File, volume: Path, part: Path) -> None:
    """Fetch one file and compare it; only then it lies where engines look. Raises CannotFill."""
    fetched = hub.download(file.path, part)
    if found := difference(fetched, file):
        fetched.unlink()
        raise CannotFill(f"{file.path} came with {found}. It is fetched again")
    place = volume / MODEL / file.path
    place.parent.mkdir(parents=True, exist_ok=True)
    # To a bucket it is copied: a file is there once all of it is.
    shutil.move(fetched, place)
    print(f"{file.path}: {_gib(file.size)}, as the hub has it", flush=True)


def difference(fetched: Path, file: File) -> str:
    """Return how the bytes of a file differ from what the hub's tree says of them, "" where they do not."""
    size = fetched.stat().st_size
    if size != file.size:
        return f"{size} bytes, not {file.size}"
    wanted = file.sha256 or file.blob
    # Git's hash is of the kind, the size and the bytes of a file.
    known = hashlib.sha256() if file.sha256 else hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
    with fetched.open("rb") as content:
        while chunk := content.read(CHUNK):
            known.update(chunk)
    return "" if known.hexdigest() == wanted else f"hash {known.hexdigest()}, not {wanted}"


class Hub:
    """One repository of a hub at a commit, by Hugging Face's client."""

    def __init__(self, endpoint: str, repository: str, commit: str, token: str | None) -> None:
        self._endpoint = endpoint
        self._repository = repository
        self._commit = commit
        self._token = token

    def tree(self) -> list[File]:
        """Return all files. Raises CannotFill."""
        import huggingface_hub

        api = huggingface_hub.HfApi(endpoint=self._endpoint, token=self._token or False)
        try:
            entries = list(api.list_repo_tree(self._repository, revision=self._commit, recursive=True))
        except Exception as error:
            raise self._why(error, "its files") from error
        return [
            File(entry.path, entry.size, entry.lfs.sha256 if entry.lfs else None, entry.blob_id)
            for entry in entries
            if isinstance(entry, huggingface_hub.hf_api.RepoFile)
        ]

    def download(self, path: str, folder: Path) -> Path:
        """Download a file into a folder, or go on with it. Raises CannotFill."""
        import huggingface_hub

        try:
            return Path(
                huggingface_hub.hf_hub_download(
                    self._repository,
                    path,
                    revision=self._commit,
                    local_dir=folder,
                    endpoint=self._endpoint,
                    token=self._token or False,
                )
            )
        except Exception as error:
            raise self._why(error, path) from error

    def _why(self, error: Exception, what: str) -> CannotFill:
        """Return in words why the hub did not give something, whatever its client raised."""
        status = getattr(getattr(error, "response", None), "status_code", None)
        said = " ".join(str(error).split())[:300]
        whose = f"{self._repository} at {self._commit}"
        steps = {
            401: "Write token in the cache, with a Secret whose token may read the repository",
            403: "Accept the terms of the repository, with the account that the token is of",
            404: "Compare repository and revision with the hub: without a token it hides what is private",
            429: "It is tried again by itself, later each time; a token raises the hub's limits",
        }
        step = steps.get(status or 0, "It is tried again by itself")
        answer = f"the hub answered {status}" if status else type(error).__name__
        return CannotFill(f"{what} of {whose}: {answer}. {step} ({said})")


class Words:
    """Says every few seconds how far the fetching is, while it is entered."""

    def __init__(self, volume: Path, part: Path, total: int) -> None:
        self._volume = volume
        self._part = part
        self._total = total
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._say, daemon=True)

    def __enter__(self) -> None:
        self._begun, self._before = monotonic(), self._there()
        _write(self._volume / PROGRESS, progress(self._before, self._total, 0, 0))
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _there(self) -> int:
        """Return the bytes that are on the volume, those of files that are not whole among them."""
        sizes = []
        for folder in (self._volume / MODEL, self._part):
            for file in folder.rglob("*"):
                try:
                    sizes.append(file.stat().st_size if file.is_file() else 0)
                except FileNotFoundError:
                    continue  # it went from one to the other
        return sum(sizes)

    def _say(self) -> None:
        while not self._ended.wait(SECONDS_BETWEEN_WORDS):
            there = self._there()
            words = progress(there, self._total, there - self._before, monotonic() - self._begun)
            _write(self._volume / PROGRESS, words)
            print(words, flush=True)


def progress(there: int, total: int, fetched: int, seconds: float) -> str:
    """Return how much of all bytes is there, and how long the rest takes: `62 %, about 18 minutes`."""
    part = f"{min(99, 100 * there // max(total, 1))} %"
    if 200 * fetched <= total:
        return part  # the first seconds say nothing of the rest
    minutes = max(1, round((total - there) * seconds / fetched / 60))
    return f"{part}, about {minutes} minute{'s' * (minutes != 1)}"


def _is_whole(place: Path, size: int) -> bool:
    return place.is_file() and place.stat().st_size == size


def _write(place: Path, text: str) -> None:
    """Write a small file whole: whoever reads it sees the old one or the new one."""
    new = place.with_name(f".{place.name}.new")
    new.write_text(text + "\n")
    os.replace(new, place)


def _gib(size: int) -> str:
    return f"{size / GIB:.1f} GiB" if size >= GIB else f"{size / (1 << 20):.1f} MiB"


if __name__ == "__main__":
    sys.exit(main())
