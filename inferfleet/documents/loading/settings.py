"""Settings of a stack: Pulumi.<stack>.yaml with its lines, what Pulumi hands over, and what is wrong with
both.
"""

import json
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

from inferfleet.documents.kinds.settings import Settings
from inferfleet.documents.loading.files import PROJECT_FILE, Source, read
from inferfleet.documents.loading.project import StackFiles, map_in
from inferfleet.documents.loading.validation import fields_of, validated_but_for_links
from inferfleet.documents.problems import InvalidDocuments, Mistake, Mistaken, Problem, Where, mistaken
from inferfleet.documents.wording import nearest, nearest_parent, one_of, path_of, shown

NAMESPACE = "inferfleet:"


@dataclass(frozen=True)
class Config:
    """The values below `inferfleet:`, by key without that prefix."""

    values: Mapping[str, Any] = field(default_factory=dict)
    lines: Mapping[str, Where] = field(default_factory=dict)
    """The line of each field by path."""
    missing: tuple[str, ...] = ()
    """Paths of values that could not be read."""
    problems: tuple[Problem, ...] = ()
    readable: tuple[Problem, ...] = ()
    """Warnings about secrets of other programs in the file."""

    def where(self, path: str) -> Where | None:
        """Return the line of a field, or of its nearest parent in the file."""
        return self.lines.get(nearest_parent(path, self.lines))

    def located(self, problems: Iterable[Problem], stack: str) -> list[Problem]:
        """Return problems of settings with their lines, and with paths as a person writes them."""
        return [
            replace(
                problem,
                kind="Settings",
                key=stack,
                path=problem.path if problem.path == "stack" else NAMESPACE + problem.path,
                where=self.where(problem.path),
            )
            for problem in problems
        ]


def read_config(file: Path, base: Path, root: Path | None = None) -> Config:
    """Return the configuration in the file; an empty one when there is no such file.

    The file must be inside of `root`, or without it inside the project of its path.
    """
    if not os.path.lexists(file):
        return Config()
    sources, unread = read(file, base, root)
    unread = [_discreet(problem) for problem in unread]
    if not sources:
        return Config(problems=tuple(unread))
    source = sources[0]
    config = source.text.data.get("config") if isinstance(source.text.data, dict) else None
    if not isinstance(source.text.data, dict) or not isinstance(config, dict | None):
        problem = Problem(
            "the settings of a stack must be a map with one field config",
            "Write config: and the settings below it",
            where=source.where(),
        )
        return Config(problems=(*unread, problem))
    if config is None and any(str(key).startswith(NAMESPACE) for key in source.text.data):
        what = "the settings stand beside config, so they are not read"
        unread.append(Problem(what, "Write config: above them, and indent them", where=source.where()))
    values = {
        setting: value for key, value in (config or {}).items() if (setting := _setting(key)) is not None
    }
    lines = {"": source.where("config")}
    for path, line in source.text.lines.items():
        if (setting := _short(path)) is not None:
            lines[setting] = Where(source.shown, line)
    problems = [_discreet(problem) for problem in source.problems() if _short(problem.path) is not None]
    missing = (_short(mistake.path) for mistake in source.text.mistakes if mistake.missing)
    return Config(
        values,
        lines,
        tuple(path for path in missing if path is not None),
        (*unread, *problems),
        tuple(readable_provider_secret_problems(source, config or {})),
    )


def keys_in_repository(files: StackFiles, keys: Iterable[str]) -> frozenset[str]:
    """Return those keys of the configuration whose values a change of the stack's file or of `Pulumi.yaml`
    can set. Encrypted values are not among them: who writes those has the stack's key.
    """
    stack, project = (map_in(file, files.root) for file in (files.config_file, files.root / PROJECT_FILE))
    settings = [(setting, is_encrypted(stack["config"][key])) for key, setting in settings_in(stack)]
    encrypted = {setting for setting, secret in settings if secret}
    readable = {setting for setting, secret in settings if not secret}
    defaults = {setting for _, setting in settings_in(project)}
    # An environment of Pulumi ESC may be written out in the stack's file, instead of named there.
    inline = isinstance(stack.get("environment"), dict)
    return frozenset(
        key for key in keys if key in readable or (key not in encrypted and (inline or key in defaults))
    )


def is_encrypted(value: Any) -> bool:
    """Return whether a value of the configuration is written encrypted."""
    return isinstance(value, dict) and set(value) == {"secure"}


def settings_in(data: Mapping[str, Any]) -> list[tuple[str, str | None]]:
    """Return the keys of a configuration as they are written, each with the setting that it may be."""
    config = data.get("config")
    return [(str(key), _setting(str(key))) for key in config] if isinstance(config, dict) else []


