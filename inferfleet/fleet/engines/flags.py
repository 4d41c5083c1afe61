"""The flags of a command line that say what a document says too, by the table of the engine."""

from collections.abc import Iterable
from dataclasses import dataclass

from inferfleet.fleet.engines.words import Command, Word, own_places
from inferfleet.profiles.engines import EngineDefaults
from inferfleet.profiles.meanings import SWITCHES, AnyMeaning


@dataclass(frozen=True)
class Flag:
    """A known flag with its value, variables replaced where they are known (None: nothing follows it)."""

    name: str
    meaning: AnyMeaning
    value: str | None
    word: Word


@dataclass(frozen=True)
class Flags:
    """The known flags of a command line, in its order."""

    all: tuple[Flag, ...]

    def of(self, meaning: AnyMeaning) -> tuple[Flag, ...]:
        """Return the flags with this meaning. An engine takes the last."""
        return tuple(flag for flag in self.all if flag.meaning == meaning)

    def last(self, meaning: AnyMeaning) -> Flag | None:
        """Return the flag with this meaning that counts, or None without one."""
        return next(iter(self.of(meaning)[::-1]), None)

    def has(self, *meanings: AnyMeaning) -> bool:
        """Return whether a flag has one of these meanings."""
        return any(flag.meaning in meanings for flag in self.all)

    def number(self, meaning: AnyMeaning) -> int | None:
        """Return the number that the flag with this meaning gives, None where it gives none that is known."""
        flag = self.last(meaning)
        return number_of(flag.value) if flag else None


def number_of(value: str | None) -> int | None:
    """Return the number that a text is, None for others and for numbers of more than 18 digits."""
    return int(value) if value and value.isdecimal() and len(value) <= 18 else None


def flags_of(command: Command, table: EngineDefaults) -> Flags:
    """Return the flags of a command line that the table of its engine has.

    Of a script they are those behind the start of an engine; where none is seen, all are taken for them.
    """
    flags, own = [], own_places(command)
    for i, word in enumerate(command.words):
        name, equals, value = word.text.partition("=")
        meaning = meaning_of(name, table)
        if meaning is None or (own and word.shell and i not in own):
            continue
        if len(name) == 2 and i not in own and not _of_engine(command, i):
            continue
        given: str | None = value if equals else None
        ends = i + 1 == len(command.words) or (i in own and i + 1 not in own)
        if not equals and meaning not in SWITCHES and not ends:
            following = command.words[i + 1].text
            given = None if following.startswith("--") else following
        if given is not None:
            given = command.value(given, shell=word.shell)
        flags.append(Flag(name, meaning, given, word))
    return Flags(tuple(flags))


def model_of(command: Command, flags: Flags, table: EngineDefaults) -> Word | None:
    """Return the model of a command line, its variables replaced: by flag, or the word behind `serve`.

    That word counts more (vllm/entrypoints/cli/serve.py). Arguments without it may be those of any program.
    """
    if not table.model_flags:
        return None
    words = command.words
    behind = next((words[i + 1] for i, word in enumerate(words[:-1]) if word.text == "serve"), None)
    if behind and not behind.text.startswith("-"):
        return Word(command.value(behind.text, shell=behind.shell), behind.at, behind.shell)
    flag = flags.last("model")
    return Word(flag.value, flag.word.at) if flag and flag.value else None


def is_open(command: Command, table: EngineDefaults) -> bool:
    """Return whether flags may come from what is not read here: a variable, a substitution, a file."""
    before = ""
    for word in command.words:
        takes = before.startswith("-") and "=" not in before and meaning_of(before, table) not in SWITCHES
        if word.text.partition("=")[0] == "--config" or (word.text[:1] in ("$", "`", "@") and not takes):
            return True
        before = word.text
    return False


def _of_engine(command: Command, place: int) -> bool:
    """Return whether a flag of one letter outside of scripts is surely the engine's, unlike `nice -n 10`.

    So it is behind `serve`, or among arguments that an image gives to its own program.
    """
    before = command.words[:place]
    own = all(word.at[-2] == "args" for word in before) or any(word.text == "serve" for word in before)
    return own and not command.words[place].shell


def meaning_of(name: str, table: EngineDefaults) -> AnyMeaning | None:
    """Return what a flag says, None for one that the table does not have."""
    if table.underscores and name.startswith("--"):
        name = name.replace("_", "-")
    return (
        table.flags.get(name)
        or table.group_flags.get(name)
        or table.model_flags.get(name)
        or table.cache_flags.get(name)
        or table.end_flags.get(name)
    )


def spelling(meaning: AnyMeaning, table: EngineDefaults) -> str | None:
    """Return the flag that says something, in the form in which it is written here."""
    written: Iterable[tuple[str, AnyMeaning]] = (
        *table.flags.items(),
        *table.group_flags.items(),
        *table.model_flags.items(),
        *table.cache_flags.items(),
        *table.end_flags.items(),
    )
    return next((name for name, means in written if means == meaning), None)
