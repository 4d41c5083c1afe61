"""Plugin istio: whether pods get Istio's proxy, how it runs, and which ports go around it.

Traffic between GPUs (NCCL, NIXL) breaks or crawls in a proxy: leave the proxy away, or exclude its ports. A
regular sidecar also keeps init containers from the network, and a pod that drains may lose it before the
engine has ended; a native one, an init container that keeps running, does neither. It needs Kubernetes 1.29.
From Istio 1.27 on the default is `auto`: native where every node has a kubelet of 1.33 or later. So on 1.29
to 1.32 set `nativeSidecar: true`.

Sources: istio/api at b8f8791 (2026-07-21): label/labels.yaml has the label `sidecar.istio.io/inject`;
annotation/annotations.yaml has the deprecated annotation of that name, and the annotations
`sidecar.istio.io/nativeSidecar` (alpha, since Istio 1.24; wins over ENABLE_NATIVE_SIDECARS) and
`traffic.sidecar.istio.io/exclude{Inbound,Outbound}Ports`. The default since 1.27: pull request 56428 of
istio/istio (DetectNativeSidecar in pkg/kube/inject/webhook.go, kubelets of 1.33). What the proxy requests:
`global.proxy.resources` in manifests/charts/istio-control/istio-discovery/values.yaml of istio/istio at
007204d; files/injection-template.yaml at 0134e00 beside it takes none of them once one of the annotations
`sidecar.istio.io/proxy{CPU,Memory}[Limit]` is set, so all are written.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar

from pydantic import Field

from inferfleet.plugins import api
from inferfleet.plugins.api import (
    Amount,
    Edited,
    Mistake,
    Plugin,
    PluginError,
    PodTemplate,
    Request,
    SidecarConfig,
    mapping,
    put_field,
)

INJECT = "sidecar.istio.io/inject"
NATIVE = "sidecar.istio.io/nativeSidecar"
EXCLUDED = "traffic.sidecar.istio.io/exclude{}Ports"
PROXY = "istio-proxy"

Port = Annotated[int, Field(ge=1, le=65535)]


class IstioProxy(SidecarConfig):
    """What Istio's proxy requests and may use."""

    container: ClassVar[str] = PROXY
    annotations: ClassVar[Mapping[str, str]] = {
        "cpu": "sidecar.istio.io/proxyCPU",
        "memory": "sidecar.istio.io/proxyMemory",
        "cpu_limit": "sidecar.istio.io/proxyCPULimit",
        "memory_limit": "sidecar.istio.io/proxyMemoryLimit",
    }

    cpu: Amount = "100m"
    """Cores that it requests."""
    memory: Amount = "128Mi"
    """Memory that it requests."""
    cpu_limit: Amount = "2000m"
    """The most cores that it may use."""
    memory_limit: Amount = "1024Mi"
    """The most memory that it may use."""


class Config(api.Config):
    """At least one of inject, nativeSidecar and the ports to exclude has to be set."""

    inject: bool | None = None
    """Whether pods get the proxy. Default: as the namespace says."""
    native_sidecar: bool | None = None
    """Whether the proxy is a native sidecar. Default: as Istio is set up; from Istio 1.27 on native where all
    nodes have Kubernetes 1.33 or later, so set it on 1.29 to 1.32."""
    exclude_inbound_ports: tuple[Port, ...] = ()
    """Ports of the pod that the proxy leaves alone, in addition to those of the template. Default: none."""
    exclude_outbound_ports: tuple[Port, ...] = ()
    """Ports of other pods that the proxy leaves alone, in addition to the template's. Default: none."""
    proxy: IstioProxy = IstioProxy()
    """What the proxy requests and may use, which the plan counts unless inject is false. Default: as Istio
    has it."""

    def mistakes(self) -> Iterator[Mistake]:
        """Yield what is said of a proxy that is not there, and a config that says nothing."""
        about_proxy = [
            name
            for name, value in (
                ("nativeSidecar", self.native_sidecar),
                ("excludeInboundPorts", self.exclude_inbound_ports),
                ("excludeOutboundPorts", self.exclude_outbound_ports),
                ("proxy", self.proxy if "proxy" in self.model_fields_set else None),
            )
            if value not in (None, ())
        ]
        if self.inject is False and about_proxy:
            yield Mistake(
                f"inject is false, so there is no proxy that {about_proxy[0]} could be about",
                f"Remove {' and '.join(about_proxy)}, or inject",
            )
        if self.inject is None and about_proxy in ([], ["proxy"]):
            yield Mistake("the config says nothing", "Set inject, nativeSidecar, or ports to exclude")


def edit(template: PodTemplate, request: Request, config: Config) -> Edited:
    """Set whether pods get Istio's proxy, what it requests, and which ports go around it."""
    old = template.get("metadata", {}).get("annotations", {}).get(INJECT)
    if config.inject is not None:
        wanted = _written(config.inject)
        if old not in (None, wanted):
            raise PluginError(
                f"inject {wanted} contradicts the template's annotation {INJECT}: {old}, which is "
                "deprecated; remove the annotation"
            )
        put_field(template, "metadata", "labels", INJECT, value=wanted)
    if config.native_sidecar is not None:
        put_field(template, "metadata", "annotations", NATIVE, value=_written(config.native_sidecar))
    _exclude(template, EXCLUDED.format("Inbound"), config.exclude_inbound_ports)
    _exclude(template, EXCLUDED.format("Outbound"), config.exclude_outbound_ports)
    return Edited(template, injected={} if config.inject is False else config.proxy.inject(template))


def _written(value: bool) -> str:
    return "true" if value else "false"


def _exclude(template: PodTemplate, annotation: str, ports: tuple[int, ...]) -> None:
    if not ports:
        return
    annotations = mapping(template, "metadata", "annotations")
    old = [port.strip() for port in annotations.get(annotation, "").split(",") if port.strip()]
    annotations[annotation] = ",".join(dict.fromkeys([*old, *map(str, ports)]))


PLUGIN = Plugin("istio", Config, edit, version="1.1.0")