def _discreet(problem: Problem) -> Problem:
    """Return the problem without the value that it quotes, where that value may be secret."""
    if re.match(r"secrets($|[.\[])", _short(problem.path) or ""):
        what = "this is not plain text, or the same key as another; it may be secret, so it is not shown"
        return replace(problem, what=what, next_step="Write each key once, and every key and value in quotes")
    if problem.what.startswith("alias *"):
        # A value that begins with *, and is not in quotes; nothing is known of its place.
        what = "an alias (*) has no anchor before it, or is inside of it"
        return replace(problem, what=what, next_step="Put text that begins with * in quotes")
    return problem


def _setting(key: str) -> str | None:
    """Return the key without our namespace, None for keys of others.

    Pulumi reads a key without a namespace as one of the project, which has the name of ours.
    """
    return key.removeprefix(NAMESPACE) if key.startswith(NAMESPACE) or ":" not in key else None


def _short(path: str) -> str | None:
    """Return the path of a setting from its path in the file, None where the setting is not ours."""
    quoted = path.removeprefix('config["')
    if quoted != path:
        key, _, rest = quoted.partition('"]')
    else:
        plain = path.removeprefix("config.")
        key = re.split(r"[.\[]", plain, maxsplit=1)[0] if plain != path else ":"
        rest = plain.removeprefix(key)
    setting = _setting(key)
    return None if setting is None else setting + rest


# Settings from a configuration, whose values may arrive as text or encrypted.

KEYS = tuple(name for name in fields_of(Settings) if name != "stack")
_SECRET = re.compile(r"[a-z]([-a-z0-9]{0,30}[a-z0-9])?/[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?")
_STRUCTURED = ("allowedPlugins", "plugins", "secrets")
_FLAGS = ("locked", "trustRepositoryKubeconfigs")
# Characters of such a setting as JSON text. A Secret holds at most 1 MiB: a stack has a few.
_LONGEST = {"allowedPlugins": 100_000, "plugins": 100_000, "secrets": 4 * 1024 * 1024}
_MOST_UNKNOWN = 100
_MOST_SECRETS = 2_000


def read_settings(files: StackFiles) -> Settings:
    """Return the settings in the stack's file, or the defaults without one. Raises InvalidDocuments.

    Which keys are kubeconfigs of clusters is not known here.
    """
    given = read_config(files.config_file, Path.cwd(), files.root)
    settings, problems, links = checked_settings(given, stack=files.stack)
    problems += [*chain.from_iterable(links.values()), *unknown_key_problems(given, (), sure=False)]
    problems = [*given.problems, *given.located(problems, files.stack)]
    if problems or settings is None:
        raise InvalidDocuments(problems)
    return settings


def checked_settings(
    given: Config, *, stack: str
) -> tuple[Settings | None, list[Problem], dict[str, tuple[Problem, ...]]]:
    """Return the settings, their problems, and apart from these the problems of single plugin links.

    The settings are None where there are problems; broken links alone do not make them so, and each has a
    stand-in there. Links are by path, such as `plugins[1]`. Problems have no lines, and keys of no setting
    are ignored.
    """
    problems: list[Problem] = []
    missing = list(given.missing)
    values: dict[str, Any] = {"stack": stack}
    for key in KEYS:
        if key not in given.values or key in given.missing:
            continue
        try:
            value = setting_value(key, given.values[key])
            values[key] = _names(value) if key == "secrets" else value
        except Mistaken as error:
            missing.append(key)
            for mistake in error.mistakes:
                problems.append(Problem(mistake.what, mistake.next_step, path_of((key, *mistake.field_path))))
    settings, invalid, links = validated_but_for_links(Settings, values, chain=("plugins",), ignore=missing)
    problems += invalid
    return (None if problems else settings), problems, links


def unknown_key_problems(
    given: Config, config_keys: Collection[str], *, sure: bool = True
) -> Iterator[Problem]:
    """Yield a problem for each key that is no setting, not encrypted, and not the `configKey` of a cluster.

    While the clusters are not known (not `sure`), only keys that look like a mistyped setting are reported.
    """
    unknown = [
        key
        for key, value in given.values.items()
        if not (key in KEYS or key in config_keys or is_encrypted(value))
    ]
    if len(unknown) > _MOST_UNKNOWN:
        what = f"there are {len(unknown):,} keys that are no settings"
        yield Problem(what, "Remove them", path_of((unknown[_MOST_UNKNOWN],)))
    for key in unknown[:_MOST_UNKNOWN]:
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


def setting_value(key: str, value: Any) -> Any:
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
    mistakes = [
        mistake for name, values in secrets.items() for mistake in _secret_mistakes(str(name), values)
    ]
    if mistakes:
        raise Mistaken(*mistakes)
    return {name: sorted(values) for name, values in secrets.items()}


def _secret_mistakes(name: str, values: Any) -> Iterator[Mistake]:
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


# Secrets that are in plain text in the file of a stack: of the stack, and of other programs.


