"""Has a real program listen at the address of its pod, which no flag says (see network/listening.py)."""

import asyncio
import os
import socket

from sandbox.network import listening


class Listening:
    """Answers the kernel for one program. Programs that know their address ask for none."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._supervisor: socket.socket | None = None

    def supervise(self) -> int:
        """Return a descriptor that the program inherits, and that whoever starts it closes."""
        self._supervisor, theirs = socket.socketpair()
        self._supervisor.setblocking(False)
        return theirs.detach()

    async def begin(self) -> None:
        """Answer from now on until the program has ended, where the kernel asks at all."""
        assert self._supervisor is not None  # the program is supervised
        loop, told = asyncio.get_running_loop(), asyncio.Event()
        with self._supervisor:
            loop.add_reader(self._supervisor, told.set)
            await told.wait()
            loop.remove_reader(self._supervisor)
            question = listening.asked_by(self._supervisor)
        if question is not None:
            loop.add_reader(question, self._answer, question)

    def _answer(self, question: int) -> None:
        if not listening.answer(question, self._address):
            asyncio.get_running_loop().remove_reader(question)
            os.close(question)
