"""Words that a team gives an engine, against the flags of its version: what would end it at its start.

An engine says so itself, but only once a pod has nodes, and they are billed.
"""

from collections.abc import Sequence

from inferfleet.api.problems import Mistake
from inferfleet.api.wording import listing, named, nearest, one_of, shown
from inferfleet.profiles.flags.reading import Fault, faults
from inferfleet.profiles.flags.table import Flag, FlagTable, flags

_TAKES = {
    "int": "a whole number",
    "float": "a number",
    "size": "a whole number, such as 4096 or 4k",
    "size or auto": "a whole number, such as 4096 or 4k, or auto",
    "JSON": "JSON",
    "text or JSON": "JSON where it is in braces",
}


def args_mistakes(engine_type: str, version: str, args: Sequence[str]) -> tuple[Mistake, ...]:
    """Return what this version of the engine refuses of `args`, in their order; `at` is the place of a word.

    Nothing is said of a version without a table.
    """
    table = flags(engine_type, version)
    if table is None:
        return ()
    return tuple(_mistake(table, fault, args[fault.at]) for fault in faults(table, args))


def _mistake(table: FlagTable, fault: Fault, word: str) -> Mistake:
    engine, at = f"{table.engine} {table.version}", (fault.at,)
    if fault.flag is not None:
        what = f"{named(fault.value)} is no value of {fault.flag.options[0]} in {engine}, which ends with it"
        return Mistake(what, _right_value(fault.flag, fault.value), at)
    name = (fault.unknown or word).partition("=")[0]
    what = f"{named(name)} is no flag of {engine}, which ends with it"
    if (last := table.removed.get(name)) is not None:
        return Mistake(f"{what}; {last} had it", "Take it out, or write what has taken its place", at)
    if not fault.unknown:
        return Mistake(
            f"{engine} ends with {named(word)}: {shown(fault.why, 200)}", "Correct it as it says", at
        )
    if not name.startswith("-"):
        what = f"{named(word)} belongs to no flag, and {engine} ends with it"
        return Mistake(what, "Write its flag before it, or take it out", at)
    close = nearest(name, (option for flag in table.flags for option in flag.options))
    return Mistake(what, f"Did you mean {close}?" if close else "Take it out", at)


def _right_value(flag: Flag, value: str) -> str:
    if flag.choices:
        return one_of(value, flag.choices, "Choose one of")
    if flag.kind == "object":
        return (
            f"It takes a JSON object with keys of {listing(sorted(flag.keys))}"
            if flag.keys
            else "It takes a JSON object"
        )
    return f"It takes {_TAKES[flag.kind]}"
