"""Runs vLLM itself in pods of a stack that asks for it, forked from the process that holds it (see vllm/)."""

import asyncio
import json
import os
from pathlib import Path

from sandbox.agent.engines import Engine
from sandbox.agent.logs import ContainerLog
from sandbox.agent.program import CannotStart, Exit
from sandbox.agent.programs.host import ProgramHost
from sandbox.agent.programs.volumes import mounts, redirected
from sandbox.cluster.objects import Object
from sandbox.cluster.watching import UNREACHABLE
from sandbox.engine.command import arguments
from sandbox.engine.command.flags import VLLM as FLAGS
from sandbox.engine.command.tables import table_of
from sandbox.engine.failure import REFUSED, EngineFailure
from sandbox.engine.group import sizes_of
from sandbox.engine.protocol import Start
from sandbox.engine.settings import settings
from sandbox.engine.steering import PREFIX, Steering
from sandbox.vllm import forks, packages

LABEL = "vllm"
_TERMINATE, _KILL = b"T", b"K"
# The exit code of a process that SIGKILL ends.
_KILLED = 137


def cannot_run(start: Start) -> str:
    """Return why vLLM on processors cannot run what a pod asks for, or ""."""
    try:
        wanted = settings(start, Steering())
    except EngineFailure as refused:
        # vLLM says itself what it refuses. What it would find wrong about GPUs it cannot find here.
        return "" if refused.code == REFUSED else "only the stand-in sees what is wrong with the pod's GPUs"
    table, judged = table_of(FLAGS, start.image)
    given = arguments.read(arguments.command_line(start.args, start.env), FLAGS, table, judged=judged)
    if wanted.group is not None or sizes_of(given, FLAGS.sizes).data > 1:
        return "without GPUs an engine of several copies or pods does not come up"
    if wanted.transfer is not None:
        return f"{wanted.transfer.layout.connector} hands over what is in the memory of GPUs"
    return "it serves gRPC" if given.has("--grpc") else ""


class Vllm:
    """The program of one `engine` container of vLLM: vLLM, or its stand-in for what processors cannot run.

    `folder` is that of its pod.
    """

    def __init__(
        self,
        stand_in: Engine,
        host: ProgramHost,
        pod: Object,
        container: Object,
        folder: Path,
        log: ContainerLog,
    ) -> None:
        self._stand_in = stand_in
        self._host = host
        self._pod = pod
        self._container = container
        self._folder = folder
        self._log = log
        self._runs_stand_in = False
        self._deaf = False
        self._cut = False
        self._writer: asyncio.StreamWriter | None = None
        self._ended: asyncio.Task[Exit] | None = None

    async def start(self) -> None:
        try:
            start = await self._stand_in.command()
            folders = await mounts(self._host.api, self._pod, self._container, self._folder / "volumes")
        except UNREACHABLE as error:
            raise CannotStart("CreateContainerError", f"the API server does not answer: {error}") from error
        why = cannot_run(start)
        self._runs_stand_in = bool(why)
        if why:
            await self._stand_in.start()
            self._log.write(f"sandbox: a stand-in serves and not vLLM: {why}")
            return
        launcher, words = arguments.engine_words(arguments.command_line(start.args, start.env), FLAGS)
        signalled = arguments.signalled(start.args, start.env, FLAGS.launchers)
        self._deaf, self._cut = signalled == "unheard", signalled == "cut"
        self._log.begin()
        for line in _notes(start):
            self._log.write(f"sandbox: {line}")
        order = {
            "words": [redirected(word, folders) for word in words],
            "module": launcher not in FLAGS.commands,
            "env": {name: redirected(value, folders) for name, value in start.env.items()},
            "address": start.address,
            "network": os.getpid(),
            "log": str(self._log.path),
            "folder": str(self._folder / "engine"),
        }
        try:
            reader, self._writer = await forks.connected(self._host.places)
            self._writer.write(json.dumps(order).encode() + b"\n")
            await self._writer.drain()
        except OSError as error:
            raise CannotStart(
                "CreateContainerError",
                f"the process that holds vLLM does not answer ({error}). `inferfleet sandbox up` starts it.",
            ) from error
        self._ended = asyncio.create_task(self._end(reader, self._writer))

    async def ended(self) -> Exit:
        if self._runs_stand_in:
            return await self._stand_in.ended()
        assert self._ended is not None  # it was started
        return await asyncio.shield(self._ended)

    async def stop(self, grace: float) -> None:
        if self._runs_stand_in:
            await self._stand_in.stop(grace)
        if self._ended is None or self._ended.done() or self._writer is None:
            return
        if not self._deaf and grace > 0:
            self._writer.write(_KILL if self._cut else _TERMINATE)
        await asyncio.wait([self._ended], timeout=grace)
        self._writer.write(_KILL)
        await asyncio.wait([self._ended])

    async def _end(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Exit:
        """Return how the engine ended, once it has."""
        try:
            code = await reader.readline()
        except OSError:
            code = b""
        writer.close()
        if not code:
            return Exit(_KILLED, "the process that holds vLLM ended")
        return Exit(int(code), self._log.last_words())


def _notes(start: Start) -> list[str]:
    """Return lines for the log about what is not as the pod's manifest says."""
    steered = sorted(name for name in start.annotations if name.startswith(PREFIX))
    notes = [f"vLLM {packages.VERSION} on processors runs in place of the image {start.image}"]
    return notes + ([f"vLLM itself knows no {', '.join(steered)}"] if steered else [])
