"""A release is used when every byte of it is the pinned one, and else the part is built."""

import hashlib
import io
import socket
import tarfile
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from sandbox.problem import SandboxProblem
from sandbox.toolchain import resolve
from sandbox.toolchain.download import NotFetched, fetch, reachable
from sandbox.toolchain.parts import EXTRA, KUBE, PARTS, Files, Part, Program
from sandbox.toolchain.progress import Progress
from sandbox.toolchain.releases import RELEASES, WHOLE, Archive, Choice, Release, choice, release_of

TOOL = Part(name="tool", version="1.0.0", programs=(Program("one"), Program("two")), minutes=1)


def _tar(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return out.getvalue()


ONE, TWO = _tar({"r/bin/one": b"1" * 5000, "../out": b"evil"}), _tar({"./two": b"2"})


class _Server(BaseHTTPRequestHandler):
    def do_HEAD(self) -> None:
        self.send_response(405)
        self.end_headers()

    def do_GET(self) -> None:
        name = self.path.rsplit("/", 1)[-1]
        if name == "moved":
            self.send_response(302)
            self.send_header("Location", "/elsewhere/one")
            self.end_headers()
            return
        content = {
            "one": ONE,
            "two": TWO,
            "x64": TWO,
            "bare": b"bare",
            "cut": ONE,
            "wrong": ONE[:-1] + b"x",
        }.get(name)
        self.send_response(200 if content else 404)
        self.send_header("Content-Length", str(len(content or b"")))
        self.end_headers()
        self.wfile.write((content or b"")[: 40 if name == "cut" else None])

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def mirror() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Server) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def _archive(name: str, files: dict[str, str], content: bytes) -> Archive:
    checksums = {"amd64": f"sha256:{hashlib.sha256(content).hexdigest()}"}
    return Archive(f"https://files.example/{{arch}}/{name}", files, checksums, "this test")


def _release(first: str = "one", path: str = "r/bin/one") -> Release:
    second = _archive("two", {"two": "two"}, TWO)
    return Release((TOOL,), "1.0.1", (_archive(first, {"one": path}, ONE), second))


def _progress() -> Progress:
    return Progress(Console(file=io.StringIO(), width=1000))


def _fetch(release: Release, cache: Path, mirror: str, seconds: float = 60.0) -> Path:
    chosen = Choice(True, mirror)
    return fetch(release, "amd64", cache, chosen, count="1/1", progress=_progress(), seconds=seconds)


@pytest.mark.parametrize("first", ["one", "moved"])
def test_the_programs_of_all_archives_are_in_one_folder_and_nothing_else_is(
    first: str, tmp_path: Path, mirror: str
) -> None:
    folder = _fetch(_release(first), tmp_path, mirror)
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == {"one": b"1" * 5000, "two": b"2"}
    assert all(file.stat().st_mode & 0o111 for file in folder.iterdir())
    assert sorted(path.name for path in tmp_path.iterdir()) == [folder.name, f"{folder.name}.lock"]


@pytest.mark.parametrize(
    ("first", "path", "seconds", "reason"),
    [
        ("wrong", "r/bin/one", 60.0, "is pinned. It is not used"),
        ("cut", "r/bin/one", 60.0, "is pinned. It is not used"),
        ("absent", "r/bin/one", 60.0, "404"),
        ("one", "r/bin/other", 60.0, "has no r/bin/other"),
        ("one", "r/bin/one", 0.0, "takes longer than to build it"),
    ],
)
def test_what_is_not_the_release_leaves_nothing_in_the_cache(
    first: str, path: str, seconds: float, reason: str, tmp_path: Path, mirror: str
) -> None:
    release = _release(first, path)
    with pytest.raises(NotFetched, match=reason):
        _fetch(release, tmp_path, mirror, seconds)
    assert [file.name for file in tmp_path.iterdir()] == [f"{release.key('amd64')}.lock"]


def test_a_file_that_is_the_program_is_checked_and_kept_as_it_is(tmp_path: Path, mirror: str) -> None:
    alone = Part(name="alone", version="1.0.0", programs=(Program("bare"),), minutes=1)
    folder = _fetch(Release((alone,), "1", (_archive("bare", {"bare": WHOLE}, b"bare"),)), tmp_path, mirror)
    assert [(file.name, file.read_bytes()) for file in folder.iterdir()] == [("bare", b"bare")]
    assert (folder / "bare").stat().st_mode & 0o111
    wrong = Release((alone,), "1", (_archive("bare", {"bare": WHOLE}, b"other"),))
    with pytest.raises(NotFetched, match="is pinned"):
        _fetch(wrong, tmp_path, mirror)


def test_an_archive_may_call_the_architecture_by_another_name(tmp_path: Path, mirror: str) -> None:
    pinned = _archive("two", {"two": "two"}, TWO)
    archive = replace(pinned, url="https://files.example/{arch}", called={"amd64": "x64"})
    assert (archive.address("amd64"), archive.address("arm64")) == (
        "https://files.example/x64",
        "https://files.example/arm64",
    )
    part = Part(name="half", version="1.0.0", programs=(Program("two"),), minutes=1)
    folder = _fetch(Release((part,), "1", (archive,)), tmp_path, mirror)
    assert [file.name for file in folder.iterdir()] == ["two"]


