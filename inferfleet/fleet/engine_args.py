"""Whether an engine's command line agrees with its document. It is read here, and never changed.

A flag that disagrees with topology or port is an error. A number that differs from the engine's default and
is not among the arguments is a warning, because a configuration file or an entrypoint may set it.
"""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from inferfleet.api.kinds.containers import ENGINE
from inferfleet.api.kinds.model_deployment import Engine, ModelDeployment, Topology
from inferfleet.api.kinds.pod_template import PodTemplate
from inferfleet.api.problems import Problem, Severity
from inferfleet.profiles.engines import EngineDefaults, Meaning, engine

_SHELLS = ("sh", "bash", "dash", "ash", "zsh")
_TEMPLATE = "spec.workers.template"


@dataclass(frozen=True)
class _Word:
    """One word of the command line and its path. `shell`: it comes from the script of a shell."""

    text: str
    path: str
    shell: bool = False


@dataclass(frozen=True)
class _Flag:
    """A known flag with its value as written (None: nothing follows it)."""

    name: str
    meaning: Meaning
    value: str | None
    word: _Word


def port_of(engine_: Engine) -> int:
    """Return the port that the engine listens on: the document's, or the default of its type."""
    return engine_.port or engine(engine_.type).port


def startup_of(engine_: Engine) -> int:
    """Return the seconds that a pod may take to load its model: the document's, or its type's default."""
    return engine_.startup or engine(engine_.type).startup


def check(deployment: ModelDeployment) -> Iterator[Problem]:
    """Yield what is wrong (errors) or may be missing (warnings) in the engine's command line."""
    spec = deployment.spec
    words = _words(spec.workers.template)
    defaults = engine(spec.engine.type)
    flags = _flags(words, defaults)
    wanted = _wanted(spec.workers.topology, port_of(spec.engine))
    if any(word.text == defaults.data_in_tensor for word in words):
        del wanted["data"]
    for meaning, number in wanted.items():
        if flag := _disagreeing([flag for flag in flags if flag.meaning == meaning], number):
            yield _disagreement(deployment, flag, number)
    yield from _absent(deployment, defaults, {flag.meaning for flag in flags})


def _problem(
    deployment: ModelDeployment, what: str, next_step: str, path: str, severity: Severity = "error"
) -> Problem:
    key = deployment.metadata.key
    return Problem(what, next_step, path, kind="ModelDeployment", key=key, severity=severity)


def _wanted(topology: Topology, port: int) -> dict[Meaning, int]:
    return {
        "tensor": topology.tensor,
        "pipeline": topology.pipeline,
        "data": topology.data,
        "dataLocal": topology.data_local,
        "port": port,
    }


def _words(template: PodTemplate) -> list[_Word]:
    names = [container["name"] for container in template.spec["containers"]]
    path = f"{_TEMPLATE}.spec.containers[{names.index(ENGINE)}]"
    return _open_shells(
        [
            _Word(text, f"{path}.{key}[{i}]")
            for key in ("command", "args")
            for i, text in enumerate(template.engine.get(key, []))
        ]
    )


def _open_shells(words: list[_Word]) -> list[_Word]:
    """Return the words with `sh -c <script>` replaced by the words of the script, if it can be split."""
    opened: list[_Word] = []
    shell = False
    for word in words:
        before = opened[-1].text if opened else ""
        if shell and before.startswith("-") and not before.startswith("--") and before.endswith("c"):
            opened += [_Word(text, word.path, shell=True) for text in _split(word.text)]
            shell = False
            continue
        shell = shell or word.text.rpartition("/")[2] in _SHELLS
        opened.append(word)
    return opened


def _split(script: str) -> list[str]:
    lines = script.replace("\\\n", " ").splitlines()
    reader = shlex.shlex(
        "\n".join(line for line in lines if not line.lstrip().startswith("#")),
        posix=True,
        punctuation_chars=";&|<>",
    )
    reader.whitespace_split = True
    reader.commenters = ""
    try:
        return list(reader)
    except ValueError:  # unbalanced quotes: nothing is said about a script that cannot be read
        return []


def _flags(words: list[_Word], defaults: EngineDefaults) -> list[_Flag]:
    flags = []
    for i, word in enumerate(words):
        name, equals, value = word.text.partition("=")
        meaning = defaults.flags.get(name)
        if meaning is None:
            continue
        following = words[i + 1].text if i + 1 < len(words) else None
        flags.append(_Flag(name, meaning, value if equals else following, word))
    return flags


def _disagreeing(flags: list[_Flag], number: int) -> _Flag | None:
    """Return the flag that disagrees among those with one meaning, or None.

    The last flag counts. A script may start several programs, so there one flag that agrees is enough.
    """
    if not flags or any(flag.word.shell and _agrees(flag.value, number) for flag in flags):
        return None
    return None if _agrees(flags[-1].value, number) else flags[-1]


def _agrees(value: str | None, number: int) -> bool:
    if value is None:
        return False
    if "$" in value or "`" in value:
        return True  # substituted when the container starts, so its value is not known
    return value.isdecimal() and int(value) == number


def _disagreement(deployment: ModelDeployment, flag: _Flag, number: int) -> Problem:
    field = _field(flag.meaning)
    has = "has no value" if flag.value is None else f"is {flag.value!r}"
    return _problem(
        deployment,
        f"{flag.name} {has}, but {field} is {number}",
        f"Set {flag.name} and {field} to the same number; inferfleet reserves GPUs and ports by {field}",
        flag.word.path,
    )


def _absent(
    deployment: ModelDeployment, defaults: EngineDefaults, present: set[Meaning]
) -> Iterator[Problem]:
    spec = deployment.spec
    ones: dict[Meaning, int] = {"tensor": 1, "pipeline": 1, "data": 1, "port": defaults.port}
    for meaning, number in _wanted(spec.workers.topology, port_of(spec.engine)).items():
        spelling = next((flag for flag, means in defaults.flags.items() if means == meaning), None)
        if spelling is None or meaning in present or number == ones.get(meaning, number):
            continue
        yield _problem(
            deployment,
            f"{_field(meaning)} is {number}, but {spelling} is not among the arguments of the engine",
            f"Add {spelling} {number}, unless the image or a configuration file sets it",
            f"{_TEMPLATE}.spec",
            "warning",
        )


def _field(meaning: Meaning) -> str:
    return "engine.port" if meaning == "port" else f"topology.{meaning}"
