"""The protocol between the agent and its engine process: one JSON object per line.

The agent sends the commands
    {"op": "start", "id": uid, "name": "ns/pod", "address": ip, "port": n, "engine": label, "args": [...],
     "env": {...}, "gpus": n, "model": name or null, "annotations": {...}, "image": reference}
    {"op": "stop", "id": uid, "grace": seconds from SIGTERM to SIGKILL, 0 if absent}
    {"op": "resolved", "id": uid, "name": host, "address": ip, or null for an unknown name}
`args` is the whole command line: the container's `command` and `args`. The agent receives the events
    {"event": "started", "id": uid}                    the engine listens; its probes say whether it serves
    {"event": "failed", "id": uid, "message": text, "code": n}    the engine ended by itself, and may start
                                                                  again; `code` is that of its process
    {"event": "stopped", "id": uid, "code": n}         the engine was stopped; also for unknown ids
    {"event": "log", "id": uid, "line": text}
    {"event": "resolve", "id": uid, "name": host}      the engine asks the cluster's DNS for an address
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

EventKind = Literal["started", "failed", "stopped", "log", "resolve"]


class BadCommand(ValueError):  # noqa: N818 (it says what is wrong with a line)
    """A line that is no command, which is a mistake in the agent."""


@dataclass(frozen=True)
class Start:
    """The command to start a pod's engine. `gpus` are those its container requests, 0 if they are unknown."""

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
    image: str = ""


@dataclass(frozen=True)
class Stop:
    """The command to stop a pod's engine: SIGTERM, and SIGKILL after `grace` seconds."""

    id: str
    grace: float = 0


@dataclass(frozen=True)
class Resolved:
    """The answer to an engine that asked for the address of a name; None for one that nobody has."""

    id: str
    name: str
    address: str | None


def command(line: str) -> Start | Stop | Resolved:
    """Return the command of a line. Raises BadCommand."""
    try:
        fields: Any = json.loads(line)
        if fields["op"] == "stop":
            return Stop(str(fields["id"]), float(fields.get("grace") or 0))
        if fields["op"] == "resolved":
            return Resolved(str(fields["id"]), str(fields["name"]), fields["address"] or None)
        if fields["op"] != "start":
            raise BadCommand(f"op {fields['op']!r} is none of start, stop, resolved")
        return Start(
            id=str(fields["id"]),
            name=str(fields["name"]),
            address=str(fields["address"]),
            port=int(fields["port"]),
            engine=str(fields["engine"]),
            args=tuple(str(argument) for argument in fields.get("args") or ()),
            env={str(key): str(value) for key, value in (fields.get("env") or {}).items()},
            gpus=int(fields.get("gpus") or 0),
            model=fields.get("model") or None,
            annotations={str(key): str(value) for key, value in (fields.get("annotations") or {}).items()},
            image=str(fields.get("image") or ""),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadCommand(f"{line[:200]!r} is not a command: {error!r}") from error


class Send(Protocol):
    """Sends an event of one pod. `text` is its message, line or name, and `code` that of an end."""

    def __call__(self, kind: EventKind, text: str, code: int | None = None) -> None: ...


def event_line(kind: EventKind, pod: str, **more: str | int) -> bytes:
    """Return the line of an event for the agent."""
    return json.dumps({"event": kind, "id": pod, **more}).encode() + b"\n"
