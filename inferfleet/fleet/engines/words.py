"""The words of a command line, read as shells read them, with the variables that its container has for them.

Kubernetes replaces `$(NAME)` in command and args, the shell `$NAME` and `${NAME}` in a script:
https://kubernetes.io/docs/tasks/inject-data-application/define-interdependent-environment-variables/
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from inferfleet.api.kinds.containers import engine_container
from inferfleet.api.problems import Mistake

Steps = tuple[str | int, ...]

# What the LeaderWorkerSet controller gives every container: kubernetes-sigs/lws, pkg/utils/pod/pod_utils.go.
LEADER = "$(LWS_LEADER_ADDRESS)"
SIZE = "$(LWS_GROUP_SIZE)"
INDEX = "$(LWS_WORKER_INDEX)"
OF_GROUP = (LEADER, SIZE, INDEX)

_REFERENCE = re.compile(r"(?<!\$)\$\(([A-Za-z_][A-Za-z0-9_.-]*)\)")
_IN_SHELL = re.compile(r"\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))")
_ARITHMETIC = re.compile(r"\$\(\(((?:(?!\)\)).)*)\)\)", re.DOTALL)
_BARE = re.compile(r"(?<![\w$({])[A-Za-z_]\w*|(?<=\(\()[A-Za-z_]\w*")
_OF_INDEX = re.compile(r"\$\(\((?:(\d+)\*)?\$\(LWS_WORKER_INDEX\)(?:\*(\d+))?\)\)")
# Behind what a command begins within a line, so that a parenthesis there opens a subshell: an operator, the
# name of a function, and the words that begin parts of compound commands.
_BEGINS = re.compile(r"(?:[&|(]|(?<!;);|\(\)|(?:^|[\s;&|(])(?:if|then|elif|else|while|until|do|time|!|\{))\Z")
# In `case`, a pattern is behind `in` and `;;`.
_PATTERN = re.compile(r"(?:\bin|;;&?|;&)\s*[^;&()\n]*\Z")
# Here-documents, `$'...'`, and a command within double quotes have quotes of their own.
_QUOTED_OTHERWISE = re.compile(r"<<|\$'|\"[^\"]*(?:\$\((?!\()|`)")
# With one of these a script may give a flag to some pods alone.
_CONDITIONS = frozenset(("if", "case", "[", "[[", "test", "&&", "||"))

# Behind these an engine reads its own arguments: `python3 -m sglang.launch_server`. `vllm serve` is one too.
_STARTS = ("launch_server", "api_server", "trtllm-serve")
# All that a function or a script was given, which may be flags that stand elsewhere in it.
_GIVEN = ("$@", "$*", "${@}", "${*}")

_SHELLS = ("sh", "bash", "dash", "ash", "zsh")
# Long options of bash whose argument is the next word; bash takes them with one dash too (`long_args` in
# shell.c, bash 5.2).
_WITH_ARGUMENT = ("rcfile", "init-file")


@dataclass(frozen=True)
class Word:
    """One word of the command line and its place. `shell`: it comes from the script of a shell.

    Of a script, ends of lines and operators such as `;` and `&&` are words too.
    """

    text: str
    at: Steps
    shell: bool = False


@dataclass(frozen=True)
class Command:
    """A command line. `env` has the variables whose values are in the pod template.

    Where a script in it has a quote that is never closed, `unclosed` names it, and its words are not known.
    """

    words: tuple[Word, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    unclosed: Mistake | None = None

    @property
    def conditional(self) -> bool:
        """Return whether a script among the words does something under a condition."""
        return any(word.shell and word.text in _CONDITIONS for word in self.words)

    @property
    def programs(self) -> frozenset[str]:
        """Return the words as programs: without the folders before them."""
        return frozenset(word.text.rpartition("/")[2] for word in self.words)

    def value(self, text: str, *, shell: bool) -> str:
        """Return the text with known variables replaced; those of the group stay as `$(NAME)`."""
        text = _REFERENCE.sub(lambda found: self._of(found[1], found[0]), text)
        if not shell:
            return text
        text = _IN_SHELL.sub(lambda found: self._of(found[1] or found[2], found[0]), text)
        return _ARITHMETIC.sub(
            lambda sum_: _BARE.sub(lambda found: self._of(found[0], found[0]), sum_[0]), text
        )

    def _of(self, name: str, written: str) -> str:
        if any(word.shell and word.text.startswith(f"{name}=") for word in self.words):
            return written  # the script sets it itself
        reference = f"$({name})"
        return self.env.get(name, reference if reference in OF_GROUP else written)


def command_of(spec: Mapping[str, Any]) -> Command:
    """Return the command line of the engine of a pod's spec; places begin with `spec`."""
    place, container = engine_container(spec)
    words = [
        Word(text, ("spec", "containers", place, key, i))
        for key in ("command", "args")
        for i, text in enumerate(container.get(key, []))
    ]
    env = _env(container.get("env", []))
    return Command(tuple(_open_shells(words)), env, _unclosed(words))


