"""Values of the stack's secrets, as outputs that Pulumi keeps encrypted."""

import base64
import json

import pulumi

from components.manifest import SecretValues


def secret_values(setting: str | None) -> SecretValues:
    """The JSON text of `inferfleet:secrets`, by (namespace, name) and key, encoded as a Secret wants it."""
    written: dict[str, dict[str, str]] = json.loads(setting or "{}")
    return {
        _pair(name): {
            key: pulumi.Output.secret(base64.b64encode(value.encode()).decode())
            for key, value in values.items()
        }
        for name, values in written.items()
    }


def _pair(name: str) -> tuple[str, str]:
    namespace, _, secret = name.partition("/")
    return namespace, secret
