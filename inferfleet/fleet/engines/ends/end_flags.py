"""Flags about the end of an engine with which it does not start."""

import re
from collections.abc import Iterator

from inferfleet.api.problems import Mistake
from inferfleet.api.wording import shown
from inferfleet.fleet.engines.flags import Flags, number_of, spelling
from inferfleet.fleet.engines.ready import start
from inferfleet.fleet.engines.words import Command, is_known, own_places
from inferfleet.profiles.engines import EngineDefaults, engine_types
from inferfleet.profiles.engines import engine as engine_of

# The largest `int` of C++.
_MOST = 2**31 - 1
# Whose flags these are.
_OF_OTHERS = {flag: kind for kind in engine_types() for flag in engine_of(kind).end_flags}


def refused_endings(
    command: Command, flags: Flags, table: EngineDefaults, *, engine: str
) -> Iterator[Mistake]:
    """Yield flags about the end with which the engine does not start: a value that is no number of seconds,
    or a flag that another engine has.

    vLLM's argparse takes what `int` takes, and its field is `Field(default=0, ge=0)` (vllm/config/vllm.py,
    000fc94b). Triton reads the digits at the beginning (`std::stoi`, src/command_line_parser.cc, 0299e638),
    and ends at a number that is too large for that (`StringTo`, e1db8a60).
    Both, argparse of SGLang (`prepare_server_args`) and click of trtllm-serve end at flags that they do not
    know.
    """
    if command.conditional:
        return
    for flag in flags.of("drain"):
        if flag.value is None or (is_known(flag.value) and not _is_taken(flag.value, engine)):
            value = f"the value {shown(flag.value)!r}" if flag.value is not None else "no value"
            yield Mistake(
                f"{flag.name} has {value}, with which {engine} does not start: it takes whole seconds"
                + (f", at most {_MOST}" if engine == "Triton" and number_of(flag.value) else ""),
                f"Write {flag.name}=90, or the seconds that your longest requests take",
                flag.word.at,
            )
    begins, own = start(command, table), own_places(command)
    for place, word in enumerate(command.words):
        name = word.text.partition("=")[0]
        other = _OF_OTHERS.get(name)
        if begins is None or place <= begins or other in (None, engine) or (word.shell and place not in own):
            continue
        mine = spelling("drain", table)
        yield Mistake(
            f"{name} is a flag of {other}, and {engine} does not start with it",
            f"Write {mine} instead" if mine else f"Remove it: {engine} ends when its last request has",
            word.at,
        )


def _is_taken(value: str, engine: str) -> bool:
    """Return whether an engine takes a text for seconds."""
    if engine == "Triton":
        found = re.match(r"\s*([+-]?\d{1,20})", value)
        return found is not None and abs(int(found[1])) <= _MOST
    return re.fullmatch(r"\s*\+?\d+(_\d+)*\s*", value) is not None
