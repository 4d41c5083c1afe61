"""Reads an engine's command line the way the engine does."""

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath
from string import Template
from typing import Literal

from inferfleet.profiles.engines import EngineDefaults
from sandbox.engine.failure import EngineFailure
from sandbox.engine.flags import EngineFlags

_SHELLS = ("sh", "bash", "dash", "ash", "zsh")
_REFERENCE = re.compile(r"(?<!\$)\$\(([A-Za-z_][A-Za-z0-9_.-]*)\)")

Kind = Literal["integer", "fraction", "text", "switch", "unknown"]


@dataclass(frozen=True)
class Arguments:
    """Flags in their long spelling with their last values; what stands without a flag; flags nobody knows."""

    values: Mapping[str, tuple[str, ...]]
    positional: tuple[str, ...]
    unknown: tuple[str, ...]

    def text(self, *flags: str) -> str | None:
        """The value of the first of these flags that is there."""
        return next((self.values[flag][0] for flag in flags if self.values.get(flag)), None)

    def has(self, flag: str) -> bool:
        return flag in self.values


def words(args: tuple[str, ...], env: Mapping[str, str]) -> tuple[str, ...]:
    """The words the engine gets: variables replaced, and the script of a shell opened."""
    said = [_REFERENCE.sub(lambda found: env.get(found[1], found[0]), word) for word in args]
    if len(said) > 2 and PurePath(said[0]).name in _SHELLS:
        for at, word in enumerate(said[1:-1], start=1):
            if re.fullmatch(r"-[a-z]*c", word):
                return _script(said[at + 1], env)
    return tuple(said)


def _script(script: str, env: Mapping[str, str]) -> tuple[str, ...]:
    lines = script.replace("\\\n", " ").splitlines()
    text = " ; ".join(line for line in lines if line.strip() and not line.lstrip().startswith("#"))
    try:
        reader = shlex.shlex(Template(text).safe_substitute(env), posix=True, punctuation_chars=";&|<>")
        reader.whitespace_split = True
        reader.commenters = ""
        return tuple(reader)
    except ValueError as error:
        raise EngineFailure(f"sh: syntax error in the script of the container: {error}") from error


def read(said: tuple[str, ...], flags: EngineFlags, defaults: EngineDefaults) -> Arguments:
    """The arguments after the launcher. Raises EngineFailure for a number that is none."""
    values: dict[str, tuple[str, ...]] = {}
    positional: list[str] = []
    unknown: list[str] = []
    rest = _own(said, flags)
    while rest:
        word, rest = rest[0], rest[1:]
        if not _is_flag(word):
            positional.append(word)
            continue
        flag, equals, value = word.partition("=")
        flag = _long(flag, flags)
        kind = _kind(flag, flags, defaults)
        if kind == "switch":
            values[flag] = ()
            continue
        if equals:
            found: tuple[str, ...] = (value,)
        else:
            count = next((i for i, one in enumerate(rest) if _is_flag(one)), len(rest))
            count = count if flag in flags.many else min(count, 1)
            found, rest = rest[:count], rest[count:]
        if kind == "unknown":
            unknown.append(flag)
        elif not found:
            raise EngineFailure(f"{flags.program}: error: argument {flag}: expected one argument")
        else:
            _check_number(flag, found[0], kind, flags)
        values[flag] = found
    return Arguments(values, tuple(positional), tuple(unknown))


def _own(said: tuple[str, ...], flags: EngineFlags) -> tuple[str, ...]:
    """The words behind the last launcher and before the next command of a script."""
    starts = [i + 1 for i, word in enumerate(said) if PurePath(word).name in flags.launchers]
    own = said[starts[-1] :] if starts else said
    end = next((i for i, word in enumerate(own) if word and set(word) <= set(";&|<>")), len(own))
    return own[:end]


def _is_flag(word: str) -> bool:
    return len(word) > 1 and word[0] == "-" and not re.fullmatch(r"-[0-9.]+", word)


def _long(flag: str, flags: EngineFlags) -> str:
    if flags.dashes and flag.startswith("--"):
        # `--compilation-config.mode` sets one entry of `--compilation-config`.
        flag = flag.replace("_", "-").partition(".")[0]
    return flags.short.get(flag, flag)


def _kind(flag: str, flags: EngineFlags, defaults: EngineDefaults) -> Kind:
    if flag in defaults.flags or flag in flags.integers:
        return "integer"
    if flag in flags.fractions:
        return "fraction"
    if flag in flags.texts:
        return "text"
    positive = "--" + flag.removeprefix("--no-") if flags.dashes else flag
    if flag in flags.switches or positive in flags.switches or re.fullmatch(r"-O[0-3]", flag):
        return "switch"
    return "unknown"


def _check_number(flag: str, value: str, kind: Kind, flags: EngineFlags) -> None:
    # vLLM writes lengths as 32k too, and takes -1 and `auto` for "as much as fits".
    if kind == "integer" and not re.fullmatch(r"-?[0-9]+|auto|[0-9.]+[kKmMgG]i?", value):
        raise EngineFailure(f"{flags.program}: error: argument {flag}: invalid int value: '{value}'")
    if kind == "fraction" and not re.fullmatch(r"-?[0-9]*\.?[0-9]+(e-?[0-9]+)?", value):
        raise EngineFailure(f"{flags.program}: error: argument {flag}: invalid float value: '{value}'")
