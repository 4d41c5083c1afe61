"""A release or an image is used when every byte of it is the pinned one."""

import hashlib
import io
import json
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
from sandbox.toolchain import releases, resolve, supply
from sandbox.toolchain.download import NotFetched, fetch, reachable
from sandbox.toolchain.machine import Machine
from sandbox.toolchain.parts import EPP, EXTRA, KUBE, PARTS, Files, Part, Program
from sandbox.toolchain.progress import Progress
from sandbox.toolchain.releases import RELEASES, WHOLE, Archive, Choice, Image, Release, choice, release_of
from sandbox.toolchain.side_by_side import Stop, Stopped

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


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


# An image as registries have it: an index, manifests, and layers, of which the program's is not the last.
BASE, PROGRAM, LAST = _tar({"etc/os": b"base"}), _tar({"usr/bin/tool": b"tool"}), _tar({"etc/more": b"more"})
MANIFEST = json.dumps(
    {"layers": [{"digest": _digest(layer), "size": len(layer)} for layer in (BASE, PROGRAM, LAST)]}
).encode()
INDEX = json.dumps(
    {
        "manifests": [
            {"digest": _digest(b"of another"), "platform": {"os": "linux", "architecture": "arm64"}},
            {"digest": _digest(MANIFEST), "platform": {"os": "linux", "architecture": "amd64"}},
        ]
    }
).encode()
BLOBS = {_digest(content): content for content in (PROGRAM, LAST, MANIFEST, INDEX)}


class _Server(BaseHTTPRequestHandler):
    def do_HEAD(self) -> None:
        content = BLOBS.get(self.path.rsplit("/", 1)[-1])
        self.send_response(200 if content else 405)
        self.send_header("Content-Length", str(len(content or b"")))
        self.end_headers()

    def do_GET(self) -> None:
        name = self.path.rsplit("/", 1)[-1]
        if self.path.startswith("/token"):
            asked = self.path == "/token?service=here&scope=repository%3Aown%2Ftool%3Apull"
            self._answer(200 if asked else 400, json.dumps({"token": "for all"}).encode())
            return
        if "/v2/" in self.path:
            self._registry(name)
            return
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
        self._answer(200 if content else 404, content or b"", cut=40 if name == "cut" else None)

    def _registry(self, name: str) -> None:
        """Answer as registries do: manifests for a token, blobs from a storage that wants none to see it."""
        token = self.headers.get("Authorization")
        if self.path.startswith("/storage/"):
            found = name in BLOBS and not token
            self._answer(200 if found else 404, BLOBS.get(name, b""))
        elif token != "Bearer for all":
            self.send_response(401)
            host = f"http://127.0.0.1:{self.server.server_port}"  # type: ignore[attr-defined]
            scope = 'service="here",scope="repository:own/tool:pull"'
            self.send_header("WWW-Authenticate", f'Bearer realm="{host}/token",{scope}')
            self.end_headers()
        elif "/blobs/" in self.path:
            self.send_response(307)
            self.send_header("Location", f"/storage/v2/{name}")
            self.end_headers()
        else:
            self._answer(200 if name in BLOBS else 404, BLOBS.get(name, b""))

    def _answer(self, status: int, content: bytes, *, cut: int | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[:cut])

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
    return fetch(
        release, "amd64", cache, chosen, count="1/1", progress=_progress(), seconds=seconds, stop=Stop()
    )


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
        ("cut", "r/bin/one", 60.0, "ended after 40 of "),
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
    said = _bring((one, two), (), release, tmp_path, mirror, monkeypatch)
    assert said.count("[1/1] downloading one 1.0.1") == 2  # as it begins and as it ends
    folder = tmp_path / release.key("amd64")
    both = tuple(resolve.Resolved(part, "cache", folder) for part in (one, two))
    assert {file.name for file in resolve.programs(both).iterdir()} == {"one", "two"}
    # The other half comes from the PATH, and the release must not hide it.
    assert {file.name for file in resolve.programs(both[1:]).iterdir()} == {"two"}


