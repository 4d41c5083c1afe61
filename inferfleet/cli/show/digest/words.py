"""Texts of documents and messages inside Markdown, where they must not act as markup, mention or link."""

import re

from inferfleet.documents.wording import one_line

# Longest line of a message; `--json` has all of it.
LONGEST = 600
_MARKUP = re.compile(r"([\\`*_{}\[\]<>|~#&])")
# What GitHub and GitLab make links and pictures of in the text that Markdown has become: people, issues,
# addresses and `:emoji:`. A comment in between stops that.
_LINKS = re.compile(r"(@|://|www\.|\bGH-|[!#$%~&](?=\d)|:(?=[\w+\\-]+:))")
# Of so many digits may be the name of a commit.
_COMMIT = re.compile(r"\b[0-9a-fA-F]{7,40}\b")
_STOP = "<!-- -->"


def plain(text: str) -> str:
    """Return the text on one line, shortened, as Markdown shows it character by character."""
    escaped = _MARKUP.sub(r"\\\1", _short(one_line(text)))
    parted = _COMMIT.sub(lambda name: re.sub("(.{6})(?=.)", rf"\1{_STOP}", name[0]), escaped)
    # A formula may begin with a dollar, also behind a backslash.
    return _LINKS.sub(rf"\1{_STOP}", parted).replace("$", "&#36;")


def code(text: str) -> str:
    """Return a name as code, shortened, without backticks: no name of Kubernetes and no field has one."""
    return f"`{_short(one_line(text).replace('`', ''))}`"


def _short(line: str) -> str:
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"
