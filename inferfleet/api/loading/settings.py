"""Settings of a stack from its configuration, whose values may arrive as text or as encrypted."""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from inferfleet.api.kinds.settings import Settings
from inferfleet.api.loading.stack_files import Config, StackFiles, read_config
from inferfleet.api.loading.validation import fields_of, validated
from inferfleet.api.problems import InvalidDocuments, Mistake, Mistaken, Problem, Where, mistaken
from inferfleet.api.wording import nearest, one_of, path_of, shown

KEYS = tuple(name for name in fields_of(Settings) if name != "stack")
_SECRET = re.compile(r"[a-z]([-a-z0-9]{0,30}[a-z0-9])?/[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?")
_STRUCTURED = ("plugins", "secrets")


def settings_of(
    config: Mapping[str, Any],
    *,
    stack: str,
    file: str | None = None,
    lines: Mapping[str, int] | None = None,
    config_keys: Collection[str] = (),
) -> Settings:
    """The settings in the namespace `inferfleet` of a Pulumi configuration, whose keys come without it.

    Text "true" and JSON text are read where a setting is no text, because Pulumi hands them over so. `lines`
    has the line of each setting by path. Keys of kubeconfigs may stand there too: those in `config_keys`, and
    encrypted ones. Raises InvalidDocuments with every problem.
    """
    places = {path: Where(file, line) for path, line in (lines or {}).items()} if file else {}
    given = Config(config, places)
    settings, problems = checked(given, stack=stack)
    problems = given.located([*problems, *unknown(given, config_keys)], stack)
    if problems or settings is None:
        raise InvalidDocuments(problems)
    return settings


def read_settings(
    files: StackFiles, *, config_keys: Collection[str] = (), base: Path | None = None
) -> Settings:
    """The settings in the stack's file, or the defaults without one. Raises InvalidDocuments."""
    given = read_config(files.config_file, (base or Path.cwd()).absolute())
    settings, problems = checked(given, stack=files.stack)
    problems = [*given.problems, *given.located([*problems, *unknown(given, config_keys)], files.stack)]
    if problems or settings is None:
        raise InvalidDocuments(problems)
    return settings


def checked(given: Config, *, stack: str) -> tuple[Settings | None, list[Problem]]:
    """The settings, or None and their problems; keys that are no settings are passed over."""
    problems: list[Problem] = []
    lost = list(given.lost)
    plain: dict[str, Any] = {"stack": stack}
    for key in KEYS:
        if key not in given.values or key in given.lost:
            continue
        try:
            value = _plain(key, given.values[key])
            plain[key] = _names(value) if key == "secrets" else value
        except Mistaken as error:
            lost.append(key)
            for mistake in error.mistakes:
                problems.append(Problem(mistake.what, mistake.next_step, path_of((key, *mistake.at))))
    settings, invalid = validated(Settings, plain, ignore=lost)
    problems += invalid
    return (None if problems else settings), problems


def unknown(given: Config, config_keys: Collection[str], *, sure: bool = True) -> Iterator[Problem]:
    """Keys that are no settings, not encrypted, and not named by a cluster's `configKey`.

    When the clusters are not known (not `sure`), only keys that look like a mistyped setting.
    """
    for key, value in given.values.items():
        if key in KEYS or key in config_keys or _encrypted(value):
            continue
        if sure or nearest(key, KEYS):
            what = f"no setting is named {shown(key)!r}, and no cluster has it as configKey"
            yield Problem(what, one_of(key, KEYS, "Known settings"), path_of((key,)))


def _plain(key: str, value: Any) -> Any:
    if _encrypted(value):
        what = f"setting {key} is encrypted as a whole, so a plan without Pulumi cannot read it"
        next_step = (
            """Encrypt single values: pulumi config set --secret --path 'inferfleet:secrets["ns/name"].key'"""
            if key == "secrets"
            else "Set it without --secret"
        )
        raise mistaken(what, next_step)
    if isinstance(value, str) and key == "locked":
        return {"true": True, "false": False}.get(value, value)
    if isinstance(value, str) and key in _STRUCTURED:
        try:
            return json.loads(value, parse_constant=_no_constant)
        except (ValueError, RecursionError):
            raise mistaken(f"setting {key} is text that is not JSON", "Write it as YAML") from None
    return value


def _no_constant(name: str) -> None:
    raise ValueError(name)


def _encrypted(value: Any) -> bool:
    return isinstance(value, dict) and set(value) == {"secure"}


def _names(secrets: Any) -> dict[str, list[str]]:
    """The names of the secrets and of their values. No message here may show a value."""
    if not isinstance(secrets, dict):
        raise mistaken(
            "secrets must be a map from namespace/name to the values of that secret", "Write a map"
        )
    found = [one for name, values in secrets.items() for one in _secret(str(name), values)]
    if found:
        raise Mistaken(*found)
    return {name: sorted(values) for name, values in secrets.items()}


def _secret(name: str, values: Any) -> Iterator[Mistake]:
    if not _SECRET.fullmatch(name):
        what = f"secret {shown(name)!r} must be named namespace/name, in lowercase"
        yield Mistake(what, "Write it like ml/hf-token", (name,))
    if not isinstance(values, dict) or not values or _encrypted(values):
        yield Mistake(f"secret {shown(name)} must be a map from keys to values", "Write it so", (name,))
        return
    for key, value in values.items():
        if not isinstance(value, str) and not _encrypted(value):
            what = f"value {shown(str(key))!r} of secret {shown(name)} must be text"
            yield Mistake(what, "Set it with pulumi config set --secret --path", (name, str(key)))
