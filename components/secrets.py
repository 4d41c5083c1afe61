"""Values of the stack's secrets, as outputs that Pulumi encrypts in its state."""

import base64
import json

import pulumi

from inferfleet.components.manifest import SecretValues


def secret_values(setting: str | None) -> SecretValues:
    """Return the values in the JSON text of `inferfleet:secrets` by namespace, name and key, in base64."""
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
