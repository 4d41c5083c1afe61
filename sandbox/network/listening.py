"""Has a program that listens at all addresses listen at one: the kernel asks somebody else at each bind(2).

Programs such as official endpoint pickers have flags for their ports and none for their address, and the pods
of a cluster share the addresses of one network here. A filter of seccomp_unotify(2), set before the program
begins, halts it in bind(2). Where it asks for all addresses, its socket is bound to the address of its pod,
through a duplicate of it; every other bind goes on as it was. This needs no rights and no network namespace.

As a program (`python -I -S listening.py DESCRIPTOR PROGRAM [ARGUMENT ...]`) it sets the filter, sends what
the kernel asks by to the socket of that number, and becomes the other program. It imports nothing but the
standard library, so that it starts in a hundredth of a second.
"""

import ctypes
import errno
import os
import platform
import select
import socket
import struct
import subprocess
import sys
from contextlib import suppress
from fcntl import ioctl
from pathlib import Path

# By architecture: what audit.h calls it, and the numbers of seccomp(2) and bind(2).
_CALLS = {"x86_64": (0xC000003E, 317, 49), "aarch64": (0xC00000B7, 277, 200)}
_PIDFD_OPEN, _PIDFD_GETFD = 434, 438
# prctl(2), seccomp(2), bpf(2)
_NO_NEW_PRIVILEGES, _SET_FILTER, _NEW_LISTENER, _WAIT_KILLABLE = 38, 1, 1 << 3, 1 << 5
_LOAD, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _ASK = 0x7FFF0000, 0x7FC00000
# seccomp_unotify(2): the structures of a question and an answer, and the requests of ioctl(2).
_QUESTION, _ANSWER = struct.Struct("=QIIiIQ6Q"), struct.Struct("=QqiI")
_RECEIVE, _SEND = 0xC0502100, 0xC0182101
_GO_ON = 1
# Bytes of an address of IPv6 (sockaddr_in6), of which one of IPv4 has the first eight.
_ADDRESS = 28
# The address that is tried.
_TRIED = "127.0.0.2"


def launch(descriptor: int, program: str | Path) -> tuple[Path, str, str, str, str, str]:
    """Return the beginning of a command line whose program is supervised at the socket of this number."""
    return Path(sys.executable).resolve(), "-I", "-S", __file__, str(descriptor), str(program)


def asked_by(supervisor: socket.socket) -> int | None:
    """Return the descriptor that the kernel asks by, which the launched program sends; None without one."""
    _, descriptors, _, _ = socket.recv_fds(supervisor, 1, 1)
    return descriptors[0] if descriptors else None


def answer(question: int, address: str) -> bool:
    """Answer the kernel when it asks: have the program bind to `address`.

    Return whether more may come: False once the program has ended.
    """
    asked = bytearray(_QUESTION.size)
    try:
        ioctl(question, _RECEIVE, asked)
    except OSError:  # the program was killed, perhaps before it was asked for
        poll = select.poll()
        poll.register(question)
        return not any(event & select.POLLHUP for _, event in poll.poll(0))
    number, thread, _, _, _, _, descriptor, pointer, length, *_ = _QUESTION.unpack(asked)
    error, flags = 0, _GO_ON
    try:
        with open(f"/proc/{thread}/mem", "rb", 0) as memory:
            memory.seek(pointer)
            where = instead(memory.read(min(length, _ADDRESS)), address)
        if where is not None:
            flags = 0
            _bind(thread, descriptor, where)
    except OSError as failed:
        error, flags = -(failed.errno or errno.EINVAL), 0
    with suppress(OSError):  # it was killed meanwhile
        ioctl(question, _SEND, _ANSWER.pack(number, 0, error, flags))
    return True


def possible() -> bool:
    """Return whether this machine lets a program be asked for, which is tried with one that binds."""
    ours, theirs = socket.socketpair()
    binds = "import socket; s = socket.socket(); s.bind(('', 0)); print(s.getsockname()[0])"
    with (
        ours,
        subprocess.Popen(
            [*launch(theirs.fileno(), sys.executable), "-I", "-S", "-c", binds],
            pass_fds=[theirs.fileno()],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as process,
    ):
        theirs.close()
        question = asked_by(ours)
        if question is not None:
            with open(question, "rb", 0):
                while answer(question, _TRIED):
                    select.select([question], [], [])
        return process.communicate()[0].strip() == _TRIED


def instead(sockaddr: bytes, address: str) -> tuple[str, int] | None:
    """Return host and port to bind to in place of all addresses, and None for what is anything else."""
    if len(sockaddr) < 8:
        return None
    family, port = struct.unpack_from("=H", sockaddr)[0], struct.unpack_from("!H", sockaddr, 2)[0]
    if family == socket.AF_INET and sockaddr[4:8] == bytes(4):
        return address, port
    if family == socket.AF_INET6 and sockaddr[8:24] == bytes(16):
        return f"::ffff:{address}", port
    return None


def _bind(thread: int, descriptor: int, where: tuple[str, int]) -> None:
    """Bind the socket that is the descriptor of a process, one of whose threads this is."""
    status = Path(f"/proc/{thread}/status").read_text()
    process = int(next(line.split()[1] for line in status.splitlines() if line.startswith("Tgid:")))
    handle = _call(_PIDFD_OPEN, process, 0)
    try:
        with socket.socket(fileno=_call(_PIDFD_GETFD, handle, descriptor, 0)) as its:
            try:
                its.bind(where)
            except OSError:
                # A signal may have halted the program before it had the answer: then it asks once more.
                if its.getsockname()[:2] != where:
                    raise
    finally:
        os.close(handle)


def _call(*arguments: int) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    result: int = libc.syscall(*map(ctypes.c_long, arguments))
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def filtered() -> int:
    """Have the kernel ask at each bind(2) of this process. Return the descriptor that it asks by.

    Raises OSError, also for another architecture.
    """
    if platform.machine() not in _CALLS:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    architecture, seccomp, bind = _CALLS[platform.machine()]
    instructions = b"".join(
        struct.pack("=HBBI", *instruction)
        for instruction in (
            (_LOAD, 0, 0, 4),
            (_JUMP_IF_EQUAL, 0, 2, architecture),
            (_LOAD, 0, 0, 0),
            (_JUMP_IF_EQUAL, 1, 0, bind),
            (_RETURN, 0, 0, _ALLOW),
            (_RETURN, 0, 0, _ASK),
        )
    )
    buffer = ctypes.create_string_buffer(instructions)
    program = ctypes.create_string_buffer(
        struct.pack("@HP", len(instructions) // 8, ctypes.addressof(buffer))
    )
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    try:
        return _call(seccomp, _SET_FILTER, _NEW_LISTENER | _WAIT_KILLABLE, ctypes.addressof(program))
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        # Before Linux 5.19 a signal may interrupt a program that waits.
        return _call(seccomp, _SET_FILTER, _NEW_LISTENER, ctypes.addressof(program))


def main(descriptor: int, program: str, *arguments: str) -> None:
    """Replace this process by the program, with the filter where the kernel sets it. Never returns."""
    with socket.socket(fileno=descriptor) as supervisor, suppress(OSError):
        socket.send_fds(supervisor, [b"\n"], [filtered()])
    with open("/proc/self/environ", "rb") as file:
        pairs = (variable.partition(b"=") for variable in file.read().split(b"\0"))
        # Python adds a locale to its own environment where there is none.
        given = {name: value for name, equals, value in pairs if equals}
    os.execve(program, [program, *arguments], given)


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
