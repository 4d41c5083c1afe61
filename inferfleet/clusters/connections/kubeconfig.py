"""Read the kubeconfigs of existing clusters, each once, and hand on what was checked.

What leaves this module is text that names no certificate file any more: who gets it (our own client, the
engine's provider, the state) uses what was read and checked here, wherever it runs. Two things stay names,
because they are made anew while an update runs: the file of a token, and the credential command.
"""

import base64
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from pydantic import SecretStr

from inferfleet.clusters.connections.kubeconfig_text import FORM, KUBECONFIG, Access, KubeconfigError, access
from inferfleet.clusters.connections.repository import SETTING, Repository
from inferfleet.desired.values import Connection
from inferfleet.documents.loading.border import Refused, read_regular
from inferfleet.documents.problems import Problem, cluster_problem
from inferfleet.documents.wording import shown

_NEXT = "Give the cluster a kubeconfig that works, or write `state: lost` or `abandoned` into its document"
_TRUST = (
    f"or set {SETTING} to true in the stack, where nobody runs what was not reviewed "
    "(docs/explanation/threat-model.md)"
)
# States in which a cluster is asked nothing, so that its kubeconfig may be gone too.
GIVEN_UP = ("lost", "abandoned")
# A kubeconfig with a hundred clusters and all their certificates has some 600 KiB.
MAX_BYTES = 1024 * 1024

# Fields that name files; kubectl reads them relative to the kubeconfig's own folder.
_CLUSTER_FILES = ("certificate-authority",)
_USER_FILES = ("client-certificate", "client-key")


@dataclass(frozen=True)
class Kubeconfigs:
    """By cluster, the text of its kubeconfig, and the problems of those that cannot be used.

    `warnings` are about kubeconfigs that are used and protect their credentials badly.
    """

    texts: Mapping[str, str] = field(repr=False)
    problems: Mapping[str, Problem]
    warnings: tuple[Problem, ...] = ()


def read_kubeconfigs(
    connections: Iterable[Connection], given: Mapping[str, str], repository: Repository
) -> Kubeconfigs:
    """Return the kubeconfigs of existing clusters.

    `given` holds texts by configuration key. Of a repository that is not trusted nothing is read. Lost and
    abandoned clusters may lack their kubeconfig, and those that the stack creates have none.
    """
    texts: dict[str, str] = {}
    problems: dict[str, Problem] = {}
    warnings: list[Problem] = []
    for connection in connections:
        if connection.cloud:
            continue
        source = _source(connection)
        try:
            text, chosen = _read(connection, given, repository)
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
                for what, step in chosen.warnings()
            )
    return Kubeconfigs(texts, problems, tuple(warnings))


def problem(connection: Connection, error: KubeconfigError, source: str = "") -> Problem:
    """Return the problem of a cluster whose kubeconfig cannot be used. `source` names the kubeconfig."""
    source = source or _source(connection)
    place = (
        "" if error.line is None else f":{error.line}" if connection.kubeconfig else f", line {error.line}"
    )
    what = f"cluster {connection.cluster!r}: {source}{place}{'' if error.whole else ':'} {error}"
    return cluster_problem(connection.cluster, what, error.next_step or _NEXT, error.path)


def read_token(path: str) -> SecretStr:
    """Return the token in a file, without the spaces and newlines around it. Raises KubeconfigError."""
    return SecretStr(_file(Path(path), "its tokenFile").decode("utf-8", "replace").strip())


def _source(connection: Connection) -> str:
    if connection.cloud:
        return "kubeconfig from Google Cloud"
    return f"kubeconfig {connection.kubeconfig or f'configuration key {connection.config_key}'}"


def _read(connection: Connection, given: Mapping[str, str], repository: Repository) -> tuple[str, Access]:
    if connection.kubeconfig is None:
        key = connection.config_key or ""
        text, folder = _setting(key, given, repository), None
    else:
        path = connection.kubeconfig.absolute()
        _trusted(path, repository)
        folder = path.parent
        try:
            text = _file(path).decode("utf-8-sig")
        except UnicodeDecodeError:
            raise KubeconfigError("is not a text file", next_step=FORM, whole=True) from None
    chosen = access(text, connection.context)
    return _independent(text, chosen, folder, repository), chosen


