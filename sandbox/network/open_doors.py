"""Sockets outside of a cluster's network that lead into it, and why some of them cannot be opened.

What cannot be opened stands in a file, by which the built-in gateway knows it: it runs inside, where every
port is free.
"""

import asyncio
import errno
import json
import os
import socket
from collections.abc import Mapping
from pathlib import Path

from sandbox.network import sockets
from sandbox.network.load_balancers import Place
from sandbox.network.relay import relay

_FILE = "doors.json"


def obstacle(error: OSError, port: int) -> str:
    """Return why a program of this user cannot listen at a port, with what to do."""
    word = os.strerror(error.errno) if error.errno else str(error)  # Python's own has the address too
    if error.errno == errno.EACCES:
        return (
            "your user may not listen on ports below 1024. "
            "Set serving.gateway.port of the cluster to 8080 "
            f"or run `sudo sysctl net.ipv4.ip_unprivileged_port_start={port}`."
        )
    if error.errno == errno.EADDRINUSE:
        return (
            f"{word}. Another program uses the port: end it (`ss -ltnp 'sport = :{port}'` names it), or set "
            "serving.gateway.port of the cluster."
        )
    return f"{word}."


def told(cluster_folder: Path) -> Mapping[Place, str]:
    """Return for each place outside that leads in why it cannot be opened, "" where it is open."""
    try:
        entries = json.loads((cluster_folder / _FILE).read_text())
    except OSError:
        return {}
    return {(host, port): why for host, port, why in entries}


class OpenDoors:
    """The sockets outside of one cluster's network."""

    def __init__(self, cluster_folder: Path) -> None:
        self._folder = cluster_folder
        self._open: dict[Place, _Door] = {}

    async def lead(self, wanted: Mapping[Place, tuple[Place, ...]]) -> Mapping[Place, str]:
        """Open and close doors until those wanted are open. Return why others cannot be, by their place."""
        for place in self._open.keys() - wanted.keys():
            self._open.pop(place).close()
        refused: dict[Place, str] = {}
        for place, inside in wanted.items():
            if place not in self._open:
                door = _Door(self._folder)
                try:
                    await door.open(place)
                except OSError as error:
                    refused[place] = obstacle(error, place[1])
                    continue
                self._open[place] = door
            self._open[place].lead_to(inside)
        self._tell({place: refused.get(place, "") for place in wanted})
        return refused

    def _tell(self, doors: Mapping[Place, str]) -> None:
        if told(self._folder) != doors:
            new = self._folder / f".{_FILE}.{os.getpid()}"
            new.write_text(json.dumps([[*place, why] for place, why in doors.items()]))
            new.replace(self._folder / _FILE)


class _Door:
    """A socket outside that leads to places inside, to each in turn."""

    def __init__(self, cluster_folder: Path) -> None:
        self._folder = cluster_folder
        self._inside: tuple[Place, ...] = ()
        self._turn = 0
        self._server: asyncio.Server | None = None

    async def open(self, place: Place) -> None:
        listening = socket.create_server(place, backlog=1024)
        self._server = await relay(listening, self._dial)

    def lead_to(self, inside: tuple[Place, ...]) -> None:
        self._inside = inside

    def close(self) -> None:
        if self._server is not None:
            self._server.close()

    async def _dial(self) -> socket.socket:
        if not self._inside:
            raise ConnectionRefusedError("nothing serves this address")
        self._turn += 1
        host, port = self._inside[self._turn % len(self._inside)]
        made = await asyncio.to_thread(sockets.connect, self._folder, host, port)
        made.setblocking(False)
        return made
