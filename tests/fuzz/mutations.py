"""Random changes of data and of text; all randomness comes from the `Random` that is passed in."""

import copy
from random import Random
from typing import Any

# What people paste and attackers try: escapes, line breaks, bidirectional marks, commands to CI systems.
HOSTILE = (
    "\x1b]0;owned\x07",
    "\x1b[31mred",
    "a\n::set-output name=x::y",
    "::error::x",
    "##vso[task.setvariable]x",
    "##[error]x",
    "left\u202eright",
    "line\u2028feed",
    "next\x85line",
    "zero\u200bwidth\ufeff",
    "\U000e0041tag",
    "x" * 5_000,
    "é" * 300,
    "'; rm -rf / #",
    "${HOME} $(id) `id`",
    "{{ .Values.x }}",
    "%s %(x)s {0} {x!r}",
)
VALUES: tuple[Any, ...] = (
    *HOSTILE,
    None,
    True,
    False,
    0,
    1,
    -1,
    2**31,
    2**63 - 1,
    10**9,
    1.5,
    -0.0,
    1e300,
    "",
    " ",
    "0",
    "1",
    "true",
    "null",
    "16GB",
    "80Gi",
    "500m",
    "1e3",
    "30m",
    "99h",
    "/",
    "..",
    "../../outside/token",
    "~/token",
    "ml/qwen",
    "*",
    "Existing",
    "GKE",
    "europe-west4",
    [],
    {},
    [[]],
    [{}],
    {"a": {}},
    [None],
    {"secure": "x"},
    {"": ""},
)
PIECES = (
    *HOSTILE[:12],
    "---\n",
    "...\n",
    ": ",
    "- ",
    "? ",
    "<<: ",
    "&a ",
    "*a",
    "!!binary ",
    "!x\x1b ",
    "|\n",
    ">-\n",
    "[",
    "]",
    "{",
    "}",
    '"',
    "'",
    "#",
    "%YAML 1.3\n",
    "\t",
    "\r",
    "\r\n",
    "\0",
    "\ufeff",
    "\\x",
    "\n",
    "  ",
    "0644",
    "0x1F",
    ".inf",
    "<<<<<<< HEAD\n",
)
Place = tuple[Any, Any]  # a map or list, and a key or position in it


def places(data: Any) -> list[Place]:
    """Return every value inside the data, each by what holds it."""
    found: list[Place] = []
    waiting = [data]
    while waiting:
        holder = waiting.pop()
        keys: Any = ()
        if isinstance(holder, dict):
            keys = list(holder)
        elif isinstance(holder, list):
            keys = range(len(holder))
        for key in keys:
            found.append((holder, key))
            waiting.append(holder[key])
    return found


def mutated(random: Random, data: Any) -> Any:
    """Return a copy of data with one to four random changes."""
    data = copy.deepcopy(data)
    for _ in range(random.choice((1, 1, 1, 2, 2, 3, 4))):
        inside = places(data)
        if not inside:
            return random.choice(VALUES)
        _change(random, *random.choice(inside), inside)
    return data


def _change(random: Random, holder: Any, key: Any, inside: list[Place]) -> None:
    value = holder[key]
    match random.randrange(9):
        case 0:
            del holder[key]
        case 1 | 2 | 3:
            # One of the same type is accepted more often, and so comes further.
            alike = [other for other in VALUES if type(other) is type(value)] if random.random() < 0.7 else []
            holder[key] = copy.deepcopy(random.choice(alike or VALUES))
        case 4:
            other, at = random.choice(inside)
            if at in other if isinstance(other, dict) else at < len(other):
                holder[key] = copy.deepcopy(other[at])
        case 5:
            name = random.choice(
                (str(random.choice(HOSTILE)), _mistyped(random, str(key)), random.choice("xyz"))
            )
            if isinstance(holder, dict):
                holder[name] = holder.pop(key)
            else:
                holder.append(copy.deepcopy(value))
        case 6:
            holder[key] = random.choice(([value], {"x": value}, [value, copy.deepcopy(value)]))
        case 7 if isinstance(value, str):
            holder[key] = _mistyped(random, value)
        case 7 if isinstance(value, list) and value:
            value.append(copy.deepcopy(random.choice(value)))
        case _:
            for _ in range(random.choice((1, 3, 70))):
                holder[key] = [holder[key]]


def _mistyped(random: Random, text: str) -> str:
    at = random.randrange(len(text) + 1)
    return random.choice(
        (
            text[:at] + text[at + 1 :],
            text[:at] + random.choice("aZ9-_./= ") + text[at:],
            text.swapcase(),
            text + random.choice(HOSTILE[:11]),
            text * 40,
        )
    )


def scribbled(random: Random, text: str) -> str:
    """Return the text with one to six pieces put in, cut out, moved or repeated."""
    for _ in range(random.choice((1, 1, 2, 3, 6))):
        start = random.randrange(len(text) + 1)
        end = min(len(text), start + random.choice((1, 3, 20, 200)))
        match random.randrange(5):
            case 0 | 1:
                text = text[:start] + random.choice(PIECES) + text[start:]
            case 2:
                text = text[:start] + text[end:]
            case 3:
                text = text[:end] + text[start:end] * random.choice((1, 2, 50)) + text[end:]
            case _:
                lines = text.split("\n")
                lines.insert(random.randrange(len(lines) + 1), random.choice(lines))
                text = "\n".join(lines)
    return text
