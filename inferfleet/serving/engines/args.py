"""Words that a team gives an engine, against the flags of its version: what would end it at its start.

An engine says so itself, but only once a pod has nodes, and they are billed.
"""

from collections.abc import Sequence

from inferfleet.documents.problems import Mistake
from inferfleet.documents.wording import named, nearest, one_of, shown
from inferfleet.serving.engines.parser import Fault, faults, json_of
from inferfleet.tables.flags import Flag, FlagTable, flags

_TAKES = {
    "int": "a whole number",
    "float": "a number",
    "size": "a whole number, such as 4096 or 4k",
    "size or auto": "a whole number, such as 4096 or 4k, or auto",
    "JSON": "JSON",
    "object": "a JSON object",
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
        if (key := _unknown_key(fault.flag, fault.value)) is not None:
            what = f"{named(key)} is no key of {fault.flag.options[0]} in {engine}, which ends with it"
            return Mistake(what, one_of(key, fault.flag.keys, "Known keys"), at)
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


def _unknown_key(flag: Flag, value: str) -> str | None:
    """Return the first key of an object that the flag does not know, None where something else is wrong."""
    if not flag.keys:
        return None
    try:
        found = json_of(value)
    except ValueError:
        return None
    return next((key for key in found if key not in flag.keys), None) if isinstance(found, dict) else None


def _right_value(flag: Flag, value: str) -> str:
    if flag.choices:
        return one_of(value, flag.choices, "Choose one of")
    return f"It takes {_TAKES[flag.kind]}"
