"""The add-ons of a cluster by which models are served there: kinds and the controllers behind them.

Each version is a Go module at a version, which has the chart or the files, with the hash that every go.sum
has of it. Images in charts of modules are those of nightly builds, so the values here name released ones.
Istio's module has no releases: its charts are those of a commit on the way to the release. Looked up
2026-11-28.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, get_args

AddonName = Literal["gatewayAPI", "inferenceExtension", "istio", "envoyGateway", "leaderWorkerSet"]
# In the order in which they are installed, and upgraded.
NAMES: tuple[AddonName, ...] = get_args(AddonName)


@dataclass(frozen=True)
class Chart:
    """A chart of Helm in a module, and how it is rendered."""

    folder: str
    release: str
    values: Mapping[str, Any] = field(default_factory=dict)
    defaults: str = ""
    """The file of the chart that its defaults are made from when it is released; "" where they are there."""
    hooks: bool = False
    """Whether what Helm would make before an installation is an object like others: a Job, and its rights."""


@dataclass(frozen=True)
class Release:
    """A version of an add-on: files of definitions by patterns, and charts, in a module."""

    version: str
    module: str
    module_version: str
    digest: str
    """The hash of the module, as in a go.sum."""
    definitions: tuple[str, ...]
    charts: tuple[Chart, ...] = ()


@dataclass(frozen=True)
class AddonRow:
    """An add-on. The first release is what a document that names no version gets."""

    releases: tuple[Release, ...]
    groups: frozenset[str]
    """API groups of the kinds that it serves."""
    namespace: str = ""
    """The namespace of its controller; "" where it has none."""
    project: str = ""
    """What it is called, in messages."""
    provider: str = ""
    """The provider of clusters' gateways that its controller serves."""
    class_controller: str = ""
    """What GatewayClasses name as its controller; "" where it makes its class itself, or serves none."""

    def release(self, version: str | None) -> Release | None:
        """Return the release of a version, or the first; None for a version that is not here."""
        if version is None:
            return self.releases[0]
        return next((release for release in self.releases if release.version == version), None)


def _gateway_api(version: str, digest: str) -> Release:
    files = ("config/crd/standard/gateway*.yaml",)
    return Release(version, "sigs.k8s.io/gateway-api", f"v{version}", digest, files)


def _inference_extension(version: str, digest: str) -> Release:
    files = ("config/crd/bases/inference.networking.k8s.io_*.yaml",)
    return Release(version, "sigs.k8s.io/gateway-api-inference-extension", f"v{version}", digest, files)


_ISTIO_CHARTS = "manifests/charts"


def _istio(version: str, commit: str, digest: str) -> Release:
    values = {
        "global": {"hub": "docker.io/istio", "tag": version},
        # A gateway of models needs no sidecars, and one istiod is enough for many of them.
        "autoscaleEnabled": False,
        "env": {"ENABLE_GATEWAY_API_INFERENCE_EXTENSION": "true"},
    }
    return Release(
        version,
        "istio.io/istio",
        commit,
        digest,
        (f"{_ISTIO_CHARTS}/base/files/crd-all.gen.yaml",),
        (Chart(f"{_ISTIO_CHARTS}/istio-control/istio-discovery", "istiod", values),),
    )


def _envoy_gateway(version: str, digest: str) -> Release:
    image = {"image": f"docker.io/envoyproxy/gateway:v{version}", "pullPolicy": "IfNotPresent"}
    values = {
        "global": {"images": {"envoyGateway": image}},
        # Definitions of Gateway API in its folder are of the experimental channel.
        "crds": {"enabled": False},
        # The Job that makes the certificates stays, so that no update finds it gone.
        "certgen": {"job": {"ttlSecondsAfterFinished": None}},
        # Its webhook tells proxies their zone, which gateways of models do not ask for. The chart writes that
        # it is left out where Envoy Gateway does not read it.
        "topologyInjector": {"enabled": False},
        "config": {
            "envoyGateway": {
                "extensionApis": {"enableBackend": True},
                "provider": {"kubernetes": {"proxyTopologyInjector": {"disabled": True}}},
            }
        },
    }
    chart = "charts/gateway-helm"
    return Release(
        version,
        "github.com/envoyproxy/gateway",
        f"v{version}",
        digest,
        (f"{chart}/charts/crds/crds/generated/gateway.envoyproxy.io_*.yaml",),
        (Chart(chart, "eg", values, defaults="values.tmpl.yaml", hooks=True),),
    )