def _setting(key: str, given: Mapping[str, str], repository: Repository) -> str:
    if key in repository.keys and not repository.trusted:
        what = "is written in a file of the repository, where a pull request can change it, so it is not used"
        step = f"Encrypt it (pulumi config set --secret inferfleet:{shown(key)} < FILE), {_TRUST}"
        raise KubeconfigError(what, next_step=step, whole=True)
    if not given.get(key):
        step = f"Set it: pulumi config set --secret inferfleet:{shown(key)} < FILE"
        raise KubeconfigError("is not set in the stack", next_step=step, whole=True)
    return given[key]


def _trusted(path: Path, repository: Repository, called: str = "") -> None:
    """Raise KubeconfigError for a file in a repository that is not trusted, before it is opened."""
    if repository.trusted or not os.path.exists(path) or not repository.holds(path):
        return
    what = f"{called} is in the repository, where a pull request can change it, so it is not used".lstrip()
    step = f"Keep it outside of the repository, {_TRUST}"
    raise KubeconfigError(what, next_step=step, whole=not called)


def _file(path: Path, called: str = "") -> bytes:
    """Return the content of a regular file of the machine, which is opened once. Raises KubeconfigError.

    Messages call it `called`; without that it is the kubeconfig itself.
    """
    try:
        real = Path(os.path.realpath(path))
        return read_regular(real, Path(real.anchor), limit=MAX_BYTES)
    except Refused as refused:
        why = refused.why
    except ValueError:  # such as for a NUL in its name
        why = "has a name that no file can have"
    raise KubeconfigError(f"{called} {why}".lstrip(), whole=not called)


def _independent(text: str, chosen: Access, folder: Path | None, repository: Repository) -> str:
    """Return the text as it was written where it names no file that is read here or relative to its folder,
    and else a kubeconfig of the chosen context alone that does not.
    """
    cluster, user = dict(chosen.cluster), dict(chosen.user)
    for values, names in ((cluster, _CLUSTER_FILES), (user, _USER_FILES)):
        for name in names:
            written = values.pop(name, None)
            # As for kubectl, what is written into the kubeconfig comes before the file.
            if written and not values.get(f"{name}-data"):
                content = _file(
                    _place(name, written, folder, repository), f"its {name} {shown(written, 200)}"
                )
                values[f"{name}-data"] = base64.b64encode(content).decode()
    if user.get("tokenFile"):
        user["tokenFile"] = str(_place("tokenFile", user["tokenFile"], folder, repository))
    command = user.get("exec")
    if command and os.sep in command["command"]:
        place = _place("exec command", command["command"], folder, repository)
        user["exec"] = {**command, "command": str(place)}
    if (cluster, user) == (chosen.cluster, chosen.user):
        return text
    # By way of JSON, because the numbers of files are of a type of our own.
    plain = json.loads(json.dumps(_alone(chosen, cluster, user)))
    return yaml.safe_dump(plain, sort_keys=False)


def _place(name: str, written: str, folder: Path | None, repository: Repository) -> Path:
    if folder is None and not os.path.isabs(written):
        what = f"its {name} {shown(written, 200)} is relative, and a configuration key has no folder"
        raise KubeconfigError(what, next_step="Write what is in the file in its place, or an absolute path")
    place = (folder or Path()) / written
    _trusted(place, repository, f"its {name} {shown(written, 200)}")
    return place


def _alone(chosen: Access, cluster: dict[str, Any], user: dict[str, Any]) -> dict[str, Any]:
    config: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": chosen.names["cluster"], "cluster": cluster}],
        "contexts": [{"name": chosen.context, "context": dict(chosen.names)}],
        "current-context": chosen.context,
    }
    if chosen.names.get("user"):
        config["users"] = [{"name": chosen.names["user"], "user": user}]
    return config