def own_places(command: Command) -> frozenset[int]:
    """Return the places of the arguments of engines that a script starts, none where no start is seen.

    They are behind `serve` and the like, up to the end of the simple command (IEEE Std 1003.1, 2.9.1).
    Where a command within it, or what the script was given, makes further ones, none is sure.
    """
    found, inside = set(), False
    for place, word in enumerate(command.words):
        inside = inside and word.shell and bool(word.text.strip(";&|\n"))
        if inside:
            if word.text in _GIVEN or _substitutes(word.text):
                return frozenset()
            found.add(place)
        inside = inside or (word.shell and _starts(word.text))
    return frozenset(found)


def _substitutes(text: str) -> bool:
    """Return whether a command in `$(...)` or backquotes begins in a word and ends in a later one."""
    return text.count("(") > text.count(")") or text.count("`") % 2 == 1


def _starts(text: str) -> bool:
    return text == "serve" or re.split(r"[./]", text)[-1] in _STARTS


def is_known(value: str) -> bool:
    """Return whether nothing in a value is substituted when the container starts."""
    return "$" not in value and "`" not in value


def script_at(words: Sequence[str]) -> int | None:
    """Return the position of the script in a command line, None without one.

    The script is the first word after the options of a shell, if `c` is among them (IEEE Std 1003.1, `sh`).
    In `bash run.sh -c x` the options are those of `run.sh`.
    """
    for place, word in enumerate(words):
        if word.rpartition("/")[2] in _SHELLS:
            at = _after_options(words, place + 1)
            if at is not None:
                return at
    return None


def _after_options(words: Sequence[str], start: int) -> int | None:
    asked = False
    place = start
    while place < len(words) and words[place][:1] in ("-", "+"):
        option = words[place]
        place += 1
        if option == "--":
            break
        if option.lstrip("-") in _WITH_ARGUMENT:
            place += 1
            continue
        if option.startswith("--"):
            continue
        asked = asked or (option.startswith("-") and "c" in option)
        if option[-1] in "oO":  # `-o pipefail`, `-euo pipefail`
            place += 1
    return place if asked and place < len(words) else None


def index_factor(value: str) -> int | None:
    """Return by how much a sum of a shell multiplies the number of a pod, None for other values."""
    found = _OF_INDEX.fullmatch(value)
    return int((found[1] or "1")[:18]) * int((found[2] or "1")[:18]) if found else None


