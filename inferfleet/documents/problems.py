"""What is wrong: a Problem with documents or a run, and a Mistake in a value that has no place yet.

A Problem is what a person reads: it names a document, a field and its line, says what is wrong by which rule,
and what to do next. Every room yields Problems, and whoever may not go on raises InvalidDocuments with all of
them. Validators of models, and pure checks of a value, know no document: they yield or raise Mistakes, and
whoever knows the document makes Problems of them. There is no third: warnings and notices are Problems of
another severity.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from inferfleet.documents.wording import listing, one_line


@dataclass(frozen=True, order=True)
class Where:
    """A place in a file."""

    file: str
    """The file, below the current directory relative to it. A class of the catalogue that comes with
    inferfleet has a name instead, `catalogue: gke-h100-mega-8x`: where its file is differs from machine to
    machine.
    """
    line: int
    """The line from 1 on; 0 where there are no lines to tell."""
    text: str = field(default="", compare=False, repr=False)
    """What the file has from the beginning of the line on, up to the end of a value with lines and columns of
    its own, such as an expression; what is before the value is white space there.
    """

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file

    def inside(self, value: str, at: int) -> tuple[int, int] | None:
        """Return the line and column of the character `at` of the value that is written here.

        The words of a value are the same in the file, however it is quoted, folded and indented; None when
        they are not, as with a value that comes from an alias.
        """
        if not self.text:
            return None
        quote = self.text.lstrip()[:1]
        single, double = quote == "'", quote == '"'
        offset = 0
        for word in re.finditer(r"\S+", value):
            word_in_file = word[0].replace("'", "''") if single else word[0]
            if double:
                word_in_file = word[0].replace("\\", "\\\\").replace('"', '\\"')
            offset = self.text.find(word_in_file, offset)
            if offset < 0:
                return None
            if word.end() > at or word.end() == len(value.rstrip()):
                before = word[0][: max(0, at - word.start())]
                offset += len(before) + (before.count("'") if single else 0)
                offset += before.count('"') + before.count("\\") if double else 0
                lines = self.text[:offset].split("\n")
                return self.line + len(lines) - 1, len(lines[-1]) + 1
            offset += len(word_in_file)
        return None


# An error stops the run; a warning should be read before an update; a notice says how something was read.
Severity = Literal["error", "warning", "notice"]


@dataclass(frozen=True)
class Problem:
    """One thing to fix, or to read before an update. As text it is one line that is safe to print."""

    what: str
    """The thing, its value and the rule, in one sentence without a full stop."""
    next_step: str
    """What to do, in a sentence too."""
    path: str = ""
    """The field in its document, such as `spec.nodePools[1].className`; "" for the whole of it."""
    where: Where | None = None
    """The line of the field: `Documents.located` fills it in once, where problems are raised to a person."""
    kind: str = ""
    """Kind of the document, such as `ModelDeployment`; "" for a problem of a file, or of no document at all.
    """
    key: str = ""
    """Name of the document, such as `ml/qwen3`."""
    severity: Severity = "error"
    about: str = ""
    """The thing as `what` names it, where that is no document: one of its places, a role."""
    mended_together: bool = False
    """An error that says the same of other documents is told once with them, as one step may mend all."""

    @property
    def thing(self) -> str:
        """Return the name of what the problem is about: `about`, or its document."""
        return self.about or self.key

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        path = f"{self.path}: " if self.path else ""
        return one_line(f"{place}{path}{self.what}. {self.next_step}")


def of_severity(problems: Iterable[Problem], *severities: Severity) -> tuple[Problem, ...]:
    """Return the problems of these severities, each once, in the order given."""
    return tuple(dict.fromkeys(problem for problem in problems if problem.severity in severities))


def in_reading_order(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Return the problems sorted by file and line; those without a line come first."""
    return tuple(sorted(problems, key=_reading_order))


