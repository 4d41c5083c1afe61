"""The program that has an engine load adapters, and what guards the engine against all others."""

import asyncio
import json
from collections.abc import Iterator, MutableMapping
from inspect import getsource
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from inferfleet.serving import filling
from inferfleet.serving.adapter_guard import Guard
from inferfleet.serving.adapter_loader import CannotServe, Engine, Loader, Wanted, fetch, guard
from sandbox.hub.server import serve_hub

OLD, NEW = "a" * 40, "b" * 40


class FakeEngine(Engine):
    """An engine that serves what it is told, but for adapters that it cannot."""

    def __init__(self) -> None:
        self.serves: dict[str, str] | None = {}
        self.cannot: dict[str, str] = {}
        self.orders: list[str] = []

    def loaded(self) -> dict[str, str]:
        if self.serves is None:
            raise ConnectionRefusedError("nobody listens")
        return dict(self.serves)

    def load(self, name: str, path: str) -> None:
        self.orders.append(f"load {name}")
        if why := self.cannot.get(name):
            raise CannotServe(why)
        assert self.serves is not None
        self.serves[name] = path

    def unload(self, name: str) -> None:
        self.orders.append(f"unload {name}")
        assert self.serves is not None
        del self.serves[name]


class Pod:
    """A loader with its file, folder, engine and clock."""

    def __init__(self, folder: Path) -> None:
        self.engine, self.now, self.folder = FakeEngine(), 0.0, folder / "adapters"
        self.file, self.fetched = folder / "adapters.json", [""]
        self.bases = {"strange": "other/model"}
        self.loader = Loader(
            self.file, self.folder, self.engine, "Qwen/Qwen3-8B", self._fetch, lambda: self.now
        )

    def _fetch(self, one: Wanted, folder: Path) -> None:
        model = folder / one.label / one.revision / "model"
        model.mkdir(parents=True, exist_ok=True)
        config = {"base_model_name_or_path": self.bases.get(one.label, "Qwen/Qwen3-8B")}
        (model / "adapter_config.json").write_text(json.dumps(config))

    def wants(self, **revisions: str) -> None:
        listed = [
            {"name": f"chat:{name}", "label": name, "repository": f"acme/{name}", "revision": revision}
            for name, revision in revisions.items()
        ]
        self.file.write_text(json.dumps(listed))

    def look(self) -> tuple[bool, str, list[str]]:
        """Whether it is ready then, what it says, and what it told the engine."""
        self.engine.orders.clear()
        self.loader.look()
        return self.loader.state.ready, self.loader.state.said, list(self.engine.orders)

    def path(self, name: str, revision: str) -> str:
        return str(self.folder / name / revision / "model")


@pytest.fixture
def pod(tmp_path: Path) -> Pod:
    return Pod(tmp_path)


def test_adapters_are_loaded_under_the_names_that_requests_have(pod: Pod) -> None:
    pod.wants(poems=OLD, jokes=OLD)
    assert pod.look() == (
        True,
        "jokes: serves aaaaaaa; poems: serves aaaaaaa",
        ["load chat:poems", "load chat:jokes"],
    )
    assert pod.engine.serves == {"chat:poems": pod.path("poems", OLD), "chat:jokes": pod.path("jokes", OLD)}
    assert pod.look() == (True, "jokes: serves aaaaaaa; poems: serves aaaaaaa", [])


def test_a_pod_is_not_ready_before_its_engine_has_them(pod: Pod) -> None:
    pod.wants(poems=OLD)
    pod.engine.serves = None
    assert pod.look() == (False, "waits for the engine: nobody listens", [])
    pod.engine.serves = {}
    assert pod.look() == (True, "poems: serves aaaaaaa", ["load chat:poems"])


def test_an_engine_that_began_again_gets_all_of_them(pod: Pod) -> None:
    pod.wants(poems=OLD, jokes=OLD)
    pod.look()
    pod.engine.serves = None
    assert pod.look()[0] is False
    pod.engine.serves = {}
    assert pod.look() == (
        True,
        "jokes: serves aaaaaaa; poems: serves aaaaaaa",
        ["load chat:poems", "load chat:jokes"],
    )


def test_another_revision_takes_the_place_of_the_old_one_from_another_path(pod: Pod) -> None:
    pod.wants(poems=OLD)
    pod.look()
    pod.wants(poems=NEW)
    assert pod.look() == (True, "poems: serves bbbbbbb", ["load chat:poems"])
    assert pod.engine.serves == {"chat:poems": pod.path("poems", NEW)}
    assert sorted(path.name for path in (pod.folder / "poems").iterdir()) == [NEW]


def test_what_is_no_longer_listed_is_unloaded(pod: Pod) -> None:
    pod.wants(poems=OLD, jokes=OLD)
    pod.look()
    pod.wants(jokes=OLD)
    assert pod.look() == (True, "jokes: serves aaaaaaa", ["unload chat:poems"])


def test_a_broken_one_is_told_and_keeps_no_other_from_being_served(pod: Pod) -> None:
    pod.wants(poems=OLD, jokes=OLD)
    pod.engine.cannot["chat:poems"] = "the engine answered 400: rank 64 is too large"
    said = "jokes: serves aaaaaaa; poems: the engine answered 400: rank 64 is too large"
    assert pod.look() == (True, said, ["load chat:poems", "load chat:jokes"])
    assert pod.look() == (True, said, [])
    pod.now += 60
    pod.engine.cannot.clear()
    assert pod.look() == (True, "jokes: serves aaaaaaa; poems: serves aaaaaaa", ["load chat:poems"])


