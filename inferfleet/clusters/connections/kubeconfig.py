"""Kubeconfigs of existing clusters: each is read once, checked, and handed on.

What leaves this module is text that names no certificate file any more: who gets it (our own client, the
engine's provider, the state) uses what was read and checked here, wherever it runs. Two things stay names,
because they are made anew while an update runs: the file of a token, and the credential command.

The text holds credentials, so no message here shows more of it than names and the address of a server.
"""

import base64
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import SplitResult, urlsplit

import yaml
from pydantic import SecretStr

from inferfleet.clusters.connections.git import SETTING, Repository
from inferfleet.desired.values import Connection
from inferfleet.documents.kinds.inference_cluster import GIVEN_UP
from inferfleet.documents.loading.files import UnreadableFile, read_regular
from inferfleet.documents.problems import Problem, cluster_problem
from inferfleet.documents.wording import shown
from inferfleet.documents.yaml import Text, Unreadable, texts

KUBECONFIG = "spec.cluster.existing.kubeconfig"
CONTEXT = "spec.cluster.existing.context"
FORM = (
    "A kubeconfig has the form {apiVersion: v1, kind: Config, clusters: [{name: C, cluster: {server: "
    "https://HOST, certificate-authority-data: CA}}], users: [{name: U, user: {token: TOKEN}}], contexts: "
    "[{name: X, context: {cluster: C, user: U}}], current-context: X}; `kubectl config view --raw --minify "
    "--flatten --context X` prints one"
)
# Fields of a user that prove who it is. Each may be sent, or what it leads to.
_CREDENTIALS = (
    "token",
    "tokenFile",
    "client-certificate",
    "client-certificate-data",
    "client-key",
    "client-key-data",
    "username",
    "password",
    "exec",
    "auth-provider",
)
_TEXTS = {
    *_CREDENTIALS[:8],
    "certificate-authority",
    "certificate-authority-data",
    "proxy-url",
    "tls-server-name",
}
# Helpers in the code of client-go that Kubernetes removed in 1.26, and with it the engine's provider.
_REMOVED = ("gcp", "azure")
_PROXIES = ("http", "https", "socks5")
_MANY_NAMES = 10
_ENTRY = re.compile(r"(clusters|contexts|users)\[\d+\]")
_NEXT = "Give the cluster a kubeconfig that works, or write `state: lost` or `abandoned` into its document"
_TRUST = (
    f"or set {SETTING} to true in the stack, where nobody runs what was not reviewed "
    "(docs/explanation/threat-model.md)"
)
# A kubeconfig with a hundred clusters and all their certificates has some 600 KiB.
MAX_BYTES = 1024 * 1024
# Fields that name files; kubectl reads them relative to the kubeconfig's own folder.
_CLUSTER_FILES = ("certificate-authority",)
_USER_FILES = ("client-certificate", "client-key")


class KubeconfigError(Exception):
    """A kubeconfig cannot be used; the text says why.

    `path` is the field of the document to look at, `line` that of the kubeconfig where there is one, and
    `next_step` is "" where fixing or changing the file is all there is to say. Of a kubeconfig as a `whole`,
    the text completes a sentence that begins with its name.
    """

    def __init__(
        self,
        what: str,
        path: str = KUBECONFIG,
        *,
        next_step: str = "",
        line: int | None = None,
        whole: bool = False,
    ) -> None:
        self.path, self.next_step, self.line, self.whole = path, next_step, line, whole
        super().__init__(what)


@dataclass(frozen=True)
class Access:
    """The parts of a kubeconfig that one context uses; `server` is the address, which may be shown."""

    server: str
    context: str
    names: Mapping[str, Any]  # of the context: cluster, user, namespace
    cluster: Mapping[str, Any] = field(repr=False)
    user: Mapping[str, Any] = field(repr=False)

    @property
    def credentials(self) -> tuple[str, ...]:
        """Return the fields of the user that hold credentials, or say where they are."""
        return tuple(name for name in _CREDENTIALS if self.user.get(name))

    def warnings(self) -> Iterator[tuple[str, str]]:
        """Yield what is wrong with the protection of credentials, and what to do; kubectl takes all of it."""
        if self.cluster.get("insecure-skip-tls-verify") and self.credentials:
            yield (
                f"whoever answers at {self.server} gets its credentials, because insecure-skip-tls-verify "
                "keeps the server's certificate from being checked",
                "Write the server's certificate authority into it (certificate-authority-data)",
            )
        proxy = urlsplit(str(self.cluster.get("proxy-url") or ""))
        if proxy.scheme == "http" and proxy.password:
            yield (
                f"the password for its proxy {_address(proxy)} is sent without TLS",
                "Name the proxy with https://, or without a password",
            )


