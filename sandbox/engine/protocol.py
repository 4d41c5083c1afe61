"""What the agent asks and is told, one JSON object per line.

The agent sends
    {"op": "start", "id": uid, "name": "ns/pod", "address": ip, "port": n, "engine": label, "args": [...],
     "env": {...}, "gpus": n, "model": name or null, "annotations": {...}}
    {"op": "stop", "id": uid, "grace": seconds for running requests, 0 if absent}
`args` is the whole command line: the container's `command` and `args`. It is told
    {"event": "started", "id": uid}                    it listens; whether it serves, its probes say
    {"event": "failed", "id": uid, "message": text}    it ended by itself; the id may be started again
    {"event": "stopped", "id": uid}                    as asked; also for an id that does not run
    {"event": "log", "id": uid, "line": text}
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Event = Literal["started", "failed", "stopped", "log"]


class BadCommand(ValueError):  # noqa: N818 (says what is wrong with a line)
    """A line that is no order. It is a mistake of the agent, not of a person."""


@dataclass(frozen=True)
class Start:
    """A pod to play. `gpus` are those its engine container asks for; 0 means that nobody counted them."""

    id: str
    name: str
    address: str
    port: int
    engine: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    gpus: int = 0
    model: str | None = None
    annotations: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Stop:
    id: str
    grace: float = 0


def order(line: str) -> Start | Stop:
    """The order of a line. Raises BadCommand."""
    try:
        said: Any = json.loads(line)
        if said["op"] == "stop":
            return Stop(str(said["id"]), float(said.get("grace") or 0))
        if said["op"] != "start":
            raise BadCommand(f"op {said['op']!r} is none of start, stop")
        return Start(
            id=str(said["id"]),
            name=str(said["name"]),
            address=str(said["address"]),
            port=int(said["port"]),
            engine=str(said["engine"]),
            args=tuple(str(word) for word in said.get("args") or ()),
            env={str(key): str(value) for key, value in (said.get("env") or {}).items()},
            gpus=int(said.get("gpus") or 0),
            model=said.get("model") or None,
            annotations={str(key): str(value) for key, value in (said.get("annotations") or {}).items()},
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadCommand(f"{line[:200]!r} is not an order: {error!r}") from error


def event(kind: Event, pod: str, **more: str) -> bytes:
    """The line that tells the agent."""
    return json.dumps({"event": kind, "id": pod, **more}).encode() + b"\n"