def test_the_old_one_is_served_while_the_new_one_cannot_be(pod: Pod) -> None:
    pod.wants(poems=OLD)
    pod.look()
    pod.wants(poems=NEW)
    pod.engine.cannot["chat:poems"] = "the hub answered 404"
    assert pod.look() == (True, "poems: the hub answered 404; serves aaaaaaa meanwhile", ["load chat:poems"])
    assert pod.engine.serves == {"chat:poems": pod.path("poems", OLD)}
    assert (pod.folder / "poems" / OLD).is_dir()


def test_one_that_was_made_for_another_model_is_told(pod: Pod) -> None:
    pod.wants(poems=OLD, strange=OLD)
    said = "poems: serves aaaaaaa; strange: serves aaaaaaa, made for other/model"
    assert pod.look() == (True, said, ["load chat:poems", "load chat:strange"])
    assert pod.look() == (True, said, [])


def test_one_that_a_volume_holds_is_not_fetched(pod: Pod) -> None:
    pod.file.write_text(json.dumps([{"name": "chat:poems", "label": "poems", "path": "/cached/poems"}]))
    assert pod.look() == (True, "poems: serves /cached/poems", ["load chat:poems"])
    assert pod.engine.serves == {"chat:poems": "/cached/poems"}


# Fetching, by the program that fills caches.


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of a stand-in for the hub, which programs find by their variables."""
    pytest.importorskip("huggingface_hub")
    loop, folder = asyncio.new_event_loop(), tmp_path / "hub"
    serving = Thread(target=loop.run_forever, daemon=True)
    serving.start()
    address = asyncio.run_coroutine_threadsafe(serve_hub(folder), loop).result()
    monkeypatch.setenv("HF_ENDPOINT", address)
    monkeypatch.setenv("ADAPTERS_FILLING", getsource(filling))
    yield folder
    loop.call_soon_threadsafe(loop.stop)
    serving.join()


def test_the_files_of_an_adapter_are_fetched_at_its_commit(hub: Path, tmp_path: Path) -> None:
    one = Wanted("chat:poems", "poems", repository="acme/poems-lora", revision=OLD)
    (tmp_path / "adapters").mkdir()
    fetch(one, tmp_path / "adapters")
    of_hub = {path.name: path.read_bytes() for path in (hub / "acme" / "poems-lora" / OLD).iterdir()}
    model = tmp_path / "adapters" / "poems" / OLD / "model"
    assert {path.name: path.read_bytes() for path in model.iterdir()} == of_hub
    assert sorted(of_hub) == ["adapter_config.json", "adapter_model.safetensors"]


def test_what_the_hub_says_is_why_an_adapter_is_not_served(hub: Path, tmp_path: Path) -> None:
    (hub / "faults.json").write_text(json.dumps({"status": 404}))
    one = Wanted("chat:poems", "poems", repository="acme/poems-lora", revision=OLD)
    with pytest.raises(CannotServe, match=r"acme/poems-lora at a{40}: the hub answered 404"):
        fetch(one, tmp_path / "adapters")


# The guard. Paths are as a server has them once it has decoded what was sent.


def answer(folder: Path, path: str, *headers: tuple[bytes, bytes]) -> int | str:
    """What becomes of a request: a status, or that the engine answers it."""
    sent: list[MutableMapping[str, Any]] = []

    async def app(*_: Any) -> None:
        sent.append({"status": "the engine's"})

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    async def receive() -> MutableMapping[str, Any]:
        return {}

    scope = {"type": "http", "path": path, "headers": list(headers)}
    asyncio.run(Guard(app, folder)(scope, receive, send))
    status: int | str = sent[0]["status"]
    return status


@pytest.mark.parametrize(
    "path",
    [
        "/v1/load_lora_adapter",
        "/v1/unload_lora_adapter",
        "/v1/load_lora_adapter/",
        "//v1//load_lora_adapter",
        "/V1/Load_LoRA_Adapter",
        "/behind/a/prefix/v1/load_lora_adapter",
        "/adapters",
        "/adapters/poems",
    ],
)
def test_nobody_loads_adapters_without_the_token(tmp_path: Path, path: str) -> None:
    token = guard(tmp_path, "")
    assert answer(tmp_path, path) == 403
    assert answer(tmp_path, path, (b"x-inferfleet-adapters", b"")) == 403
    assert answer(tmp_path, path, (b"x-inferfleet-adapters", b"0" * 64)) == 403
    assert answer(tmp_path, path, (b"x-inferfleet-adapters", token.encode())) == "the engine's"


def test_without_a_token_nobody_loads_adapters(tmp_path: Path) -> None:
    assert answer(tmp_path, "/v1/load_lora_adapter", (b"x-inferfleet-adapters", b"")) == 403


def test_all_other_requests_are_the_engines(tmp_path: Path) -> None:
    guard(tmp_path, "")
    paths = ("/v1/chat/completions", "/v1/models", "/health", "/metrics")
    assert [answer(tmp_path, path) for path in paths] == ["the engine's"] * 4


def test_each_pod_has_a_token_of_its_own(tmp_path: Path) -> None:
    assert guard(tmp_path, "") != guard(tmp_path, "")