@dataclass(frozen=True)
class Kubeconfigs:
    """By cluster, the text of its kubeconfig, and the problems of those that cannot be used.

    `warnings` are about kubeconfigs that are used and protect their credentials badly.
    """

    texts: Mapping[str, str] = field(repr=False)
    problems: Mapping[str, Problem]
    warnings: tuple[Problem, ...] = ()


def read_kubeconfigs(
    connections: Iterable[Connection],
    texts_by_key: Mapping[str, str],
    repository: Repository,
    *,
    handed: Mapping[str, str] = MappingProxyType({}),
) -> Kubeconfigs:
    """Return the kubeconfigs of existing clusters.

    `texts_by_key` are those of the configuration, and `handed` by cluster those that a program hands over,
    which come first. Of a repository that is not trusted nothing is read. Lost and abandoned clusters may
    lack their kubeconfig, and those that the stack creates have none.
    """
    texts: dict[str, str] = {}
    problems: dict[str, Problem] = {}
    warnings: list[Problem] = []
    for connection in connections:
        if connection.cloud:
            continue
        source = "kubeconfig of the program" if connection.cluster in handed else _source(connection)
        try:
            text, parts = _read(connection, texts_by_key, repository, handed)
        except KubeconfigError as error:
            if connection.state not in GIVEN_UP:
                problems[connection.cluster] = problem(connection, error, source)
            continue
        texts[connection.cluster] = text
        if connection.state not in GIVEN_UP:
            warnings += (
                cluster_problem(
                    connection.cluster,
                    f"cluster {connection.cluster!r}: {source}: {what}",
                    step,
                    KUBECONFIG,
                    severity="warning",
                )
                for what, step in parts.warnings()
            )
    return Kubeconfigs(texts, problems, tuple(warnings))


def read_files(connections: Iterable[Connection], repository: Repository) -> Kubeconfigs:
    """Return the kubeconfigs of existing clusters that are files, and problems for all others: only Pulumi
    reads what may be encrypted, and only its program has what that hands over.
    """
    every = [connection for connection in connections if not connection.cloud]
    found = read_kubeconfigs([each for each in every if each.kubeconfig], {}, repository)
    others = {
        each.cluster: _not_asked(each) for each in every if not (each.kubeconfig or each.state in GIVEN_UP)
    }
    return replace(found, problems={**found.problems, **others})


def _not_asked(connection: Connection) -> Problem:
    name, key = connection.cluster, connection.config_key
    place = (
        f"is the configuration key {key!r}, which only Pulumi reads" if key else "is handed over by a program"
    )
    return cluster_problem(
        name,
        f"cluster {name!r} is not asked: its kubeconfig {place}",
        f"Name a file that reaches it: --kubeconfig {name}=FILE",
        KUBECONFIG,
        severity="warning",
    )


def problem(connection: Connection, error: KubeconfigError, source: str = "") -> Problem:
    """Return the problem of a cluster whose kubeconfig cannot be used. `source` names the kubeconfig."""
    source = source or _source(connection)
    place = (
        "" if error.line is None else f":{error.line}" if connection.kubeconfig else f", line {error.line}"
    )
    what = f"cluster {connection.cluster!r}: {source}{place}{'' if error.whole else ':'} {error}"
    return cluster_problem(connection.cluster, what, error.next_step or _NEXT, error.path)


def _source(connection: Connection) -> str:
    if connection.cloud:
        return "kubeconfig from Google Cloud"
    if not (connection.kubeconfig or connection.config_key):
        return "its kubeconfig"
    return f"kubeconfig {connection.kubeconfig or f'configuration key {connection.config_key}'}"


