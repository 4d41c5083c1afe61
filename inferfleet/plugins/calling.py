"""A call of code of others: what a plugin raises, prints and returns.

Whatever it raises is a PluginError with its line. What it prints, logs and warns of is captured: in the
output of a command it would stand in the middle of JSON. What its `edit` returns must be plain values of the
types, names and mounts that the API server takes.
"""

import io
import logging
import re
import sys
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from inferfleet.documents.pods.diff import field_path
from inferfleet.documents.pods.plain import NotPlain, plain
from inferfleet.documents.pods.template import amount_mistakes, template_mistakes, without_nulls
from inferfleet.documents.problems import Mistake, Mistaken
from inferfleet.documents.wording import path_of, shown
from inferfleet.plugins.contract import (
    Companion,
    Edited,
    Plugin,
    PluginCodeError,
    PluginError,
    PodTemplate,
    Request,
)

T = TypeVar("T")
# What sidecars request that a webhook injects, by the name of their container.
Injected = Mapping[str, Mapping[str, str]]
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
HEED_OUTPUT = "Do what it asks for, or take the words out of the plugin"
# Where the output of a thread goes. Other threads, such as the program's while a ready hook runs, have none.
_CAPTURED: ContextVar[list[str] | None] = ContextVar("captured", default=None)


class PluginMistakes(PluginError):  # noqa: N818 (the mistakes)
    """Raised with every mistake where there may be several, each with a next step of its own.

    Of `value`, paths name entries of lists by their keys, as in all that is said of templates.
    """

    def __init__(self, mistakes: Iterable[Mistake], *, begin: str = "", value: Any = None) -> None:
        self.mistakes = tuple(
            Mistake(f"{begin}{_sentence(mistake, value)}", mistake.next_step) for mistake in mistakes
        )
        super().__init__("; ".join(f"{mistake.what}; {mistake.next_step}" for mistake in self.mistakes))


def _sentence(mistake: Mistake, value: Any) -> str:
    names = [step for step in mistake.field_path if isinstance(step, str)]
    what = mistake.what.replace("{field}", names[-1] if names else "it")
    return f"{field_path(value, mistake.field_path)}: {what}" if mistake.field_path else what


def malformed(thing: str, mistakes: Iterable[Mistake], *, returned: Any = None) -> PluginMistakes:
    """Return the error for what a plugin returned with wrong types, names or mounts."""
    return PluginMistakes(mistakes, begin=f"returned {thing} that Kubernetes refuses: ", value=returned)


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
        raise PluginMistakes(error.mistakes) from error
    # Code of others: a KeyError in it must reach the team as a problem with its line, never as a traceback,
    # and the other plugins must still run. So this catches everything on purpose.
    except BaseException as error:
        where = place_of(error.__traceback__, file)
        if isinstance(error, SystemExit):
            raise PluginCodeError(f"ended the program with sys.exit({error.code!r:.20}){where}") from error
        raise PluginCodeError(f"{_words(error)}{where}") from error


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


class _Stream(io.TextIOBase):
    """Stands for an output stream. It is one for all blocks, because code of others may keep it."""

    encoding = "utf-8"
    stream: TextIO

    def write(self, text: str) -> int:
        captured = _CAPTURED.get()
        if captured is None:
            return self.stream.write(text)
        captured.append(text)
        return len(text)

    def close(self) -> None:
        """Stay open, whatever code of others does with its streams."""


_OUT, _ERR = _Stream(), _Stream()
# It takes what loggers let through: of Python's own accord, warnings and errors.
_LOG = logging.StreamHandler(_ERR)
_LOG.setFormatter(logging.Formatter("%(levelname)s: %(message)s"))


@contextmanager
def capture_output(output: list[str]) -> Iterator[None]:
    """Add to `output` what this thread prints, logs and warns of until the block ends."""
    if sys.stdout is not _OUT:
        _OUT.stream = sys.stdout
    if sys.stderr is not _ERR:
        _ERR.stream = sys.stderr
    token = _CAPTURED.set(output)
    logging.root.addHandler(_LOG)
    try:
        with redirect_stdout(_OUT), redirect_stderr(_ERR), warnings.catch_warnings():
            warnings.showwarning = _warn
            yield
    finally:
        logging.root.removeHandler(_LOG)
        _CAPTURED.reset(token)


def _warn(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    sys.stderr.write(f"{category.__name__}: {message} (at {Path(filename).name}:{lineno})\n")


def text_of(output: Iterable[str]) -> str:
    """Return each line of the output once, parted by semicolons; "" without any.

    A plugin that is run three times on a template mostly says the same.
    """
    lines = (line.strip() for line in "".join(output).splitlines())
    return "; ".join(dict.fromkeys(line for line in lines if line))


@dataclass(frozen=True)
class EditResult:
    """What one run of `edit` gave: the template, objects beside it, remarks, requests of sidecars."""

    template: PodTemplate
    companions: tuple[Companion, ...]
    remarks: tuple[str, ...]
    injected: Injected


def edit_result(
    plugin: Plugin, config: BaseModel, template: PodTemplate, request: Request, *, checked: bool
) -> EditResult:
    """Run the plugin on a template, which becomes its own, and look at the types of what it gives."""
    given: Any = plugin.edit(template, request, config)
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
    return EditResult(
        _checked(edited.template) if checked else edited.template,
        tuple(map(_plain_companion, edited.companions)),
        tuple(str.__str__(remark) for remark in remarks),
        _injected(edited.injected),
    )


def _checked(template: Any) -> PodTemplate:
    """Return the template as plain values without nulls. Raises PluginCodeError where it is malformed."""
    try:
        after = plain(template)
    except NotPlain as error:
        raise PluginCodeError(f"returned a template in which {error}") from error
    if mistakes := tuple(template_mistakes(after)):
        raise malformed("a template", mistakes, returned=after)
    without: PodTemplate = without_nulls(after)
    return without


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
    """Return what a webhook injects: requests by container. Raises PluginCodeError for another form."""
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
