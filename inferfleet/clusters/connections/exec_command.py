"""Run the credential command of a kubeconfig.

The form is client-go's: https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins
The `kubernetes` package can run such commands too, but waits for ever, and on a terminal cannot say why one
failed.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from pydantic import SecretStr

from inferfleet.documents.wording import one_line, shown

_EXTENSION = "client.authentication.k8s.io/exec"
_CREDENTIAL = re.compile(r"(?i)(bearer\s+|\w*(?:password|secret|token)[=:]\s*)\S+")


class CommandError(Exception):
    """The command gave no credentials: `why` in a few words, and a `hint` how to install a missing one."""

    def __init__(self, command: str, why: str, hint: str = "") -> None:
        self.command = command
        self.why = why
        self.hint = hint
        super().__init__(f"{command} {why}")


@dataclass(frozen=True)
class Credentials:
    """What a command gave: a token, or a certificate and its key as PEM, or all of them."""

    token: SecretStr | None = None
    certificate: SecretStr | None = None
    key: SecretStr | None = None


def credentials(command: Mapping[str, Any], cluster: Mapping[str, Any], *, seconds: float) -> Credentials:
    """Return what is in the ExecCredential that the command prints. Raises CommandError.

    `command` is the kubeconfig's `exec`; `cluster` is its cluster, which a command with `provideClusterInfo`
    receives. Like kubectl's, it runs with the environment of this process, and `env` besides, and what it
    writes to stderr appears on ours: a login that soon ends, an address to sign in at.
    """
    words = [str(command.get("command", "")), *map(str, command.get("args") or ())]
    version = command.get("apiVersion")
    # On a terminal a command may ask the user something; then what it prints belongs there.
    interactive = command.get("interactiveMode") != "Never" and sys.stdin is not None and sys.stdin.isatty()
    spec: dict[str, Any] = {"interactive": interactive}
    if command.get("provideClusterInfo"):
        spec["cluster"] = _cluster_info(cluster)
    exec_info = {"apiVersion": version, "kind": "ExecCredential", "spec": spec}
    variables = {str(entry["name"]): str(entry["value"]) for entry in command.get("env") or ()}
    try:
        process = subprocess.run(
            [program(words[0]), *words[1:]],
            env={**os.environ, **variables, "KUBERNETES_EXEC_INFO": json.dumps(exec_info)},
            stdin=None if interactive else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=None if interactive else subprocess.PIPE,
            timeout=seconds,
            text=True,
            errors="replace",
        )
    except FileNotFoundError:
        hint = shown(str(command.get("installHint") or "").strip().rstrip("."), 300)
        raise CommandError(words[0], "is not installed", hint or "Install it") from None
    except subprocess.TimeoutExpired as expired:
        said = _without(_text(expired.stderr), variables.values(), _text(expired.stdout))
        _tell(words[0], said)
        waited = f": {last_line(said)}" if said.strip() else ""
        raise CommandError(words[0], f"gave nothing within {seconds:.0f} s{waited}") from None
    except OSError as error:
        raise CommandError(words[0], f"cannot be run: {error.strerror}") from None
    said = _without(process.stderr or "", variables.values(), process.stdout)
    _tell(words[0], said)
    if process.returncode:
        raise CommandError(words[0], f"failed: {_error_line(said) or f'exit code {process.returncode}'}")
    return _status(process.stdout, words[0], version)


def installed(command: str) -> bool:
    """Return whether a program is on the PATH."""
    try:
        return bool(program(command))
    except FileNotFoundError:
        return False


def program(command: str) -> str:
    """Return the program to start. One without a folder is looked up in the absolute folders of our PATH, as
    client-go does: neither `env` of the kubeconfig nor a `.` in the PATH leads into the working directory.

    Raises FileNotFoundError where there is none.
    """
    if os.sep in command:
        return command
    folders = [
        folder for folder in os.environ.get("PATH", os.defpath).split(os.pathsep) if os.path.isabs(folder)
    ]
    found = shutil.which(command, path=os.pathsep.join(folders))
    if found is None:
        raise FileNotFoundError(command)
    return found


def _cluster_info(cluster: Mapping[str, Any]) -> dict[str, Any]:
    info = {key: value for key, value in cluster.items() if key != "extensions"}
    extensions = cluster.get("extensions")
    for entry in extensions if isinstance(extensions, list) else ():
        if isinstance(entry, dict) and entry.get("name") == _EXTENSION:
            return info | {"config": entry.get("extension")}
    return info


def _status(printed: str, name: str, version: object) -> Credentials:
    """Return the credentials in what was printed. No message shows any of it, of whatever form it is."""
    try:
        answer = json.loads(printed)
    except (ValueError, RecursionError):
        answer = None
    status = answer.get("status") if isinstance(answer, dict) else None
    if not isinstance(status, dict):
        raise CommandError(name, "printed no ExecCredential with a status")
    if answer.get("apiVersion") != version:
        raise CommandError(name, f"does not speak {version}, which the kubeconfig asks for")
    parts = [status.get(part) for part in ("token", "clientCertificateData", "clientKeyData")]
    if not all(part is None or isinstance(part, str) for part in parts):
        raise CommandError(name, "printed an ExecCredential whose credentials are not text")
    token, certificate, key = (SecretStr(part) if part else None for part in parts)
    if token is None and (certificate is None or key is None):
        raise CommandError(name, "printed an ExecCredential without a token, or a certificate and its key")
    return Credentials(token, certificate, key)


def _text(output: str | bytes | None) -> str:
    """Return what was captured until a command had to end, which is bytes whatever was asked for."""
    return output.decode(errors="replace") if isinstance(output, bytes) else output or ""


def _without(text: str, values: Iterable[str], printed: str) -> str:
    """Return the text without values of the command's environment, what it printed for us, and what has the
    form of a credential.
    """
    secrets = {*values, *re.split(r'[\s"]+', printed)}
    for secret in sorted((secret for secret in secrets if len(secret) > 5), key=len, reverse=True):
        text = text.replace(secret, "***")
    return _CREDENTIAL.sub(r"\1***", text)


@cache  # a run asks for credentials again and again
def _tell(command: str, said: str) -> None:
    for line in said.splitlines():
        if line.strip():
            sys.stderr.write(f"{one_line(f'{command}: {line.strip()}')}\n")


def _error_line(text: str) -> str:
    """Return the last line with the word error: advice may come after it, as from gke-gcloud-auth-plugin."""
    lines = [line for line in text.splitlines() if "error" in line.lower()]
    return last_line(lines[-1] if lines else text)


def last_line(text: str) -> str:
    """Return the last line of a program's output, where it says why it gave up."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:300] if lines else ""
