"""Secrets of other programs that are in plain text in the file of a stack's settings."""

import json
import re
from collections.abc import Iterator
from typing import Any

from inferfleet.documents.loading.files import Source
from inferfleet.documents.problems import Problem
from inferfleet.documents.wording import path_of

# Key to what the value of a secret looks like. Credentials and kubeconfigs may be the path of a file instead,
# and a kubeconfig may name a program that fetches the token.
# https://www.pulumi.com/registry/packages/gcp/installation-configuration/,
# https://www.pulumi.com/registry/packages/kubernetes/api-docs/provider/ (2026-11)
_SECRETS = {
    "gcp:accessToken": re.compile(r"\S"),
    "gcp:credentials": re.compile(r"\s*\{"),
    "kubernetes:kubeconfig": re.compile(r"(?s).*[\s\"'{,](client-key-data|token|password)[\"']?\s*:"),
}


def readable_keys(source: Source, written: dict[Any, Any]) -> Iterator[Problem]:
    """Yield a warning for each secret of another program that is not encrypted in the file of a stack."""
    for key, secret in _SECRETS.items():
        value = written.get(key)
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
