"""Holds vLLM in memory and forks an engine for each pod that asks: `python fork_server.py SOCKET MODELS`.

To import vLLM takes half a minute of a processor, and a server of its own does it in each of its processes.
Here each engine, and what it forks itself, shares what this process has read. Whoever connects to the Unix
socket and sends a line of JSON gets an engine, which ends when the connection does:

    {"words": behind `vllm serve`, "module": whether they are behind its module that serves, "env": {},
     "address": the pod's, "network": a process in its network, "log": a file, "folder": where it works}

The bytes `T` and `K` that follow are SIGTERM to the engine and SIGKILL to all of its processes, as a
container runtime sends them. The answer is one line, the engine's exit code.
"""

import ctypes
import gc
import json
import os
import selectors
import signal
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace
from typing import Any

# Before vLLM is imported, which reads them.
FIXED = {
    "VLLM_TARGET_DEVICE": "cpu",
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
    "HF_HUB_OFFLINE": "1",
    "OMP_NUM_THREADS": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    # One process for engine and worker, as on one GPU: with "1" vLLM for CPUs makes two of them.
    "VLLM_ENABLE_V1_MULTIPROCESSING": "01",
}
# prctl(2) and setns(2)
_PARENT_DEATH_SIGNAL, _NEW_USER, _NEW_NETWORK = 1, 0x10000000, 0x40000000
_LONGEST_LINE = 2**22
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass
class Engine:
    """One engine: its process, that which tells of its end, and the connection of its pod."""

    process: int
    descriptor: int
    connection: socket.socket


class ForkServer:
    """Forks engines, and tells of their ends. It has one thread."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._selector = selectors.DefaultSelector()
        self._selector.register(listener, selectors.EVENT_READ, self._accept)
        self._begun: dict[socket.socket, bytes] = {}
        self._engines: dict[socket.socket, Engine] = {}

    def run(self) -> dict[str, Any]:
        """Serve until killed. It returns in the processes of engines alone, what a pod asked for."""
        while True:
            for key, _ in self._selector.select():
                order: dict[str, Any] | None = key.data(key.fileobj)
                if order is not None:
                    return order

    def _accept(self, listener: socket.socket) -> None:
        connection, _ = listener.accept()
        self._begun[connection] = b""
        self._selector.register(connection, selectors.EVENT_READ, self._read)

    def _read(self, connection: socket.socket) -> dict[str, Any] | None:
        try:
            received = connection.recv(_LONGEST_LINE)
        except OSError:
            received = b""
        engine = self._engines.get(connection)
        if engine is not None:
            if not received or b"K" in received:
                _signal(-engine.process, signal.SIGKILL)
            elif b"T" in received:
                _signal(engine.process, signal.SIGTERM)
            if not received:
                self._selector.unregister(connection)
            return None
        self._begun[connection] += received
        if not received:
            self._forget(connection)
        elif self._begun[connection].endswith(b"\n"):
            return self._fork(connection, json.loads(self._begun.pop(connection)))
        return None

    def _fork(self, connection: socket.socket, order: dict[str, Any]) -> dict[str, Any] | None:
        process = os.fork()
        if process == 0:
            for held in (self._listener, *self._begun, *self._engines, connection):
                held.close()
            for engine in self._engines.values():
                os.close(engine.descriptor)
            self._selector.close()
            return order
        engine = Engine(process, os.pidfd_open(process), connection)
        self._engines[connection] = engine
        self._selector.register(engine.descriptor, selectors.EVENT_READ, lambda _: self._ended(engine))
        return None

    def _ended(self, engine: Engine) -> None:
        # All of a container ends with its first process.
        _signal(-engine.process, signal.SIGKILL)
        _, status = os.waitpid(engine.process, 0)
        code = os.waitstatus_to_exitcode(status)
        self._selector.unregister(engine.descriptor)
        os.close(engine.descriptor)
        del self._engines[engine.connection]
        with suppress(OSError):
            # Kubelets report a signal as shells do: 128 and its number.
            engine.connection.sendall(f"{code if code >= 0 else 128 - code}\n".encode())
        self._forget(engine.connection)

    def _forget(self, connection: socket.socket) -> None:
        with suppress(KeyError):
            self._selector.unregister(connection)
        self._begun.pop(connection, None)
        connection.close()


def main(path: str, models: str) -> None:
    """Read vLLM, and serve at the Unix socket. What follows is done in the processes of engines alone."""
    os.environ.update(FIXED)
    folder, name = os.path.split(path)
    os.chdir(folder)  # the address of a Unix socket has at most 107 characters
    began = time.monotonic()
    serve = _read(Path(models))
    # What an engine forks ends with it, however it ends.
    os.register_at_fork(after_in_child=lambda: _libc.prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL))
    # A collection would write to every page that engines share.
    gc.collect()
    gc.freeze()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(f"{name}.new")
    listener.listen(128)
    # Whoever finds it is answered.
    os.rename(f"{name}.new", name)
    print(f"ready after {time.monotonic() - began:.0f} s", flush=True)
    order = ForkServer(listener).run()
    _become(order)
    serve(order)


def _read(models: Path) -> Callable[[dict[str, Any]], None]:
    """Import what engines come to need, and return what serves as vLLM's own command does."""
    import vllm.lora.worker_manager
    import vllm.model_executor.model_loader.default_loader
    import vllm.utils.system_utils
    import vllm.v1.engine.async_llm
    import vllm.v1.engine.core
    import vllm.v1.executor.uniproc_executor
    import vllm.v1.worker.cpu_worker
    from command_line import CommandLine
    from tiny_model import made
    from vllm.entrypoints.cli.serve import ServeSubcommand
    from vllm.logger import configure_logging_from_args
    from vllm.model_executor.models import ModelRegistry
    from vllm.model_executor.models.llama import LlamaForCausalLM

    # Else each engine asks a process of its own, which imports all of vLLM, what the class can do.
    ModelRegistry.register_model("LlamaForCausalLM", LlamaForCausalLM)
    # vLLM for processors insists on processes that import all of it again.
    vllm.utils.system_utils.multiprocessing = SimpleNamespace(get_context=lambda _: get_context("fork"))
    tiny, command_line = made(models), CommandLine()

    def serve(order: dict[str, Any]) -> None:
        module = bool(order["module"])
        args = command_line.parsed(order["words"], module=module)
        for line in command_line.replace(args, module=module, tiny=tiny, address=order["address"]):
            print(f"sandbox: {line}", flush=True)
        configure_logging_from_args(args)
        ServeSubcommand.cmd(args)

    return serve


