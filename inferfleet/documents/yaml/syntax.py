"""What a parser of YAML says about a text that is none, in words of what a person writes."""

import re

from inferfleet.documents.wording import shown

# What git leaves where two branches changed the same lines.
_CONFLICT = re.compile("^<<<<<<<( .*)?\r?$", re.MULTILINE)

_FIX = "Fix the syntax on this line or just before it"
_INDENT = "Indent it like the lines around it; a text with ': ' in it needs quotes"
_QUOTE = "Put the text in quotes"
_CLOSE = "Close it, or put text that begins so in quotes"
# A part of what the parser says to what is wrong and the next step. The first that fits counts.
# The parser: https://github.com/yaml/libyaml, src/scanner.c and src/parser.c
_WORDS: tuple[tuple[str, str, str], ...] = (
    ("tab character", "a line is indented with a tab", "Indent with spaces, not tabs"),
    ("mapping values are not allowed", "a field stands where none can be", _INDENT),
    ("mapping keys are not allowed", "a key stands where none can be", _INDENT),
    ("sequence entries are not allowed", "an entry of a list (-) stands where none can be", _INDENT),
    ("expected '-' indicator", "an entry of a list, which begins with '- ', is expected here", _INDENT),
    ("did not find expected key", "a field of a map, such as name: value, is expected here", _INDENT),
    ("could not find expected ':'", "a key has no ':' after it", "Write it like name: value"),
    ("',' or ']'", "a list in brackets is not closed, or lacks a comma", _CLOSE),
    ("',' or '}'", "a map in braces is not closed, or lacks a comma", _CLOSE),
    ("did not find expected node content", "a value is expected here", _FIX),
    ("cannot start any token", "a text cannot begin with this character", _QUOTE),
    ("found unexpected end of stream", "a text in quotes is not closed", "Close the quotes"),
    ("unexpected document indicator", "a text in quotes is not closed", "Close the quotes"),
    ("escape", "a text in double quotes has a \\ that begins nothing known", "Write \\\\ for a backslash"),
    ("hexdecimal", "a text in double quotes has a \\x or \\u without its digits", "Write all digits"),
    ("<document start>", "a document is expected to begin here", "Write --- before each document"),
    ("tag", "a tag (!) is not written as YAML asks for", "Remove the tag, or put the text in quotes"),
    ("anchor", "an anchor (&) or alias (*) is not written as YAML asks for", _QUOTE),
    ("alphabetic or numeric", "an anchor (&) or alias (*) has no name", _QUOTE),
    ("block scalar", "a text of several lines is not written as YAML asks for", "Write | alone on its line"),
    ("indentation indicator", "a text of several lines has a wrong number after | or >", "Write | alone"),
    ("comment or line break", "something stands after | or > on the same line", "Write | alone on its line"),
    ("incompatible YAML document", "this is another version of YAML", "Remove the line with %YAML"),
    ("directive", "a line beginning with % is not written as YAML asks for", "Remove it, or quote the text"),
    ("%", "a line beginning with % is not written as YAML asks for", "Remove it, or quote the text"),
    ("key", "a key is longer than YAML allows, or spans lines", "Shorten it"),
)


def conflict(text: str) -> tuple[int, str] | None:
    """Return the first mark of a merge conflict that git left in a file, with its line, None without any."""
    found = _CONFLICT.search(text.removeprefix("\ufeff"))
    return (found.string.count("\n", 0, found.start()) + 1, found[0].rstrip("\r")) if found else None


def mistake_of(said: str, character: str) -> tuple[str, str]:
    """Return what is wrong by what the parser said, and the next step; `character` is where it stopped."""
    if character == "\t":
        return "a line is indented with a tab", "Indent with spaces, not tabs"
    for part, what, next_step in _WORDS:
        if part in said:
            named = f" ({shown(character)})" if part == "cannot start any token" and character.strip() else ""
            return what + named, next_step
    return "this is not written as YAML asks for", _FIX
