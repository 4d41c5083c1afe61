"""Imports one plugin. Whatever its code does wrong in the meantime is a Refusal, with its line."""

import hashlib
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from inferfleet.api.loading.border import Refused, read_regular
from inferfleet.api.loading.schema import config_schema
from inferfleet.plugins.calling import listened, shortened
from inferfleet.plugins.contract import Plugin, PluginError
from inferfleet.plugins.loading.candidates import Candidate
from inferfleet.plugins.loading.quiet import output_caught
from inferfleet.plugins.registry import mistakes_of, wrong_defaults

_NAME = "PLUGIN"
_STEP = "Mend the plugin"


class Refusal(Exception):  # noqa: N818 (it says what happened to the plugin)
    """Raised instead of returning a plugin. `line` is that of a module in the project."""

    def __init__(self, what: str, next_step: str = _STEP, *, line: int = 1) -> None:
        self.what, self.next_step, self.line = what, next_step, line
        super().__init__(f"{what}. {next_step}")


def imported(candidate: Candidate, root: Path | None, *, allowed: str | None) -> tuple[Plugin, str]:
    """Return the plugin, a package's of the version that is allowed, and what it wrote meanwhile.

    Raises Refusal.
    """
    if candidate.entry_point is not None and candidate.version != allowed:
        what = f"is version {candidate.version}, and the stack allows {allowed or 'no version of it'}"
        step = f"Review it, and write version: {candidate.version!r} in inferfleet:allowedPlugins"
        raise Refusal(what, step)
    wrote: list[str] = []
    plugin = _loaded(candidate, root, wrote)
    if plugin.name != candidate.name:
        what = f"is called {plugin.name!r:.70} in its code, and {candidate.name} where it was found"
        raise Refusal(what, "Give it one name")
    file = str(candidate.file or "")
    # What a plugin is made of may be objects with code of their own, which runs when they are looked at.
    for mistake in _run(lambda: (*mistakes_of(plugin), *wrong_defaults(plugin)), wrote, file=file):
        raise Refusal(f"cannot be registered: {mistake}", line=_line(mistake, file))
    # Types of a config may describe themselves, by code that runs when `plugins` and `schema` ask for it.
    _run(lambda: config_schema(plugin.config), wrote, file=file)
    if candidate.version is not None and plugin.version != candidate.version:
        what = f"says that it is version {plugin.version}, but its package is {candidate.version}"
        raise Refusal(what, "Give the plugin the version of its package")
    return plugin, next(iter(wrote), "")


def _loaded(candidate: Candidate, root: Path | None, wrote: list[str]) -> Plugin:
    point = candidate.entry_point
    if point is not None:
        plugin = _run(point.load, wrote, file="")
    else:
        file = candidate.file
        if file is None or root is None:
            raise Refusal("is in no file")
        module = _module(file, root, wrote)
        if not hasattr(module, _NAME):
            raise Refusal(f"has no {_NAME}", f"End the module with {_NAME} = Plugin(...)")
        plugin = getattr(module, _NAME)
    if not isinstance(plugin, Plugin):
        raise Refusal(f"is of type {type(plugin).__name__}, but must be a Plugin of inferfleet.plugins.api")
    return plugin


def _module(file: Path, root: Path, wrote: list[str]) -> ModuleType:
    """Run the module, under a name that no other project or version of it has in this process."""
    try:
        source = read_regular(file, root)
    except Refused as refused:
        raise Refusal(f"cannot be read: the file {refused.why}", refused.next_step) from None
    digest = hashlib.sha256(str(file).encode() + b"\0" + source).hexdigest()[:12]
    module = ModuleType(f"inferfleet_project_plugins_{digest}.{file.stem}")
    module.__file__ = str(file)
    # Pydantic looks the types of a config up there.
    sys.modules[module.__name__] = module
    try:
        _run(lambda: exec(_compiled(source, file), module.__dict__), wrote, file=str(file))
    except Refusal:
        del sys.modules[module.__name__]
        raise
    return module


def _compiled(source: bytes, file: Path) -> Any:
    try:
        return compile(source, str(file), "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        line = (error.lineno or 1) if isinstance(error, SyntaxError) else 1
        what = f"is no Python: {error.msg if isinstance(error, SyntaxError) else error}"
        raise Refusal(what, line=line) from None


def _run(function: Callable[[], Any], wrote: list[str], *, file: str) -> Any:
    """Return what the function returns, and add the beginning of what it wrote, which reaches no output.

    Raises Refusal.
    """
    with output_caught() as caught:
        try:
            result, printed = listened(function, file=file)
        except PluginError as error:
            raise _refusal(error, file) from error
    if said := printed or (caught.text and f"wrote {caught.text!r}"):
        wrote.append(said)
    return result


def _refusal(error: PluginError, file: str) -> Refusal:
    if isinstance(error.__cause__, Refusal):
        return error.__cause__
    return Refusal(f"cannot be imported: {shortened(str(error))}", line=_line(str(error), file))


def _line(sentence: str, file: str) -> int:
    """Return the line at the end of a sentence that ends with a place, such as (at topology.py:12), or 1."""
    place = sentence.rpartition(f"{Path(file).name}:")[2].partition(")")[0] if file else ""
    return int(place) if place.isdecimal() else 1
