"""The webhook configurations of the controller, with addresses on this machine in place of its Service."""

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

# What a published installation puts before the names in the module.
_PREFIX = "lws-"
_PATCHES = {
    "MutatingWebhookConfiguration": "mutating-patch.yaml",
    "ValidatingWebhookConfiguration": "validating-patch.yaml",
}

Object = dict[str, Any]


def configurations(folder: Path, *, server: str, certificate: bytes) -> list[Object]:
    """Return the configurations from the module's files, patched as an installation patches them.

    The API server calls them at `server`, a URL, and trusts `certificate`.
    """
    bundle = base64.b64encode(certificate).decode()
    made = []
    for configuration in yaml.safe_load_all((folder / "manifests.yaml").read_text()):
        patches = yaml.safe_load((folder / _PATCHES[configuration["kind"]]).read_text())
        webhooks = _patched(configuration["webhooks"], patches)
        for webhook in webhooks:
            path = webhook["clientConfig"]["service"]["path"]
            webhook["clientConfig"] = {"url": server + path, "caBundle": bundle}
        name = _PREFIX + configuration["metadata"]["name"]
        made.append({**configuration, "metadata": {"name": name}, "webhooks": webhooks})
    return made


def paths(folder: Path) -> Iterator[str]:
    """Yield the path of each webhook."""
    for configuration in yaml.safe_load_all((folder / "manifests.yaml").read_text()):
        for webhook in configuration["webhooks"]:
            yield webhook["clientConfig"]["service"]["path"]


def _patched(webhooks: list[Object], patches: list[Object]) -> list[Object]:
    """Return the webhooks with those replaced that the patches (RFC 6902) replace as a whole."""
    patched = list(webhooks)
    for patch in patches:
        if patch["op"] != "replace":
            raise ValueError(f"a patch of a webhook {patch['op']}s and does not replace. Fix webhooks.py.")
        patched[int(patch["path"].removeprefix("/webhooks/"))] = patch["value"]
    return patched
