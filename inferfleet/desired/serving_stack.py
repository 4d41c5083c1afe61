"""What all models on one cluster share: namespaces, secrets with values in the stack, the gateway."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from inferfleet.desired.clusters import Site
from inferfleet.desired.values import Component, KubeObject
from inferfleet.documents.kinds.inference_cluster import Serving
from inferfleet.documents.kinds.settings import PodSecurity
from inferfleet.fleet import names
from inferfleet.serving.gateway import own_gateway
from inferfleet.serving.metadata import baseline_labels, namespace, secret
from inferfleet.serving.monitors import metrics_reader

# Cloud controllers make a load balancer for a gateway, in one to three minutes as a rule; those of a proxy
# inside of the cluster need seconds.
_GATEWAY_SECONDS = 300
# Google's is one of several parts, made one after another: 112 s for a single reconcile
# (https://github.com/kubernetes-sigs/gateway-api-inference-extension/pull/959), "8-10+ minutes" for a load
# balancer (https://github.com/openshift/cloud-ingress-operator/pull/452, 2026-04-09, which raised 10 to 20).
_GOOGLES_GATEWAY_SECONDS = 900
# A controller inside of the cluster answers a route in seconds; after that it does not serve the gateway.
_ROUTE_SECONDS = 120
# Google's controller says so of a route once the load balancer has it: with a reconcile, or two of them.
_GOOGLES_ROUTE_SECONDS = 600


def gateway_seconds(provider: str) -> int:
    """Return for how many seconds an update waits until a gateway of the provider has an address."""
    return _GOOGLES_GATEWAY_SECONDS if provider == "gke" else _GATEWAY_SECONDS


def route_seconds(provider: str) -> int:
    """Return for how many seconds an update waits until a gateway of the provider takes a route."""
    return _GOOGLES_ROUTE_SECONDS if provider == "gke" else _ROUTE_SECONDS


@dataclass(frozen=True)
class ServingStack:
    """The shared objects of one cluster: `namespaces` by name, `secrets` by namespace and name.

    `readers` are who may read the metrics of pickers, `fabric` what pods on networks between GPUs need.
    `gateway` is None where the cluster refers to an
    existing one; `parameters` are objects that it refers to.
    """

    cluster: str
    namespaces: Mapping[str, KubeObject]
    secrets: Mapping[tuple[str, str], KubeObject]
    parameters: tuple[KubeObject, ...] = ()
    gateway: KubeObject | None = None
    readers: tuple[KubeObject, ...] = ()
    fabric: tuple[KubeObject, ...] = ()

    def needs(self, namespace: str, secrets: Collection[str]) -> tuple[str, ...]:
        """Return the keys of what workloads with these Secrets need in a namespace, and on the cluster."""
        return (*self.keys(namespace, secrets), *(made.key for made in self.fabric))

    def keys(self, namespace: str, secrets: Collection[str] = ()) -> tuple[str, ...]:
        """Return the keys of a namespace, and of Secrets of these names that the stack creates in it."""
        return (
            self.namespaces[namespace].key,
            *(
                made.key
                for (space, name), made in self.secrets.items()
                if space == namespace and name in secrets
            ),
        )

    @property
    def gateway_keys(self) -> tuple[str, ...]:
        """Return the key of the stack's own Gateway, if it creates one."""
        return (self.gateway.key,) if self.gateway else ()

    @property
    def component(self) -> Component:
        """Return the Pulumi component; what others need comes first."""
        gateways = (self.gateway,) if self.gateway else ()
        held = (*self.namespaces.values(), *self.secrets.values(), *self.readers, *self.fabric)
        objects = (*held, *self.parameters, *gateways)
        return Component("ServingStack", names.cluster_component(self.cluster), objects)


def serving_stack(
    site: Site,
    *,
    namespaces: Collection[str],
    secrets: Mapping[tuple[str, str], tuple[str, ...]],
    serving: Serving,
    stack: str,
    pod_security: PodSecurity,
) -> ServingStack:
    """Return the shared objects. `secrets` are the keys of each Secret, by namespace and name.

    `pod_security` says what the labels of namespaces ask of Pod Security admission.
    """
    gateway = serving.gateway
    own = own_gateway(gateway=gateway, stack=stack)
    # The proxies of an unknown controller may run beside the Gateway, and need whatever they need.
    unknown = {names.SYSTEM_NAMESPACE} if gateway.provider == "none" else set()
    spaces = {
        # To delete a namespace would delete what others created in it.
        name: site.place(
            namespace(name, stack=stack, labels=_security(name, pod_security, unknown)), retain=True
        )
        for name in sorted({*namespaces, *([names.SYSTEM_NAMESPACE] if own else [])})
    }
    held = {
        (space, name): site.place(
            secret(name, namespace=space, keys=keys, stack=stack), after=[spaces[space].key]
        )
        for (space, name), keys in sorted(secrets.items())
    }
    readers = tuple(
        placed
        for name, made in spaces.items()
        if name in namespaces
        for placed in _readers(site, made, metrics_reader(namespace=name, serving=serving, stack=stack))
    )
    fabric = _in_turn(site, site.cloud.objects if site.cloud else ())
    if own is None:
        return ServingStack(site.cluster, spaces, held, readers=readers, fabric=fabric)
    system = spaces[names.SYSTEM_NAMESPACE].key
    parameters = tuple(site.place(manifest, after=[system]) for manifest in own.parameters)
    first = [system, *(made.key for made in parameters)]
    return ServingStack(
        site.cluster,
        spaces,
        held,
        parameters,
        site.place(own.gateway, after=first, timeout=gateway_seconds(serving.gateway.provider)),
        readers,
        fabric,
    )


def _in_turn(site: Site, manifests: Iterable[dict[str, Any]]) -> tuple[KubeObject, ...]:
    """Return objects each of which comes after those that it may refer to by its own name."""
    placed: list[KubeObject] = []
    for manifest in manifests:
        name = manifest["metadata"]["name"]
        first = [other.key for other in placed if other.kubernetes_name == name]
        placed.append(site.place(manifest, after=first))
    return tuple(placed)


def _security(name: str, pod_security: PodSecurity, unknown: Collection[str]) -> dict[str, str]:
    """Return the labels for Pod Security admission; none on namespaces that every cluster has.

    Other people's pods are there too, and those of `kube-system` need what the baseline forbids. In the
    `unknown` namespaces there may be pods of whom nothing is known.
    """
    if pod_security == "ignore" or name == "default" or name.startswith("kube-"):
        return {}
    return baseline_labels(enforced=pod_security == "enforce" and name not in unknown)


def _readers(site: Site, space: KubeObject, manifests: Iterable[dict[str, Any]]) -> Iterator[KubeObject]:
    """Yield who reads metrics. Accounts come before what names them: Kubernetes deletes the Secret of a token
    whose account is not there (`syncSecret` in pkg/controller/serviceaccount/tokens_controller.go).
    """
    first = [space.key]
    for manifest in manifests:
        placed = site.place(manifest, after=first)
        if placed.kind == "ServiceAccount":
            first = [*first, placed.key]
        yield placed
