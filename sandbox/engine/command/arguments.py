"""Reads an engine's command line the way the engine itself does."""

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Literal

from inferfleet.profiles.engines import EngineDefaults
from sandbox.engine.command import shell
from sandbox.engine.command.flags import EngineFlags
from sandbox.engine.failure import EngineFailure

_SHELLS = ("sh", "bash", "dash", "ash", "zsh")
_REFERENCE = re.compile(r"(?<!\$)\$\(([A-Za-z_][A-Za-z0-9_.-]*)\)")

FlagType = Literal["integer", "fraction", "text", "switch", "unknown"]


@dataclass(frozen=True)
class Arguments:
    """The last values of each flag in its long spelling, the positional arguments, and the unknown flags."""

    values: Mapping[str, tuple[str, ...]]
    positional: tuple[str, ...]
    unknown: tuple[str, ...]

    def text(self, *flags: str) -> str | None:
        """Return the value of the first of these flags that is set, or None."""
        return next((self.values[flag][0] for flag in flags if self.values.get(flag)), None)

    def has(self, flag: str) -> bool:
        """Return whether the flag is set."""
        return flag in self.values


def command_line(args: tuple[str, ...], env: Mapping[str, str]) -> tuple[str, ...]:
    """Return the command line with variables replaced, and of a shell's script the words of its commands.

    Raises EngineFailure for a script with a syntax error.
    """
    words: list[str] = []
    for program in _programs(args, env):
        words += [*([";"] if words else []), *program.words]
    return tuple(words)


def signalled(args: tuple[str, ...], env: Mapping[str, str], launchers: Collection[str]) -> shell.Signalled:
    """Return whether the engine of a command line hears SIGTERM: the last that a launcher starts.

    Raises EngineFailure for a script with a syntax error.
    """
    programs = _programs(args, env)
    starts = [made for made in programs if any(PurePath(word).name in launchers for word in made.words)]
    return (starts or [*programs])[-1].signalled if programs else "heard"


def _programs(args: tuple[str, ...], env: Mapping[str, str]) -> tuple[shell.Program, ...]:
    """Return the programs of a command line with variables replaced: of a shell's script, or the one."""
    words = [_REFERENCE.sub(lambda match: env.get(match[1], match[0]), word) for word in args]
    program = PurePath(words[0]).name if words else ""
    if len(words) > 2 and program in _SHELLS:
        for position, word in enumerate(words[1:-1], start=1):
            if re.fullmatch(r"-[a-z]*c", word):
                return shell.programs(words[position + 1], env, program=program)
    return (shell.Program(tuple(words)),)


def read(words: tuple[str, ...], flags: EngineFlags, defaults: EngineDefaults) -> Arguments:
    """Return the arguments behind the launcher. Raises EngineFailure for a value that is no number."""
    values: dict[str, tuple[str, ...]] = {}
    positional: list[str] = []
    unknown: list[str] = []
    parts: list[tuple[str, str, str]] = []
    rest = _engine_words(words, flags)
    while rest:
        word, rest = rest[0], rest[1:]
        if not _is_flag(word):
            positional.append(word)
            continue
        name, equals, value = word.partition("=")
        flag = _long_spelling(name, flags)
        flag_type = _type(flag, flags, defaults)
        if flag_type == "switch":
            values[flag] = ()
            continue
        if equals:
            given: tuple[str, ...] = (value,)
        else:
            count = next((i for i, following in enumerate(rest) if _is_flag(following)), len(rest))
            count = count if flag in flags.many else min(count, 1)
            given, rest = rest[:count], rest[count:]
        if flag_type == "unknown":
            unknown.append(flag)
        elif not given:
            raise EngineFailure(f"{flags.program}: error: argument {flag}: expected one argument")
        else:
            _check_number(flag, given[0], flag_type, flags)
        if flags.dashes and "." in name and given:
            parts.append((flag, name.partition(".")[2], given[0]))
        else:
            values[flag] = given
    for flag, path, value in parts:
        values[flag] = (_with_part(values.get(flag), path, value),)
    return Arguments(values, tuple(positional), tuple(unknown))


def _with_part(before: tuple[str, ...] | None, path: str, value: str) -> str:
    """Return the JSON of a flag with the entry at this path set, as vLLM's parser joins them."""
    whole = _parsed(before[0]) if before else {}
    if not isinstance(whole, dict):
        return value
    at = whole
    *outer, last = path.replace("-", "_").split(".")
    for key in outer:
        if not isinstance(at.get(key), dict):
            at[key] = {}
        at = at[key]
    at[last] = _parsed(value)
    return json.dumps(whole)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _engine_words(words: tuple[str, ...], flags: EngineFlags) -> tuple[str, ...]:
    """Return the words behind the last launcher and before the next command of a script."""
    starts = [i + 1 for i, word in enumerate(words) if PurePath(word).name in flags.launchers]
    behind = words[starts[-1] :] if starts else words
    end = next((i for i, word in enumerate(behind) if word and set(word) <= set(";&|<>")), len(behind))
    return behind[:end]


def _is_flag(word: str) -> bool:
    return len(word) > 1 and word[0] == "-" and not re.fullmatch(r"-[0-9.]+", word)


def _long_spelling(flag: str, flags: EngineFlags) -> str:
    if flags.dashes and flag.startswith("--"):
        # `--compilation-config.mode` sets one entry of `--compilation-config`.
        flag = flag.replace("_", "-").partition(".")[0]
    return flags.short.get(flag, flag)


def _type(flag: str, flags: EngineFlags, defaults: EngineDefaults) -> FlagType:
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


def _check_number(flag: str, value: str, flag_type: FlagType, flags: EngineFlags) -> None:
    # vLLM also accepts lengths such as 32k, and -1 and `auto` for "as much as fits".
    if flag_type == "integer" and not re.fullmatch(r"-?[0-9]+|auto|[0-9.]+[kKmMgG]i?", value):
        raise EngineFailure(f"{flags.program}: error: argument {flag}: invalid int value: '{value}'")
    if flag_type == "fraction" and not re.fullmatch(r"-?[0-9]*\.?[0-9]+(e-?[0-9]+)?", value):
        raise EngineFailure(f"{flags.program}: error: argument {flag}: invalid float value: '{value}'")
