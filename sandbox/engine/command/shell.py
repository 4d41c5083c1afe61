"""Works out which programs a container's script would run, as `sh -c` would, without running any.

It knows what scripts that start an engine are made of: variables (also `${NAME:-default}`), sums
(`$((LWS_WORKER_INDEX * 8))`), quotes, `if`, `&&`, `||`, tests, and substitutions of `echo` and `printf`.
Loops are skipped: they wait for what the stand-ins wait for themselves. Other commands count as successful.

A program hears SIGTERM where it is the first process of its container in place of the shell: behind `exec`,
and with bash as the last command, where that has no redirection and no trap is set, and not where something
follows the end of its line or `&` stands before it (tried with bash 5.2.15; dash 0.5.12 stays before every
command without `exec`). From the background a trap can hand it on.
"""

import ast
import itertools
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from sandbox.engine.command.splitting import closing, commands, index, raw_words
from sandbox.engine.failure import EngineFailure

Words = tuple[str, ...]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_REDIRECTION = re.compile(r"(?:\d*|&)(?:>>|>|<)(.*)", re.DOTALL)
_EXPANSION = re.compile(r"(\w+)(?::?-(.*))?", re.DOTALL)
_LOOPS = ("for", "while", "until")
_AND_OR = ("&&", "||")
_GOES_ON = (*_AND_OR, "|")
# After which separator and success a command does not run.
_SKIPS = (("&&", False), ("||", True))
_OF_IF = ("then", "elif", "else", "fi")
_OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_NUMBERS: dict[str, Callable[[int, int], bool]] = {
    "-eq": operator.eq,
    "-ne": operator.ne,
    "-lt": operator.lt,
    "-le": operator.le,
    "-gt": operator.gt,
    "-ge": operator.ge,
}


# What becomes of SIGTERM: the program hears it, or nobody does, or its container ends at once.
Signalled = Literal["heard", "unheard", "cut"]


@dataclass(frozen=True)
class Program:
    """A command that a script runs, and whether it hears what is sent to its container."""

    words: Words
    signalled: Signalled = "heard"


def programs(script: str, env: Mapping[str, str], *, program: str = "sh") -> tuple[Program, ...]:
    """Return each command that the script of a shell, `program`, runs, in order. Raises EngineFailure."""
    shell = _Shell(dict(env), replaces=program == "bash")
    try:
        shell.run(script)
    except (ValueError, SyntaxError, RecursionError) as error:
        raise EngineFailure(f"sh: syntax error in the script of the container: {error}") from error
    traps = [" ".join(ran.words) for ran in shell.ran if ran.words[0] == "trap"]
    if not any("kill" in trap for trap in traps):
        return tuple(shell.ran)
    # A trapped signal ends `wait`. Where that was the only one, the script ends behind its trap.
    after: Signalled = "cut" if len(re.findall(r"\bwait\b", script)) == 1 else "heard"
    return tuple(
        replace(ran, signalled=after) if place in shell.background else ran
        for place, ran in enumerate(shell.ran)
    )


class _Place(NamedTuple):
    """Where a command stands: the separators before and behind it, and whether bash has no more to do."""

    before: str = ";"
    after: str = ";"
    last: bool = False


@dataclass
class _Branch:
    """One `if`. `runs`: its present condition or branch runs. `done`: no later one does."""

    runs: bool
    done: bool

    def enter(self, word: str, *, succeeded: bool) -> None:
        """Go on behind `then`, `elif` or `else`."""
        self.runs = self.runs and succeeded if word == "then" else not self.done
        self.done = self.done or (self.runs and word != "elif")


