"""The one place where plugins of others come in, for every verb and for `pulumi up`: found by name, and
imported if the settings of the stack name them. `desired` takes the registry as a value.

A module `plugins/topology_spread.py` of the project holds the plugin `topology-spread`. A package has an
entry point of the group `inferfleet.plugins` for each of its plugins, under the plugin's name.
"""

import hashlib
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from importlib.metadata import EntryPoint, distributions
from pathlib import Path
from types import ModuleType
from typing import Any

from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.settings import AllowedPlugin, Settings
from inferfleet.documents.loading.files import UnreadableFile, read_regular
from inferfleet.documents.loading.schema import config_schema
from inferfleet.documents.problems import InvalidDocuments, Problem, Where
from inferfleet.documents.wording import one_of, shown
from inferfleet.plugins.calling import HEED_OUTPUT, call, capture_output, shortened, text_of
from inferfleet.plugins.contract import Plugin, PluginError
from inferfleet.plugins.registry import MODULES, Registry, builtin, mistakes_of

FOLDER = "plugins"
GROUP = "inferfleet.plugins"
# Set to BUILT_IN where documents are read that nobody has reviewed: the allow-list is among them.
BUILT_IN_ONLY, BUILT_IN = "INFERFLEET_PLUGINS", "built-in"
_MODULE = re.compile(r"[a-z0-9]([a-z0-9_]*[a-z0-9])?\.py")
_NAME = "PLUGIN"
_STEP = "Mend the plugin"


def outside_allowed(environment: Mapping[str, str]) -> bool:
    """Return whether plugins of others may run, as far as the environment says.

    Raises InvalidDocuments for a value that means nothing: one that is misspelt must not let them in.
    """
    value = environment.get(BUILT_IN_ONLY, "")
    if value not in ("", BUILT_IN):
        what = (
            f"the environment variable {BUILT_IN_ONLY} is {shown(value)!r}, and its one value is {BUILT_IN}"
        )
        raise InvalidDocuments([Problem(what, f"Write {BUILT_IN_ONLY}={BUILT_IN}, or unset it")])
    return value != BUILT_IN


@contextmanager
def registered(documents: Documents, root: Path | None, *, outside: bool = True) -> Iterator[Registry]:
    """Give the plugins that the stack may use: the built-in ones, and those of others that it allows.

    `root` is the project's folder, None for documents outside of a stack. What cannot be imported is in the
    registry with the reason; without `outside`, that is every plugin of others. Until the block ends, what
    their child processes print goes to stderr: stdout is the JSON or YAML of a verb.
    """
    settings, wanted = documents.settings, _named(documents)
    with stdout_to_stderr() if settings.allowed_plugins else nullcontext():
        yield found_plugins(settings, root, wanted=wanted, outside=outside)


@contextmanager
def stdout_to_stderr() -> Iterator[None]:
    """Let what child processes print go to stderr until the block ends."""
    try:
        kept = os.dup(1)
    except OSError:  # a program without a console
        yield
        return
    try:
        _flush()
        with suppress(OSError):
            os.dup2(2, 1)
        yield
    finally:
        _flush()
        os.dup2(kept, 1)
        os.close(kept)


def _flush() -> None:
    """Write out what Python still holds back, to where it was written."""
    for stream in (sys.stdout, sys.__stdout__):
        # Code of others may have closed them; a program without a console has none.
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()  # type: ignore[union-attr]


def _named(documents: Documents) -> frozenset[str]:
    """The plugins that any chain names."""
    chains = [
        documents.settings.plugins,
        *(document.spec.plugins for document in documents.classes.values()),
        *(document.spec.plugins for document in documents.clusters.values()),
        *(document.spec.plugins for document in documents.deployments.values()),
    ]
    return frozenset(link.name for chain in chains for link in chain)


@dataclass(frozen=True)
class Candidate:
    """A plugin that could be imported: a module in the project, or an entry point of an installed package.

    `version` is that of the package; that of a module is known only once it has been imported.
    """

    name: str
    origin: str
    file: Path | None = None
    entry_point: EntryPoint | None = None
    version: str | None = None


