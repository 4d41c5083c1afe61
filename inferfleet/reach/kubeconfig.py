"""Read the kubeconfigs of existing clusters, check them, and make them independent of their folder."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from inferfleet.api.problems import Problem
from inferfleet.desired.values import Connection
from inferfleet.reach.clusters import cluster_problem

KUBECONFIG = "spec.cluster.existing.kubeconfig"
CONTEXT = "spec.cluster.existing.context"
_NEXT = "Give the cluster a kubeconfig that works, or write `state: lost` or `abandoned` into its document"
# States in which a cluster is asked nothing, so that its kubeconfig may be gone too.
GIVEN_UP = ("lost", "abandoned")

# Fields that name files; kubectl reads them relative to the kubeconfig's own folder.
_CLUSTER_FILES = ("certificate-authority",)
_USER_FILES = ("client-certificate", "client-key", "tokenFile")


class KubeconfigError(Exception):
    """A kubeconfig cannot be used; the text says why. `path` is the field of the document to look at."""

    def __init__(self, what: str, path: str = KUBECONFIG) -> None:
        self.path = path
        super().__init__(what)


@dataclass(frozen=True)
class Access:
    """The parts of a kubeconfig that one context uses. `user` holds credentials: never print it."""

    server: str
    cluster: Mapping[str, Any]
    user: Mapping[str, Any]


def read_kubeconfigs(
    connections: Iterable[Connection], given: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, Problem]]:
    """Return by cluster the text of its kubeconfig, and the problems of kubeconfigs that cannot be used.

    `given` holds texts by configuration key. Lost and abandoned clusters may lack their kubeconfig, and those
    that the stack creates have none.
    """
    texts: dict[str, str] = {}
    problems: dict[str, Problem] = {}
    for connection in connections:
        if connection.cloud:
            continue
        try:
            texts[connection.cluster] = _read(connection, given)
        except KubeconfigError as error:
            if connection.state not in GIVEN_UP:
                what = f"cluster {connection.cluster!r}: {error}"
                problems[connection.cluster] = cluster_problem(connection.cluster, what, _NEXT, error.path)
    return texts, problems


def _read(connection: Connection, given: Mapping[str, str]) -> str:
    if connection.kubeconfig is None:
        key = connection.config_key or ""
        if not given.get(key):
            raise KubeconfigError(
                f"the stack's configuration has no key {key!r} "
                f"(pulumi config set --secret {key} < kubeconfig gives it one)"
            )
        text, folder = given[key], None
    else:
        text, folder = _file(connection.kubeconfig), connection.kubeconfig.absolute().parent
    try:
        access(text, connection.context)
    except KubeconfigError as error:
        source = connection.kubeconfig or f"configuration key {connection.config_key}"
        raise KubeconfigError(f"kubeconfig {source}: {error}", error.path) from error
    return _independent(text, folder) if folder else text


def _file(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise KubeconfigError(f"kubeconfig {path} is not a text file") from None
    except OSError as error:
        raise KubeconfigError(f"kubeconfig {path} cannot be read ({error.strerror})") from None


def access(text: str, context: str | None) -> Access:
    """Return server, cluster and user of `context` (None: the current context). Raises KubeconfigError."""
    config = _parse(text)
    path = CONTEXT if context else KUBECONFIG
    name = context or config.get("current-context")
    if not name:
        raise KubeconfigError("it has no current-context, and the document names no context", CONTEXT)
    chosen = _named(config, "contexts", "context", name, path)
    cluster = _named(config, "clusters", "cluster", chosen.get("cluster"), KUBECONFIG)
    user = _named(config, "users", "user", chosen["user"], KUBECONFIG) if chosen.get("user") else {}
    server = cluster.get("server")
    if not isinstance(server, str) or not server.startswith(("https://", "http://")):
        raise KubeconfigError(f"its cluster {chosen.get('cluster')!r} has no server address")
    return Access(server, cluster, user)


def _parse(text: str) -> dict[str, Any]:
    try:
        config = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        # The parser's own words would quote the file, which holds credentials.
        raise KubeconfigError("it is not valid YAML") from None
    if not isinstance(config, dict):
        raise KubeconfigError("it is not a kubeconfig (a mapping with clusters, contexts and users)")
    return config


def _named(config: dict[str, Any], section: str, part: str, name: Any, path: str) -> dict[str, Any]:
    entries = config.get(section)
    known: dict[str, dict[str, Any]] = {
        entry["name"]: entry[part]
        for entry in (entries if isinstance(entries, list) else [])
        if isinstance(entry, dict)
        and isinstance(entry.get("name"), str)
        and isinstance(entry.get(part), dict)
    }
    if not isinstance(name, str) or name not in known:
        names = ", ".join(sorted(known)) or "none"
        raise KubeconfigError(f"it has no {part} {name!r} (it has: {names})", path)
    return known[name]


def _independent(text: str, folder: Path) -> str:
    """Return the text with absolute file names; exactly as it was when no name is relative."""
    config = _parse(text)
    changed = False
    parts = [
        (entry.get(part), fields)
        for section, part, fields in (("clusters", "cluster", _CLUSTER_FILES), ("users", "user", _USER_FILES))
        for entry in config.get(section) or []
        if isinstance(entry, dict)
    ]
    for values, fields in parts:
        for field in fields:
            if isinstance(values, dict) and isinstance(values.get(field), str) and values[field]:
                absolute = str(folder / values[field])
                changed |= absolute != values[field]
                values[field] = absolute
        command = values.get("exec") if isinstance(values, dict) else None
        if isinstance(command, dict) and "/" in str(command.get("command")):
            absolute = str(folder / command["command"])
            changed |= absolute != command["command"]
            command["command"] = absolute
    return yaml.safe_dump(config, sort_keys=False) if changed else text
