"""The program beside an engine that fetches its adapters, and has vLLM load, replace and unload them.

It runs as it stands here in the image of the engine, and nothing of inferfleet imports it. What a pod is to
serve stands in a file, which changes while it runs; what it serves, its engine says. Every few seconds the
two are compared, so that an engine that was restarted, or a load that failed, needs nobody.

Another revision of an adapter takes the place of the old one under its name, from another path: requests in
hand go on, and no block of the prefix cache of the old weights is taken for one of the new. A load that
fails is told and tried again later, and keeps no other from being loaded. The last line of its log says what
became of each.

Where an engine cannot load while it serves, the program fetches what there is and ends (`ADAPTERS_ONCE`).
"""

import json
import os
import shutil
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import StringIO
from pathlib import Path
from threading import Thread
from types import ModuleType
from typing import Any

SECONDS_BETWEEN_LOOKS = 3.0
# After a load that failed, for as long as the file says the same.
SECONDS_BETWEEN_TRIES = 60.0
# Adapters are small; one that takes longer is read from a slow volume.
_LOAD_SECONDS, _ASK_SECONDS = 600.0, 10.0
_NO_LIMIT = str(1 << 60)
_FILES = json.dumps(["*.safetensors", "*.json"])


class CannotServe(Exception):  # noqa: N818 (it says what)
    """Why an adapter is not served, in the words of who said so."""


@dataclass(frozen=True)
class Wanted:
    """An adapter of the file: the name that the engine is told, its own, and where its files are or come
    from.
    """

    name: str
    label: str
    path: str = ""
    repository: str = ""
    revision: str = ""


@dataclass
class State:
    """Whether each adapter was tried since the engine began, and what became of them."""

    ready: bool = False
    said: str = "the engine has not begun"

    def say(self, line: str) -> None:
        """Print what became of them, if it is something else than before."""
        if line != self.said:
            self.said = line
            print(line, flush=True)