def joined(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Return the problems, with those that say the same of several things told once.

    The first of them by file and line names the other things, and stands where the first given one stood.
    Errors are told once only where they are `alike`, or about one field, because each has to be mended at its
    own line.
    """
    groups: dict[tuple[str, ...], list[Problem]] = {}
    for problem in dict.fromkeys(problems):
        groups.setdefault(_what_is_said(problem), []).append(problem)
    return tuple(_as_one(group) for group in groups.values())


# Stands for what a problem is about; no text that is shown has one.
_THING = "\0"


def _what_is_said(problem: Problem) -> tuple[str, ...]:
    """Return a key that is equal for problems that say the same of several things.

    It has the texts of the problem without the name of its thing. An error that is mended at its own line
    also has that line, so it is equal to no other.
    """
    mended_alone = problem.severity == "error" and not problem.mended_together
    own_line = (problem.key, problem.path, str(problem.where)) if mended_alone else ()
    words = [problem.what, problem.next_step]
    for name in filter(None, (problem.about, problem.key)):
        words = [_without(text, name) for text in words]
    return problem.severity, problem.kind, *words, *own_line


def _without(text: str, name: str) -> str:
    """Return the text without a name where it is no part of another word: `east` stays in `at least`.

    Names of objects begin with those of documents, as `qwen-decode` does.
    """
    shortened, *parts = text.split(name)
    for part in parts:
        before, after = shortened[-1:], part[:1]
        inside = before.isalnum() or before == "-" or after.isalnum()
        shortened += (name if inside else _THING) + part
    return shortened


def _as_one(group: list[Problem]) -> Problem:
    first, *repeats = in_reading_order(group)
    other_names = dict.fromkeys(_name(problem, first) for problem in repeats)
    return (
        replace(first, what=f"{first.what} (also {listing(other_names, _NAMED)})") if other_names else first
    )


def _name(problem: Problem, first: Problem) -> str:
    """Return what tells a problem from the first of its group: its thing, else its line or its field."""
    if problem.thing != first.thing:
        return problem.thing
    return str(problem.where) if problem.where != first.where else problem.path


# So many of them are named.
_NAMED = 3


def _reading_order(problem: Problem) -> tuple[str, int, str, str]:
    where = problem.where or Where("", 0)
    return (where.file, where.line, problem.path, problem.what)


class InvalidDocuments(Exception):  # noqa: N818 (it says what the documents are)
    """Raised with all problems of a stage at once, in the order of files and lines."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = in_reading_order(problems)
        super().__init__("\n".join(str(problem) for problem in joined(self.problems)))


# The path from a value to a part of it: keys of maps and indexes of lists.
FieldPath = tuple[str | int, ...]


def part_of(value: Any, steps: Iterable[str | int]) -> Any:
    """Return the part of a value that steps lead to, None where there is none."""
    for step in steps:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return None
    return value


@dataclass(frozen=True)
class Mistake:
    """What is wrong with a value that does not know its document, and what to do."""

    what: str
    """The value and the rule, as in a Problem; `{field}` stands for the name of the field."""
    next_step: str
    field_path: FieldPath = ()
    """The path from the value to the part that is wrong; `path` of a Problem is one as text."""


class Mistaken(ValueError):  # noqa: N818 (the value is)
    """Raised by validators and pure checks, with all mistakes of the value at once."""

    def __init__(self, *mistakes: Mistake) -> None:
        super().__init__("; ".join(f"{mistake.what}. {mistake.next_step}" for mistake in mistakes))
        self.mistakes = mistakes


def mistaken(what: str, next_step: str) -> Mistaken:
    """Return an exception with a single mistake, to be raised."""
    return Mistaken(Mistake(what, next_step))


def cluster_problem(
    cluster: str, what: str, next_step: str, path: str = "", *, severity: Severity = "error"
) -> Problem:
    """Return a problem of one cluster; `path` is the field of its document that leads to it."""
    return Problem(what, next_step, path, kind="InferenceCluster", key=cluster, severity=severity)