def _bring(
    parts: tuple[Part, ...],
    spare: tuple[Part, ...],
    release: Release,
    cache: Path,
    mirror: str,
    monkeypatch: pytest.MonkeyPatch,
) -> str:
    """Bring the parts, of which a build writes an empty folder, and return what is said."""
    for module in (resolve, supply):
        monkeypatch.setattr(module, "store", lambda: cache)
        monkeypatch.setattr(module, "architecture", lambda: "amd64")
    monkeypatch.setattr(releases, "RELEASES", (release,))
    monkeypatch.setattr(supply, "go", lambda _: Path("go"))
    monkeypatch.setattr(Part, "key", property(lambda part: f"{part.name}-built"))
    monkeypatch.setattr(supply, "build", lambda part, cache, *_, **__: (cache / part.key).mkdir())
    monkeypatch.setenv("INFERFLEET_MIRROR", mirror)
    cache.mkdir(exist_ok=True)
    said = io.StringIO()
    supply.bring(parts, spare, Progress(Console(file=said, width=1000)), lambda: None)
    return said.getvalue()


IMAGE = Image("docker.io/own/tool:1", _digest(INDEX), {"tool": "usr/bin/tool"}, ("amd64",), "this test")
OF_IMAGE = Part(name="tool", version="1", programs=(Program("tool"),), minutes=1)


def test_a_program_comes_from_the_layer_of_an_image_that_has_it_and_no_layer_below_is_fetched(
    tmp_path: Path, mirror: str
) -> None:
    # The lowest layer is not there at all.
    folder = _fetch(Release((OF_IMAGE,), "1", (IMAGE,)), tmp_path, mirror)
    assert [(file.name, file.read_bytes()) for file in folder.iterdir()] == [("tool", b"tool")]
    assert (folder / "tool").stat().st_mode & 0o111


@pytest.mark.parametrize(
    ("image", "reason"),
    [
        (replace(IMAGE, digest=_digest(b"another")), "404"),
        (replace(IMAGE, files={"tool": "usr/bin/tools"}), "404"),  # the lowest layer, which is not there
        (replace(IMAGE, digest=_digest(PROGRAM)), "cannot be read"),
    ],
)
def test_an_image_that_is_not_the_pinned_one_leaves_nothing(
    image: Image, reason: str, tmp_path: Path, mirror: str
) -> None:
    with pytest.raises(NotFetched, match=reason):
        _fetch(Release((OF_IMAGE,), "1", (image,)), tmp_path, mirror)
    assert [file.suffix for file in tmp_path.iterdir()] == [".lock"]


def test_an_image_has_the_address_of_its_registry() -> None:
    assert IMAGE.address("amd64") == f"https://registry-1.docker.io/v2/own/tool/manifests/{_digest(INDEX)}"
    elsewhere = replace(IMAGE, name="registry.example:5000/a/b/c:v1")
    assert elsewhere.repository == "https://registry.example:5000/v2/a/b/c"


def test_files_in_folders_of_their_own_are_no_programs(tmp_path: Path, mirror: str) -> None:
    part = Part(name="part", version="1", files=(Files("m", "charts", "two", "own"),))
    folder = _fetch(Release((part,), "1", (_archive("two", {"own/two": "two"}, TWO),)), tmp_path, mirror)
    assert (folder / "own/two").read_bytes() == b"2"
    assert not (folder / "own/two").stat().st_mode & 0o111


def test_what_is_stopped_leaves_nothing(tmp_path: Path, mirror: str) -> None:
    stop = Stop()
    stop.set()
    with pytest.raises(Stopped):
        fetch(
            _release(),
            "amd64",
            tmp_path,
            Choice(True, mirror),
            count="1/1",
            progress=_progress(),
            seconds=60.0,
            stop=stop,
        )
    assert [file.suffix for file in tmp_path.iterdir()] == [".lock"]


def test_what_a_killed_download_left_is_no_part(tmp_path: Path, mirror: str) -> None:
    release = _release()
    left = tmp_path / f"{release.key('amd64')}.downloading" / "out"
    left.mkdir(parents=True)
    (left / "half").write_bytes(b"1")
    assert {file.name for file in _fetch(release, tmp_path, mirror).iterdir()} == {"one", "two"}