def _read(
    connection: Connection,
    texts_by_key: Mapping[str, str],
    repository: Repository,
    handed: Mapping[str, str],
) -> tuple[str, Access]:
    if connection.cluster in handed:
        text, folder = handed[connection.cluster], None
    elif connection.kubeconfig is None:
        key = connection.config_key or ""
        text, folder = _setting(connection.cluster, key, texts_by_key, repository), None
    else:
        path = connection.kubeconfig.absolute()
        _trusted(path, repository)
        folder = path.parent
        try:
            text = _file(path).decode("utf-8-sig")
        except UnicodeDecodeError:
            raise KubeconfigError("is not a text file", next_step=FORM, whole=True) from None
    parts = access(text, connection.context)
    return _independent(text, parts, folder, repository), parts


def _setting(cluster: str, key: str, texts_by_key: Mapping[str, str], repository: Repository) -> str:
    """Return the text of a configuration key. Raises KubeconfigError where it is not set or not trusted."""
    if not key:
        step = f"Add it to kubeconfigs of the Fleet; commands take a file: --kubeconfig {shown(cluster)}=FILE"
        what = "is not in its document, and no program hands it over"
        raise KubeconfigError(what, next_step=step, whole=True)
    if key in repository.keys and not repository.trusted:
        what = "is written in a file of the repository, where a pull request can change it, so it is not used"
        step = f"Encrypt it (pulumi config set --secret inferfleet:{shown(key)} < FILE), {_TRUST}"
        raise KubeconfigError(what, next_step=step, whole=True)
    if not texts_by_key.get(key):
        step = f"Set it: pulumi config set --secret inferfleet:{shown(key)} < FILE"
        raise KubeconfigError("is not set in the stack", next_step=step, whole=True)
    return texts_by_key[key]


def _trusted(path: Path, repository: Repository, words: str = "") -> None:
    """Raise KubeconfigError for a file in a repository that is not trusted, before it is opened."""
    if repository.trusted or not os.path.exists(path) or not repository.holds(path):
        return
    what = f"{words} is in the repository, where a pull request can change it, so it is not used".lstrip()
    step = f"Keep it outside of the repository, {_TRUST}"
    raise KubeconfigError(what, next_step=step, whole=not words)


def _independent(text: str, parts: Access, folder: Path | None, repository: Repository) -> str:
    """Return the text as it was written where it names no file that is read here or relative to its folder,
    and else a kubeconfig of the chosen context alone that does not.
    """
    cluster, user = dict(parts.cluster), dict(parts.user)
    for values, names in ((cluster, _CLUSTER_FILES), (user, _USER_FILES)):
        for name in names:
            file = values.pop(name, None)
            # As for kubectl, what is written into the kubeconfig comes before the file.
            if file and not values.get(f"{name}-data"):
                content = _file(_place(name, file, folder, repository), f"its {name} {shown(file, 200)}")
                values[f"{name}-data"] = base64.b64encode(content).decode()
    if user.get("tokenFile"):
        user["tokenFile"] = str(_place("tokenFile", user["tokenFile"], folder, repository))
    command = user.get("exec")
    if command and os.sep in command["command"]:
        place = _place("exec command", command["command"], folder, repository)
        user["exec"] = {**command, "command": str(place)}
    if (cluster, user) == (parts.cluster, parts.user):
        return text
    # By way of JSON, because the numbers of files are of a type of our own.
    plain = json.loads(json.dumps(_alone(parts, cluster, user)))
    return yaml.safe_dump(plain, sort_keys=False)


def _place(name: str, file: str, folder: Path | None, repository: Repository) -> Path:
    if folder is None and not os.path.isabs(file):
        what = f"its {name} {shown(file, 200)} is relative, and its text is in no folder"
        raise KubeconfigError(what, next_step="Write what is in the file in its place, or an absolute path")
    place = (folder or Path()) / file
    _trusted(place, repository, f"its {name} {shown(file, 200)}")
    return place


def _alone(parts: Access, cluster: dict[str, Any], user: dict[str, Any]) -> dict[str, Any]:
    config: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": parts.names["cluster"], "cluster": cluster}],
        "contexts": [{"name": parts.context, "context": dict(parts.names)}],
        "current-context": parts.context,
    }
    if parts.names.get("user"):
        config["users"] = [{"name": parts.names["user"], "user": user}]
    return config


def read_token(path: str) -> SecretStr:
    """Return the token in a file, without the spaces and newlines around it. Raises KubeconfigError."""
    return SecretStr(_file(Path(path), "its tokenFile").decode("utf-8", "replace").strip())


