"""Splits the script of a container into its commands, and those into words, by quotes and separators."""

import re
from collections.abc import Iterator

# An ampersand of a redirection such as `2>&1` separates nothing.
_SEPARATORS = re.compile(r"&&|\|\||[;|\n]|(?<![>&])&(?!>)")


def commands(script: str) -> Iterator[tuple[str, str]]:
    """Yield the text of each simple command, and what separates it from the next; it is blank where there is
    none, as between two ends of lines.
    """
    start = at = 0
    while at < len(script):
        if script[at] == "#" and (at == 0 or script[at - 1] in " \t\n;"):
            end = script.find("\n", at)
            script = script[:at] + " " + (script[end:] if end >= 0 else "")
        elif (end := _jump(script, at)) > at:
            at = end
        elif separator := _SEPARATORS.match(script, at):
            yield script[start:at], separator[0]
            start = at = separator.end()
        else:
            at += 1
    if script[start:]:
        yield script[start:], ";"


def _jump(script: str, at: int) -> int:
    """Return the position behind the quotes or the substitution that begin here, else this one."""
    if script[at] == "\\":
        return at + 2
    if script[at] == "'":
        return index(script, "'", at + 1) + 1
    if script[at] == '"':
        at += 1
        while script[at : at + 1] != '"':
            if at >= len(script):
                raise ValueError("No closing quotation")
            at = max(at + 1, _jump(script, at)) if script[at] in "\\$" else at + 1
        return at + 1
    if script.startswith("$(", at):
        return closing(script, at + 1) + 1
    return at


def index(text: str, end: str, at: int) -> int:
    position = text.find(end, at)
    if position < 0:
        raise ValueError(f"No closing {end}")
    return position


def closing(text: str, at: int) -> int:
    """Return the position of the parenthesis that closes the one here."""
    depth = 0
    for position in range(at, len(text)):
        depth += (text[position] == "(") - (text[position] == ")")
        if depth == 0:
            return position
    raise ValueError("No closing parenthesis")


def raw_words(text: str) -> Iterator[str]:
    """Yield the words of a command with their quotes. Redirections are words like others."""
    start = at = 0
    while at < len(text):
        if text[at].isspace():
            if start < at:
                yield text[start:at]
            at = start = at + 1
        else:
            at = max(at + 1, _jump(text, at))
    if start < at:
        yield text[start:]