def test_a_release_of_several_parts_is_fetched_once_and_each_part_takes_its_own_files(
    tmp_path: Path, mirror: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = Part(name="one", version="1.0.0", programs=(Program("one"),), minutes=1)
    two = Part(name="two", version="1.0.0", files=(Files("m", "cmd", "two", executable=True),), minutes=1)
    release = replace(_release(), parts=(one, two))
    monkeypatch.setattr(resolve, "store", lambda: tmp_path)
    monkeypatch.setattr(resolve, "architecture", lambda: "amd64")
    monkeypatch.setenv("INFERFLEET_MIRROR", mirror)
    said = io.StringIO()
    progress = Progress(Console(file=said, width=1000))
    assert resolve.fetch_releases([one, two], progress, (release,)) == {one, two}
    assert said.getvalue().count("[1/1] downloading one 1.0.1") == 2  # as it begins and as it ends
    folder = tmp_path / release.key("amd64")
    both = tuple(resolve.Resolved(part, "cache", folder) for part in (one, two))
    assert {file.name for file in resolve.programs(both).iterdir()} == {"one", "two"}
    # The other half comes from the PATH, and the release must not hide it.
    assert {file.name for file in resolve.programs(both[1:]).iterdir()} == {"two"}


def test_what_a_killed_download_left_is_no_part(tmp_path: Path, mirror: str) -> None:
    release = _release()
    left = tmp_path / f"{release.key('amd64')}.downloading" / "out"
    left.mkdir(parents=True)
    (left / "half").write_bytes(b"1")
    assert {file.name for file in _fetch(release, tmp_path, mirror).iterdir()} == {"one", "two"}


def test_a_host_is_reachable_if_it_answers_in_time_whatever_it_says(mirror: str) -> None:
    assert reachable([f"{mirror}/a", f"{mirror}/b", "http://127.0.0.1:1/a"]) == {f"{mirror}/a", f"{mirror}/b"}


def test_a_host_that_takes_a_connection_and_says_nothing_is_not_waited_for() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        assert reachable([f"http://127.0.0.1:{silent.getsockname()[1]}/a"], 0.05) == frozenset()


def test_a_part_whose_release_cannot_be_had_is_left_to_be_built(
    tmp_path: Path, mirror: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolve, "store", lambda: tmp_path)
    monkeypatch.setattr(resolve, "architecture", lambda: "amd64")
    said = io.StringIO()
    progress = Progress(Console(file=said, width=1000))
    monkeypatch.setenv("INFERFLEET_DOWNLOAD", "never")
    assert resolve.fetch_releases([TOOL], progress, (_release(),)) == frozenset()
    monkeypatch.delenv("INFERFLEET_DOWNLOAD")
    monkeypatch.setenv("INFERFLEET_MIRROR", "http://127.0.0.1:1")
    assert resolve.fetch_releases([TOOL], progress, (_release(),)) == frozenset()
    assert said.getvalue() == "tool is built: 127.0.0.1:1 does not answer.\n"
    monkeypatch.setenv("INFERFLEET_MIRROR", mirror)
    assert resolve.fetch_releases([TOOL], progress, (_release("wrong"),)) == frozenset()
    assert resolve.fetch_releases([TOOL], progress, (_release(),)) == {TOOL}


def test_what_a_user_sets_is_checked() -> None:
    assert choice({}) == Choice(True)
    assert choice({"INFERFLEET_DOWNLOAD": "never"}) == Choice(False)
    assert choice({"INFERFLEET_MIRROR": "https://m/f/"}).address("https://h/p/x") == "https://m/f/h/p/x"
    for environment in ({"INFERFLEET_DOWNLOAD": "no"}, {"INFERFLEET_MIRROR": "m/f"}):
        with pytest.raises(SandboxProblem):
            choice(environment)


def test_a_release_without_a_checksum_for_the_machine_or_without_a_program_is_none() -> None:
    release = _release()
    assert release_of(TOOL, "amd64", (release,)) == release
    assert release_of(TOOL, "arm64", (release,)) is None
    assert release_of(TOOL, "amd64", (Release((TOOL,), "1", release.archives[:1]),)) is None


def test_the_table_has_whole_releases_with_checksums_of_full_length() -> None:
    for release in RELEASES:
        for part in release.parts:
            assert part in (*PARTS, *EXTRA)
            assert release_of(part, "amd64") == release_of(part, "arm64") == release
        for archive in release.archives:
            assert archive.source.startswith("https://")
            for checksum in archive.checksums.values():
                algorithm, _, digest = checksum.partition(":")
                assert len(bytes.fromhex(digest)) == hashlib.new(algorithm).digest_size


def test_a_release_that_was_fetched_is_the_part_from_then_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolve, "store", lambda: tmp_path)
    monkeypatch.setattr(resolve, "architecture", lambda: "amd64")
    assert resolve._resolve(KUBE, "", None) == resolve.Resolved(KUBE, "missing", None)
    folder = tmp_path / RELEASES[0].key("amd64")
    folder.mkdir()
    assert not resolve._keeps_data(KUBE)
    assert resolve._resolve(KUBE, "", None) == resolve.Resolved(KUBE, "cache", folder, "1.36.0")
    built = tmp_path / KUBE.key
    built.mkdir()
    assert resolve._resolve(KUBE, "", None) == resolve.Resolved(KUBE, "cache", built)
    # Its etcd may have written data that the release's refuses, so a next version is built too.
    assert resolve._keeps_data(KUBE)
