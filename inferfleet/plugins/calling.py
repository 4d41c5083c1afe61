"""A call of a plugin, and what is held against its result, because it is code of others.

Whatever it raises is a PluginError with its line. What it gives back must be plain values of the types, names
and mounts that the API server takes. And a plugin keeps its word, since one that asks the clock or draws
lots would restart pods at each update, and one that adds to its own output would add again where two chains
name it. So a link runs its plugin three times: twice on a template, and on what came out. Two runs are enough
where that is the template itself, and one where the link gave the same for the same template before.
"""

import hashlib
import re
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from inferfleet.documents.pods.diff import FieldChange, changes, in_words, place
from inferfleet.documents.pods.template import amount_mistakes, template_mistakes, without_nulls
from inferfleet.documents.problems import Mistake, Mistaken, Problem, Severity
from inferfleet.documents.wording import path_of, shown
from inferfleet.plugins.contract import Companion, Edited, PluginCodeError, PluginError, PodTemplate, Request
from inferfleet.plugins.hearing import HEED, text_of
from inferfleet.plugins.link import BoundLink, Link, Origin
from inferfleet.plugins.plain import NotPlain, packed, plain, unpacked

T = TypeVar("T")
# What sidecars request that a webhook injects, by the name of their container.
Injected = Mapping[str, Mapping[str, str]]
_DETERMINISTIC, _IDEMPOTENT = "is not deterministic", "is not idempotent"
# Files that an exception of any plugin comes by.
_OURS = (
    f"{Path(__file__).parents[1]}/",
    f"{Path(traceback.__file__).parent}/importlib/",
    "<frozen importlib",
)
# Characters of what a plugin says is wrong: enough for a sentence on each operation of a long patch.
_LONGEST = 1_000
_LONG_NAME = re.compile(r"(?<=\[)[^\[\]]{100,}(?=\])")
_EXAMPLE = 'write it like {"istio-proxy": {"cpu": "100m", "memory": "128Mi"}}'
# A label of DNS, as Kubernetes has it for names of containers.
_CONTAINER = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_CONTAINERS = ("containers", "initContainers")
_ONCE = "Remove the container, or let the plugin inject none of its name"


class Refusing(PluginError):  # noqa: N818 (it says what the plugin does)
    """Raised with every mistake where there may be several, each with a next step of its own.

    Of `value`, paths name entries of lists by their keys, as in all that is said of templates.
    """

    def __init__(self, mistakes: Iterable[Mistake], *, begin: str = "", value: Any = None) -> None:
        self.mistakes = tuple(
            Mistake(f"{begin}{_sentence(mistake, value)}", mistake.next_step) for mistake in mistakes
        )
        super().__init__("; ".join(f"{mistake.what}; {mistake.next_step}" for mistake in self.mistakes))


def _sentence(mistake: Mistake, value: Any) -> str:
    names = [step for step in mistake.at if isinstance(step, str)]
    what = mistake.what.replace("{field}", names[-1] if names else "it")
    return f"{place(value, mistake.at)}: {what}" if mistake.at else what


def malformed(thing: str, mistakes: Iterable[Mistake], *, returned: Any = None) -> Refusing:
    """Return the error for what a plugin returned with wrong types, names or mounts."""
    return Refusing(mistakes, begin=f"returned {thing} that Kubernetes refuses: ", value=returned)


def call(function: Callable[[], T], *, file: str) -> T:
    """Return what the function returns. Raises PluginError with the line in `file` that failed."""
    try:
        return function()
    except KeyboardInterrupt:
        raise
    except PluginError as error:
        if not _has_text(error):
            what = "raised a PluginError that does not say what is wrong"
            raise PluginCodeError(what + place_of(error.__traceback__, file)) from None
        raise
    except Mistaken as error:
        raise Refusing(error.mistakes) from error
    # Code of others: a KeyError in it must reach the team as a problem with its line, never as a traceback,
    # and the other plugins must still run. So this catches everything on purpose.
    except BaseException as error:
        where = place_of(error.__traceback__, file)
        if isinstance(error, SystemExit):
            raise PluginCodeError(f"ended the program with sys.exit({error.code!r:.20}){where}") from error
        raise PluginCodeError(f"{_words(error)}{where}") from error


def config_warnings(link: Link, said: Iterable[str], *, field: str = "") -> Iterator[Problem]:
    """Yield the warning of what was said while the config of a link was read."""
    if text := text_of(said):
        problem = link.problem(f"plugin {link.spec.name} says: {text}", HEED, field=field)
        yield replace(problem, severity="warning")