def found_plugins(
    settings: Settings, root: Path | None, *, wanted: frozenset[str] | None = None, outside: bool = True
) -> Registry:
    """Return a registry with every plugin that the settings allow, and the names of those they do not.

    Installed packages are looked through only where a plugin is allowed, or `wanted` and nowhere else (None:
    always). No module is imported that the settings do not name, and none at all without `outside`.
    """
    registry = builtin(wanted)
    candidates = list(_in_folder(root)) if root else []
    names = {*registry.names, *(candidate.name for candidate in candidates)}
    if settings.allowed_plugins or wanted is None or wanted - names:
        candidates += installed()
    allowed = {plugin.name for plugin in settings.allowed_plugins}
    loaded = [
        _loaded(plugin, index, settings, candidates, root, outside=outside)
        for index, plugin in enumerate(settings.allowed_plugins)
    ]
    return replace(
        registry.with_(*(each.plugin for each in loaded if each.plugin)),
        origins={each.name: each.origin for each in loaded},
        not_allowed={
            candidate.name: candidate.origin
            for candidate in candidates
            if candidate.name not in allowed and candidate.name not in registry.names
        },
        remarks=tuple(each.remark for each in loaded if each.remark),
        unusable={each.name: each.problem for each in loaded if each.problem},
    )


def _in_folder(root: Path) -> Iterator[Candidate]:
    """Yield the modules in `plugins`. Names that begin with `_` or `.` are none."""
    folder = root / FOLDER
    for name in sorted(os.listdir(folder)) if folder.is_dir() else ():
        if _MODULE.fullmatch(name):
            plugin = name.removesuffix(".py").replace("_", "-")
            yield Candidate(plugin, f"{FOLDER}/{name}", file=folder / name)


def installed() -> Iterator[Candidate]:
    """Yield the entry points of all packages that Python finds, sorted by name.

    A package whose metadata cannot be read has none; of two of one name the first on the path counts.
    """
    packages: dict[str, tuple[str, list[EntryPoint]]] = {}
    for package in distributions():
        try:
            name, version = package.metadata["Name"], package.metadata["Version"]
            points = list(package.entry_points.select(group=GROUP))
        except Exception:  # noqa: BLE001 (files of others: what is broken in them may be anything)
            continue
        if name and version:
            packages.setdefault(name.lower().replace("_", "-"), (f"{name} {version}", points))
    for title, point in sorted(
        ((title, point) for title, points in packages.values() for point in points),
        key=lambda named: (named[1].name, named[1].value),
    ):
        origin = f"{title}, {point.value}"
        yield Candidate(point.name, origin, entry_point=point, version=title.rpartition(" ")[2])


class PluginProblem(Exception):  # noqa: N818 (a problem of a plugin that cannot be used)
    """Raised instead of returning a plugin. `line` is that of a module in the project."""

    def __init__(self, what: str, next_step: str = _STEP, *, line: int = 1) -> None:
        self.what, self.next_step, self.line = what, next_step, line
        super().__init__(f"{what}. {next_step}")


@dataclass(frozen=True)
class _Loaded:
    name: str
    origin: str = ""
    plugin: Plugin | None = None
    problem: Problem | None = None
    remark: Problem | None = None


def _loaded(
    allowed: AllowedPlugin,
    index: int,
    settings: Settings,
    candidates: list[Candidate],
    root: Path | None,
    *,
    outside: bool,
) -> _Loaded:
    """Return an allowed plugin as it is imported, or why it cannot be used."""

    def problem(what: str, next_step: str, where: Where | None = None) -> Problem:
        path = f"allowedPlugins[{index}]"
        return Problem(
            f"plugin {allowed.name} {what}", next_step, path, where, kind="Settings", key=settings.stack
        )

    def unusable_because(what: str, next_step: str) -> _Loaded:
        return _Loaded(allowed.name, problem=problem(what, next_step))

    if not outside:
        step = f"Unset {BUILT_IN_ONLY}, or name documents by path to check them without the stack's plugins"
        return unusable_because(f"is not imported, because of {BUILT_IN_ONLY}={BUILT_IN}", step)
    if allowed.name in MODULES:
        return unusable_because("comes with inferfleet and is always allowed", "Remove it from the list")
    matching = [candidate for candidate in candidates if candidate.name == allowed.name]
    if not matching:
        file = f"{FOLDER}/{allowed.name.replace('-', '_')}.py"
        names = {candidate.name for candidate in candidates}
        what = f"is neither in {file} nor an entry point of the group {GROUP}"
        step = one_of(allowed.name, names, "There are") if names else f"Write {file}, or install its package"
        return unusable_because(what, step)
    if len(matching) > 1:
        origins = " and in ".join(candidate.origin for candidate in matching)
        return unusable_because(f"is in {origins}", "Remove or rename one of them")
    (candidate,) = matching
    output: list[str] = []
    plugin, unusable, remark = None, None, None
    try:
        with capture_output(output):
            plugin = _imported(candidate, root, allowed=allowed.version)
    except PluginProblem as error:
        # A module of the project has its own line; of a package, the line in the settings says which one.
        where = Where(candidate.origin, error.line) if candidate.file else None
        unusable = problem(f"({candidate.origin}) {error.what}", error.next_step, where)
    if text := text_of(output):
        remark = replace(
            problem(f"({candidate.origin}) says while it is imported: {text}", HEED_OUTPUT),
            severity="warning",
        )
    return _Loaded(allowed.name, candidate.origin, plugin, unusable, remark)


