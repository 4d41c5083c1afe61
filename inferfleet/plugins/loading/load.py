"""The one place where plugins of others come in, for every verb and for `pulumi up`."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from inferfleet.api.documents import Documents
from inferfleet.api.kinds.settings import AllowedPlugin, Settings
from inferfleet.api.problems import InvalidDocuments, Problem, Where
from inferfleet.api.wording import listing, one_of, shown
from inferfleet.plugins.contract import Plugin
from inferfleet.plugins.loading.candidates import (
    FOLDER,
    GROUP,
    Candidate,
    in_folder,
    installed,
    leads_outside,
)
from inferfleet.plugins.loading.importing import Refusal, imported
from inferfleet.plugins.loading.quiet import output_caught
from inferfleet.plugins.loading.slow import told_when_slow
from inferfleet.plugins.registry import MODULES, Registry, builtin

# Set to BUILT_IN where documents are read that nobody has reviewed: the allow-list is among them.
BUILT_IN_ONLY, BUILT_IN = "INFERFLEET_PLUGINS", "built-in"


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
    registry with the reason; without `outside`, that is every plugin of others. While plugins of others may
    run, until the block ends, nothing that they write past Python reaches the output: it raises
    InvalidDocuments at the end of the block.
    """
    if not documents.settings.allowed_plugins:
        yield found_plugins(documents.settings, root, wanted=_named(documents))
        return
    registry = found_plugins(documents.settings, root, wanted=_named(documents), outside=outside)
    problems: tuple[Problem, ...] = ()
    with told_when_slow(), output_caught() as caught:
        try:
            yield registry
        except InvalidDocuments as invalid:
            problems = invalid.problems
    if caught.text:
        problems = (*problems, *documents.located([_wrote(caught.text, documents)]))
    if problems:
        raise InvalidDocuments(problems)


def _wrote(text: str, documents: Documents) -> Problem:
    """Return the problem of what was written past Python; which plugin did it is known if only one could."""
    allowed = {
        plugin.name: f"allowedPlugins[{place}]"
        for place, plugin in enumerate(documents.settings.allowed_plugins)
    }
    named = _named(documents)
    could = {name: path for name, path in allowed.items() if name in named} or allowed
    whose = f"plugin {next(iter(could))}" if len(could) == 1 else f"one of the plugins {listing(could)}"
    return Problem(
        f"{whose} wrote {text!r} while it edited templates, which would spoil the output",
        "Remove that from the plugin, and from programs that it runs",
        next(iter(could.values())) if len(could) == 1 else "allowedPlugins",
        kind="Settings",
        key=documents.settings.stack,
    )


def found_plugins(
    settings: Settings, root: Path | None, *, wanted: frozenset[str] | None = None, outside: bool = True
) -> Registry:
    """Return a registry with every plugin that the settings allow, and the names of those they do not.

    Installed packages are looked through only where a plugin is allowed, or `wanted` and nowhere else (None:
    always). No module is imported that the settings do not name, and none at all without `outside`.
    """
    registry = builtin(wanted)
    candidates = list(in_folder(root)) if root else []
    known = {*registry.names, *(candidate.name for candidate in candidates)}
    if settings.allowed_plugins or wanted is None or wanted - known:
        candidates += installed()
    allowed = {plugin.name for plugin in settings.allowed_plugins}
    loaded = [
        _loaded(plugin, place, settings, candidates, root, outside=outside)
        for place, plugin in enumerate(settings.allowed_plugins)
    ]
    return replace(
        registry.with_(*(made.plugin for made in loaded if made.plugin)),
        origins={made.name: made.origin for made in loaded},
        not_allowed={
            candidate.name: candidate.origin
            for candidate in candidates
            if candidate.name not in allowed and candidate.name not in registry.names
        },
        remarks=tuple(made.remark for made in loaded if made.remark),
        unusable={made.name: made.problem for made in loaded if made.problem},
    )


@dataclass(frozen=True)
class _Loaded:
    name: str
    origin: str = ""
    plugin: Plugin | None = None
    problem: Problem | None = None
    remark: Problem | None = None


def _loaded(
    allowed: AllowedPlugin,
    place: int,
    settings: Settings,
    candidates: list[Candidate],
    root: Path | None,
    *,
    outside: bool,
) -> _Loaded:
    def refused(what: str, next_step: str, where: Where | None = None, origin: str = "") -> _Loaded:
        path = f"allowedPlugins[{place}]"
        said = f"plugin {allowed.name} {what}"
        problem = Problem(said, next_step, path, where, kind="Settings", key=settings.stack)
        return _Loaded(allowed.name, origin, problem=problem)

    if not outside:
        step = f"Unset {BUILT_IN_ONLY}, or name documents by path to check them without the stack's plugins"
        return refused(f"is not imported, because of {BUILT_IN_ONLY}={BUILT_IN}", step)
    if allowed.name in MODULES:
        return refused("comes with inferfleet and is always allowed", "Remove it from the list")
    matching = [candidate for candidate in candidates if candidate.name == allowed.name]
    if not matching and root and leads_outside(root):
        what = f"is not looked for in {FOLDER}, which is a link to a folder outside of the project"
        return refused(what, f"Put a folder {FOLDER} with its modules in its place, or install its package")
    if not matching:
        file = f"{FOLDER}/{allowed.name.replace('-', '_')}.py"
        names = {candidate.name for candidate in candidates}
        what = f"is neither in {file} nor an entry point of the group {GROUP}"
        step = one_of(allowed.name, names, "There are") if names else f"Write {file}, or install its package"
        return refused(what, step)
    if len(matching) > 1:
        origins = " and in ".join(candidate.origin for candidate in matching)
        return refused(f"is in {origins}", "Remove or rename one of them")
    (candidate,) = matching
    if candidate.is_package:
        step = f"Make it one module, {candidate.origin}.py, or install it as a package with an entry point"
        return refused(f"is the folder {candidate.origin}, and a plugin there is one module", step)
    try:
        plugin, wrote = imported(candidate, root, allowed=allowed.version)
    except Refusal as refusal:
        # A module of the project has its own line; of a package, the line in the settings says which one.
        where = Where(candidate.origin, refusal.line) if candidate.file else None
        return refused(f"({candidate.origin}) {refusal.what}", refusal.next_step, where, candidate.origin)
    remark = None
    if wrote:
        remark = Problem(
            f"plugin {allowed.name} ({candidate.origin}) {wrote} while it was imported, which is not shown",
            "Remove that from the plugin, or raise PluginError where something is wrong",
            f"allowedPlugins[{place}]",
            kind="Settings",
            key=settings.stack,
            severity="warning",
        )
    return _Loaded(allowed.name, candidate.origin, plugin, remark=remark)


def _named(documents: Documents) -> frozenset[str]:
    """The plugins that any chain names."""
    chains = [
        documents.settings.plugins,
        *(document.spec.plugins for document in documents.classes.values()),
        *(document.spec.plugins for document in documents.clusters.values()),
        *(document.spec.plugins for document in documents.deployments.values()),
    ]
    return frozenset(link.name for chain in chains for link in chain)
