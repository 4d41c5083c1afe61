"""Whether an engine hears that its pod ends, or a shell before it keeps SIGTERM for itself.

Kubelets send SIGTERM to the first process of a container alone. A shell that waits for an engine hands it on
to nobody, and as process 1 it does not end by it either: the kernel drops signals without a handler there
(pid_namespaces(7)). So the engine serves on until the grace period ends, and is killed.

Shells replace themselves by a command behind `exec`, and behind `eval exec`, but not before `( )`, whatever
is in them (tried with both shells below). Without it, bash from 5.1 on does so for the last simple
command of `-c`, unless that has a redirection, `!` or `time`, is part of a compound command, or a trap is set
(`should_optimize_fork` and `optimize_connection_fork` in builtins/evalstring.c of bash 5.3, 637f5c86; behind
`;` since 5.1, read 2026-11-24). Bash reads a line at a time: something behind the end of the command's line,
be it a blank or a comment, is more to do (`*bash_input.location.string == '\\0'`, the same file), and within
the line only the last of `;`, `&&` and `||` counts, so not `&`, nor `&&` behind `;`. Tried with bash 5.2.15
of Debian 12, which does so, and dash 0.5.12-2, which stays for each command without `exec`. `sh` is dash in
images of Debian and Ubuntu, and bash in those of Red Hat (not tried). Of zsh nothing is said.

A trap waits for the command in the foreground, and ends `wait` at once (3.7.6 "Signals" of the manual of
bash); where the script ends then, the kernel kills what is left in the container.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from inferfleet.api.kinds.containers import engine_container
from inferfleet.api.problems import Mistake
from inferfleet.fleet.engines.ends.hooks import SHELLS
from inferfleet.fleet.engines.ready import start
from inferfleet.fleet.engines.words import Command, Word, command_of
from inferfleet.profiles.engines import EngineDefaults

_OPENS = ("if", "while", "until", "for", "select", "case", "{")
_CLOSES = ("fi", "done", "esac", "}")
# Behind these and those above, a command begins.
_BETWEEN = ("then", "elif", "else", "do", "!", "time")
_ASSIGNS = re.compile(r"[A-Za-z_]\w*\+?=")
# With one of these a command names a program, and does not start it.
_NAMING = frozenset(("echo", "printf", "command", "type", "which", "hash", "pip", "pip3", "apt", "apt-get"))
# Here-documents and arrays, whose words are no commands; nor are the patterns of `case` with `|` and `(`.
_OTHERWISE = re.compile(r"<<|=\(")
_PATTERNS = re.compile(r"\||(\bin|;;)\s*\(")
# With these before it `exec` does the same.
_RUNS_EXEC = ("eval", "builtin")
_IN_PIPE = ("|", "|&")
_GOES_ON = (*_IN_PIPE, "&&", "||")
_AGAIN = (
    "Let the trap wait for the engine too, such as trap 'kill -TERM $pid; wait $pid' TERM, or start it by "
    "exec, as the last command of the script"
)


@dataclass(frozen=True)
class _Simple:
    """A simple command of a script: its words, what stands before and behind it, and whether it is part of a
    compound command. `apart`: it runs in a subshell. `last`: bash has nothing more to do behind it.
    """

    words: tuple[Word, ...]
    before: str
    after: str
    compound: bool
    apart: bool
    last: bool

    @property
    def texts(self) -> tuple[str, ...]:
        """Its words behind assignments."""
        texts = [word.text for word in self.words]
        while texts and _ASSIGNS.match(texts[0]):
            del texts[0]
        return tuple(texts)

    @property
    def replaces(self) -> bool:
        """Whether it takes the place of the shell that runs it, by `exec`."""
        return next((text for text in self.texts if text not in _RUNS_EXEC), "") == "exec"

    @property
    def background(self) -> bool:
        """Whether the shell goes on beside it: `coproc` needs no `&`."""
        return self.after == "&" or self.texts[:1] == ("coproc",)

    @property
    def piped(self) -> bool:
        """Whether it writes to another command, or reads from one."""
        return self.before in _IN_PIPE or self.after in _IN_PIPE

    @property
    def redirected(self) -> bool:
        """Whether it has a redirection."""
        return any(word.text.strip("&|") and not word.text.strip("<>&|") for word in self.words)


def unheard_mistake(
    spec: Mapping[str, Any], table: EngineDefaults, *, engine: str, grace: int
) -> Mistake | None:
    """Return that the shell which starts an engine keeps SIGTERM, None where the engine hears it or may.

    `grace` is the grace period of the pod. Places begin with `spec`.
    """
    command = command_of(spec)
    shell = _shell(command)
    hook = engine_container(spec)[1].get("lifecycle", {}).get("preStop", {}).get("exec", {})
    if shell is None or command.unclosed or "kill" in " ".join(hook.get("command", ())):
        return None
    script = " ".join(word.text for word in command.words if word.shell)
    if _OTHERWISE.search(script) or ("case" in script and _PATTERNS.search(script)):
        return None
    alone = not (spec.get("shareProcessNamespace") or spec.get("hostPID"))
    lost = (
        f"{engine} never hears that its pod ends, and after {grace} s it is killed with all it has in hand"
        if alone
        else f"SIGTERM ends {shell} alone, and with it the container and all that {engine} has in hand"
    )
    simples = [*_simples(command, ends=_ends(spec, command))]
    for i, simple in enumerate(simples):
        begins = start(Command(simple.words), table)
        if begins is None or not simple.texts or simple.texts[0] in _NAMING:
            continue
        if "--headless" in _outside(simple.texts):
            continue  # it takes no requests
        if any(_is_start(later, table) for later in simples[i + 1 :]):
            continue  # this one asks or names the engine
        name = simple.words[begins].text
        if name.rpartition("/")[2] in {program.split()[0] for program in table.programs if " " in program}:
            name += f" {simple.words[begins + 1].text}"
        traps = re.search(r"\btrap\b", script) is not None
        passes = traps and "kill" in script
        if passes and simple.background:
            if once := _once(shell, script):
                return Mistake(
                    f"{once}: {engine} is killed with all it has in hand", _AGAIN, simple.words[begins].at
                )
        elif simple.background and any(_gives_way(later) for later in simples[i + 1 :]):
            continue  # another program is the first process then, which may hand it on
        elif kept := _kept(simple, shell, name, traps=traps, passes=passes):
            return Mistake(f"{kept[0]}: {lost}", kept[1], simple.words[begins].at)
    return None


def _kept(simple: _Simple, shell: str, name: str, *, traps: bool, passes: bool) -> tuple[str, str] | None:
    """Return why a shell keeps SIGTERM from this command, and the next step, None where it does not.

    `traps`: the script has a trap, and one that `passes` signals on.
    """
    first = simple.texts[0]
    # The first word alone: behind `env` may be a token.
    alone = first in ("exec", "(", "coproc", "function", *_RUNS_EXEC, name.partition(" ")[0])
    begins = name if alone else f"{first} ... {name}"
    last = f"Write exec {begins} ..., as the last command of the script"
    if simple.background:
        waits = f"{name} runs in the background, and {shell} hands SIGTERM on to nobody"
        return waits, f"{last}, with what else runs in the background before it"
    if simple.piped:
        piped = f"{name} is part of a pipe, so {shell} stays before it and hands SIGTERM on to nobody"
        return piped, f"{last}, without the pipe: what it prints is in the log of the pod"
    if simple.apart:
        return f"{name} runs in a subshell, and {shell} hands SIGTERM on to nobody", f"{last}, without ( )"
    if simple.replaces:
        return None
    if passes:
        return f"{shell} runs its trap only once {name} has ended", last
    hidden = simple.compound or simple.redirected or traps or simple.texts[:1] == ("eval",)
    by_bash = simple.last and not hidden
    if shell == "bash" and by_bash:
        return None
    stays = "where sh is dash (Debian, Ubuntu), it stays" if shell == "sh" and by_bash else f"{shell} stays"
    return f"{stays} before {name}, which has no exec, and hands SIGTERM on to nobody", last


def _outside(texts: Iterable[str]) -> Iterator[str]:
    """Yield the words that no `$( )` may leave out."""
    depth = 0
    for text in texts:
        if depth <= 0:
            yield text
        depth += text.count("(") - text.count(")")


def _is_start(simple: _Simple, table: EngineDefaults) -> bool:
    """Return whether a command makes an engine the first process."""
    return _gives_way(simple) and start(Command(simple.words), table) is not None


def _gives_way(simple: _Simple) -> bool:
    """Return whether a command replaces the shell by another program: `exec 3>&1` has redirections alone."""
    if simple.texts[:1] != ("exec",) or simple.piped or simple.apart or simple.after == "&":
        return False
    given = re.sub(r"[<>] ?\([^)]*\)", "file", " ".join(simple.texts[1:]))
    return bool(re.sub(r"(\d+|\{\w+\})? ?[<>&|]+ \S+", "", given).strip())


def _once(shell: str, script: str) -> str | None:
    """Return that a script ends behind its trap, because its one `wait` is what the signal ended."""
    if len(re.findall(r"\bwait\b", script)) != 1 or re.search(r"\b(while|until)\b", script):
        return None
    return f"SIGTERM ends the wait of {shell} at once, and behind its trap the script and the container end"


def _shell(command: Command) -> str | None:
    """Return the shell that is the first process of the container, None for others and where it may be.

    Before `args` alone the image has a program of its own, and an init such as tini can signal all.
    """
    first = next(
        (word for word in command.words if word.text.rpartition("/")[2] != "env" and "=" not in word.text),
        None,
    )
    if first is None or first.shell or first.at[3] != "command":
        return None
    name = first.text.rpartition("/")[2]
    return name if name in SHELLS and any(word.shell for word in command.words) else None


def _ends(spec: Mapping[str, Any], command: Command) -> bool:
    """Return whether a script has nothing behind the end of its last line, no blank and no second end."""
    at = next(word.at for word in command.words if word.shell)
    script = engine_container(spec)[1][str(at[3])][int(at[4])].replace("\\\n", " ")
    return "\n" not in script[len(script.rstrip()) : -1]


def _simples(command: Command, *, ends: bool) -> Iterator[_Simple]:
    """Yield the simple commands of a script, those in `( )` as one that is apart.

    `ends`: nothing but a comment follows the words.
    """
    words = [word for word in command.words if word.shell]
    begin, before, depth, nested, prefixed, listed = 0, "", 0, 0, False, False
    for i, text in enumerate([*(word.text for word in words), ";"]):
        if depth <= 0 and text and not text.strip(";&|\n"):
            if begin < i:
                yield _Simple(
                    words=tuple(words[begin:i]),
                    before=before,
                    after=text,
                    compound=nested > 0 or prefixed,
                    apart=words[begin].text.startswith("("),
                    last=ends
                    and not any(word.text.strip(";") for word in words[i:])
                    and before != "&"
                    and not (listed and before in ("&&", "||")),
                )
            # An end of a line ends no command behind an operator.
            if begin < i or text != "\n" or before not in _GOES_ON:
                before = text
            if not nested:
                listed = (listed or text in (";", "&")) and before != "\n"
            begin, prefixed = i + 1, False
        elif i == begin and (text in _OPENS or text in _CLOSES or text in _BETWEEN):
            nested = max(0, nested + (text in _OPENS) - (text in _CLOSES))
            prefixed = prefixed or text in ("!", "time")
            begin = i + 1
        elif depth <= 0 and _begins_behind(text):
            begin = i + 1
        else:
            depth += text.count("(") - text.count(")")


def _begins_behind(text: str) -> bool:
    """Return whether a command begins behind this word: the name of a function, a pattern of `case`."""
    return text.endswith("()") or text.count(")") > text.count("(")