class Engine:
    """vLLM in this pod, by its HTTP API."""

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        self._url = url
        self._headers = {"Content-Type": "application/json", **headers}

    def loaded(self) -> dict[str, str]:
        """Return the paths of the adapters that it serves, by name. Raises OSError."""
        request = urllib.request.Request(f"{self._url}/v1/models", headers=self._headers)
        with urllib.request.urlopen(request, timeout=_ASK_SECONDS) as answer:
            models = json.load(answer)["data"]
        return {model["id"]: model["root"] for model in models if model.get("parent")}

    def load(self, name: str, path: str) -> None:
        """Have it serve the adapter at a path, in place of one of the same name. Raises CannotServe."""
        self._post("load_lora_adapter", {"lora_name": name, "lora_path": path, "load_inplace": True})

    def unload(self, name: str) -> None:
        """Have it no longer serve an adapter. Raises CannotServe."""
        self._post("unload_lora_adapter", {"lora_name": name})

    def _post(self, what: str, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        request = urllib.request.Request(f"{self._url}/v1/{what}", data, self._headers)
        try:
            urllib.request.urlopen(request, timeout=_LOAD_SECONDS).close()
        except urllib.error.HTTPError as refused:
            said = refused.read().decode(errors="replace")
            with suppress(ValueError, KeyError, TypeError):
                said = json.loads(said)["error"]["message"]
            raise CannotServe(f"the engine answered {refused.code}: {' '.join(said.split())[:300]}") from None
        except OSError as error:
            raise CannotServe(f"the engine does not answer: {error}") from None


class Loader:
    """Makes an engine serve what a file says."""

    def __init__(
        self,
        file: Path,
        folder: Path,
        engine: Engine,
        model: str,
        fetch: Callable[[Wanted, Path], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._file = file
        self._folder = folder
        self._engine = engine
        self._model = model
        self._fetch = fetch
        self._clock = clock
        self._failed: dict[Wanted, tuple[float, str]] = {}
        self.state = State()

    def look(self) -> None:
        """Compare once, and do what is missing."""
        wanted = read(self._file.read_text())
        try:
            loaded = self._engine.loaded()
        except (OSError, ValueError, KeyError) as error:
            # It has not begun, or begins again, with none of them.
            self.state.ready = False
            self._failed.clear()
            self.state.say(f"waits for the engine: {error}")
            return
        words = {one.label: self._served(one, loaded.get(one.name)) for one in wanted}
        for name in sorted(loaded.keys() - {one.name for one in wanted}):
            try:
                self._engine.unload(name)
            except CannotServe as cannot:
                words[name] = f"still served: {cannot}"
        self._failed = {one: failed for one, failed in self._failed.items() if one in wanted}
        self._forget(wanted)
        self.state.ready = True
        said = "; ".join(f"{name}: {what}" for name, what in sorted(words.items()))
        self.state.say(said or "no adapters")

    def _served(self, one: Wanted, loaded: str | None) -> str:
        """Have an adapter served, and return in words what became of it."""
        path = path_of(one, self._folder)
        serves = f"serves {one.revision[:7] or path}"
        if loaded == str(path):
            return serves + self._other_model(path)
        before = f"; serves {Path(loaded).parent.name[:7]} meanwhile" if loaded else ""
        since, why = self._failed.get(one, (0.0, ""))
        if why and self._clock() - since < SECONDS_BETWEEN_TRIES:
            return why + before
        try:
            self._fetch(one, self._folder)
            self._engine.load(one.name, str(path))
        except CannotServe as cannot:
            self._failed[one] = self._clock(), str(cannot)
            return f"{cannot}{before}"
        self._failed.pop(one, None)
        return serves + self._other_model(path)

    def _other_model(self, path: Path) -> str:
        """Return for which other model an adapter was made by its own file: vLLM loads some of these too."""
        try:
            base = json.loads((path / "adapter_config.json").read_text()).get("base_model_name_or_path")
        except (OSError, ValueError, AttributeError):
            return ""
        return f", made for {base}" if base and base != self._model else ""

    def _forget(self, wanted: list[Wanted]) -> None:
        """Remove the files of adapters that are no longer wanted. Engines have read what they serve."""
        kept = {path_of(one, self._folder).parent for one in wanted}
        if any(one in self._failed for one in wanted):
            return  # the old files of one of them may be read again
        for revision in self._folder.glob("[!.]*/*"):
            if revision not in kept:
                shutil.rmtree(revision, ignore_errors=True)


def read(text: str) -> list[Wanted]:
    """Return what a file says."""
    return [Wanted(**one) for one in json.loads(text)]


def path_of(one: Wanted, folder: Path) -> Path:
    """Return the folder that an engine reads an adapter from."""
    return Path(one.path) if one.path else folder / one.label / one.revision / "model"


def fetch(one: Wanted, folder: Path) -> None:
    """Fetch the files of an adapter, as caches are filled. Raises CannotServe."""
    if one.path:
        return
    volume, filling = folder / one.label / one.revision, _filling()
    variables = {
        "HF_ENDPOINT": "https://huggingface.co",
        **os.environ,
        "WEIGHTS_ROOT": str(folder),
        "WEIGHTS_REPOSITORY": one.repository,
        "WEIGHTS_REVISION": one.revision,
        "WEIGHTS_FILES": _FILES,
        "WEIGHTS_SIZE": _NO_LIMIT,
    }
    try:
        # What it says of its progress is no last line of this program.
        with redirect_stdout(StringIO()):
            filling.fill(volume, volume / ".part", variables)
    except (filling.CannotFill, OSError) as cannot:
        raise CannotServe(" ".join(str(cannot).split())[:300]) from None


@cache
def _filling() -> Any:
    """Return the program that fills caches, as a module: to import the client of the hub takes seconds."""
    module = ModuleType("filling")
    exec(os.environ["ADAPTERS_FILLING"], module.__dict__)
    return module


def guard(folder: Path, text: str) -> str:
    """Write what guards the engine, with a token that nobody knows, and return the token."""
    token = os.urandom(32).hex()
    (folder / "token").write_text(token)
    (folder / "inferfleet_guard.py").write_text(text)
    return token


def serve(address: str, port: int, state: State) -> None:
    """Answer probes: `/started`, and `/ready` once each adapter was tried."""

    class Probes(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if state.ready or self.path == "/started" else 503)
            self.end_headers()
            self.wfile.write(state.said.encode())

        def log_message(self, *_: object) -> None:
            return

    Thread(target=ThreadingHTTPServer((address, port), Probes).serve_forever, daemon=True).start()


def main() -> int:
    """Do what the variables say. Returns the exit code: 1 where the container is to be started again."""
    variables = os.environ
    folder = Path(variables["ADAPTERS_FOLDER"])
    # The home of the image's user may be read-only, and engines with their model in a cache are offline.
    variables |= {
        "HF_HOME": str(folder / ".hub"),
        "HF_HUB_OFFLINE": "0",
        "HF_HUB_DISABLE_TELEMETRY": "1",
    }
    if once := variables.get("ADAPTERS_ONCE"):
        for one in read(once):
            try:
                fetch(one, folder)
            except CannotServe as cannot:
                print(f"{one.label}: {cannot}", flush=True)
                return 1
        return 0
    token = guard(Path(variables["ADAPTERS_GUARD"]), variables["ADAPTERS_GUARD_TEXT"])
    address = variables["POD_IP"]
    host = f"[{address}]" if ":" in address else address
    headers = {"x-inferfleet-adapters": token}
    if key := variables.get("VLLM_API_KEY"):
        headers["Authorization"] = f"Bearer {key}"
    engine = Engine(f"http://{host}:{variables['ADAPTERS_ENGINE']}", headers)
    model = variables["ADAPTERS_MODEL"]
    loader = Loader(Path(variables["ADAPTERS_FILE"]), folder, engine, model, fetch)
    serve(address, int(variables["ADAPTERS_PORT"]), loader.state)
    while True:
        loader.look()
        time.sleep(SECONDS_BETWEEN_LOOKS)


if __name__ == "__main__":
    sys.exit(main())
