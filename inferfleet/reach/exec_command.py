"""Credential commands of kubeconfigs, run once.

The form is client-go's: https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins
The `kubernetes` package can run them too, but waits for ever, and on a terminal cannot tell why one failed.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

_EXTENSION = "client.authentication.k8s.io/exec"


class CommandError(Exception):
    """The command gave no credentials: `why` in a few words; `hint` is how to install a missing one."""

    def __init__(self, command: str, why: str, hint: str = "") -> None:
        self.command = command
        self.why = why
        self.hint = hint
        super().__init__(f"{command} {why}")


def credentials(command: Mapping[str, Any], cluster: Mapping[str, Any], *, seconds: float) -> dict[str, Any]:
    """The `status` of the ExecCredential that the command prints. Raises CommandError.

    `command` is the kubeconfig's `exec`, `cluster` its cluster, which the command is told if it asks for it.
    """
    words = [str(command.get("command", "")), *map(str, command.get("args") or ())]
    version = command.get("apiVersion")
    # On a terminal a command may ask something; what it prints belongs there then.
    asks = command.get("interactiveMode") != "Never" and sys.stdin is not None and sys.stdin.isatty()
    spec: dict[str, Any] = {"interactive": asks}
    if command.get("provideClusterInfo"):
        spec["cluster"] = _told(cluster)
    told = {"apiVersion": version, "kind": "ExecCredential", "spec": spec}
    more = {str(one["name"]): str(one["value"]) for one in command.get("env") or ()}
    try:
        ran = subprocess.run(
            words,
            env={**os.environ, **more, "KUBERNETES_EXEC_INFO": json.dumps(told)},
            stdin=None if asks else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=None if asks else subprocess.PIPE,
            timeout=seconds,
            text=True,
            errors="replace",
        )
    except FileNotFoundError:
        hint = str(command.get("installHint") or "").strip().rstrip(".")
        raise CommandError(words[0], "is not installed", hint or "Install it") from None
    except subprocess.TimeoutExpired:
        raise CommandError(words[0], f"gave nothing within {seconds:.0f} s") from None
    except OSError as error:
        raise CommandError(words[0], f"cannot be run: {error.strerror}") from None
    if ran.returncode:
        raise CommandError(words[0], f"failed: {_complaint(ran.stderr) or f'exit code {ran.returncode}'}")
    return _status(ran.stdout, words[0], version)


def _told(cluster: Mapping[str, Any]) -> dict[str, Any]:
    told = {key: value for key, value in cluster.items() if key != "extensions"}
    config = [one["extension"] for one in cluster.get("extensions") or () if one.get("name") == _EXTENSION]
    return told | ({"config": config[0]} if config else {})


def _status(printed: str, name: str, version: object) -> dict[str, Any]:
    try:
        answer = json.loads(printed)
    except ValueError:
        answer = None
    status = answer.get("status") if isinstance(answer, dict) else None
    if not isinstance(status, dict):
        raise CommandError(name, "printed no ExecCredential with a status")
    if answer.get("apiVersion") != version:
        raise CommandError(name, f"speaks {answer.get('apiVersion')}, the kubeconfig asks for {version}")
    return status


def _complaint(text: str | None) -> str:
    """The last line that speaks of an error: advice may come after it, as from gke-gcloud-auth-plugin."""
    lines = [line for line in (text or "").splitlines() if "error" in line.lower()]
    return last_line(lines[-1] if lines else text)


def last_line(text: str | None) -> str:
    """What a program says when it gives up stands at the end."""
    lines = [line.strip() for line in (text or "").splitlines() if line.strip()]
    return lines[-1][:300] if lines else ""
