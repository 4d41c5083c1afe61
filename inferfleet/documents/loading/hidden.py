"""Settings cannot hide: what Pulumi hands to the program is what commands without Pulumi read.

These read the stack's file alone. Pulumi adds environments of Pulumi ESC and the defaults in Pulumi.yaml, so
a plugin that comes from there would run without having been in any plan, digest or review. Secrets and
kubeconfigs may come from there: they are what such places are for, and no decision depends on their values.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from inferfleet.documents.loading.files import read
from inferfleet.documents.loading.settings import KEYS, plain
from inferfleet.documents.loading.stack_files import (
    NAMESPACE,
    PROJECT_FILE,
    Config,
    StackFiles,
    is_encrypted,
    map_in,
    settings_in,
)
from inferfleet.documents.problems import Mistaken, Problem
from inferfleet.documents.wording import path_of, shown

_COMPARED = tuple(key for key in KEYS if key != "secrets")
# The project of which a key without a namespace is one of ours.
_OURS = NAMESPACE.removesuffix(":")


def names_environment(files: StackFiles) -> bool:
    """Return whether the stack's file names environments of Pulumi ESC, which may hold kubeconfigs."""
    return bool(map_in(files.config_file, files.root).get("environment"))


def elsewhere(files: StackFiles, base: Path) -> Iterator[Problem]:
    """Yield a problem for each setting in the repository that only Pulumi reads as one of the stack.

    Those of Pulumi.yaml come with their line, which is shown relative to `base`.
    """
    into = f"Write it into stacks/{files.config_file.name}"
    name = None
    for source in read(files.root / PROJECT_FILE, base, files.root)[0]:
        data = source.text.data if isinstance(source.text.data, dict) else {}
        name = data.get("name")
        for key, setting in settings_in(data):
            if setting in _COMPARED:
                what = f"setting {setting} is in {PROJECT_FILE}, where commands without Pulumi do not read it"
                where = source.where(path_of(("config", key)))
                yield Problem(what, f"{into}, as {NAMESPACE}{setting}", where=where)
    stack = map_in(files.config_file, files.root)
    for key, setting in settings_in(stack):
        if ":" not in key and setting in _COMPARED and isinstance(name, str) and name != _OURS:
            what = f"key {setting} has no namespace, so Pulumi reads it as one of project {shown(name)}"
            yield Problem(what, f"Write {NAMESPACE}{setting}", setting)
    for _, setting in settings_in({"config": _inline(stack)}):
        if setting in _COMPARED:
            what = f"setting {setting} is in the environment of the stack, which only Pulumi reads"
            yield Problem(what, f"{into} below config, as {NAMESPACE}{setting}", setting)


def _inline(stack: Any) -> Any:
    """Return the configuration of an environment that is written out in the stack's file."""
    for step in ("environment", "values", "pulumiConfig"):
        stack = stack.get(step) if isinstance(stack, dict) else None
    return stack


def hidden(written: Config, given: Config) -> Iterator[Problem]:
    """Yield a problem for each setting that Pulumi hands over (`given`) with another value than the file has.

    No message shows a value: it may come from a place of secrets. Those in `given` must be valid.
    """
    for key in _COMPARED:
        ours, theirs = written.values.get(key), given.values.get(key)
        if theirs is None and ours is not None:
            what = f"setting {key} of the file is not in the configuration that Pulumi hands over"
            yield Problem(what, f"Write it as {NAMESPACE}{key} below config of the stack's file", key)
        elif theirs is not None:
            try:
                same = _equal(plain(key, ours), plain(key, theirs))
            except Mistaken as mistaken:  # such as one that is encrypted as a whole
                yield from (Problem(one.what, one.next_step, key) for one in mistaken.mistakes)
                continue
            if not same:
                has = (
                    "is not in the stack's file" if ours is None else "has another value in the stack's file"
                )
                what = f"setting {key} as Pulumi hands it over {has}, so no plan and no review has seen it"
                step = "Write it there, and remove it from environments of Pulumi ESC and from Pulumi.yaml"
                yield Problem(what, step, key)


def _equal(ours: Any, theirs: Any) -> bool:
    """Return whether two values are the same to Pulumi, which hands numbers and flags over as text.

    Encrypted values below a setting are taken for equal: only Pulumi can read them.
    """
    if is_encrypted(ours):
        return True
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return ours.keys() == theirs.keys() and all(_equal(ours[key], theirs[key]) for key in ours)
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(_equal, ours, theirs))
    return bool(_text(ours) == _text(theirs))


def _text(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value) if isinstance(value, int | float) else value