def _file(path: Path, words: str = "") -> bytes:
    """Return the content of a regular file of the machine, which is opened once. Raises KubeconfigError.

    Messages call it by these `words`; without any it is the kubeconfig itself.
    """
    try:
        real = Path(os.path.realpath(path))
        return read_regular(real, Path(real.anchor), limit=MAX_BYTES)
    except UnreadableFile as unreadable:
        why = unreadable.why
    except ValueError:  # such as for a NUL in its name
        why = "has a name that no file can have"
    raise KubeconfigError(f"{words} {why}".lstrip(), whole=not words)


def access(text: str, context: str | None) -> Access:
    """Return what `context` uses (None: the current context).

    Raises KubeconfigError also where credentials would be sent without TLS.
    """
    kubeconfig = _only_document(text)
    path = CONTEXT if context else KUBECONFIG
    name = context or kubeconfig.data.get("current-context")
    if not name:
        raise KubeconfigError(
            "it has no current-context, and the document names no context",
            CONTEXT,
            next_step=_form_of(kubeconfig),
        )
    of_context, names = _named(kubeconfig, "contexts", "context", name, path)
    of_cluster, cluster = _named(kubeconfig, "clusters", "cluster", names.get("cluster"), KUBECONFIG)
    of_user: str = "users[-1]"
    user: dict[str, Any] = {}
    if names.get("user"):
        of_user, user = _named(kubeconfig, "users", "user", names["user"], KUBECONFIG)
    for mistake in kubeconfig.mistakes:
        entry = _ENTRY.match(mistake.path)
        if entry is None or entry[0] in (of_context, of_cluster, of_user):
            raise KubeconfigError(
                "a key or value here is not plain text, or is written twice", line=mistake.line
            )
    for place, values in ((f"{of_cluster}.cluster", cluster), (f"{of_user}.user", user)):
        for what, key in _mistyped(values):
            raise KubeconfigError(
                what, line=kubeconfig.lines.get(f"{place}.{key}") or kubeconfig.lines.get(place)
            )
    server = _server(cluster, names["cluster"], kubeconfig.lines.get(f"{of_cluster}.cluster.server"))
    parts = Access(server, str(name), names, cluster, user)
    if server.startswith("http:") and parts.credentials:
        raise KubeconfigError(
            f"its server {server} is asked without TLS, and credentials ({', '.join(parts.credentials)}) "
            "are never sent so",
            line=kubeconfig.lines.get(f"{of_cluster}.cluster.server"),
            next_step="Write an https:// address, or a user without credentials as for `kubectl proxy`",
        )
    return parts


def _only_document(text: str) -> Text:
    """Return the one document of the text, which is a map. Raises KubeconfigError."""
    try:
        yaml_documents = list(texts(text))
    except Unreadable as error:
        # The parser's own words would quote the file.
        raise KubeconfigError("it is not valid YAML", line=error.line, next_step=FORM) from None
    if not yaml_documents:
        raise KubeconfigError("it is empty", next_step=FORM)
    if len(yaml_documents) > 1:
        raise KubeconfigError("it holds several YAML documents", next_step="Keep the one with clusters")
    kubeconfig = yaml_documents[0]
    if not isinstance(kubeconfig.data, dict):
        what = "it is not a kubeconfig (a mapping with clusters, contexts and users)"
        raise KubeconfigError(what, next_step=FORM)
    other_kind = _other_kind(kubeconfig.data)
    if other_kind:
        raise KubeconfigError(f"it is {other_kind}, not a kubeconfig", next_step=FORM)
    return kubeconfig


def _other_kind(data: Mapping[str, Any]) -> str:
    """Return what else than a kubeconfig this is, "" where that is unknown."""
    if "clusters" in data or "contexts" in data:
        return ""
    kind, group = data.get("kind"), str(data.get("apiVersion"))
    if group.startswith("inferfleet.dev/"):
        return "a document of inferfleet"
    if kind in ("Secret", "ConfigMap"):
        return f"a Kubernetes {kind}, which may hold one in its data"
    if kind == "ExecCredential":
        return "what a credential command prints"
    if "private_key" in data or data.get("type") == "service_account":
        return "a key of a Google service account"
    if kind not in (None, "Config"):
        return "a Kubernetes object of another kind"
    return ""


