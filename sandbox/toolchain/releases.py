"""Official releases of parts: where they are, with which checksums, and which of them a machine uses.

A checksum is in the table only where `source` has it: a file of the project itself, or of somebody who
fetches the same file from the same address. A part without a complete release here, of the machine's
architecture, is built.
"""

import hashlib
import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from sandbox.problem import SandboxProblem
from sandbox.toolchain.parts import (
    EPP,
    ISTIO,
    KUBE,
    KUBERNETES_PROVIDER,
    KWOK,
    LANGUAGE_PYTHON,
    LANGUAGE_PYTHON_EXEC,
    PROVIDER,
    PULUMI,
    PULUMI_CLI,
    Part,
)

DOWNLOAD = "INFERFLEET_DOWNLOAD"
MIRROR = "INFERFLEET_MIRROR"
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
# Where the file is no archive but the program.
WHOLE = ""


# The host of a registry, where images do not call it so.
_REGISTRIES = {"docker.io": "registry-1.docker.io"}


@dataclass(frozen=True)
class Archive:
    """A tar archive or, with WHOLE as the only path, one program as it is.

    `checksums` are `<algorithm>:<hex>` by architecture, `files` paths in it by what they are called in the
    part. `{arch}` in the URL is the architecture as `called` has it.
    """

    url: str
    files: Mapping[str, str]
    checksums: Mapping[str, str]
    source: str
    called: Mapping[str, str] = field(default_factory=dict)

    def address(self, architecture: str) -> str:
        """Return the URL for an architecture."""
        return self.url.format(arch=self.called.get(architecture, architecture))


@dataclass(frozen=True)
class Image:
    """Files of an official image, from the layers that its registry has by digest.

    `digest` is that of the index of its architectures, from which the digests of manifest and layers follow;
    `files` are paths in it by what they are called in the part.
    """

    name: str
    digest: str
    files: Mapping[str, str]
    architectures: tuple[str, ...]
    source: str

    @property
    def repository(self) -> str:
        """The URL below which the registry has manifests and blobs."""
        host, _, path = self.name.rpartition(":")[0].partition("/")
        return f"https://{_REGISTRIES.get(host, host)}/v2/{path}"

    @property
    def checksums(self) -> Mapping[str, str]:
        """The digest by architecture, as archives have theirs."""
        return dict.fromkeys(self.architectures, self.digest)

    def address(self, architecture: str) -> str:
        """Return the URL of the index, which is one for all architectures."""
        return f"{self.repository}/manifests/{self.digest}"


