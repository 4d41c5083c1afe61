"""Whether a plugin keeps its word: same result for the same input, nothing to do on its own output.

A plugin that asks the clock or draws lots would restart pods at each update, one that adds to its own output
would add again where two chains name it. So a link runs its plugin three times: twice on a template, and on
what came out. Two runs are enough where that is the template itself, and one where the link gave the same for
the same template before.
"""

import hashlib
from dataclasses import dataclass
from typing import Any

from inferfleet.plugins.attempt import Attempt, Injected, attempt, packed, unpacked
from inferfleet.plugins.calling import call, failure, file_of
from inferfleet.plugins.contract import Companion, PluginCodeError, PluginError, PodTemplate, Request
from inferfleet.plugins.diff import FieldChange, changes, in_words
from inferfleet.plugins.link import BoundLink, differ

# The plugin that edits a template right now, for whoever waits for it: a new text for each link and pod.
EDITING: list[str] = []
Facts = tuple[tuple[Any, dict[str, Any]], ...]
_DETERMINISTIC, _IDEMPOTENT = "is not deterministic", "is not idempotent"


@dataclass(frozen=True)
class Tried:
    """What a link gave: the template, packed, and what it adds beside it and says about it.

    Packed, because a plugin may keep a part of what it returned, such as a container written as a constant,
    and change that for the next pod. `trial` is the same for the same template before and after.
    """

    data: bytes
    trial: bytes
    companions: tuple[Companion, ...]
    remarks: tuple[str, ...]
    injected: Injected


def tried(bound: BoundLink, before: bytes, request: Request, *, checked: bool) -> Tried:
    """Run a link on a packed template, again, and on its own output.

    Raises PluginError for what the plugin raises, and for results that differ, with the field. Whether it
    changes its request is seen only in a `checked` run.
    """
    file = file_of(bound.plugin.edit)
    facts = facts_of(request) if checked else ()
    EDITING.append(f"plugin {bound.plugin.name} ({file})")
    try:
        return call(lambda: _tried(bound, before, request, checked=checked, file=file), file=file)
    except KeyboardInterrupt as interrupt:
        interrupt.add_note(EDITING[-1])
        raise
    finally:
        EDITING.pop()
        if restored(facts):
            raise PluginCodeError(
                "changes its request, which other plugins get too; copy what it needs of it"
            )
        if differ(bound.config, bound.untouched):
            raise PluginCodeError(
                "changes its config, which other pods get too; copy what it puts into a template"
            )


def facts_of(request: Request) -> Facts:
    """Return the parts of a request, and what each says, to find a plugin that changes them."""
    parts = (
        request,
        request.deployment,
        request.node_class,
        *request.node_class.devices,
        *((request.accelerator,) if request.accelerator else ()),
        request.cluster,
        request.pool,
        *request.pool.taints,
    )
    return tuple((part, dict(vars(part))) for part in parts)


def restored(facts: Facts) -> bool:
    """Let the parts of a request say what they said before, and return whether any said something else."""
    changed = False
    for part, said in facts:
        now: dict[str, Any] = part.__dict__
        # Not compared by value: what a plugin put there may have a comparison of its own.
        if now.keys() != said.keys() or any(now[name] is not value for name, value in said.items()):
            now.clear()
            now.update(said)
            changed = True
    return changed


def _tried(bound: BoundLink, before: bytes, request: Request, *, checked: bool, file: str) -> Tried:
    def once(template: PodTemplate) -> Attempt:
        return attempt(bound.plugin, template, request, bound.config, checked=checked)

    first = once(unpacked(before))
    data = packed(first.template)
    # Pods of one deployment on many clusters have equal templates, so their second and third run are those
    # of the first of them: a plugin that gives another result for another cluster is tried again.
    trial = hashlib.blake2b(b"%d %b%b" % (len(before), before, data), digest_size=16).digest()
    if trial in bound.trials and not checked and not first.companions:
        return Tried(data, trial, (), first.remarks, first.injected)
    if data != before:
        again = once(unpacked(before))
        _compare(first, again, "run twice on one template, it gives", cause=_DETERMINISTIC)
        if again.remarks != first.remarks:
            what = f"{_DETERMINISTIC}: run twice on one template, it makes different remarks"
            raise PluginCodeError(what, cause=_DETERMINISTIC)
        own_input, first = first.template, again
    else:
        # With nothing to do, a run on the output is the second run on the input as well.
        own_input = unpacked(before)
    what = "run on its own output, it"
    try:
        own = once(own_input)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        said = str(error) if isinstance(error, PluginError) else failure(error, file)
        raise PluginCodeError(f"{_IDEMPOTENT}: {what} fails: {said}", cause=_IDEMPOTENT) from error
    _compare(first, own, f"{what} changes", cause=_IDEMPOTENT)
    return Tried(data, trial, first.companions, first.remarks, first.injected)


def _compare(first: Attempt, second: Attempt, what: str, *, cause: str) -> None:
    if first.template != second.template:
        shown = _shown(*changes(first.template, second.template)[:1])
        raise PluginCodeError(f"{cause}: {what} {shown}", cause=cause)
    if first.companions != second.companions:
        raise PluginCodeError(f"{cause}: {what} other companions", cause=cause)
    if first.injected != second.injected:
        raise PluginCodeError(f"{cause}: {what} what it says is injected", cause=cause)


def _shown(change: FieldChange) -> str:
    before, after = (in_words(change.path, value) for value in (change.before, change.after))
    return f"{change.path}: {before} and then {after}"