def _form_of(kubeconfig: Text) -> str:
    return "" if kubeconfig.data.get("contexts") else FORM


def _named(kubeconfig: Text, section: str, part: str, name: Any, path: str) -> tuple[str, dict[str, Any]]:
    """Return the place and the part of the entry with this name."""
    entries = kubeconfig.data.get(section)
    parts_by_name: dict[str, tuple[str, dict[str, Any]]] = {}
    for number, entry in enumerate(entries if isinstance(entries, list) else ()):
        if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
            continue
        if entry["name"] in parts_by_name and entry["name"] == name:
            line = kubeconfig.lines.get(f"{section}[{number}]")
            raise KubeconfigError(f"it has two {section} of the name {shown(name)!r}", line=line)
        if isinstance(entry.get(part), dict):
            parts_by_name[entry["name"]] = f"{section}[{number}]", entry[part]
    if not isinstance(name, str) or name not in parts_by_name:
        names = [shown(each) for each in sorted(parts_by_name)]
        more = ", ..." if len(names) > _MANY_NAMES else ""
        choices = ", ".join(names[:_MANY_NAMES]) + more or "none"
        named = repr(shown(name)) if isinstance(name, str) else "of that name"
        raise KubeconfigError(
            f"it has no {part} {named} (it has: {choices})", path, next_step=_form_of(kubeconfig)
        )
    return parts_by_name[name]


def _mistyped(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what is of another form than client-go takes, with its key. No value is shown."""
    for key in sorted(_TEXTS):
        if values.get(key) is not None and not isinstance(values[key], str):
            yield f"its {key} is not text; put it in quotes", key
    if not isinstance(values.get("insecure-skip-tls-verify") or False, bool):
        yield "its insecure-skip-tls-verify is neither true nor false", "insecure-skip-tls-verify"
    proxy = values.get("proxy-url")
    if isinstance(proxy, str) and proxy and urlsplit_or_none(proxy, _PROXIES) is None:
        yield "its proxy-url is no address with http://, https:// or socks5://", "proxy-url"
    command = values.get("exec")
    if command is not None and not _is_command(command):
        yield (
            "its exec is not a mapping with command, args (a list) and env (a list of name and value)",
            "exec",
        )
    provider = values.get("auth-provider")
    if provider is not None and not isinstance(provider, dict):
        yield "its auth-provider is not a mapping", "auth-provider"
    elif provider and provider.get("name") in _REMOVED:
        what = f"its auth-provider {provider['name']} was removed from Kubernetes in 1.26; use exec"
        yield what, "auth-provider"
    elif provider and not isinstance((provider.get("config") or {}), dict):
        yield "the config of its auth-provider is not a mapping", "auth-provider"


def _is_command(command: Any) -> bool:
    if not isinstance(command, dict) or not isinstance(command.get("command"), str):
        return False
    args, variables = command.get("args") or [], command.get("env") or []
    return (
        bool(command["command"])
        and isinstance(args, list)
        and isinstance(variables, list)
        and all(isinstance(entry, dict) and {"name", "value"} <= entry.keys() for entry in variables)
    )


def _server(cluster: Mapping[str, Any], name: Any, line: int | None) -> str:
    url = urlsplit_or_none(cluster.get("server"), ("https", "http"))
    if url is None:
        raise KubeconfigError(f"its cluster {shown(str(name))!r} has no server address", line=line)
    if "@" in url.netloc:
        what = f"the server address of its cluster {shown(str(name))!r} has a user name or password in it"
        raise KubeconfigError(what, line=line, next_step="Write credentials below users")
    if url.query or url.fragment:
        what = f"the server address of its cluster {shown(str(name))!r} has more than a host and a path"
        raise KubeconfigError(what, line=line)
    return str(cluster["server"])


def urlsplit_or_none(address: Any, schemes: tuple[str, ...]) -> SplitResult | None:
    """Return the parts of an address that has one of the schemes and a host, None for anything else."""
    if not isinstance(address, str) or not address.isprintable() or " " in address:
        return None
    try:
        url = urlsplit(address)
        usable = url.hostname and (url.port is None or url.port) and address.startswith(f"{url.scheme}://")
    except ValueError:
        return None
    return url if usable and url.scheme in schemes else None


def _address(url: SplitResult) -> str:
    return f"{url.scheme}://{url.netloc.rpartition('@')[2]}"
