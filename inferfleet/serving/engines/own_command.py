"""A command of the team's own, compared with what its document declares.

It is passed through. Only its plain words are looked at, never a script, and only to say where they are not
what the document declares: another value is an error, a missing one a warning. No name, port or time follows
from it.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from inferfleet.documents.pods.template import script_at
from inferfleet.documents.problems import Mistake, Severity
from inferfleet.documents.wording import listing, shown
from inferfleet.serving.engines.command_line import WorkerPod, written_names
from inferfleet.tables.engines import engine

# What starts the engines of each type, and the flags that repeat what documents declare.
_STARTS: Mapping[str, tuple[str, ...]] = {
    "vLLM": ("vllm serve", "vllm.entrypoints.openai.api_server"),
    "SGLang": ("sglang.launch_server", "sglang serve"),
    "TensorRT-LLM": ("trtllm-serve",),
    "Triton": ("tritonserver",),
}
_REPEATING: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "vLLM": {
        "model": ("--model",),
        "revision": ("--revision",),
        "served": ("--served-model-name",),
        "port": ("--port",),
        "tensor": ("--tensor-parallel-size", "-tp"),
        "pipeline": ("--pipeline-parallel-size", "-pp"),
        "data": ("--data-parallel-size", "-dp"),
        "drain": ("--shutdown-timeout",),
    },
    "SGLang": {
        "model": ("--model-path", "--model"),
        "revision": ("--revision",),
        "served": ("--served-model-name",),
        "host": ("--host",),
        "port": ("--port",),
        "tensor": ("--tp-size", "--tensor-parallel-size", "--tp"),
        "pipeline": ("--pp-size", "--pipeline-parallel-size", "--pp"),
        "data": ("--dp-size", "--data-parallel-size", "--dp"),
    },
    "TensorRT-LLM": {
        "model": ("--model",),
        "revision": ("--revision",),
        "host": ("--host",),
        "port": ("--port",),
        "tensor": ("--tp_size", "--tensor_parallel_size"),
        "pipeline": ("--pp_size", "--pipeline_parallel_size"),
    },
    "Triton": {"port": ("--http-port",)},
}
# Either starts vLLM's gRPC server.
_GRPC = {"vLLM": {"vllm.entrypoints.grpc_server", "--grpc"}, "SGLang": {"--grpc-mode"}}
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_OPEN = "0.0.0.0"
_FIELDS = {
    "model": "engine.model",
    "revision": "engine.model.revision",
    "served": "engine.servedNames",
    "port": "engine.port",
    "tensor": "topology.tensor",
    "pipeline": "topology.pipeline",
    "data": "topology.data",
    "drain": "engine.drain",
}


# A place where a command of one's own is not what its document declares.
Difference = tuple[Mistake, Severity]


def differences(pod: WorkerPod, command: Sequence[str], args: Sequence[str]) -> Iterator[Difference]:
    """Yield where the words of command and args are not what the document declares.

    Args alone are those of the image's own program, which is of the declared type.
    """
    words = [*command, *args]
    if script_at(words) is not None:
        return
    kind = pod.engine.type
    repeating = _REPEATING.get(kind)
    if repeating is None:
        return
    line = " ".join(words)
    if not _GRPC.get(kind, set()).isdisjoint(words):
        what = f"the command starts {kind}'s gRPC server, and gateways and probes reach engines by HTTP/1.1"
        yield Mistake(what, "Start its server by HTTP instead"), "error"
        return
    if not any(start in line for start in _STARTS[kind]):
        others = [name for name, starts in _STARTS.items() if any(start in line for start in starts)]
        if others:
            what = f"the command starts {others[0]}, and engine.type is {kind}"
            yield Mistake(what, f"Write type: {others[0]}, or another command"), "error"
        if others or command:
            return
        words = [*_STARTS[kind][0].split(), *args]
    lacking: list[str] = []
    added: list[str] = []
    for name, declared in _values_by_field(pod).items():
        if name not in repeating:
            continue
        flag = repeating[name][0]
        if given := _given(name, repeating[name], words):
            yield from _compared(name, declared, flag, given)
        elif because := _lacks(name, declared, pod):
            lacking.append(f"{flag} ({because})")
            added.append(f"{flag}{'=' if len(declared) == 1 else ' '}{' '.join(declared)}")
    if lacking:
        what = f"the words of the command lack {', '.join(lacking)}"
        next_step = (
            f"Add {', '.join(added)}, or leave the command out: inferfleet writes it where engine.model is "
            "declared"
        )
        yield Mistake(what, next_step), "warning"


def _values_by_field(pod: WorkerPod) -> dict[str, tuple[str, ...]]:
    """Return what flags should say, by what it is of; () where the engine's default is as good."""
    engine, topology = pod.engine, pod.topology
    declared: dict[str, tuple[str, ...]] = {}
    if engine.model:
        declared["model"] = (engine.model.loaded_from,)
        if engine.model.downloaded_revision:
            declared["revision"] = (engine.model.downloaded_revision,)
    if pod.serves:
        declared["port"] = (str(pod.port),)
        declared["host"] = (_OPEN,)
        if names := written_names(engine):
            declared["served"] = names
    if pod.serves and engine.drain is not None:
        declared["drain"] = (str(engine.drain),)
    declared["tensor"] = (str(topology.tensor),)
    declared["pipeline"] = (str(topology.pipeline),)
    if topology.attention == 1:
        # SGLang has one flag for both kinds of copies.
        declared["data"] = (str(topology.data),)
    return declared