def readable_secret_problems(given: Config) -> Iterator[Problem]:
    """Yield a warning for each value of a secret that is not encrypted in the stack's file."""
    try:
        secrets = setting_value("secrets", given.values.get("secrets"))
    except Mistaken:
        return
    secret_values = list(secrets.items())[:_MOST_SECRETS] if isinstance(secrets, dict) else []
    for name, values in secret_values:
        for key, value in values.items() if isinstance(values, dict) else ():
            if value and not is_encrypted(value):
                path = path_of(("secrets", str(name), str(key)))
                what = f"value {shown(str(key))!r} of secret {shown(str(name))} is in plain text in the file"
                next_step = (
                    "Rotate it if others can read the repository, and encrypt it: "
                    f"pulumi config set --secret --path '{NAMESPACE}{path}'"
                )
                yield Problem(what, next_step, path, severity="warning")


# Key to what the value of a secret looks like. Credentials and kubeconfigs may be the path of a file instead,
# and a kubeconfig may name a program that fetches the token.
# https://www.pulumi.com/registry/packages/gcp/installation-configuration/,
# https://www.pulumi.com/registry/packages/kubernetes/api-docs/provider/ (2026-11)
_SECRETS = {
    "gcp:accessToken": re.compile(r"\S"),
    "gcp:credentials": re.compile(r"\s*\{"),
    "kubernetes:kubeconfig": re.compile(r"(?s).*[\s\"'{,](client-key-data|token|password)[\"']?\s*:"),
}


def readable_provider_secret_problems(source: Source, config: dict[Any, Any]) -> Iterator[Problem]:
    """Yield a warning for each secret of another program that is not encrypted in the file of a stack."""
    for key, secret in _SECRETS.items():
        value = config.get(key)
        if value is None or (isinstance(value, dict) and set(value) == {"secure"}):
            continue
        if secret.match(value if isinstance(value, str) else json.dumps(value, default=str)):
            yield Problem(
                f"{key} is a secret, and is in plain text in the file",
                "Revoke it if others can read the repository, and encrypt its successor: "
                f"pulumi config set --secret {key}",
                key,
                source.where(path_of(("config", key))),
                "Settings",
                severity="warning",
            )


# Settings cannot hide: what Pulumi hands to the program is what commands without Pulumi read.
#
# These read the stack's file alone. Pulumi adds environments of Pulumi ESC and the defaults in Pulumi.yaml,
# so a plugin that comes from there would run without having been in any plan, digest or review. Secrets and
# kubeconfigs may come from there: they are what such places are for, and no decision depends on their values.

_COMPARED = tuple(key for key in KEYS if key != "secrets")
# The project of which a key without a namespace is one of ours.
_OURS = NAMESPACE.removesuffix(":")


def names_environment(files: StackFiles) -> bool:
    """Return whether the stack's file names environments of Pulumi ESC, which may hold kubeconfigs."""
    return bool(map_in(files.config_file, files.root).get("environment"))


def misplaced_setting_problems(files: StackFiles, base: Path) -> Iterator[Problem]:
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
                line = source.where(path_of(("config", key)))
                yield Problem(what, f"{into}, as {NAMESPACE}{setting}", where=line)
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


def hidden_setting_problems(in_stack_file: Config, from_pulumi: Config) -> Iterator[Problem]:
    """Yield a problem for each setting that Pulumi hands over with another value than the stack's file has.

    No message shows a value: it may come from a place of secrets. Those in `from_pulumi` must be valid.
    """
    for key in _COMPARED:
        in_file, handed_over = in_stack_file.values.get(key), from_pulumi.values.get(key)
        if handed_over is None and in_file is not None:
            what = f"setting {key} of the file is not in the configuration that Pulumi hands over"
            yield Problem(what, f"Write it as {NAMESPACE}{key} below config of the stack's file", key)
        elif handed_over is not None:
            try:
                same = _equal(setting_value(key, in_file), setting_value(key, handed_over))
            except Mistaken as error:  # such as one that is encrypted as a whole
                yield from (Problem(mistake.what, mistake.next_step, key) for mistake in error.mistakes)
                continue
            if not same:
                has = (
                    "is not in the stack's file"
                    if in_file is None
                    else "has another value in the stack's file"
                )
                what = f"setting {key} as Pulumi hands it over {has}, so no plan and no review has seen it"
                step = "Write it there, and remove it from environments of Pulumi ESC and from Pulumi.yaml"
                yield Problem(what, step, key)


def _equal(file_value: Any, pulumi_value: Any) -> bool:
    """Return whether two values are the same to Pulumi, which hands numbers and flags over as text.

    Encrypted values below a setting are taken for equal: only Pulumi can read them.
    """
    if is_encrypted(file_value):
        return True
    if isinstance(file_value, dict) and isinstance(pulumi_value, dict):
        return file_value.keys() == pulumi_value.keys() and all(
            _equal(file_value[key], pulumi_value[key]) for key in file_value
        )
    if isinstance(file_value, list) and isinstance(pulumi_value, list):
        return len(file_value) == len(pulumi_value) and all(map(_equal, file_value, pulumi_value))
    return bool(_as_pulumi_text(file_value) == _as_pulumi_text(pulumi_value))


def _as_pulumi_text(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value) if isinstance(value, int | float) else value
