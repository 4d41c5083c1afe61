"""Parses the words behind an engine's launcher as its own parser does, which is Python's argparse.

vLLM changes the words before that (`FlexibleArgumentParser` in vllm/utils/argparse_utils.py, 0.32.0): it
moves `--model` to the front, takes underscores for dashes, and joins entries of JSON, given by their paths,
to one JSON that stands behind all other words, so that it replaces one that is given whole.
"""

import argparse
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NoReturn

from inferfleet.profiles.flags.table import Flag, FlagTable
from sandbox.engine.command.flags import SGLANG, VLLM, EngineFlags
from sandbox.engine.failure import REFUSED, EngineFailure

_SIZE = re.compile(r"-?\d+|\d+(?P<decimals>\.\d+)?(?P<suffix>[A-Za-z]+)")
_MODEL, _CONFIG, _SERVED = (re.compile(f"--{name}(=.*)?", re.DOTALL) for name in (
    "model", "config", "served[-_]model[-_]name",
))  # fmt: skip
_MODEL_TAG = "model_tag"
Values = dict[str, tuple[str, ...]]


def parsed(
    words: Sequence[str], flags: EngineFlags, table: FlagTable, *, launcher: str, judged: bool
) -> tuple[Values, str | None]:
    """Return the values by every spelling of their flags, and a model that was given without one.

    With `judged`, words that the engine does not know and values that are no choice are refused; without, the
    table may be that of another version, and both are passed over. Raises EngineFailure.
    """
    command = launcher in flags.commands
    # A module of Python calls itself by its file.
    file = f"{launcher.rpartition('.')[2]}.py"
    own = flags is VLLM and not command
    parser = _Parser(prog=file if own else flags.program, add_help=False, allow_abbrev=table.abbreviations)
    if flags is VLLM and command:
        words = _model_first(words)
    elif flags is SGLANG and command and words and not words[0].startswith("-"):
        words = ["--model-path", *words]
    words = _rewritten(words, table)
    if flags is not SGLANG:
        # The module of vLLM takes it, too, and serves its default all the same.
        parser.add_argument(_MODEL_TAG, nargs="?")
    for flag in table.flags:
        parser.add_argument(
            *flag.options,
            action=_Switch if flag.values == 0 else _Keep,
            **({"nargs": 0} if flag.values == 0 else _takes(flag, table.suffixes, judged=judged)),
            required=flags is SGLANG and "--model-path" in flag.options,
            dest=flag.options[0],
            default=argparse.SUPPRESS,
        )
    for name in () if judged else _unknown(words, table):
        parser.add_argument(name, action=_Keep, nargs="?", default=argparse.SUPPRESS)
    given, extra = parser.parse_known_args([*words])
    if extra and judged:
        main = file if own else flags.main
        raise EngineFailure(f"{main}: error: unrecognized arguments: {' '.join(extra)}", code=REFUSED)
    values = vars(given)
    model = values.pop(_MODEL_TAG, None)
    spelled = {
        option: values[flag.options[0]]
        for flag in table.flags
        if flag.options[0] in values
        for option in flag.options
    }
    return spelled, model if command else None


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise EngineFailure(f"{self.prog}: error: {message}", code=REFUSED)


class _Keep(argparse.Action):
    """Keeps the words that a flag was given, the last time that it was, if they are a value."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: Any = None) -> None:
        if values is None:
            vars(namespace).pop(self.dest, None)
        else:
            setattr(namespace, self.dest, tuple(values) if isinstance(values, list) else (values,))


class _Switch(argparse.Action):
    """Keeps whether a switch was given, the last time that it or its negation was."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: Any = None) -> None:
        positive = f"--{str(option_string).removeprefix('--no-')}"
        if positive != option_string and positive in self.option_strings:
            vars(namespace).pop(self.dest, None)
        else:
            setattr(namespace, self.dest, ())


def _unknown(words: Sequence[str], table: FlagTable) -> Iterator[str]:
    """Yield the flags among the words that none in the table begins with."""
    options = [option for flag in table.flags for option in flag.options]
    names = dict.fromkeys(word.partition("=")[0] for word in words if re.match(r"--?[A-Za-z]", word))
    return (name for name in names if not any(option.startswith(name) for option in options))