@dataclass(frozen=True)
class Release:
    """The archives and images that have all files of some parts, in versions that the PATH may have too."""

    parts: tuple[Part, ...]
    version: str
    archives: tuple[Archive | Image, ...]

    @property
    def name(self) -> str:
        """What the release is called in messages and in the cache."""
        return self.parts[0].name

    @property
    def names(self) -> frozenset[str]:
        """What the files of its parts are called, with the folders of those that are in one."""
        return frozenset().union(*(part.paths for part in self.parts))

    @property
    def minutes(self) -> int:
        """The rough time that building its parts takes."""
        return sum(part.minutes for part in self.parts)

    def key(self, architecture: str) -> str:
        """Return `<name>-released-<hash>`, with a hash of everything that decides the files."""
        recipe = [
            (archive.checksums[architecture], sorted(archive.files.items())) for archive in self.archives
        ]
        return f"{self.name}-released-{hashlib.sha256(repr(recipe).encode()).hexdigest()[:12]}"


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
        (KUBE,),
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
    Release(
        (PULUMI_CLI, LANGUAGE_PYTHON, LANGUAGE_PYTHON_EXEC),
        PULUMI,
        (
            Archive(
                f"https://github.com/pulumi/pulumi/releases/download/v{PULUMI}/"
                f"pulumi-v{PULUMI}-linux-{{arch}}.tar.gz",
                {
                    name: f"pulumi/{name}"
                    for name in ("pulumi", "pulumi-language-python", "pulumi-language-python-exec")
                },
                {
                    "amd64": "sha256:8916fd36ccc96adbd45ca679194b685e3b767d94502ae05610878a6d9870b8f3",
                    "arm64": "sha256:deb4bf0d05b4cbaf3adcf82ffa44039ad0ebf039e33338ead8136877a437b4e5",
                },
                # Pulumi's own formula for Homebrew of 2026-07-02. Read 2026-11-24.
                "https://github.com/pulumi/homebrew-tap/blob/f745989ee0f1c2793860f338aee62867a32fc562/"
                "Formula/pulumi.rb",
                {"amd64": "x64"},
            ),
        ),
    ),
    Release(
        (PROVIDER,),
        KUBERNETES_PROVIDER,
        (
            Archive(
                "https://api.pulumi.com/releases/plugins/"
                f"pulumi-resource-kubernetes-v{KUBERNETES_PROVIDER}-linux-{{arch}}.tar.gz",
                {"pulumi-resource-kubernetes": "pulumi-resource-kubernetes"},
                {
                    "amd64": "sha256:6ea3d53c16a00c4d1017c4d109928d8f4801fd7cd978965cd43917561f3774b0",
                    "arm64": "sha256:e4260240ed14bff6ed1a5a25a362311380ea1c072544fc262532b8197ea0725c",
                },
                # Nix writes them in base 32: 1c3l6wgm... and 0p3jl1z1.... Read 2026-11-24. What it has of
                # Pulumi 3.221.0 in the same file is what Pulumi's formula has.
                "https://github.com/NixOS/nixpkgs/blob/0501eb325e7384fc5a54bf8df23814ecf4d50096/"
                "pkgs/by-name/pu/pulumi-bin/data.nix",
            ),
        ),
    ),
    Release(
        (KWOK,),
        "0.8.0",
        tuple(
            Archive(
                f"https://github.com/kubernetes-sigs/kwok/releases/download/v0.8.0/{name}-linux-{{arch}}",
                {name: WHOLE},
                {"amd64": f"sha256:{amd64}", "arm64": f"sha256:{arm64}"},
                # Of Arch's users, whose package is these files. Read 2026-11-24; a second public project
                # pins the same ones for amd64. kwok itself publishes none as a file.
                "https://aur.archlinux.org/cgit/aur.git/tree/PKGBUILD?h=kwok-bin",
            )
            for name, amd64, arm64 in (
                (
                    "kwok",
                    "f5a4385a2ae1b9dd7f8acae18e002a75c0ebba124ae9d7259aa8dadb50711f46",
                    "628f7d277860f524a2a775c217adcc58828e7b59ab0933680315784f1b8b0e37",
                ),
                (
                    "kwokctl",
                    "d5743166c657283d6e827c7c4c20cacfd9009fd94830f06718ca7b2c7099461f",
                    "5a642b27d3e975f36040d215640cd90fb4a63cb6fca0ad5865a61bcd9c81051b",
                ),
            )
        ),
    ),
    Release(
        (EPP,),
        EPP.version,
        (
            # Its recipe builds for amd64, whatever architecture the image is for (Dockerfile of the module).
            Image(
                f"registry.k8s.io/gateway-api-inference-extension/epp:v{EPP.version}",
                "sha256:86c679b057298e68c6e65ff5603e92066d432e77b11f1f81f0a06399694810bc",
                {"epp": "epp"},
                ("amd64",),
                # Read 2026-11-28.
                "https://github.com/kubernetes/k8s.io/blob/e10ab5f95c9786e66745737e865fd6f593358eae/"
                "registry.k8s.io/images/k8s-staging-gateway-api-inference-extension/images.yaml",
            ),
        ),
    ),
    Release(
        (ISTIO,),
        "1.31.1",
        (
            Image(
                "docker.io/istio/pilot:1.31.1",
                "sha256:212ca088ada22f48be1576e6b688972b8aa7495710abb7c5f1febca856a15577",
                {"istiod": "usr/local/bin/pilot-discovery"},
                ("amd64", "arm64"),
                # Of a project that installs it. Istio publishes no digests as a file. Read 2026-11-28.
                "https://github.com/tetral-ai/tetral/blob/01e06cbd1fda22c05a3410fbbd3f207b18f06085/"
                "deploy/dependencies.lock.json",
            ),
            # The chart has what the module of the source has in manifests/charts.
            Archive(
                "https://blob.istio.io/istio-release/charts/istiod-1.31.1.tgz",
                {
                    "istio/values.yaml": "istiod/values.yaml",
                    "istio/kube-gateway.yaml": "istiod/files/kube-gateway.yaml",
                },
                dict.fromkeys(
                    ("amd64", "arm64"),
                    "sha256:d49e3ac3100e9c24efbd3a7c26e8e6dd707431f8c06f203182ba54a2e8651a74",
                ),
                # Read 2026-11-28, in the same file as the digest.
                "https://github.com/tetral-ai/tetral/blob/01e06cbd1fda22c05a3410fbbd3f207b18f06085/"
                "deploy/dependencies.lock.json",
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


def release_of(part: Part, arch: str) -> Release | None:
    """Return the release of the part for an architecture, if the table has checksums of all that it needs."""
    for release in RELEASES:
        offered = {name for archive in release.archives for name in archive.files}
        pinned = all(arch in archive.checksums for archive in release.archives)
        if part in release.parts and pinned and offered == release.names:
            return release
    return None