def _become(order: dict[str, Any]) -> None:
    """Leave this process as a container begins: in the pod's network, with its variables, log and folder."""
    os.setsid()
    _enter(order["network"])
    log = os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for descriptor in (1, 2):
        os.dup2(log, descriptor)
    os.close(log)
    folder = Path(order["folder"])
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    os.chdir(folder)
    own = {name: os.environ[name] for name in ("PATH", "VLLM_PROCESS_NAME_PREFIX") if name in os.environ}
    os.environ.clear()
    here = {"HOME": str(folder), "VLLM_CACHE_ROOT": str(folder / "cache"), "VLLM_HOST_IP": order["address"]}
    os.environ.update(order["env"] | own | here | FIXED)
    # Python reads it when it begins, and this one has begun long ago.
    sys.path[:0] = os.environ.get("PYTHONPATH", "").split(os.pathsep) if "PYTHONPATH" in os.environ else []


def _enter(process: int) -> None:
    """Join the network of a process, as `sandbox/network/enter.py` does."""
    for kind, flag in (("user", _NEW_USER), ("net", _NEW_NETWORK)):
        there, own = f"/proc/{process}/ns/{kind}", f"/proc/self/ns/{kind}"
        if os.stat(there).st_ino == os.stat(own).st_ino:
            continue
        descriptor = os.open(there, os.O_RDONLY)
        if _libc.setns(descriptor, flag) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), there)
        os.close(descriptor)


def _signal(process: int, number: signal.Signals) -> None:
    """Send a signal to a process, or to its group if the number is negative."""
    with suppress(ProcessLookupError):
        os.kill(process, number)


if __name__ == "__main__":
    main(*sys.argv[1:])
