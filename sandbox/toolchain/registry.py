"""Reads images from a registry by its HTTP API, as a client without a login does.

Source: https://github.com/opencontainers/distribution-spec/blob/main/spec.md, and for the token
https://distribution.github.io/distribution/spec/auth/token/.
"""

import json
import re
import urllib.error
import urllib.request
from dataclasses import dataclass
from http.client import HTTPResponse
from typing import Any, cast
from urllib.parse import urlencode, urlsplit

# What an index for several architectures and the manifest of one may be: registries send what is accepted.
MANIFESTS = ", ".join(
    (
        "application/vnd.oci.image.index.v1+json",
        "application/vnd.docker.distribution.manifest.list.v2+json",
        "application/vnd.oci.image.manifest.v1+json",
        "application/vnd.docker.distribution.manifest.v2+json",
    )
)
_CHALLENGE = re.compile(r'(\w+)="([^"]*)"')


@dataclass(frozen=True)
class Layer:
    """One layer of an image: a tar archive, and how many bytes it has."""

    digest: str
    size: int


def opened(url: str, *, accept: str, seconds: float) -> HTTPResponse:
    """Return the answer of a registry, which may first want a token that it gives to everybody.

    Raises OSError and ValueError.
    """
    request = urllib.request.Request(url, headers={"Accept": accept})
    try:
        return cast(HTTPResponse, urllib.request.urlopen(request, timeout=seconds))
    except urllib.error.HTTPError as refused:
        kind, _, challenge = refused.headers.get("WWW-Authenticate", "").partition(" ")
        if refused.code != 401 or kind.lower() != "bearer":
            raise
        # Whoever it was redirected to wants the token.
        request = urllib.request.Request(refused.url, headers={"Accept": accept})
    # Not where that redirects to: storage refuses a request that has both a signature and a token.
    request.add_unredirected_header("Authorization", f"Bearer {_token(challenge, seconds)}")
    return cast(HTTPResponse, urllib.request.urlopen(request, timeout=seconds))


def _token(challenge: str, seconds: float) -> str:
    asked = dict(_CHALLENGE.findall(challenge))
    realm = asked.pop("realm", "")
    if urlsplit(realm).scheme not in ("http", "https"):
        raise ValueError(f"it wants a token from {realm!r}, which is no address")
    wanted = {name: value for name, value in asked.items() if name in ("service", "scope")}
    with urllib.request.urlopen(f"{realm}?{urlencode(wanted)}", timeout=seconds) as answer:
        given = json.load(answer)
    token: str = given.get("token") or given["access_token"]
    return token


def manifest_digest(document: dict[str, Any], architecture: str) -> str | None:
    """Return the digest of an architecture's manifest, of an index; None for what is a manifest itself.

    Raises ValueError for an index without the architecture.
    """
    if "manifests" not in document:
        return None
    for manifest in document["manifests"]:
        platform = manifest.get("platform", {})
        if (platform.get("os"), platform.get("architecture")) == ("linux", architecture):
            digest: str = manifest["digest"]
            return digest
    raise ValueError(f"it has no image for {architecture}")


def layers(manifest: dict[str, Any]) -> list[Layer]:
    """Return the layers of an image, the last one first: that is where a build puts its program."""
    return [Layer(layer["digest"], layer.get("size", 0)) for layer in reversed(manifest["layers"])]
