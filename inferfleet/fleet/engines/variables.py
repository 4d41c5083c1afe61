"""Variables of a LeaderWorkerSet that containers of a pod refer to: a misspelt one stays text, or is empty.

The controller gives every container three of them (kubernetes-sigs/lws, AddLWSVariables in
pkg/utils/pod/pod_utils.go). Kubernetes replaces `$(NAME)` in command, args and values of variables, and
leaves names that it does not know; `$NAME` and `${NAME}` are for a shell. Nothing is said of names that a
script or the container sets, or may set by `envFrom`.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from inferfleet.api.problems import Mistake
from inferfleet.api.wording import listing, nearest
from inferfleet.fleet.engines.words import OF_GROUP, Steps, script_at

_NAMES = tuple(reference[2:-1] for reference in OF_GROUP)
_NAME = r"[Ll][Ww][Ss]_\w*"
_KUBERNETES = re.compile(rf"(?<!\$)\$\(({_NAME})\)")
_SHELL = re.compile(rf"(?<![\\$])\$\{{?({_NAME})")
_ARITHMETIC = re.compile(r"\$\(\((.*?)\)\)", re.DOTALL)
_COMMENT = re.compile(r"^\s*#.*$", re.MULTILINE)
_BARE = re.compile(rf"(?<![\w$])({_NAME})")


def variable_mistakes(spec: Mapping[str, Any]) -> Iterator[Mistake]:
    """Yield references to variables of a LeaderWorkerSet by which no container gets a value.

    The spec is that of a pod; places begin with `spec`.
    """
    for kind in ("containers", "initContainers"):
        for i, container in enumerate(spec.get(kind) or ()):
            for mistake in _of_container(container):
                yield Mistake(mistake.what, mistake.next_step, ("spec", kind, i, *mistake.at))


def _of_container(container: Mapping[str, Any]) -> Iterator[Mistake]:
    variables = container.get("env") or []
    own = {variable["name"] for variable in variables}
    lines: list[tuple[Steps, str]] = [
        ((key, i), text) for key in ("command", "args") for i, text in enumerate(container.get(key) or ())
    ]
    script = script_at([text for _, text in lines])
    values = [(("env", i, "value"), variable.get("value") or "") for i, variable in enumerate(variables)]
    for i, (at, text) in enumerate([*lines, *values]):
        in_shell = i == script
        for written, name in dict.fromkeys(_references(text, in_shell=in_shell)):
            if name in own or (in_shell and _sets(text, name)):
                continue
            if name not in _NAMES:
                if not container.get("envFrom"):
                    yield _misspelt(written, name, at, in_shell=in_shell)
            elif not in_shell and not written.startswith("$("):
                yield Mistake(
                    f"{written} stays as it is written: no shell reads it, and Kubernetes replaces "
                    "$(NAME) alone",
                    f"Write $({name})",
                    at,
                )


def _references(text: str, *, in_shell: bool) -> Iterator[tuple[str, str]]:
    """Yield references to variables named as those of LeaderWorkerSets: as written, and the name."""
    if in_shell:
        text = _COMMENT.sub("", text)
    yield from ((found[0], found[1]) for found in _KUBERNETES.finditer(text))
    yield from (
        (found[0] + ("}" if found[0].startswith("${") else ""), found[1]) for found in _SHELL.finditer(text)
    )
    for arithmetic in _ARITHMETIC.finditer(text) if in_shell else ():
        yield from ((found[1], found[1]) for found in _BARE.finditer(arithmetic[1]))


def _sets(script: str, name: str) -> bool:
    return re.search(rf"\b{name}=|\b(read|for|local|declare|export)\b[^;\n]*\b{name}\b", script) is not None


def _misspelt(written: str, name: str, at: Steps, *, in_shell: bool) -> Mistake:
    close = nearest(name, _NAMES)
    right = written.replace(name, close or "") if in_shell else f"$({close})"
    return Mistake(
        f"{written} has no value: the variables of LeaderWorkerSets are {listing(_NAMES)}",
        f"Did you mean {right}?" if close else "Name one of them, or set the variable in env",
        at,
    )
