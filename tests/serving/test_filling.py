"""The program that fetches weights, by Hugging Face's own client, from a stand-in for the hub."""

import asyncio
import json
import os
import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from inspect import getsource
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest
from aiohttp import web

from inferfleet.serving import filling
from sandbox.hub.server import Hub

COMMIT = "a" * 40
WEIGHTS = [f"model-{part}-of-3.safetensors" for part in (1, 2, 3)]
# Files from 10 MiB on come in several parts.
SIZE = 12_000_000
SECONDS = 60.0


class Filler:
    """A hub with one repository, and a volume."""

    def __init__(self, folder: Path) -> None:
        self.hub, self.volume = folder / "hub", folder / "volume"
        self.volume.mkdir()
        self.commit = self.hub / "acme" / "tiny" / COMMIT
        (self.commit / "original").mkdir(parents=True)
        for number, name in enumerate(WEIGHTS):
            (self.commit / name).write_bytes(random.Random(number).randbytes(SIZE))
        for name in ("config.json", "pytorch_model.bin", "original/params.json"):
            (self.commit / name).write_text(name)
        self.address = ""

    def faults(self, **faults: Any) -> None:
        """What is wrong with the hub from now on."""
        (self.hub / "faults.json").write_text(json.dumps(faults))

    def requests(self) -> list[str]:
        """The files that the hub was asked for since the last time."""
        log = self.hub / "requests.log"
        lines = log.read_text().splitlines() if log.exists() else []
        log.unlink(missing_ok=True)
        return sorted({line.rpartition("/")[2] for line in lines if line.startswith("GET /acme")})

    def start(self, **variables: str) -> subprocess.Popen[str]:
        """Start the program as the Job does."""
        given = {
            "WEIGHTS_ROOT": str(self.volume),
            "WEIGHTS_VOLUME": str(self.volume),
            "WEIGHTS_PART": str(self.volume / ".part"),
            "WEIGHTS_REPOSITORY": "acme/tiny",
            "WEIGHTS_REVISION": COMMIT,
            "WEIGHTS_FILES": '["*.safetensors", "*.json"]',
            "WEIGHTS_SIZE": str(1 << 30),
            "HF_ENDPOINT": self.address,
            "HF_HOME": str(self.volume.parent / "home"),
        }
        return subprocess.Popen(
            [sys.executable, "-c", getsource(filling)],
            env={"PYTHONPATH": os.environ.get("PYTHONPATH", ""), **given, **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, **variables: str) -> tuple[int, str]:
        """Return the exit code of the program, and its last line."""
        with self.start(**variables) as process:
            said, _ = process.communicate(timeout=SECONDS)
        return process.returncode, said.strip().splitlines()[-1]

    def files(self) -> list[str]:
        """What engines could load."""
        model = self.volume / "model"
        return sorted(str(file.relative_to(model)) for file in model.rglob("*") if file.is_file())

    @property
    def filled(self) -> bool:
        return (self.volume / f"{COMMIT}.filled").exists()


@pytest.fixture
def filler(tmp_path: Path) -> Iterator[Filler]:
    made = Filler(tmp_path)
    loop, begun = asyncio.new_event_loop(), threading.Event()

    async def serve() -> None:
        runner = web.AppRunner(Hub(made.hub).app())
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        made.address = f"http://127.0.0.1:{runner.addresses[0][1]}"
        begun.set()

    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    asyncio.run_coroutine_threadsafe(serve(), loop)
    assert begun.wait(SECONDS)
    yield made
    loop.call_soon_threadsafe(loop.stop)
    thread.join()


def test_the_files_that_engines_load_are_fetched_and_the_marker_comes_last(filler: Filler) -> None:
    assert filler.run() == (0, f"acme/tiny at {COMMIT} is there: 4 files, 34.3 MiB")
    assert filler.files() == ["config.json", *WEIGHTS]
    assert (filler.volume / "model" / WEIGHTS[2]).read_bytes() == (filler.commit / WEIGHTS[2]).read_bytes()
    assert sorted(file.name for file in filler.volume.iterdir()) == [f"{COMMIT}.filled", "model", "progress"]


def test_what_is_there_is_not_fetched_again(filler: Filler) -> None:
    filler.run()
    assert filler.requests() == ["config.json", *WEIGHTS]
    assert filler.run() == (0, f"acme/tiny at {COMMIT} is there")
    assert filler.requests() == []


def test_a_run_that_was_killed_goes_on_after_the_last_whole_file(filler: Filler) -> None:
    filler.faults(rate=4_000_000)
    process = filler.start()
    until = monotonic() + SECONDS
    while "config.json" not in filler.files():
        assert monotonic() < until
        sleep(0.05)
    process.kill()
    process.communicate()
    assert not filler.filled
    filler.faults()
    whole, _ = filler.files(), filler.requests()
    assert filler.run()[0] == 0
    assert filler.requests() == sorted({"config.json", *WEIGHTS} - set(whole))
    assert filler.files() == ["config.json", *WEIGHTS]


def test_wrong_bytes_are_never_where_engines_look(filler: Filler) -> None:
    filler.faults(flipped=WEIGHTS[2])
    code, said = filler.run()
    assert (code, said.partition(" came with hash ")[0]) == (1, WEIGHTS[2])
    assert said.endswith("It is fetched again")
    assert WEIGHTS[2] not in filler.files()
    assert not filler.filled
    filler.faults()
    assert filler.run()[0] == 0


@pytest.mark.parametrize(
    ("faults", "said"),
    [
        ({"status": 401}, "the hub answered 401. Write token in the cache"),
        ({"status": 403}, "the hub answered 403. Accept the terms of the repository"),
        ({"gone": WEIGHTS[0]}, "the hub answered 404. Compare repository and revision with the hub"),
    ],
)
def test_why_the_hub_gives_nothing_is_told_with_the_next_step(
    filler: Filler, faults: dict[str, Any], said: str
) -> None:
    filler.faults(**faults)
    code, last = filler.run()
    assert code == 1
    assert said in last
    assert not filler.filled


def test_a_repository_that_asks_for_a_token_gets_it(filler: Filler) -> None:
    filler.faults(token="hf_right")
    assert filler.run(HF_TOKEN="hf_wrong")[0] == 1
    assert filler.run(HF_TOKEN="hf_right")[0] == 0


def test_half_a_file_is_gone_on_with(filler: Filler) -> None:
    filler.faults(cut=WEIGHTS[0])
    filler.run()
    filler.faults()
    assert filler.run()[0] == 0
    assert (filler.volume / "model" / WEIGHTS[0]).read_bytes() == (filler.commit / WEIGHTS[0]).read_bytes()


def test_more_than_the_size_of_the_cache_is_not_begun(filler: Filler) -> None:
    assert filler.run(WEIGHTS_SIZE="1000") == (
        1,
        "the 4 files of acme/tiny take 34.3 MiB, and the size of the cache is 0.0 MiB. Raise size to 1Gi or "
        "more, or fetch fewer files",
    )
    assert filler.requests() == []


def test_files_that_are_in_no_repository_are_told(filler: Filler) -> None:
    assert filler.run(WEIGHTS_FILES='["*.gguf"]') == (
        1,
        f"no file of acme/tiny at {COMMIT} is like *.gguf. Change files of the cache",
    )


def test_a_pattern_without_a_slash_is_for_files_in_no_folder() -> None:
    files = [filling.File(path, 1, None, "") for path in ("a.json", "sub/b.json", "sub/c.bin")]
    assert [file.path for file in filling.selected(files, ["*.json"])] == ["a.json"]
    assert [file.path for file in filling.selected(files, ["sub/*"])] == ["sub/b.json", "sub/c.bin"]


def test_how_far_it_is_is_told_in_words() -> None:
    assert filling.progress(62, 100, 50, 1500) == "62 %, about 19 minutes"
    assert filling.progress(62, 100, 50, 60) == "62 %, about 1 minute"
    assert filling.progress(0, 100, 0, 5) == "0 %"
    assert filling.progress(100, 100, 0, 5) == "99 %"
