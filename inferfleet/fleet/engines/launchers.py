"""Programs that join the pods of a worker by themselves: Ray for vLLM, MPI for TensorRT-LLM.

Sources: examples/online_serving/multi-node-serving.sh of vLLM; `ray start --help`; the guides of
kubernetes-sigs/lws for vLLM and TensorRT-LLM (docs/examples).
"""

import re
from collections.abc import Iterator
from typing import Literal

from inferfleet.api.kinds.workers import Position
from inferfleet.api.problems import Mistake
from inferfleet.fleet.engines.words import LEADER, SIZE, Command, Steps, is_known

Launcher = Literal["ray", "mpi"]

_SCRIPT = "multi-node-serving.sh"
_MPI = ("mpirun", "mpiexec", "srun")
_PROCESSES = ("-n", "-np", "--n", "--np", "--ntasks")
_ADDRESSES = ("--ray_address", "--address")


def launcher(command: Command) -> Launcher | None:
    """Return what joins the pods of a worker, None where it is the engine itself."""
    programs = command.programs
    if _SCRIPT in programs or _value(command, "--distributed-executor-backend") == "ray":
        return "ray"
    if _value(command, "--data-parallel-backend") == "ray":
        return "ray"
    if any(
        word.text.rpartition("/")[2] == "ray" and following.text in ("start", "symmetric-run")
        for word, following in zip(command.words, command.words[1:], strict=False)
    ):
        return "ray"
    return "mpi" if programs & {*_MPI} else None


def launcher_mistakes(command: Command, *, pods: int, gpus: int, position: Position) -> Iterator[Mistake]:
    """Yield what Ray or MPI is told wrong of a worker of so many pods and GPUs."""
    kind = launcher(command)
    if kind == "ray":
        yield from _ray(command, pods=pods, position=position)
    elif kind == "mpi":
        yield from _mpi(command, gpus=gpus)


def _ray(command: Command, *, pods: int, position: Position) -> Iterator[Mistake]:
    texts = [word.text for word in command.words]
    for i, text in enumerate(texts):
        name, equals, given = text.partition("=")
        value = given if equals else next(iter(texts[i + 1 : i + 2]), "")
        value = command.value(value, shell=command.words[i].shell)
        at = command.words[i].at
        if name == "--ray_cluster_size" and is_known(value) and value != str(pods):
            what = f"--ray_cluster_size is {value!r}, but a worker has {pods} pods"
            yield Mistake(what, f"Set it to {SIZE}, which LeaderWorkerSets give each pod", at)
        if name in _ADDRESSES and is_known(value) and value != "auto":
            yield _address(name, value, at)
        if text.endswith(_SCRIPT) and not command.conditional:
            part = next(iter(texts[i + 1 : i + 2]), "")
            wanted = "leader" if position == "Entry" else "worker"
            if part in ("leader", "worker") and part != wanted:
                what = f"{_SCRIPT} runs as {part!r} in {_pods(position)} of a worker"
                yield Mistake(what, f"Write {wanted}: followers join the Ray cluster of their entry", at)
        if text == "start" and i and texts[i - 1].endswith("ray") and not command.conditional:
            has_head = "--head" in texts
            if has_head != (position == "Entry"):
                with_ = "with" if has_head else "without"
                what = f"ray start runs {with_} --head in {_pods(position)} of a worker"
                yield Mistake(
                    what,
                    "Write --head in the entry's template, and "
                    f"--address={LEADER}:6379 instead in the followers' one",
                    at,
                )


def _mpi(command: Command, *, gpus: int) -> Iterator[Mistake]:
    texts = [word.text for word in command.words]
    start = next((i for i, text in enumerate(texts) if text.rpartition("/")[2] in _MPI), len(texts))
    for i in range(start + 1, len(texts) - 1):
        value = command.value(texts[i + 1], shell=command.words[i].shell)
        if texts[i] in _PROCESSES and value.isdecimal() and int(value) != gpus:
            yield Mistake(
                f"{texts[start].rpartition('/')[2]} starts {value} processes, but a worker has {gpus} GPUs",
                f"Write {texts[i]} {gpus}: one process for each GPU of the topology",
                command.words[i].at,
            )
        if re.fullmatch(r"trtllm-[\w-]+", texts[i]):
            return


def _address(name: str, value: str, at: Steps) -> Mistake:
    return Mistake(
        f"{name} is {value!r}, but the pods of each worker meet at the address of their own entry",
        f"Write {LEADER} for the host, which LeaderWorkerSets give each pod",
        at,
    )


def _pods(position: Position) -> str:
    return "the entry" if position == "Entry" else "followers"


def _value(command: Command, flag: str) -> str:
    texts = [word.text for word in command.words]
    found = ""
    for i, text in enumerate(texts):
        name, equals, value = text.partition("=")
        if name.replace("_", "-") == flag:
            found = value if equals else next(iter(texts[i + 1 : i + 2]), "")
    return found