def shortened(text: str) -> str:
    """Return what a plugin says is wrong, at most 1,000 characters of it.

    Of a longer text, long names of entries of lists are shortened first, so that the rule which they break
    stays.
    """
    if len(text) > _LONGEST:
        text = _LONG_NAME.sub(lambda name: shown(name[0]), text)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def file_of(function: Callable[..., Any]) -> str:
    """Return the file in which a function of a plugin is defined, "" where that is not known."""
    code = getattr(function, "__code__", None)
    return str(code.co_filename) if code else ""


def place_of(trace: TracebackType | None, file: str) -> str:
    """Return where in the file an exception came by last, or else in code of others: ` (at topology.py:12)`.

    "" where it came by neither: lines of inferfleet and of Python's imports tell nothing about a plugin.
    """
    frames = traceback.extract_tb(trace)
    theirs = [frame for frame in frames if frame.filename == file] or [
        frame for frame in frames if not frame.filename.startswith(_OURS)
    ]
    return f" (at {Path(theirs[-1].filename).name}:{theirs[-1].lineno})" if theirs else ""


def _words(error: BaseException) -> str:
    """What an exception says. Its `__str__` is code of others too, and may fail."""
    try:
        if isinstance(error, ValidationError):
            mistakes = error.errors(include_url=False, include_input=False)
            return shortened("; ".join(map(_invalid, mistakes)))
        return shortened(f"{type(error).__name__}: {error}")
    except Exception:  # noqa: BLE001 (code of others)
        return type(error).__name__


def _invalid(error: ErrorDetails) -> str:
    """What pydantic says of one field, on one line and without the address of its documentation."""
    name = path_of(error["loc"])
    if error["type"] in ("frozen_instance", "frozen_field"):
        return f"writes to the field {name} of a config, which cannot be changed"
    return f"makes a model of pydantic that is invalid at {name or 'its top'}: {error['msg']}"