def test_a_host_is_reachable_if_it_answers_in_time_and_may_say_how_much_it_has(mirror: str) -> None:
    index = f"{mirror}/{_digest(INDEX)}"
    asked = [f"{mirror}/a", index, "http://127.0.0.1:1/a"]
    assert reachable(asked) == {f"{mirror}/a": 0, index: len(INDEX)}


def test_a_host_that_takes_a_connection_and_says_nothing_is_not_waited_for() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        assert reachable([f"http://127.0.0.1:{silent.getsockname()[1]}/a"], 0.05) == {}


@pytest.mark.parametrize(
    ("never", "at", "first", "words"),
    [
        ("never", "", "one", "the toolchain is built here, as INFERFLEET_DOWNLOAD says: about 1 min on "),
        ("", "http://127.0.0.1:1", "one", "built here, because 127.0.0.1:1 does not answer: about 1 min on "),
        ("", "", "wrong", "tool cannot be fetched: "),
    ],
)
def test_a_part_whose_release_cannot_be_had_is_built_but_for_a_spare_one(
    never: str, at: str, first: str, words: str, tmp_path: Path, mirror: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INFERFLEET_DOWNLOAD", never)
    monkeypatch.setattr(supply, "machine", lambda: Machine(2, 1 << 40))
    said = _bring((TOOL,), (), _release(first), tmp_path / "a", at or mirror, monkeypatch)
    assert words in said
    assert (tmp_path / "a/tool-built").is_dir()
    _bring((TOOL,), (TOOL,), _release(first), tmp_path / "b", at or mirror, monkeypatch)
    assert not (tmp_path / "b/tool-built").exists()


def test_a_spare_part_is_fetched_where_it_can_be(
    tmp_path: Path, mirror: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _bring((TOOL,), (TOOL,), _release(), tmp_path, mirror, monkeypatch)
    assert (tmp_path / _release().key("amd64")).is_dir()


def test_what_a_user_sets_is_checked() -> None:
    assert choice({}) == Choice(True)
    assert choice({"INFERFLEET_DOWNLOAD": "never"}) == Choice(False)
    assert choice({"INFERFLEET_MIRROR": "https://m/f/"}).address("https://h/p/x") == "https://m/f/h/p/x"
    for environment in ({"INFERFLEET_DOWNLOAD": "no"}, {"INFERFLEET_MIRROR": "m/f"}):
        with pytest.raises(SandboxProblem):
            choice(environment)


def test_a_release_without_a_checksum_for_the_machine_or_without_a_program_is_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    release = _release()
    monkeypatch.setattr(releases, "RELEASES", (release,))
    assert release_of(TOOL, "amd64") == release
    assert release_of(TOOL, "arm64") is None
    monkeypatch.setattr(releases, "RELEASES", (Release((TOOL,), "1", release.archives[:1]),))
    assert release_of(TOOL, "amd64") is None


def test_the_table_has_whole_releases_with_checksums_of_full_length() -> None:
    for release in RELEASES:
        for part in release.parts:
            assert part in (*PARTS, *EXTRA)
            assert release_of(part, "amd64") == release
            assert release_of(part, "arm64") == (None if part == EPP else release)
        for archive in release.archives:
            assert archive.source.startswith("https://")
            for checksum in archive.checksums.values():
                algorithm, _, digest = checksum.partition(":")
                assert len(bytes.fromhex(digest)) == hashlib.new(algorithm).digest_size


def test_a_release_that_was_fetched_is_the_part_from_then_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolve, "store", lambda: tmp_path)
    monkeypatch.setattr(supply, "store", lambda: tmp_path)
    monkeypatch.setattr(resolve, "architecture", lambda: "amd64")
    assert resolve._resolve(KUBE, "", None) == resolve.Resolved(KUBE, "missing", None)
    folder = tmp_path / RELEASES[0].key("amd64")
    folder.mkdir()
    assert not supply._keeps_data(KUBE)
    assert resolve._resolve(KUBE, "", None) == resolve.Resolved(KUBE, "cache", folder, "1.36.0")
    built = tmp_path / KUBE.key
    built.mkdir()
    assert resolve._resolve(KUBE, "", None) == resolve.Resolved(KUBE, "cache", built)
    # Its etcd may have written data that the release's refuses, so a next version is built too.
    assert supply._keeps_data(KUBE)
