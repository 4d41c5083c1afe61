"""Settings of a stack from its configuration, whose values may arrive as text or encrypted."""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from inferfleet.documents.kinds.settings import Settings
from inferfleet.documents.loading.stack_files import NAMESPACE, Config, StackFiles, is_encrypted, read_config
from inferfleet.documents.loading.validation import fields_of, validated_but_for_links
from inferfleet.documents.problems import InvalidDocuments, Mistake, Mistaken, Problem, Where, mistaken
from inferfleet.documents.wording import nearest, one_of, path_of, shown

KEYS = tuple(name for name in fields_of(Settings) if name != "stack")
_SECRET = re.compile(r"[a-z]([-a-z0-9]{0,30}[a-z0-9])?/[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?")
_STRUCTURED = ("allowedPlugins", "plugins", "secrets")
_FLAGS = ("locked", "trustRepositoryKubeconfigs")
# Characters of such a setting as JSON text. A Secret holds at most 1 MiB: a stack has a few.
_LONGEST = {"allowedPlugins": 100_000, "plugins": 100_000, "secrets": 4 * 1024 * 1024}
_MOST_UNKNOWN = 100
_MOST_SECRETS = 2_000


def settings_of(
    config: Mapping[str, Any],
    *,
    stack: str,
    file: str | None = None,
    lines: Mapping[str, int] | None = None,
    config_keys: Collection[str] = (),
) -> Settings:
    """Return the settings from the namespace `inferfleet` of a Pulumi configuration; keys come without it.

    Pulumi passes booleans as "true" and structured values as JSON text, so these are read where a setting is
    not text. `lines` has the line of each setting by path. Keys of kubeconfigs may be there too: those in
    `config_keys`, and encrypted ones. Raises InvalidDocuments with every problem.
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
    """Return the settings in the stack's file, or the defaults without one. Raises InvalidDocuments."""
    given = read_config(files.config_file, (base or Path.cwd()).absolute(), files.root)
    settings, problems = checked(given, stack=files.stack)
    problems = [*given.problems, *given.located([*problems, *unknown(given, config_keys)], files.stack)]
    if problems or settings is None:
        raise InvalidDocuments(problems)
    return settings


def checked(given: Config, *, stack: str) -> tuple[Settings | None, list[Problem]]:
    """Return the settings, or None and their problems without lines. Keys of no setting are ignored."""
    settings, problems, links = checked_but_for_links(given, stack=stack)
    problems += chain.from_iterable(links.values())
    return (None if problems else settings), problems


def checked_but_for_links(
    given: Config, *, stack: str
) -> tuple[Settings | None, list[Problem], dict[str, tuple[Problem, ...]]]:
    """Return settings and problems as `checked` does, but problems of single plugin links apart, by path."""
    problems: list[Problem] = []
    missing = list(given.missing)
    values: dict[str, Any] = {"stack": stack}
    for key in KEYS:
        if key not in given.values or key in given.missing:
            continue
        try:
            value = plain(key, given.values[key])
            values[key] = _names(value) if key == "secrets" else value
        except Mistaken as error:
            missing.append(key)
            for mistake in error.mistakes:
                problems.append(Problem(mistake.what, mistake.next_step, path_of((key, *mistake.at))))
    settings, invalid, links = validated_but_for_links(Settings, values, chain=("plugins",), ignore=missing)
    problems += invalid
    return (None if problems else settings), problems, links


def unknown(given: Config, config_keys: Collection[str], *, sure: bool = True) -> Iterator[Problem]:
    """Yield a problem for each key that is no setting, not encrypted, and not the `configKey` of a cluster.

    While the clusters are not known (not `sure`), only keys that look like a mistyped setting are reported.
    """
    others = [
        key
        for key, value in given.values.items()
        if not (key in KEYS or key in config_keys or is_encrypted(value))
    ]
    if len(others) > _MOST_UNKNOWN:
        what = f"there are {len(others):,} keys that are no settings"
        yield Problem(what, "Remove them", path_of((others[_MOST_UNKNOWN],)))
    for key in others[:_MOST_UNKNOWN]:
        # A key that is named for a kubeconfig is rather that of a cluster.
        if sure or (nearest(key, KEYS) and not key.lower().endswith("kubeconfig")):
            what = f"{shown(key)!r} is neither a setting nor the configKey of a cluster"
            next_step = one_of(key, KEYS, "Known settings")
            if key == NAMESPACE.rstrip(":"):
                next_step = f"Write each setting on a line of its own, such as {NAMESPACE}locked: true"
            yield Problem(what, next_step, path_of((key,)))