class _Shell:
    """The state of one shell. `ran` has its commands, `background` the numbers of those it does not wait for.

    `replaces`: it gives its process to its last command.
    """

    def __init__(self, env: dict[str, str], *, replaces: bool = False) -> None:
        self.env = env
        self.ran: list[Program] = []
        self.background: list[int] = []
        self._replaces = replaces
        self._printed: list[str] = []
        self._branches: list[_Branch] = []
        self._loops = 0
        self._succeeded = True

    def run(self, script: str) -> None:
        before, parts = "\n", [*commands(script.replace("\\\n", " "))]
        # Whether a list of `;` or `&` has begun in this line, within which bash gives no place behind `&&`.
        listed = False
        groups = 0  # how many `{` are open
        for number, (text, after) in enumerate(parts, 1):
            if text.strip():
                rest = after + "".join(blank + end for blank, end in parts[number:])
                gives = before != "&" and not (listed and before in _AND_OR)
                last = not rest.strip(" \t\n;") and "\n" not in rest[:-1]
                self._step(text, _Place(before, after, last=last and gives))
            elif before in _GOES_ON:
                continue  # an end of a line ends no command behind an operator
            before = after
            groups = max(0, groups + _opened(text) - (text.strip() == "}"))
            if not (self._loops or self._branches or groups):
                listed = (listed or after in (";", "&")) and after != "\n"
        if self._branches:
            raise ValueError("if without fi")

    def _step(self, text: str, at: _Place) -> None:
        """Run a command unless it is in a branch or loop that is skipped."""
        first, rest = [*text.split(maxsplit=1), ""][:2]
        self._loops += first in _LOOPS
        if self._loops:
            self._loops -= first == "done"
        elif first == "if":
            active = all(branch.runs for branch in self._branches)
            self._branches.append(_Branch(runs=active, done=not active))
            self._step(rest, _Place(after=at.after))
        elif first in _OF_IF:
            if not self._branches:
                raise ValueError(f"{first} without if")
            self._branches[-1].enter(first, succeeded=self._succeeded)
            if first == "fi":
                self._branches.pop()
            elif rest:
                self._step(rest, _Place(after=at.after))
        elif first == "{":
            self._step(rest, _Place(after=at.after))
        elif all(branch.runs for branch in self._branches) and (at.before, self._succeeded) not in _SKIPS:
            self._command(text, at)

    def _command(self, text: str, at: _Place) -> None:
        words = self._words(text)
        while words and (assigned := re.fullmatch(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", words[0], re.DOTALL)):
            self.env[assigned[1]] = assigned[2]
            words = words[1:]
        if words and words[0] in ("export", "local", "readonly", "declare"):
            for word in words[1:]:
                name, equals, value = word.partition("=")
                if equals:
                    self.env[name] = value
            words = ()
        self._succeeded = True
        if not words or words[0] == "}":
            return
        if words[0] == "!":
            self._command(text.replace("!", "", 1), at._replace(last=False))
            self._succeeded = not self._succeeded
            return
        name = words[0]
        if name in ("[", "[[", "test"):
            self._succeeded = _test(words[1:] if name == "test" else words[1:-1])
        elif name in ("true", "false"):
            self._succeeded = name == "true"
        else:
            if name in ("echo", "printf"):
                self._printed.append(" ".join(words[1:]))
            if at.after == "&":
                self.background.append(len(self.ran))
            own = words[1:] if name == "exec" else words
            self.ran.append(Program(own, self._signalled(name, text, at)))

    def _signalled(self, name: str, text: str, at: _Place) -> Signalled:
        """Return whether a command is the process to which signals are sent."""
        if at.before == "|" or at.after in ("|", "&") or name.startswith("("):
            return "unheard"
        trapped = any(ran.words[0] == "trap" for ran in self.ran)
        redirected = any(_REDIRECTION.fullmatch(raw) for raw in raw_words(text))
        replaces = self._replaces and at.last and not self._branches and not trapped and not redirected
        return "heard" if name == "exec" or replaces else "unheard"

    def _words(self, text: str) -> Words:
        """Return the words of a command, expanded. What is expanded outside of quotes is split again."""
        words: list[str] = []
        raws = raw_words(text)
        for raw in raws:
            if redirection := _REDIRECTION.fullmatch(raw):
                if not redirection[1]:
                    next(raws, None)
                continue
            expanded = self._expanded(raw)
            assignment = _NAME.match(raw) and "=" in raw.partition("$")[0]
            plain = not re.search(r"['\"\\]", raw)
            words += expanded.split() if plain and "$" in raw and not assignment else [expanded]
        return tuple(words)

    def _expanded(self, raw: str) -> str:
        """Return a word without its quotes, with variables, sums and substitutions replaced."""
        parts, at, quoted = [], 0, False
        while at < len(raw):
            character = raw[at]
            if character == "'" and not quoted:
                end = index(raw, "'", at + 1)
                parts.append(raw[at + 1 : end])
                at = end + 1
            elif character == '"':
                quoted, at = not quoted, at + 1
            elif character == "\\" and at + 1 < len(raw):
                kept = "" if not quoted or raw[at + 1] in '"\\$`' else "\\"
                parts.append(kept + raw[at + 1])
                at += 2
            elif character == "$":
                value, at = self._value(raw, at + 1)
                parts.append(value)
            else:
                parts.append(character)
                at += 1
        return "".join(parts)

    def _value(self, raw: str, at: int) -> tuple[str, int]:
        """Return what the text behind a dollar sign stands for, and the position behind it."""
        if raw.startswith("((", at):
            end = closing(raw, at)
            return str(self._sum(raw[at + 2 : end - 1])), end + 1
        if raw.startswith("(", at):
            end = closing(raw, at)
            inner = _Shell(dict(self.env))
            inner.run(raw[at + 1 : end])
            return "\n".join(inner._printed), end + 1
        if raw.startswith("{", at):
            end = index(raw, "}", at)
            variable = _EXPANSION.fullmatch(raw, at + 1, end)
            if variable is None:
                raise ValueError(f"the sandbox does not know the expansion ${raw[at : end + 1]}")
            return self.env.get(variable[1]) or self._expanded(variable[2] or ""), end + 1
        if name := _NAME.match(raw, at):
            return self.env.get(name[0], ""), name.end()
        return "$", at

    def _sum(self, text: str) -> int:
        plain = self._expanded(text.replace("/", "//"))
        return _evaluated(ast.parse(plain.strip(), mode="eval").body, self.env)


def _opened(text: str) -> int:
    """Return how many groups a simple command opens."""
    return len([*itertools.takewhile("{".__eq__, text.split())])


def _evaluated(node: ast.expr, env: Mapping[str, str]) -> int:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.Name):
        return int(env.get(node.id) or 0)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_evaluated(node.operand, env)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        left, right = _evaluated(node.left, env), _evaluated(node.right, env)
        if right == 0 and isinstance(node.op, ast.FloorDiv | ast.Mod):
            raise ValueError("division by 0")
        return _OPERATORS[type(node.op)](left, right)
    raise ValueError(f"arithmetic: {ast.unparse(node)}")


def _test(words: Words) -> bool:
    if words[:1] == ("!",):
        return not _test(words[1:])
    match words:
        case ("-n", text) | (text,):
            return bool(text)
        case ("-z", text):
            return not text
        case (left, "=" | "==", right):
            return left == right
        case (left, "!=", right):
            return left != right
        case (left, comparison, right) if comparison in _NUMBERS:
            return _NUMBERS[comparison](int(left), int(right))
    return False
