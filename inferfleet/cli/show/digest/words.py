"""Texts of documents and messages inside Markdown, where they must not act as markup, mention or link."""

import re

from inferfleet.api.wording import one_line

# Longest line of a message; `--json` has all of it.
LONGEST = 600
_MARKUP = re.compile(r"([\\`*_{}\[\]<>|~#&])")
# What GitHub and GitLab make links of: people, issues and addresses. A comment in between stops that.
_LINKS = re.compile(r"(@|://|www\.|\bGH-|!(?=\d))")


def plain(text: str) -> str:
    """Return the text on one line, shortened, as Markdown shows it character by character."""
    return _LINKS.sub(r"\1<!-- -->", _MARKUP.sub(r"\\\1", _short(one_line(text))))


def code(text: str) -> str:
    """Return a name as code, shortened, without backticks: no name of Kubernetes and no field has one."""
    return f"`{_short(one_line(text).replace('`', ''))}`"


def _short(line: str) -> str:
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"