def in_ci(environment: Mapping[str, str]) -> bool:
    """Return whether this is a job of CI, where a stack is locked that does not say otherwise."""
    return bool(environment.get("CI"))


def plain(key: str, value: Any) -> Any:
    """Return the value of a setting as data, where Pulumi hands over text. Raises Mistaken."""
    if is_encrypted(value):
        what = f"setting {key} is encrypted as a whole, so a plan without Pulumi cannot read it"
        next_step = (
            """Encrypt single values: pulumi config set --secret --path 'inferfleet:secrets["ns/name"].key'"""
            if key == "secrets"
            else "Set it without --secret"
        )
        raise mistaken(what, next_step)
    if isinstance(value, str) and key in _FLAGS:
        return {"true": True, "false": False}.get(value, value)
    if isinstance(value, str) and key in _STRUCTURED:
        if len(value) > _LONGEST[key]:
            what = f"setting {key} is a text of more than {_LONGEST[key]:,} characters"
            raise mistaken(what, "Shorten it")
        try:
            return json.loads(value, parse_constant=_no_constant)
        except (ValueError, RecursionError):
            raise mistaken(f"setting {key} is text that is not valid JSON", "Write it as YAML") from None
    return value


def _no_constant(name: str) -> None:
    raise ValueError(name)


def _names(secrets: Any) -> dict[str, list[str]]:
    """Return the names of the secrets and the keys of their values. No message here may show a value."""
    if not isinstance(secrets, dict):
        raise mistaken(
            "secrets must be a map from namespace/name to the values of that secret",
            "Write it like ml/hf-token: {token: VALUE}",
        )
    if len(secrets) > _MOST_SECRETS:
        raise mistaken(f"a stack has at most {_MOST_SECRETS:,} secrets, not {len(secrets):,}", "Remove some")
    mistakes = [mistake for name, values in secrets.items() for mistake in _secret(str(name), values)]
    if mistakes:
        raise Mistaken(*mistakes)
    return {name: sorted(values) for name, values in secrets.items()}


def readable_secrets(given: Config) -> Iterator[Problem]:
    """Yield a warning for each value of a secret that is not encrypted in the stack's file."""
    try:
        secrets = plain("secrets", given.values.get("secrets"))
    except Mistaken:
        return
    written = list(secrets.items())[:_MOST_SECRETS] if isinstance(secrets, dict) else []
    for name, values in written:
        for key, value in values.items() if isinstance(values, dict) else ():
            if value and not is_encrypted(value):
                path = path_of(("secrets", str(name), str(key)))
                what = f"value {shown(str(key))!r} of secret {shown(str(name))} is in plain text in the file"
                next_step = (
                    "Rotate it if others can read the repository, and encrypt it: "
                    f"pulumi config set --secret --path '{NAMESPACE}{path}'"
                )
                yield Problem(what, next_step, path, severity="warning")


def _secret(name: str, values: Any) -> Iterator[Mistake]:
    if not _SECRET.fullmatch(name):
        what = f"secret {shown(name)!r} must be named namespace/name, in lowercase"
        yield Mistake(what, "Write it like ml/hf-token", (name,))
    if not isinstance(values, dict) or not values or is_encrypted(values):
        what = f"secret {shown(name)} must be a map from keys to values"
        yield Mistake(what, "Write it like {token: VALUE}", (name,))
        return
    for key, value in values.items():
        if not isinstance(value, str) and not is_encrypted(value):
            what = f"value {shown(str(key))!r} of secret {shown(name)} must be text"
            path = path_of(("secrets", name, str(key)))
            next_step = f"Set it: pulumi config set --secret --path '{NAMESPACE}{path}'"
            yield Mistake(what, next_step, (name, str(key)))