def _has_text(error: PluginError) -> bool:
    """Whether an error says anything. Its `__str__` may be that of others too, and fail."""
    try:
        return bool(str(error).strip()) and error.args != (None,)
    except Exception:  # noqa: BLE001 (code of others)
        return False


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

    Unless `checked`, neither types nor shape of the template are looked at: see `chain`. Raises PluginError
    for what the plugin raises, and for results that differ, with the field.
    """
    try:
        return _tried(bound, before, request, checked=checked)
    except KeyboardInterrupt as interrupt:
        interrupt.add_note(f"plugin {bound.plugin.name} ({file_of(bound.plugin.edit)})")
        raise
    finally:
        if differ(bound.config, bound.untouched):
            raise PluginCodeError(
                "changes its config, which other pods get too; copy what it puts into a template"
            )


def differ(config: object, other: object) -> bool:
    """Return whether two readings of a config differ. What cannot be compared counts as equal."""
    try:
        # Without pydantic's own comparison, which takes as long as a copy of a template.
        return bool(vars(config) != vars(other))
    except Exception:  # noqa: BLE001 (types of a config are code of others)
        return False


def _tried(bound: BoundLink, before: bytes, request: Request, *, checked: bool) -> Tried:
    def once(template: PodTemplate) -> _Attempt:
        return call(
            lambda: _attempt(bound, template, request, checked=checked), file=file_of(bound.plugin.edit)
        )

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
    except PluginError as error:
        raise PluginCodeError(f"{_IDEMPOTENT}: {what} fails: {error}", cause=_IDEMPOTENT) from error
    _compare(first, own, f"{what} changes", cause=_IDEMPOTENT)
    return Tried(data, trial, first.companions, first.remarks, first.injected)


@dataclass(frozen=True)
class _Attempt:
    """What one run of a plugin gave."""

    template: PodTemplate
    companions: tuple[Companion, ...]
    remarks: tuple[str, ...]
    injected: Injected


def _compare(first: _Attempt, second: _Attempt, what: str, *, cause: str) -> None:
    if first.template != second.template:
        change = changes(first.template, second.template)[0]
        before, after = (in_words(change.path, value) for value in (change.before, change.after))
        raise PluginCodeError(f"{cause}: {what} {change.path}: {before} and then {after}", cause=cause)
    if first.companions != second.companions:
        raise PluginCodeError(f"{cause}: {what} other companions", cause=cause)
    if first.injected != second.injected:
        raise PluginCodeError(f"{cause}: {what} what it says is injected", cause=cause)


def _attempt(bound: BoundLink, template: PodTemplate, request: Request, *, checked: bool) -> _Attempt:
    """Run the plugin on a template, which becomes its own, and look at the types of what it gives."""
    given: Any = bound.plugin.edit(template, request, bound.config)
    edited = given if isinstance(given, Edited) else Edited(given)
    remarks: Any = edited.remarks
    if not isinstance(edited.template, dict):
        raise PluginCodeError(
            f"returned {type(edited.template).__name__}, but a plugin must return the template it edited"
        )
    if not isinstance(edited.companions, list | tuple):
        # Without the value, which may be one of a Secret.
        kind = "None" if edited.companions is None else f"of type {type(edited.companions).__name__}"
        raise PluginCodeError(f"returned companions {kind}, but companions must be a tuple")
    if not isinstance(remarks, list | tuple) or not all(isinstance(remark, str) for remark in remarks):
        raise PluginCodeError(f"returned remarks {remarks!r:.60}, but remarks must be a tuple of texts")
    return _Attempt(
        _checked(edited.template) if checked else edited.template,
        tuple(map(_plain_companion, edited.companions)),
        tuple(str.__str__(remark) for remark in remarks),
        _injected(edited.injected),
    )


def _checked(template: Any) -> PodTemplate:
    try:
        after = plain(template)
    except NotPlain as error:
        raise PluginCodeError(f"returned a template in which {error}") from error
    if mistakes := tuple(template_mistakes(after)):
        raise malformed("a template", mistakes, returned=after)
    without: PodTemplate = without_nulls(after)
    return without


# Pods of a deployment on several clusters come one after another, with equal templates: those that were
# generated, and those after the chain.
@lru_cache(maxsize=512)
def packed_mistakes(template: bytes) -> tuple[Mistake, ...]:
    """Return the wrong types, names and mounts of a packed template."""
    return tuple(template_mistakes(unpacked(template)))


def _plain_companion(given: Any) -> Companion:
    beside = given if isinstance(given, Companion) else Companion(given)
    manifest: Any = beside.manifest
    if beside.when not in ("before", "after"):
        raise PluginCodeError(
            f"a companion is to be created {beside.when!r:.40} its workload; write before or after"
        )
    try:
        return replace(beside, manifest=plain(manifest))
    except NotPlain as error:
        # The value may be one of a Secret, and then no message says it; its kind may be misspelt or missing.
        kind = manifest.get("kind") if isinstance(manifest, dict) else None
        secret = not isinstance(kind, str) or "secret" in kind.lower()
        what = "an object that may be a Secret has a value that is no JSON" if secret else str(error)
        raise PluginCodeError(f"in a companion, {what}") from None


def _injected(given: Any) -> Injected:
    if not isinstance(given, Mapping) or not all(isinstance(each, Mapping) for each in given.values()):
        raise PluginCodeError(
            f"returned injected {given!r:.60}, but it has requests by names of containers; {_EXAMPLE}"
        )
    return {str(name): _requests(str(name), requests) for name, requests in given.items()}


def _requests(container: str, requests: Mapping[Any, Any]) -> dict[str, str]:
    where = f"returned injected, in which container {container!r:.40}"
    if not _CONTAINER.fullmatch(container):
        raise PluginCodeError(
            f"{where} must have a name of at most 63 lower-case letters, digits and '-', with a letter or "
            "digit at both ends"
        )
    for resource, amount in requests.items():
        if not isinstance(resource, str) or type(amount) not in (str, int):
            raise PluginCodeError(f"{where} requests {amount!r:.40} of {resource!r:.40}; {_EXAMPLE}")
        if "/" in resource:
            raise PluginCodeError(
                f"{where} requests {resource:.60}; devices of a pod are planned by its document alone"
            )
    if refused := [_sentence(mistake, None) for mistake in amount_mistakes(requests)]:
        raise PluginCodeError(f"{where} has what Kubernetes refuses: {'; '.join(refused)}")
    return {str.__str__(resource): str(amount) for resource, amount in requests.items()}


@dataclass(frozen=True)
class Step:
    """What one link did: fields of the template, companions that it added, remarks, what it says is injected.

    A link that is out of scope, or that changes nothing, has a step as well.
    """

    plugin: str
    origin: Origin
    path: str
    config: str  # fingerprint of the config
    changes: tuple[FieldChange, ...] = ()
    companions: tuple[Companion, ...] = ()
    version: str = ""
    in_scope: bool = True
    remarks: tuple[str, ...] = ()
    injected: Injected = field(default_factory=dict)

    @property
    def effect(self) -> Literal["changed", "none", "out of scope"]:
        """Return whether the link did anything to this pod, and if not, why."""
        if not self.in_scope:
            return "out of scope"
        return "changed" if self.changes or self.companions or self.injected else "none"

    def changed(self, place: str) -> bool:
        """Return whether the link changed a place, something around it, or something in it."""
        paths = [change.path for change in self.changes]
        paths += [f"spec.initContainers[{name}]" for name in self.injected]
        return any(_holds(path, place) or _holds(place, path) for path in paths)


def _holds(outer: str, inner: str) -> bool:
    return inner == outer or inner.startswith((f"{outer}.", f"{outer}["))


def injected_otherwise(steps: Iterable[Step], injected: Injected) -> list[str]:
    """Return what a link says of sidecars of which an earlier link says something else."""
    earlier = {name: step for step in steps for name in step.injected}
    return [
        f"plugin {earlier[name].plugin} of the {earlier[name].origin} chain, {earlier[name].path}, says that "
        f"the injected container {name} requests {in_amounts(earlier[name].injected[name])}, and this link "
        f"says {in_amounts(requests)}"
        for name, requests in injected.items()
        if name in earlier and earlier[name].injected[name] != requests
    ]


def injected_twice(steps: Iterable[Step], injected: Injected, template: PodTemplate) -> list[Mistake]:
    """Return what a link, or a link before it, says of a sidecar whose container is in the template itself.

    Kubernetes would refuse a second container of its name, or the webhook merges the two by rules of its own.
    """
    whose = {
        name: f"plugin {step.plugin} of the {step.origin} chain, {step.path},"
        for step in steps
        for name in step.injected
    } | dict.fromkeys(injected, "this link")
    if not whose:
        return []
    names = [container["name"] for part in _CONTAINERS for container in template["spec"].get(part, ())]
    return [
        Mistake(
            f"container {name} is in the template already, and {whose[name]} says that a webhook injects it",
            _ONCE,
        )
        for name in names
        if name in whose
    ]


def in_amounts(requests: Mapping[str, str]) -> str:
    """Return requests in words, such as `cpu 100m, memory 128Mi`."""
    return ", ".join(f"{resource} {amount}" for resource, amount in requests.items()) or "nothing"


@dataclass(frozen=True)
class Finding:
    """What is to be told of a link on one pod, in a sentence without a full stop, and the next step.

    Findings of a link with one `cause` are about the same thing, whatever their sentences say.
    """

    link: Link
    what: str
    next_step: str
    request: Request
    cause: str = ""
    severity: Severity = "error"


def edit_warnings(link: Link, said: Iterable[str], request: Request) -> Iterator[Finding]:
    """Yield the warning of what the plugin of a link said while it edited the pods."""
    if text := text_of(said):
        yield Finding(link, text, HEED, request, severity="warning")


def problems_of(findings: Iterable[Finding]) -> Iterator[Problem]:
    """Yield a problem for each link and thing that is told of it, which names the first of its pods.

    Messages about several pods count as one if they have one cause, or differ in names of the pod alone.
    """
    groups: dict[tuple[str, str, str, str, Severity], list[Finding]] = {}
    for finding in findings:
        link = finding.link
        about = finding.cause or _without_names(finding)
        groups.setdefault((link.kind, link.key, link.path, about, finding.severity), []).append(finding)
    for group in groups.values():
        first = group[0]
        pods = len(dict.fromkeys(_pod(finding.request) for finding in group))
        more = f", and {pods - 1} more" if pods > 1 else ""
        verb = "" if first.severity == "error" else " says"
        what = f"plugin {first.link.spec.name}{verb}: {first.what} ({_pod(first.request)}{more})"
        yield replace(first.link.problem(what, first.next_step), severity=first.severity)


def _pod(request: Request) -> str:
    return (
        f"deployment {request.namespace}/{request.deployment.name}, role {request.role} "
        f"on {request.cluster.name}/{request.pool.name}"
    )


def _without_names(finding: Finding) -> str:
    request = finding.request
    own = (
        request.workload,
        request.deployment.name,
        request.namespace,
        request.cluster.name,
        request.pool.name,
    )
    names = "|".join(re.escape(name) for name in sorted(own, key=len, reverse=True))
    return re.sub(rf"(?<![A-Za-z0-9])({names})(?![A-Za-z0-9])", "…", finding.what)