def _takes(flag: Flag, suffixes: Mapping[str, bool], *, judged: bool) -> dict[str, Any]:
    """Return for argparse which values a flag takes. They stay texts."""

    def check(text: str) -> str | None:
        if flag.none and text in ("", "None"):
            return None
        if flag.kind == "size" or (flag.kind == "size or auto" and text.lower() != "auto"):
            _check_size(text, suffixes)
        else:
            _CHECKS.get(flag.kind, str)(text)
        if judged and flag.keys:
            _check_keys(text, flag.keys)
        return text.lower().replace("-", "_") if flag.folded else text

    # argparse complains under this name.
    check.__name__ = flag.kind
    choices = (*flag.choices, *([None] if flag.none else []))
    return {"nargs": flag.values, "type": check, "choices": choices if judged and flag.choices else None}


def _check_size(text: str, suffixes: Mapping[str, bool]) -> None:
    size = _SIZE.fullmatch(text)
    suffix = size["suffix"] if size else None
    if not size or (suffix and suffix not in suffixes):
        raise ValueError(text)
    if size["decimals"] and not suffixes[str(suffix)]:
        raise argparse.ArgumentTypeError(f"Decimals are not allowed with binary suffixes like {suffix}.")


def _json(text: str) -> None:
    try:
        json.loads(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"Value {text} cannot be converted to JSON.") from error


def _object(text: str) -> None:
    try:
        whole = json.loads(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"1 validation error\n  Invalid JSON: {error}") from error
    if not isinstance(whole, dict):
        raise argparse.ArgumentTypeError("1 validation error\n  Input should be an object")


def _check_keys(text: str, keys: Collection[str]) -> None:
    unknown = [key for key in json.loads(text) if key not in keys]
    if unknown:
        each = "\n".join(f"{key}\n  Unexpected keyword argument" for key in unknown)
        raise argparse.ArgumentTypeError(
            f"{len(unknown)} validation error{'s' if unknown[1:] else ''}\n{each}"
        )


_CHECKS: dict[str, Callable[[str], Any]] = {
    "int": int,
    "float": float,
    "JSON": _json,
    "object": _object,
}


def _model_first(words: Sequence[str]) -> Sequence[str]:
    at = next((i for i, word in enumerate(words) if _MODEL.fullmatch(word)), None)
    if at is not None:
        _, equals, model = words[at].partition("=")
        behind = words[at + 1 :]
        if not equals:
            if not behind:
                raise EngineFailure("IndexError: list index out of range")
            model, *behind = behind
        words = [model, *words[:at], *behind]
    named = any(map(_SERVED.fullmatch, words))
    if words and words[0].startswith("-") and named and not any(map(_CONFIG.fullmatch, words)):
        raise EngineFailure(
            "ValueError: `model` should be provided as the first positional argument when using "
            "`vllm serve`. i.e. `vllm serve <model> --<arg> <value>`."
        )
    return words


def _rewritten(words: Sequence[str], table: FlagTable) -> Sequence[str]:
    if table.underscores:
        words = [_dashed(word) for word in words]
    if table.joined_level:
        words = [*_apart(words)]
    return _entries_joined(words) if table.dotted else words


def _dashed(word: str) -> str:
    name, equals, value = word.partition("=")
    flag, dot, path = name.partition(".")
    return f"{flag.replace('_', '-')}{dot}{path}{equals}{value}" if word.startswith("--") else word


def _apart(words: Sequence[str]) -> Iterator[str]:
    for i, word in enumerate(words):
        if word == "-O" and words[i + 1 : i + 2] and words[i + 1] in ("0", "1", "2", "3"):
            yield "--optimization-level"
        elif word.startswith("-O") and word != "-O":
            yield from ("--optimization-level", word[2:].removeprefix("="))
        else:
            yield word


def _entries_joined(words: Sequence[str]) -> list[str]:
    kept: list[str] = []
    joined: dict[str, Any] = {}
    rest = iter(words)
    for word in rest:
        name, equals, value = word.partition("=")
        if not name.startswith("-") or "." not in name:
            kept.append(word)
            continue
        text = value if equals else next(rest, None)
        if text is None:
            raise EngineFailure("IndexError: list index out of range")
        flag, *path = name.removesuffix("+").split(".")
        entry: Any = text.split(",") if name.endswith("+") else _value(text)
        for key in reversed(path):
            entry = {key: entry}
        _merge(joined.setdefault(flag, {}), entry)
    return [*kept, *(word for flag, whole in joined.items() for word in (flag, json.dumps(whole)))]


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _merge(whole: dict[str, Any], entry: dict[str, Any]) -> None:
    for key, value in entry.items():
        before = whole.get(key)
        if isinstance(value, dict) and isinstance(before, dict):
            _merge(before, value)
        elif isinstance(value, list) and isinstance(before, list):
            before += value
        else:
            whole[key] = value