def _leader_worker_set(version: str, digest: str) -> Release:
    values = {"image": {"manager": {"tag": f"v{version}", "pullPolicy": "IfNotPresent"}}}
    return Release(
        version,
        "sigs.k8s.io/lws",
        f"v{version}",
        digest,
        ("charts/lws/crds/*.yaml",),
        (Chart("charts/lws", "lws", values),),
    )


ADDONS: Mapping[AddonName, AddonRow] = MappingProxyType(
    {
        "gatewayAPI": AddonRow(
            (
                _gateway_api("1.5.1", "h1:RqVRIlkhLhUO8wOHKTLnTJA6o/1un4po4/6M1nRzdd0="),
                _gateway_api("1.5.0", "h1:duoo14Ky/fJXpjpmyMISE2RTBGnfCg8zICfTYLTnBJA="),
            ),
            frozenset({"gateway.networking.k8s.io"}),
            project="Gateway API",
        ),
        "inferenceExtension": AddonRow(
            (
                _inference_extension("1.5.0", "h1:w9Awt60cmI1vM7Y6N81h8wDCBP0WkmxpdI7GKY0v070="),
                _inference_extension("1.4.0", "h1:V+5u0J64qDbLYx4M/PkpsGa5bjeRjWUVybQ00axEkE0="),
            ),
            frozenset({"inference.networking.k8s.io"}),
            project="Gateway API Inference Extension",
        ),
        "istio": AddonRow(
            (
                _istio(
                    "1.31.1",
                    "v0.0.0-20260827124520-eed52ebb66ad",
                    "h1:ui9TJjRMAV/hb5ehQaZDq7IUGxuQP6dra9lapT/VjHI=",
                ),
                _istio(
                    "1.31.0",
                    "v0.0.0-20260826214018-9739e10eb9d7",
                    "h1:9IbnPSiY/JyfYWT90jSMeLY4h0TeEcApgjD/9GsrIfA=",
                ),
            ),
            frozenset(
                {"networking.istio.io", "security.istio.io", "telemetry.istio.io", "extensions.istio.io"}
            ),
            namespace="istio-system",
            project="Istio",
            provider="istio",
        ),
        "envoyGateway": AddonRow(
            (_envoy_gateway("1.9.1", "h1:vAVp6/AlBXJ1aOhp1mxL7fNEzVEfjADUguUhm2wzxQY="),),
            frozenset({"gateway.envoyproxy.io"}),
            namespace="envoy-gateway-system",
            project="Envoy Gateway",
            provider="envoy",
            class_controller="gateway.envoyproxy.io/gatewayclass-controller",
        ),
        "leaderWorkerSet": AddonRow(
            (
                _leader_worker_set("0.9.0", "h1:DcJCgxjjoGOx//QHZkeKpyiblxYq70aCRZNYSfykWyI="),
                _leader_worker_set("0.8.0", "h1:DdhJ8QabwTfWgbgaHH2gdf8twliioHaoSfmDXRYEVU0="),
            ),
            frozenset({"leaderworkerset.x-k8s.io", "disaggregatedset.x-k8s.io"}),
            namespace="lws-system",
            project="LeaderWorkerSet",
        ),
    }
)
# What GKE brings to its clusters, by the settings with which they are created here.
BROUGHT_BY_GKE: tuple[AddonName, ...] = ("gatewayAPI", "inferenceExtension")
