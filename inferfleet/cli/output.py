"""The one way out: every line, JSON and YAML that a verb prints.

Texts come from documents, file names, clusters and clouds, and may be written to harm whoever reads them in a
terminal or a CI log.
"""

import io
import json
import re
import sys
from typing import Any

from inferfleet.documents.wording import one_line


def accept_every_character() -> None:
    """Print as escapes what the output's encoding lacks; else `é` would end a command under `LC_ALL=C`."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def print_line(text: str = "", *, error: bool = False, flush: bool = False) -> None:
    """Print one line, to standard error with `error`; what would end it or act on a terminal is escaped."""
    print(one_line(text), file=sys.stderr if error else sys.stdout, flush=flush)


def print_json(values: Any) -> None:
    """Print values as JSON in ASCII."""
    print(json_text(values), end="")


def json_text(values: Any) -> str:
    """Return values as JSON in ASCII. `##`, with which commands to CI systems begin, is escaped too."""
    return json.dumps(values, indent=2).replace("##", "\\u0023#") + "\n"


def visible(text: str) -> str:
    """Return YAML or JSON with escapes for characters that cannot be seen, and for commands to CI systems.

    Our writers put such texts in double quotes, where both languages read these escapes.
    """
    if not text.replace("\n", "").isprintable():
        text = "".join(
            char if char == "\n" or char.isprintable() else char.encode("unicode_escape").decode("ascii")
            for char in text
        )
    text = re.sub(r"^( *):(?=:)", r"\1\\u003a", text, flags=re.MULTILINE)
    return re.sub(r"##(?=\[|vso\[)", r"\\u0023#", text)


def print_yaml(text: str) -> None:
    """Print YAML that ends in a newline."""
    print(visible(text), end="")
