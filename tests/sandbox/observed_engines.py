"""Engines that are looked at from outside: stand-ins, and vLLM itself, where its packages are."""

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from engine_process import Process
from own_addresses import own_address

from sandbox.vllm import packages

PORT = 18000
_OWN_PYTHON = Path(packages.__file__).parent / "own_python"
# How long whatever is waited for may take on a busy machine.
_SECONDS = 300.0


@dataclass(frozen=True)
class Answer:
    """What a client got: a status, 0 where the answer is cut off or never comes."""

    status: int
    body: str = ""
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def events(self) -> list[Any]:
        """The events of a stream; the text where one is no JSON."""
        texts = [text.removeprefix("data: ") for text in self.body.strip().split("\n\n")]
        return [json.loads(text) if text.startswith("{") else text for text in texts]


class Running(Protocol):
    """An engine that was started."""

    address: str

    def terminate(self) -> None:
        """Send it SIGTERM."""

    def kill(self) -> None:
        """Send all of its processes SIGKILL."""

    def ended(self) -> int:
        """Its exit code, once it has ended."""

    def log(self) -> list[str]:
        """What it has said."""


class Engines(Protocol):
    """Starts engines of one kind."""

    def start(self, *words: str, env: dict[str, str] | None = None) -> Running:
        """Start one by the words of its container, and its variables."""


def ask(running: Running, path: str, body: Any = None, *, method: str = "", seconds: float = 120) -> Answer:
    """One request. A text is sent as it is, other bodies as JSON."""
    connection = http.client.HTTPConnection(running.address, PORT, timeout=seconds)
    sent = body if isinstance(body, str) or body is None else json.dumps(body)
    try:
        connection.request(
            method or ("GET" if body is None else "POST"), path, sent, {"content-type": "application/json"}
        )
        response = connection.getresponse()
        headers = {name.lower(): value for name, value in response.getheaders()}
        return Answer(response.status, response.read().decode(), headers)
    except (OSError, http.client.HTTPException):
        return Answer(0)
    finally:
        connection.close()


def until(what: str, holds: Callable[[], Any]) -> Any:
    """What `holds` returns, once it is true."""
    end = time.monotonic() + _SECONDS
    while not (value := holds()):
        assert time.monotonic() < end, f"{what}: not within {_SECONDS:.0f} s"
        time.sleep(0.02)
    return value


def ready(running: Running) -> Running:
    """The engine, once it serves."""
    until("ready", lambda: ask(running, "/health", seconds=5).status == 200)
    return running


class StandIns:
    """Stand-ins of one process."""

    def __init__(self) -> None:
        self.process = Process()
        self._count = 0

    def start(self, *words: str, env: dict[str, str] | None = None) -> "StandIn":
        self._count += 1
        return StandIn(self.process, self._count, words, env or {})


class StandIn:
    def __init__(self, process: Process, number: int, words: tuple[str, ...], env: dict[str, str]) -> None:
        self._process, self._number = process, number
        self.address = own_address(number)
        process.send("start", number, args=["vllm", "serve", *words], env=env)

    def terminate(self) -> None:
        self._process.send("stop", self._number, grace=3600)

    def kill(self) -> None:
        self._process.send("stop", self._number, grace=0)

    def ended(self) -> int:
        return int(self._process.hears_of(self._number, "failed", "stopped")["code"])

    def log(self) -> list[str]:
        return self._process.logs_of(self._number)


@contextlib.contextmanager
def stand_ins() -> Iterator[Engines]:
    made = StandIns()
    try:
        yield made
    finally:
        made.process.close()


class RealEngines:
    """vLLM's, forked from one process."""

    def __init__(self, python: str, folder: Path) -> None:
        self._folder = folder
        self._count = 0
        with open(folder / "fork-server.log", "wb") as log:
            self._server = subprocess.Popen(
                [python, str(_OWN_PYTHON / "fork_server.py"), str(folder / "sock"), str(folder / "tiny")],
                stdout=log,
                stderr=log,
            )
        until("vLLM is imported", lambda: (folder / "sock").exists() or self._server.poll() is not None)
        assert self._server.poll() is None, (folder / "fork-server.log").read_text()

    def start(self, *words: str, env: dict[str, str] | None = None) -> "RealEngine":
        self._count += 1
        return RealEngine(self._folder, self._count, words, env or {})

    def close(self) -> None:
        self._server.send_signal(signal.SIGKILL)
        self._server.wait()


class RealEngine:
    def __init__(self, folder: Path, number: int, words: tuple[str, ...], env: dict[str, str]) -> None:
        self.address = own_address(number)
        self._log = folder / f"{number}.log"
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(str(folder / "sock"))
        order = {"words": words, "module": False, "env": env, "address": self.address, "network": os.getpid()}
        order |= {"log": str(self._log), "folder": str(folder / str(number))}
        self._socket.sendall(json.dumps(order).encode() + b"\n")

    def terminate(self) -> None:
        self._socket.sendall(b"T")

    def kill(self) -> None:
        self._socket.sendall(b"K")

    def ended(self) -> int:
        self._socket.settimeout(_SECONDS)
        return int(self._socket.recv(100))

    def log(self) -> list[str]:
        return self._log.read_text(errors="replace").splitlines()


@contextlib.contextmanager
def real_engines(python: str, folder: Path) -> Iterator[Engines]:
    made = RealEngines(python, folder)
    try:
        yield made
    finally:
        made.close()


class Asking:
    """Requests that go on beside a test, by threads that end with their answers."""

    def __init__(self, running: Running, path: str, bodies: list[Any]) -> None:
        self.answers: list[Answer | None] = [None] * len(bodies)
        self._threads = [
            threading.Thread(target=self._ask, args=(number, running, path, body), daemon=True)
            for number, body in enumerate(bodies)
        ]
        for thread in self._threads:
            thread.start()

    def _ask(self, number: int, running: Running, path: str, body: Any) -> None:
        self.answers[number] = ask(running, path, body, seconds=_SECONDS)

    def all(self) -> list[Answer]:
        """All answers, once there are."""
        for thread in self._threads:
            thread.join()
        return [answer for answer in self.answers if answer is not None]
