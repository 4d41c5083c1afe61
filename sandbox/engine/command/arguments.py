"""Reads an engine's command line: which words of it are the engine's, and what they say."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import PurePath

from inferfleet.tables.flags import FlagTable
from sandbox.engine.command import shell
from sandbox.engine.command.flags import EngineFlags
from sandbox.engine.command.parser import parsed

_SHELLS = ("sh", "bash", "dash", "ash", "zsh")
_REFERENCE = re.compile(r"(?<!\$)\$\(([A-Za-z_][A-Za-z0-9_.-]*)\)")


@dataclass(frozen=True)
class Arguments:
    """The last values of each flag by all of its spellings, and a model that was given without one."""

    values: Mapping[str, tuple[str, ...]]
    model: str | None = None

    def text(self, flag: str) -> str | None:
        """Return the value of the flag, or None where it is not set."""
        values = self.values.get(flag)
        return values[0] if values else None

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


def read(words: tuple[str, ...], flags: EngineFlags, table: FlagTable, *, judged: bool) -> Arguments:
    """Return the arguments behind the launcher, by the table of the engine's flags.

    With `judged`, words that it does not know and values that are no choice are refused. Raises
    EngineFailure.
    """
    launcher, behind = engine_words(words, flags)
    values, model = parsed(behind, flags, table, launcher=launcher, judged=judged)
    return Arguments(values, model)


def engine_words(words: tuple[str, ...], flags: EngineFlags) -> tuple[str, tuple[str, ...]]:
    """Return the last launcher, and the words behind it and before the next command of a script."""
    names = [PurePath(word).name for word in words]
    starts = [i for i, name in enumerate(names) if name in flags.launchers]
    launcher, behind = (names[starts[-1]], words[starts[-1] + 1 :]) if starts else (flags.command, words)
    end = next((i for i, word in enumerate(behind) if word and set(word) <= set(";&|<>")), len(behind))
    return launcher, behind[:end]
