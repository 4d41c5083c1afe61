"""Where the pods of one engine meet: the pod of rank 0 listens at the group's address, the others join it.

All stay connected, and each ends when another has gone. Where the real engines wait for minutes or hang,
because a pod was given another size or rank than the others, the stand-ins end at once and say so.
"""

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable
from dataclasses import asdict

from sandbox.engine.failure import EngineFailure
from sandbox.engine.group import LOCAL, Group

# Seconds for which a pod tries to join, and that of rank 0 waits for nodes. Engines give it 5 to 30 minutes.
JOIN_SECONDS = 60.0
# Seconds between attempts, and between lines in the log of the pod that waits.
_RETRY_SECONDS, _REPORT_SECONDS = 0.5, 10.0
_OWN_POD = (LOCAL, "localhost", "::1")

# Returns the address of a name, or None for an unknown one.
Resolve = Callable[[str], Awaitable[str | None]]


class Rendezvous:
    """The side of one pod, called `name`. `own` is its address, and `say` gets lines for its log."""

    def __init__(
        self,
        group: Group,
        resolve: Resolve,
        say: Callable[[str], None],
        *,
        name: str,
        own: str,
        seconds: float = JOIN_SECONDS,
    ) -> None:
        self._group = group
        self._name = name
        self._own = own
        self._resolve = resolve
        self._say = say
        self._seconds = seconds
        self._server: asyncio.Server | None = None
        self._members: dict[asyncio.StreamWriter, Group] = {}
        self._handlers: set[asyncio.Task[None]] = set()
        loop = asyncio.get_running_loop()
        self._complete: asyncio.Future[None] = loop.create_future()
        self._broken: asyncio.Future[None] = loop.create_future()

    async def join(self) -> None:
        """Return when all pods of the group have joined. Raises EngineFailure when this cannot be."""
        if await self._hosts():
            await self._host()
        else:
            await self._visit()

    async def broken(self) -> None:
        """Wait until another pod of the group has gone, and raise EngineFailure then."""
        await asyncio.shield(self._broken)

    async def close(self) -> None:
        """Leave the group."""
        for task in self._handlers:
            task.cancel()
        await asyncio.gather(*self._handlers, return_exceptions=True)
        if self._server is not None:
            self._server.close()
        for writer in self._members:
            writer.close()
        if not self._broken.cancel() and not self._broken.cancelled():
            self._broken.exception()  # somebody has to have asked, or asyncio reports it

    async def _hosts(self) -> bool:
        """Return whether this pod is the one that listens, once its group's address is known."""
        group = self._group
        if group.first or (group.headless and group.ranks == "copies"):
            return False
        # torch's store listens on all addresses, whatever its own pod calls it.
        if group.address in _OWN_POD:
            return True
        address = await self._address()
        if address != self._own and group.ranks == "copies":
            raise EngineFailure(
                "zmq.error.ZMQError: Cannot assign requested address "
                f"(addr='tcp://{group.address}:{group.port}')"
            )
        return address == self._own

    async def _address(self) -> str:
        """Return the address behind the group's name, which may only be known after a while."""
        group = self._group
        try:
            async with asyncio.timeout(self._seconds):
                while (address := await self._resolve(group.address)) is None:
                    await asyncio.sleep(_RETRY_SECONDS)
        except TimeoutError as error:
            raise EngineFailure(_unknown(group)) from error
        return address

    async def _host(self) -> None:
        group = self._group
        # vLLM's front end listens at the address that it was given, and nothing reaches a loopback one.
        if group.ranks == "nodes" or group.address not in _OWN_POD:
            try:
                # Kept before it listens: who is cancelled meanwhile has to close it.
                self._server = await asyncio.start_server(
                    self._accept, self._own, group.port, start_serving=False
                )
                await self._server.start_serving()
            except OSError as error:
                raise EngineFailure(f"cannot listen on {self._own}:{group.port}: {error.strerror}") from error
        limit = self._seconds if group.ranks == "nodes" else None
        reporting = asyncio.create_task(self._report())
        try:
            async with asyncio.timeout(limit):
                await asyncio.wait([self._complete, self._broken], return_when=asyncio.FIRST_COMPLETED)
        except TimeoutError as error:
            joined = 1 + len(self._members)
            raise EngineFailure(
                f"torch.distributed.DistStoreError: Timed out after {self._seconds:g} seconds waiting for "
                f"clients. {joined}/{group.size} clients joined."
            ) from error
        finally:
            reporting.cancel()
        if self._broken.done():
            self._broken.result()

    async def _report(self) -> None:
        group = self._group
        while True:
            missing = group.size - len(self._taken())
            if group.ranks == "nodes":
                self._say(f"INFO Waiting for {missing} of {group.size} nodes to join at port {group.port}")
            else:
                self._say(f"INFO Waiting for 0 local, {missing} remote core engine proc(s) to connect.")
            await asyncio.sleep(_REPORT_SECONDS)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None  # asyncio runs this in a task
        self._handlers.add(task)
        peer = writer.get_extra_info("peername")
        try:
            await self._welcome(reader, writer, f"{peer[0]}:{peer[1]}")
        except (OSError, asyncio.CancelledError):
            pass  # it has gone, or this pod goes
        finally:
            self._handlers.discard(task)
            writer.close()

    async def _welcome(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, peer: str) -> None:
        try:
            hello = json.loads(await reader.readline())
            member, name = Group(**hello["group"]), str(hello["name"])
        except (ValueError, KeyError, TypeError):
            self._say(f"WARNING {peer} connected to the port of the group and is no engine: dropped")
            return
        if why := self.refusal(member, name):
            writer.write(json.dumps({"refused": why}).encode() + b"\n")
            await writer.drain()
            self._break(why)
            return
        self._members[writer] = member
        if len(self._taken()) == self._group.size and not self._complete.done():
            self._complete.set_result(None)
            for joined in self._members:
                joined.write(b'{"joined": true}\n')
        await reader.read()
        self._break(_lost(self._group, peer))

    def refusal(self, member: Group, name: str) -> str:
        """Return why a pod cannot be a member, or ""."""
        group = self._group
        if member.alike != group.alike:
            return (
                f"RuntimeError: Configuration mismatch detected for rank {member.first} ({name}): "
                f"it has {member.alike}; rank 0 has {group.alike}."
            )
        if twice := sorted(_ranks(member) & self._taken()):
            return f"RuntimeError: rank {twice[0]} joined twice; the second is {name}."
        if member.headless == group.balanced and group.ranks == "copies":
            must = "must not use --headless in" if group.balanced else "must use --headless unless in"
            return f"RuntimeError: Remote engine {member.first} {must} external or hybrid dp lb mode"
        return ""

    def _taken(self) -> set[int]:
        return _ranks(self._group).union(*(_ranks(member) for member in self._members.values()))

    async def _visit(self) -> None:
        reader, writer = await self._connect()
        self._members[writer] = self._group
        hello = {"name": self._name, "group": asdict(self._group)}
        try:
            writer.write(json.dumps(hello).encode() + b"\n")
            answer = json.loads(await reader.readline())
        except (OSError, ValueError) as error:
            raise EngineFailure(self._gone()) from error
        if "refused" in answer:
            raise EngineFailure(str(answer["refused"]))
        task = asyncio.create_task(self._watch(reader))
        self._handlers.add(task)

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        group = self._group
        try:
            async with asyncio.timeout(self._seconds):
                while True:
                    address = self._own if group.address in _OWN_POD else await self._resolve(group.address)
                    if address is not None:
                        with contextlib.suppress(OSError):
                            return await asyncio.open_connection(
                                address, group.port, local_addr=(self._own, 0)
                            )
                    await asyncio.sleep(_RETRY_SECONDS)
        except TimeoutError as error:
            raise EngineFailure(await self._unreachable()) from error

    async def _unreachable(self) -> str:
        group = self._group
        if group.address not in _OWN_POD and await self._resolve(group.address) is None:
            return _unknown(group)
        if group.ranks == "copies":
            return (
                f"RuntimeError: Did not receive response from front-end process at {group.address}:"
                f"{group.port} within {self._seconds:g} s"
            )
        return (
            f"torch.distributed.DistNetworkError: The client socket has timed out after "
            f"{self._seconds * 1000:g}ms while trying to connect to ({group.address}, {group.port})."
        )

    async def _watch(self, reader: asyncio.StreamReader) -> None:
        with contextlib.suppress(OSError):
            await reader.read()
        self._break(self._gone())

    def _gone(self) -> str:
        return _lost(self._group, f"{self._group.address}:{self._group.port}")

    def _break(self, why: str) -> None:
        if not self._broken.done():
            self._broken.set_exception(EngineFailure(why))


def _ranks(group: Group) -> set[int]:
    return set(range(group.first, group.first + group.count))


def _unknown(group: Group) -> str:
    return (
        f"torch.distributed.DistNetworkError: The network addresses of ({group.address}, {group.port}) "
        "cannot be retrieved (gai error: -2 - Name or service not known)."
    )


def _lost(group: Group, peer: str) -> str:
    if group.ranks == "nodes":
        return f"RuntimeError: [gloo/transport/tcp/pair.cc] Connection closed by peer [{peer}]"
    return f"EngineDeadError: EngineCore encountered an issue: connection closed by peer [{peer}]"
