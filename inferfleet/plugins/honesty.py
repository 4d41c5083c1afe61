"""Whether a plugin keeps its word: same result for the same input, nothing to do on its own output.

A plugin that asks the clock or draws lots would restart pods at each update, one that adds to its own output
would add again where two chains name it. So every run of a link is three runs of its plugin.
"""

import hashlib
from dataclasses import dataclass
from typing import Any

from inferfleet.plugins.attempt import Attempt, attempt, packed, unpacked
from inferfleet.plugins.calling import call, failure, file_of
from inferfleet.plugins.contract import PluginError, PodTemplate, Request
from inferfleet.plugins.diff import FieldChange, changes, in_words
from inferfleet.plugins.link import BoundLink, differ


@dataclass(frozen=True)
class Tried:
    """What a link gave: the template, packed, and what it adds beside it and says about it.

    Packed, because a plugin may keep a part of what it returned, such as a container written as a constant,
    and change that for the next pod. `trial` is the same for the same template before and after.
    """

    data: bytes
    trial: bytes
    companions: tuple[Any, ...]
    remarks: tuple[str, ...]


def tried(bound: BoundLink, before: bytes, request: Request, *, checked: bool) -> Tried:
    """Run a link on a packed template, again, and on its own output.

    Raises PluginError for what the plugin raises, and for results that differ, with the field.
    """
    file = file_of(bound.plugin)
    try:
        return call(lambda: _tried(bound, before, request, checked=checked, file=file), file=file)
    finally:
        if differ(bound.config, bound.untouched):
            raise PluginError(
                "changes its config, which other pods get too; copy what it puts into a template"
            )


def _tried(bound: BoundLink, before: bytes, request: Request, *, checked: bool, file: str) -> Tried:
    def once(template: PodTemplate) -> Attempt:
        return attempt(bound.plugin, template, request, bound.config, checked=checked)

    first = once(unpacked(before))
    data = packed(first.template)
    # Pods of one deployment on many clusters have equal templates, so their second and third run are those
    # of the first of them: a plugin that gives another result for another cluster is tried again.
    trial = hashlib.blake2b(b"%d %b%b" % (len(before), before, data), digest_size=16).digest()
    if trial in bound.trials and not checked and not first.companions:
        return Tried(data, trial, (), first.remarks)
    if data != before:
        again = once(unpacked(before))
        _compare(first, again, "is not deterministic: run twice on one template, it gives")
        if again.remarks != first.remarks:
            raise PluginError("is not deterministic: run twice on one template, it makes different remarks")
        own_input, first = first.template, again
    else:
        # With nothing to do, a run on the output is the second run on the input as well.
        own_input = unpacked(before)
    what = "is not idempotent: run on its own output, it"
    try:
        own = once(own_input)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        said = str(error) if isinstance(error, PluginError) else failure(error, file)
        raise PluginError(f"{what} fails: {said}") from error
    _compare(first, own, f"{what} changes")
    return Tried(data, trial, first.companions, first.remarks)


def _compare(first: Attempt, second: Attempt, what: str) -> None:
    if first.template != second.template:
        raise PluginError(f"{what} {_shown(*changes(first.template, second.template)[:1])}")
    if first.companions != second.companions:
        raise PluginError(f"{what} other companions")


def _shown(change: FieldChange) -> str:
    before, after = (in_words(change.path, value) for value in (change.before, change.after))
    return f"{change.path}: {before} and then {after}"