def _imported(candidate: Candidate, root: Path | None, *, allowed: str | None) -> Plugin:
    """Return the plugin, a package's of the version that is allowed.

    Raises PluginProblem for whatever its code does wrong in the meantime, with its line.
    """
    if candidate.entry_point is not None and candidate.version != allowed:
        what = f"is version {candidate.version}, and the stack allows {allowed or 'no version of it'}"
        step = f"Review it, and write version: {candidate.version!r} in inferfleet:allowedPlugins"
        raise PluginProblem(what, step)
    file = str(candidate.file or "")

    def run(function: Callable[[], Any]) -> Any:
        try:
            return call(function, file=file)
        except PluginError as error:
            if isinstance(error.__cause__, PluginProblem):
                raise error.__cause__ from None
            raise PluginProblem(
                f"cannot be imported: {shortened(str(error))}", line=_line(str(error), file)
            ) from error

    plugin = run(candidate.entry_point.load if candidate.entry_point else lambda: _in_module(candidate, root))
    if not isinstance(plugin, Plugin):
        raise PluginProblem(
            f"is of type {type(plugin).__name__}, but must be a Plugin of inferfleet.plugins.api"
        )
    if plugin.name != candidate.name:
        what = f"is called {plugin.name!r:.70} in its code, and {candidate.name} where it was found"
        raise PluginProblem(what, "Give it one name")
    # What a plugin is made of may be objects with code of their own, which runs when they are looked at.
    for mistake in run(lambda: tuple(mistakes_of(plugin))):
        raise PluginProblem(f"cannot be registered: {mistake}", line=_line(mistake, file))
    # Types of a config may describe themselves, by code that runs when `plugins` and `schema` ask for it.
    run(lambda: config_schema(plugin.config))
    if candidate.version is not None and plugin.version != candidate.version:
        what = f"says that it is version {plugin.version}, but its package is {candidate.version}"
        raise PluginProblem(what, "Give the plugin the version of its package")
    return plugin


def _in_module(candidate: Candidate, root: Path | None) -> Any:
    """Run the module, under a name that no other project or version of it has in this process."""
    file = candidate.file
    if file is None or root is None:
        raise PluginProblem("is in no file")
    try:
        source = read_regular(file, root)
    except UnreadableFile as unreadable:
        raise PluginProblem(f"cannot be read: the file {unreadable.why}", unreadable.next_step) from None
    digest = hashlib.sha256(str(file).encode() + b"\0" + source).hexdigest()[:12]
    module = ModuleType(f"inferfleet_project_plugins_{digest}.{file.stem}")
    module.__file__ = str(file)
    try:
        code = compile(source, str(file), "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        line = (error.lineno or 1) if isinstance(error, SyntaxError) else 1
        what = f"is no Python: {error.msg if isinstance(error, SyntaxError) else error}"
        raise PluginProblem(what, line=line) from None
    # Pydantic looks the types of a config up there.
    sys.modules[module.__name__] = module
    try:
        exec(code, module.__dict__)
    except BaseException:
        del sys.modules[module.__name__]
        raise
    if not hasattr(module, _NAME):
        raise PluginProblem(f"has no {_NAME}", f"End the module with {_NAME} = Plugin(...)")
    return getattr(module, _NAME)


def _line(sentence: str, file: str) -> int:
    """Return the line at the end of a sentence that ends with a place, such as (at topology.py:12), or 1."""
    place = sentence.rpartition(f"{Path(file).name}:")[2].partition(")")[0] if file else ""
    return int(place) if place.isdecimal() else 1
