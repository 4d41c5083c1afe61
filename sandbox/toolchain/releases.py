"""Official releases of parts: where they are, with which checksums, and which of them a machine uses.

A checksum is in the table only where the project itself publishes it, in what its `source` names. A part
without a complete release here, of the machine's architecture, is built.
"""

import hashlib
import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from sandbox.problem import SandboxProblem
from sandbox.toolchain.parts import KUBE, Part

DOWNLOAD = "INFERFLEET_DOWNLOAD"
MIRROR = "INFERFLEET_MIRROR"
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


@dataclass(frozen=True)
class Archive:
    """A tar archive. `checksums` are `<algorithm>:<hex>` by architecture, `files` paths in it by program."""

    url: str
    files: Mapping[str, str]
    checksums: Mapping[str, str]
    source: str


@dataclass(frozen=True)
class Release:
    """The archives that have all programs of a part, in versions that are accepted on the PATH too."""

    part: Part
    version: str
    archives: tuple[Archive, ...]

    def key(self, architecture: str) -> str:
        """Return `<part>-released-<hash>`, with a hash of everything that decides the files."""
        recipe = [
            (archive.checksums[architecture], sorted(archive.files.items())) for archive in self.archives
        ]
        return f"{self.part.name}-released-{hashlib.sha256(repr(recipe).encode()).hexdigest()[:12]}"


@dataclass(frozen=True)
class Choice:
    """Whether releases are used, and the mirror that has them ("" means the projects' own hosts)."""

    allowed: bool
    mirror: str = ""

    def address(self, url: str) -> str:
        """Return where a file is fetched: a mirror has it at `<mirror>/<host>/<path>`."""
        parts = urlsplit(url)
        return f"{self.mirror.rstrip('/')}/{parts.netloc}{parts.path}" if self.mirror else url


RELEASES = (
    Release(
        KUBE,
        "1.36.0",
        (
            Archive(
                "https://dl.k8s.io/v1.36.0/kubernetes-server-linux-{arch}.tar.gz",
                {
                    name: f"kubernetes/server/bin/{name}"
                    for name in ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl")
                },
                {
                    "amd64": "sha512:1c64da92575451c2c7ff97c79b772e603995f8e76da1371a6b0746aaa27b65dc"
                    "e81c4d734cbb50f40e71486a8e08df36f14e12974f97d4d29e41f23a172a6a25",
                    "arm64": "sha512:7f95e451baedd9368a2fa637afa84c9ed1b958736540ca27a379e5e292e1a10c"
                    "5d9a29539f833047574bf5d3b6f907f32dee5735acecc11aa4686f078108dcf8",
                },
                # Read 2026-11-24.
                "https://github.com/kubernetes/kubernetes/blob/008b3652959ca58af8be3fb5b6ecfe9ae7638282/"
                "CHANGELOG/CHANGELOG-1.36.md",
            ),
            # It has etcd 3.6.8 (hack/envtest/_matrix/v1.36.0.yaml).
            Archive(
                "https://github.com/kubernetes-sigs/controller-tools/releases/download/envtest-v1.36.0/"
                "envtest-v1.36.0-linux-{arch}.tar.gz",
                {"etcd": "controller-tools/envtest/etcd"},
                {
                    "amd64": "sha512:302d6a4c3b7d79b8a6168cd9fd5f18e718048211d25012d969d320e06b39672d"
                    "17338bcd008c29adf98b41048a6f7d80c90ab0165b4b861497ef74c7bc6c1531",
                    "arm64": "sha512:16b416776b6f5e6a13be33b7e9f248cbffb71b40bc286436c93b83239b965d07"
                    "b902ce0da75b721aea9356a764ca896154bc420618bc7fb9d1dc4a6b2fa49405",
                },
                # Read 2026-11-24.
                "https://github.com/kubernetes-sigs/controller-tools/blob/"
                "434758187dddcaf646276fbe2c2ba40ff4e859d5/envtest-releases.yaml",
            ),
        ),
    ),
)


def choice(environment: Mapping[str, str] = os.environ) -> Choice:
    """Return what the user has chosen. Raises SandboxProblem."""
    wanted, mirror = environment.get(DOWNLOAD, ""), environment.get(MIRROR, "")
    if wanted not in ("", "never"):
        raise SandboxProblem(f"{DOWNLOAD} is {wanted!r} and can only be 'never'. Correct or unset it.")
    if mirror and (urlsplit(mirror).scheme not in ("http", "https") or not urlsplit(mirror).hostname):
        raise SandboxProblem(
            f"{MIRROR} is {mirror!r} and must be a URL such as https://mirror.example/files."
        )
    if "@" in urlsplit(mirror).netloc:
        raise SandboxProblem(
            f"{MIRROR} has a user name or password, which would stand in logs. Write the URL without: files "
            "are known by their checksums."
        )
    return Choice(not wanted, mirror)


def architecture(machine: str | None = None) -> str:
    """Return the machine's architecture as releases call it, or "" when they have none for it."""
    return _ARCHITECTURES.get(machine or platform.machine(), "")


def release_of(part: Part, arch: str, releases: tuple[Release, ...] = RELEASES) -> Release | None:
    """Return the release of the part for an architecture, if the table has checksums of all that it needs."""
    programs = {program.name for program in part.programs}
    for release in releases:
        offered = {name for archive in release.archives for name in archive.files}
        pinned = all(arch in archive.checksums for archive in release.archives)
        if release.part == part and offered == programs and pinned:
            return release
    return None
