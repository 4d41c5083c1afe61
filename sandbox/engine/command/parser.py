"""Parses the words behind an engine's launcher as its own parser does, which is Python's argparse.

vLLM changes the words before that (`FlexibleArgumentParser` in vllm/utils/argparse_utils.py, 0.32.0): it
moves `--model` to the front, and joins entries of JSON, given by their paths, to one JSON that stands behind
all other words, so that it replaces one that is given whole. What the tables say of this is done in
`inferfleet.serving.engines.parser`.
"""

import argparse
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NoReturn

from inferfleet.serving.engines.parser import Refused, WrongValue, rewritten, taker
from inferfleet.tables.flags import Flag, FlagTable
from sandbox.engine.command.flags import SGLANG, VLLM, EngineFlags
from sandbox.engine.failure import REFUSED, EngineFailure

# What Python says where vLLM looks for a word behind the last.
_NO_WORD = "IndexError: list index out of range"
_MODEL = re.compile("--model(=.*)?", re.DOTALL)
_CONFIG = re.compile("--config(=.*)?", re.DOTALL)
_SERVED = re.compile("--served[-_]model[-_]name(=.*)?", re.DOTALL)
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
    words = _as_handed_on(words, table)
    if flags is not SGLANG:
        # The module of vLLM takes it, too, and serves its default all the same.
        parser.add_argument(_MODEL_TAG, nargs="?")
    for flag in table.flags:
        takes: dict[str, Any] = {"action": _Switch, "nargs": 0}
        if flag.values != 0:
            takes = {"action": _Keep, "nargs": flag.values, "type": _type(flag, table, judged=judged)}
        required = flags is SGLANG and "--model-path" in flag.options
        parser.add_argument(
            *flag.options, **takes, dest=flag.options[0], default=argparse.SUPPRESS, required=required
        )
    for name in () if judged else _unknown(words, table):
        parser.add_argument(name, action=_Keep, nargs="?", default=argparse.SUPPRESS)
    try:
        given, extra = parser.parse_known_args(words)
    except WrongValue as wrong:
        parser.error(str(wrong))
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


def _type(flag: Flag, table: FlagTable, *, judged: bool) -> Callable[[str], str | None]:
    """Return the type of a flag for argparse. Values stay texts, and what stands for none is None."""
    take = taker(table, flag if judged else replace(flag, choices=(), keys=frozenset()))
    return lambda text: None if flag.none and text in ("", "None") else take(text)


def _model_first(words: Sequence[str]) -> Sequence[str]:
    at = next((i for i, word in enumerate(words) if _MODEL.fullmatch(word)), None)
    if at is not None:
        _, equals, model = words[at].partition("=")
        behind = words[at + 1 :]
        if not equals:
            if not behind:
                raise EngineFailure(_NO_WORD)
            model, *behind = behind
        words = [model, *words[:at], *behind]
    named = any(map(_SERVED.fullmatch, words))
    if words and words[0].startswith("-") and named and not any(map(_CONFIG.fullmatch, words)):
        raise EngineFailure(
            "ValueError: `model` should be provided as the first positional argument when using "
            "`vllm serve`. i.e. `vllm serve <model> --<arg> <value>`."
        )
    return words


def _as_handed_on(words: Sequence[str], table: FlagTable) -> list[str]:
    """Return the words that argparse gets. Raises EngineFailure."""
    try:
        placed, entries = rewritten(table, words)
    except Refused as refused:
        raise EngineFailure(_NO_WORD) from refused
    whole: dict[str, dict[str, Any]] = {}
    for entry in entries:
        _merge(whole.setdefault(entry.flag, {}), entry.value)
    behind = (word for flag, value in whole.items() for word in (flag, json.dumps(value)))
    return [*(word for _, word in placed), *behind]


def _merge(whole: dict[str, Any], entry: dict[str, Any]) -> None:
    for key, value in entry.items():
        before = whole.get(key)
        if isinstance(value, dict) and isinstance(before, dict):
            _merge(before, value)
        elif isinstance(value, list) and isinstance(before, list):
            before += value
        else:
            whole[key] = value
