"""How much one loading may hold in all its files together, so that no input takes more than seconds.

The limits are far above any fleet, and low enough that five MiB of whatever text end within five seconds and
one GiB: a value costs some ten microseconds to read and to check, and each of its lines is kept by its path.
"""

from dataclasses import dataclass

from inferfleet.documents.wording import shown

MAX_DEPTH = 64
# A fleet of a few hundred documents has some ten thousand values.
MAX_VALUES = 200_000
# The same with keys, and as they are written: each alias is one.
MAX_WRITTEN = 300_000
# Characters of keys, texts and paths of fields. Aliases repeat texts, and a path repeats the keys above it.
MAX_CHARACTERS = 40_000_000
MAX_DOCUMENTS = 5_000
MAX_BYTES = 10 * 1024 * 1024


class Unreadable(Exception):  # noqa: N818 (it says what the text is)
    """The text cannot be read past `line`."""

    def __init__(self, line: int, what: str, next_step: str) -> None:
        super().__init__(f"line {line}: {what}. {next_step}")
        self.line, self.what, self.next_step = line, what, next_step


@dataclass
class Budget:
    """What has been read so far of what may be; `spent` once something was refused for it."""

    written: int = 0
    values: int = 0
    characters: int = 0
    documents: int = 0
    bytes: int = 0
    spent: bool = False

    @property
    def steps(self) -> int:
        """Return the steps of work that reading and checking has taken, for the budget of a whole run."""
        return self.written * 10 + self.values * 20 + (self.characters + self.bytes) // 20

    def file(self, size: int) -> None:
        """Count the bytes of a file. Raises Unreadable when there are too many."""
        self.bytes += size
        if self.bytes > MAX_BYTES:
            self._refuse(1, f"{MAX_BYTES // 1024 // 1024} MiB", "Use several stacks")

    def document(self, line: int) -> None:
        """Count a document. Raises Unreadable when there are too many."""
        self.documents += 1
        if self.documents > MAX_DOCUMENTS:
            self._refuse(line, f"{MAX_DOCUMENTS:,} documents", "Use several stacks")

    def node(self, line: int) -> None:
        """Count a key or value as it is written. Raises Unreadable when there are too many."""
        self.written += 1
        if self.written > MAX_WRITTEN:
            self._refuse(line, f"{MAX_WRITTEN:,} values and keys", "Write less, or use several stacks")

    def value(self, line: int, depth: int, characters: int) -> None:
        """Count a value, and the characters that it takes. Raises Unreadable when there are too many."""
        self.values += 1
        self.characters += characters
        if depth > MAX_DEPTH:
            raise too_deep(line)
        if self.values > MAX_VALUES:
            what = f"{MAX_VALUES:,} values, counting what aliases repeat"
            self._refuse(line, what, "Use fewer aliases, or several stacks")
        if self.characters > MAX_CHARACTERS:
            what = f"{MAX_CHARACTERS:,} characters, counting what aliases repeat and the paths of fields"
            self._refuse(line, what, "Use fewer aliases and shorter texts")

    def merged(self, line: int, depth: int, fields: int) -> None:
        """Count the fields that a merge key goes through. Raises Unreadable when there are too many."""
        self.values += fields
        self.value(line, depth, 0)

    def _refuse(self, line: int, limit: str, next_step: str) -> None:
        self.spent = True
        raise Unreadable(line, f"the files read so far have more than {limit}", next_step)


def too_deep(line: int) -> Unreadable:
    """Return the exception for values inside of too many others."""
    return Unreadable(line, f"values are nested more than {MAX_DEPTH} levels deep", "Use fewer levels")


def no_anchor(line: int, name: str) -> Unreadable:
    """Return the exception for an alias of nothing."""
    what = f"alias *{shown(name)} has no anchor &{shown(name)} before it"
    step = f"Put &{shown(name)} before the value that it repeats, or write the value out"
    return Unreadable(line, what, step)