def _given(name: str, spellings: tuple[str, ...], words: Sequence[str]) -> tuple[str, ...] | None:
    """Return what the words say of a flag, None or () where it is not there."""
    given = _values(spellings, words) or (_positional(words) if name == "model" else None)
    # Behind a flag with one value may stand the model.
    return given[:1] if given and name != "served" else given


def _lacks(name: str, declared: tuple[str, ...], pod: WorkerPod) -> str | None:
    """Return why a flag that is not there should be, None where the engine does the same without it."""
    defaults = {"port": str(_default_port(pod)), "tensor": "1", "pipeline": "1", "data": "1"}
    if defaults.get(name) == declared[0]:
        return None
    if name == "host":
        return f"{pod.engine.type} listens on {_LOOPBACK[0]} without it, where nothing reaches it"
    return f"{_FIELDS[name]} is {shown(' '.join(declared))}"


def _compared(
    name: str, declared: tuple[str, ...], flag: str, given: tuple[str, ...]
) -> Iterator[Difference]:
    if name == "host":
        if given[0] in _LOOPBACK:
            what = f"{flag} is {given[0]}, where nothing outside of the pod reaches the engine"
            yield Mistake(what, f"Write {_OPEN}"), "error"
    elif _plain(given) and set(given) != set(declared):
        what = (
            f"{flag} is {shown(' '.join(given))}, and {_FIELDS[name]} of the document is "
            f"{shown(listing(declared))}"
        )
        yield Mistake(what, "Change one of the two"), "error"


def _values(spellings: tuple[str, ...], words: Sequence[str]) -> tuple[str, ...] | None:
    """Return the values of the last such flag, None where it is not there; `-` and `_` are alike."""
    alike = {spelling.replace("_", "-") for spelling in spellings}
    found: tuple[str, ...] | None = None
    for index, word in enumerate(words):
        flag, equals, value = word.partition("=")
        if flag.replace("_", "-") not in alike:
            continue
        if equals:
            found = (value,)
            continue
        following: list[str] = []
        for following_word in words[index + 1 :]:
            if following_word.startswith("-"):
                break
            following.append(following_word)
        found = tuple(following)
    return found


def _positional(words: Sequence[str]) -> tuple[str, ...] | None:
    """Return the word behind `serve` or `trtllm-serve`, None where it is a flag or there is none."""
    for before, word in pairwise(words):
        if before.rpartition("/")[2] in ("serve", "trtllm-serve") and not word.startswith("-"):
            return (word,)
    return None


def _plain(values: Sequence[str]) -> bool:
    """Return whether no value is one that only the container knows."""
    return not any("$" in value for value in values)


def _default_port(pod: WorkerPod) -> int:
    return engine(pod.engine.type).port
