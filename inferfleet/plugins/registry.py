"""The plugins that documents may name, as a value: whoever runs a chain says which plugins it may use.

`builtin()` has those that come with inferfleet; `plugins.loading` adds those that the settings of a stack
allow.
"""

import inspect
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, is_dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, get_args, is_typeddict

from pydantic import BaseModel

from inferfleet.documents.problems import Problem
from inferfleet.plugins.contract import Plugin

# The built-in plugins by name, with their modules.
MODULES = {
    "accelerator": "inferfleet.plugins.builtin.accelerator",
    "demo-pod-tweaks": "inferfleet.plugins.builtin.demo_pod_tweaks",
    "entry-address-file": "inferfleet.plugins.builtin.entry_address_file",
    "group-env": "inferfleet.plugins.builtin.group_env",
    "hugepages": "inferfleet.plugins.builtin.hugepages",
    "istio": "inferfleet.plugins.builtin.istio",
    "json-patch": "inferfleet.plugins.builtin.json_patch",
    "lws-standard-labels": "inferfleet.plugins.builtin.lws_standard_labels",
    "model-cache": "inferfleet.plugins.builtin.model_cache",
    "network-fabric": "inferfleet.plugins.builtin.network_fabric",
    "prometheus": "inferfleet.plugins.builtin.prometheus",
    "restricted": "inferfleet.plugins.builtin.restricted",
    "scheduler": "inferfleet.plugins.builtin.scheduler",
    "topology-spread": "inferfleet.plugins.builtin.topology_spread",
    "tracing": "inferfleet.plugins.builtin.tracing",
}
# A plugin's name becomes part of the names of its companion objects.
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_VERSION = re.compile(r"[0-9A-Za-z]([-+._0-9A-Za-z]{0,62}[0-9A-Za-z])?")
BUILT_IN = "built in"
# What the functions of a plugin are called with.
_GETS = {
    "edit": ("template", "request", "config"),
    "ready": ("ready", "config"),
    "holds": ("template", "config"),
}


@dataclass(frozen=True)
class Registry:
    """Plugins by name.

    `origins` says where plugins come from that are not built in, and `not_allowed` where those are that were
    found and not imported, because the settings do not name them. `unusable` has plugins that the settings
    name and that cannot be used, with the reason. `remarks` are warnings about how plugins were imported.
    `unused` are built-in ones that were not imported, because no chain names them.

    Raises ValueError for a plugin that `mistakes_of` finds something wrong with, and for a name twice.
    """

    plugins: tuple[Plugin, ...] = ()
    origins: Mapping[str, str] = field(default_factory=dict)
    not_allowed: Mapping[str, str] = field(default_factory=dict)
    unusable: Mapping[str, Problem] = field(default_factory=dict)
    remarks: tuple[Problem, ...] = ()
    unused: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for plugin in self.plugins:
            for mistake in mistakes_of(plugin):
                raise ValueError(mistake)
        names = [*(plugin.name for plugin in self.plugins), *self.unused]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"plugin {name} is registered already; give one of the two another name")

    def with_(self, *plugins: Plugin) -> "Registry":
        """Return a registry with these plugins too."""
        return replace(self, plugins=self.plugins + plugins)

    def get(self, name: str) -> Plugin | None:
        """Return the plugin of this name."""
        return next((plugin for plugin in self.plugins if plugin.name == name), None)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(sorted([*(plugin.name for plugin in self.plugins), *self.unused]))

    def origin(self, name: str) -> str:
        """Return where a registered plugin comes from: `built in`, or a file or package."""
        return self.origins.get(name, BUILT_IN)


def mistakes_of(plugin: Plugin) -> Iterator[str]:
    """Yield what keeps a plugin from being registered, each as a sentence with the next step."""
    if not isinstance(plugin.name, str) or not _NAME.fullmatch(plugin.name):
        yield (
            f"plugin name {plugin.name!r}: at most 63 lower-case letters, digits and '-', "
            "with a letter or digit at both ends"
        )
    if not isinstance(plugin.version, str) or not _VERSION.fullmatch(plugin.version):
        yield f"plugin {plugin.name}: its version is {plugin.version!r:.80}, but must be text such as 1.2.0"
    for name, gets in _GETS.items():
        function = getattr(plugin, name)
        if function is not None or name == "edit":
            yield from (f"plugin {plugin.name}: its {name} {what}" for what in _uncallable(function, gets))
    if not isinstance(plugin.config, type) or not issubclass(plugin.config, BaseModel):
        yield f"plugin {plugin.name}: its config is {plugin.config!r:.60}, but must be derived from Config"
        return
    for path, model in _loose(plugin.config, "config", ()):
        yield (
            f"plugin {plugin.name}: {path} ({model.__name__}) takes unknown keys, so typos would pass; "
            "derive it from inferfleet.plugins.api.Config"
        )


def _uncallable(function: Any, gets: tuple[str, ...]) -> Iterator[str]:
    """Yield why a function cannot be called with what it gets, and where it is written.

    Of an edit that would show by itself; a ready hook is called for the first time when all pods run.
    """
    call = f"({', '.join(gets)})"
    if not callable(function):
        yield f"is {function!r:.60}, but must be a function of {call}"
        return
    code = getattr(inspect.unwrap(function), "__code__", None)
    place = f" (at {Path(code.co_filename).name}:{code.co_firstlineno})" if code else ""
    called = (function, getattr(function, "__call__", None))  # noqa: B004 (an instance of a class with one)
    later = (inspect.iscoroutinefunction, inspect.isasyncgenfunction, inspect.isgeneratorfunction)
    if any(runs_later(each) for runs_later in later for each in called):
        yield f"is async or has a yield, and nothing awaits it; write a plain def that returns{place}"
    try:
        inspect.signature(function).bind(*gets)
    except TypeError:
        yield f"cannot be called with {call}; give it these parameters{place}"
    except ValueError:  # built into Python
        return


def _loose(model: type[BaseModel], path: str, above: tuple[Any, ...]) -> Iterator[tuple[str, type]]:
    """Yield each model, dataclass or typed dict of the config that takes unknown keys, with its path."""
    if model.model_config.get("extra") != "forbid":
        yield path, model
    for name, described in model.model_fields.items():
        for inner in _types(described.annotation):
            at = f"{path}.{described.alias or name}"
            if not isinstance(inner, type):
                continue
            if issubclass(inner, BaseModel):
                if inner not in (*above, model):
                    yield from _loose(inner, at, (*above, model))
            elif is_typeddict(inner) or is_dataclass(inner):
                yield at, inner


def _types(annotation: Any) -> Iterator[Any]:
    """Yield the type and all types that it is made of, such as `Disk` of `tuple[Disk, ...] | None`."""
    yield annotation
    for inner in get_args(annotation):
        yield from _types(inner)


def builtin(wanted: Collection[str] | None = None) -> Registry:
    """Return the plugins that come with inferfleet. Of these only the `wanted` are imported (None: all)."""
    imported = [name for name in MODULES if wanted is None or name in wanted]
    plugins = (import_module(MODULES[name]).PLUGIN for name in imported)
    return Registry(tuple(plugins), unused=tuple(name for name in MODULES if name not in imported))
