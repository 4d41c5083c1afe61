"""The configuration of a stack as it stands in its Pulumi.<stack>.yaml, with lines."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from inferfleet.api.document_files import read
from inferfleet.api.paths import below
from inferfleet.api.problems import Problem, Where

NAMESPACE = "inferfleet:"


@dataclass(frozen=True)
class Config:
    """The values under `inferfleet:`, by key without it, and the places of their fields by path."""

    values: Mapping[str, Any] = field(default_factory=dict)
    lines: Mapping[str, Where] = field(default_factory=dict)
    lost: tuple[str, ...] = ()  # paths of values that could not be read
    problems: tuple[Problem, ...] = ()

    def where(self, path: str) -> Where | None:
        while path and path not in self.lines:
            path = path[: max(path.rfind("."), path.rfind("["), 0)]
        return self.lines.get(path)


def read_config(file: Path, base: Path) -> Config:
    """What the file says; nothing, if there is no such file."""
    if not file.exists():
        return Config()
    sources, unread = read(file, base)
    if not sources:
        return Config(problems=tuple(unread))
    source = sources[0]
    written = source.text.data.get("config") if isinstance(source.text.data, dict) else None
    if not isinstance(source.text.data, dict) or not isinstance(written, dict | None):
        problem = Problem(
            "the settings of a stack are a map with one field config", "Mend it", "", source.where()
        )
        return Config(problems=(*unread, problem))
    values, lines = {}, {"": source.where("config")}
    for key, value in (written or {}).items():
        if key.startswith(NAMESPACE):
            short, long = key.removeprefix(NAMESPACE), below("config", key)
            values[short] = value
            for path, line in source.text.lines.items():
                if path == long or path.startswith((f"{long}.", f"{long}[")):
                    lines[short + path.removeprefix(long)] = Where(source.shown, line)
    flaws = [one for one in source.text.flaws if one.path.startswith(f'config["{NAMESPACE}')]
    problems = [Problem(one.what, one.next_step, one.path, Where(source.shown, one.line)) for one in flaws]
    lost = tuple(_short(one.path) for one in flaws if one.lost)
    return Config(values, lines, lost, (*unread, *problems))


def _short(path: str) -> str:
    key, _, rest = path.removeprefix(f'config["{NAMESPACE}').partition('"]')
    return key + rest