def _env(variables: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the variables by name; each may refer to those before it."""
    env: dict[str, str] = {}
    for variable in variables:
        if "valueFrom" in variable:
            env.pop(variable["name"], None)
            continue
        command = Command((), env)
        env[variable["name"]] = command.value(variable.get("value", ""), shell=False)
    return env


def _open_shells(words: list[Word]) -> list[Word]:
    """Return the words with `sh -c <script>` replaced by the words of the script, if it can be split."""
    place = script_at([word.text for word in words])
    if place is None:
        return words
    script = words[place]
    opened = [Word(text, script.at, shell=True) for text in _split(script.text)]
    return [*words[:place], *opened, *words[place + 1 :]]


def _unclosed(words: list[Word]) -> Mistake | None:
    place = script_at([word.text for word in words])
    if place is None or _QUOTED_OTHERWISE.search(words[place].text):
        return None
    line = _read(words[place].text)[1]
    # The line itself is not told, because there may be a token in it.
    what = f"the script has a quote in its line {line} that is never closed, and no shell runs it"
    return Mistake(what, "Close the quote", words[place].at) if line else None


def _read(script: str) -> tuple[str, int | None]:
    """Return a script without comments, and the line with a quote that is never closed, from 1 on.

    Ends of lines are words by themselves then, and so are the parentheses of a subshell, before the closing
    one of which its last command ends, as by `;`.
    """
    kept: list[str] = []
    # Where each open parenthesis stands, None for one that opens no subshell: `$(`, `<(`, `a=(`, `f()`.
    opened_at: list[int | None] = []
    others: list[int] = []  # where what is in those without a subshell begins, -1 in sums
    cases, arm = "case" in script, 0  # whether there may be patterns, and where the last one ends
    quote, opened, line, place = "", 1, 1, 0
    while place < len(script):
        char = script[place]
        if char == "\\" and quote != "'":
            kept.append(script[place : place + 2])
            line += script[place + 1 : place + 2] == "\n"
            place += 2
            continue
        if not quote and char == "#" and (not kept or kept[-1] in " \t\n;&|("):
            end = script.find("\n", place)
            place = len(script) if end < 0 else end
            continue
        if char in ("'", '"') and quote in ("", char):
            quote, opened = ("" if quote else char), line
        line += char == "\n"
        if quote or char not in "\n()":
            kept.append(char)
        elif char == "\n":
            kept += " \n "
        elif char == "(":
            inside = None in opened_at or script[place + 1 : place + 2] in ("(", ")")
            begins = _begins("".join(kept[-80:])) and not (cases and _in_pattern("".join(kept)))
            opens = not inside and (begins or (arm > 0 and not "".join(kept[arm:]).strip()))
            kept += "( " if opens else "("
            opened_at.append(len(kept) if opens else None)
            if not opens:
                others.append(
                    -1 if "(" in (script[place - 1 : place], script[place + 1 : place + 2]) else len(kept)
                )
        elif not opened_at or (cases and opened_at[-1] and _in_pattern("".join(kept[opened_at[-1] :]))):
            kept.append(char)
            arm = len(kept)
        elif opened_at.pop() is None:
            begun = others.pop()
            # The last of several words ends before it: that of an array, or of the command in `$( )`.
            several = begun >= 0 and len("".join(kept[begun:]).split()) > 1
            kept += " )" if several else ")"
        else:
            kept += " ; ) "
        place += 1
    return "".join(kept), opened if quote else None


def _begins(before: str) -> bool:
    """Return whether a command begins behind this text."""
    line = before.rstrip()
    return not line or "\n" in before[len(line) :] or _BEGINS.search(line[-8:]) is not None


def _in_pattern(script: str) -> bool:
    """Return whether a script ends in a pattern of a `case` that is open."""
    cases = [len(re.findall(rf"(?<!\S){word}(?!\S)", script)) for word in ("case", "esac")]
    return cases[0] > cases[1] and _PATTERN.search(script[-400:]) is not None


# The checks and each question for a port read the same few scripts, and a script takes a millisecond.
@lru_cache(maxsize=256)
def _split(script: str) -> tuple[str, ...]:
    # Sums are one word each, and nothing in them needs its spaces.
    script = script.strip()
    if script.endswith("\\"):
        script += "\n"  # a line that goes on, and nothing follows
    script = _read(script)[0].replace("\\\n", " ")
    script = _ARITHMETIC.sub(lambda sum_: "".join(sum_[0].split()), script)
    reader = shlex.shlex(script, posix=True, punctuation_chars=";&|<>")
    reader.whitespace = " \t\r"
    reader.whitespace_split = True
    reader.commenters = ""
    try:
        return tuple(reader)
    except ValueError:  # an open quote, which is told by itself, or one in a here-document
        return ()
