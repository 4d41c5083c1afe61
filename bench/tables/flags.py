"""Prints what an engine's command line may hold, as JSON: `flags.py vLLM`. Runs where its package is.

What a flag takes is found by giving its parser values, and how words are read by giving the engine's parser
command lines.
"""

import argparse
import importlib.metadata
import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

from real import refusal, sglang_parser, vllm_parsers

# Which of these values a flag takes says of what kind it is. Empty text and None stand for no value.
KINDS = {
    ("7",): "int",
    ("7", "1.5"): "float",
    ("7", "32k"): "size",
    ("7", "32k", "auto"): "size or auto",
    ("7", "1.5", "{}", "[]"): "JSON",
    ("{}",): "object",
    ("7", "1.5", "32k", "auto", "x", "{}", "[]", "{x}"): "text",
    ("7", "1.5", "32k", "auto", "x", "{}", "[]"): "text or JSON",
}
PROBES = ("7", "1.5", "32k", "auto", "x", "{}", "[]", "{x}")
SUFFIXES = ("k", "K", "m", "M", "g", "G", "t", "T", "Ki", "Mi", "Gi", "Ti")


def takes(parse: Callable[[str], Any], value: str) -> bool:
    try:
        parse(value)
    except Exception:  # noqa: BLE001 (argparse itself takes three kinds for a refusal; others end it)
        return False
    return True


def kind_of(parse: Callable[[str], Any]) -> str:
    """Return the kind of the values that a flag takes; some objects are not taken without keys."""
    if keys_of(parse):
        return "object"
    return KINDS[tuple(value for value in PROBES if takes(parse, value))]


def keys_of(parse: Callable[[str], Any]) -> list[str]:
    """Return the keys of the object that a flag of vLLM takes as JSON: the fields of a class."""
    if parse.__name__ == "parse_dataclass":
        # It is the default of an argument there: `def parse_dataclass(val, cls=dataclass_cls)`.
        (held,) = parse.__defaults__ or ()
        return [name for name, field in held.__dataclass_fields__.items() if field.init]
    inner = [cell.cell_contents for cell in getattr(parse, "__closure__", None) or ()]
    return next((keys for value in inner if callable(value) and (keys := keys_of(value))), [])


def row(action: argparse.Action) -> dict[str, Any]:
    """Return what is to be known of one flag; only what it has is in the row."""
    found: dict[str, Any] = {"options": list(action.option_strings)}
    if action.nargs is not None:
        found["values"] = action.nargs
    if action.nargs == 0:
        return found
    parse = action.type if callable(action.type) else str
    found["kind"] = kind_of(parse)
    if keys := keys_of(parse):
        found["keys"] = keys
    if found["kind"] not in ("text", "text or JSON") and takes(parse, "None") and takes(parse, ""):
        found["none"] = True
    if action.choices is not None:
        choices = [str(choice) for choice in action.choices if choice is not None]
        # A set has another order each time.
        found["choices"] = choices if isinstance(action.choices, list | tuple) else sorted(choices)
        found["folded"] = all(parse(choice.swapcase().replace("_", "-")) == choice for choice in choices)
        if None in action.choices:
            found["none"] = True
    return {key: value for key, value in found.items() if value is not False}


def suffixes(parser: argparse.ArgumentParser) -> dict[str, bool]:
    """Return the suffixes of sizes, and whether there may be decimals before them."""
    parse = next(
        action.type for action in parser._actions if callable(action.type) and kind_of(action.type) == "size"
    )
    return {suffix: takes(parse, f"1.5{suffix}") for suffix in SUFFIXES if takes(parse, f"2{suffix}")}


def reading(engine: str, flag: str, structure: str) -> Iterator[str]:
    """Yield how the parser reads words, by trying each way with a flag of a number, and one of JSON."""
    model = {"vLLM": ["m"], "SGLang": ["--model-path", "m"]}[engine]
    ways = {
        "underscores": [flag.replace("-", "_").replace("__", "--", 1), "1"],
        "abbreviations": [flag[:-1], "1"],
        "dotted": [f"{structure}.a", "1"],
        "-O": ["-O1"],
    }
    return (way for way, words in ways.items() if refusal(engine, [*model, *words]) is None)


def table(engine: str) -> dict[str, Any]:
    parser = {"vLLM": lambda: vllm_parsers()[1], "SGLang": sglang_parser}[engine]()
    return {
        "engine": engine,
        "version": importlib.metadata.version(engine.lower()).partition("+")[0],
        "reading": list(reading(engine, "--tensor-parallel-size", "--default-chat-template-kwargs")),
        "suffixes": suffixes(parser),
        "flags": [row(action) for action in parser._actions if action.option_strings],
    }


if __name__ == "__main__":
    print(json.dumps(table(sys.argv[1])))
