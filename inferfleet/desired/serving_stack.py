"""What all models on one cluster share: namespaces, secrets with values in the stack, the gateway."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from inferfleet.desired.clusters import Site
from inferfleet.desired.values import Component, KubeObject
from inferfleet.documents.kinds.inference_cluster import Serving
from inferfleet.documents.kinds.settings import PodSecurity
from inferfleet.fleet import names
from inferfleet.serving.gateway import own_gateway
from inferfleet.serving.metadata import namespace, secret
from inferfleet.serving.monitors import metrics_reader
from inferfleet.tables import pod_security as standards

# Seconds that an update waits until a gateway has an address. Cloud controllers make a load balancer for it,
# in one to three minutes as a rule; those of a proxy inside of the cluster need seconds. Google's is one of
# several parts, made one after another: 112 s for a single reconcile
# (https://github.com/kubernetes-sigs/gateway-api-inference-extension/pull/959), "8-10+ minutes" for a load
# balancer (https://github.com/openshift/cloud-ingress-operator/pull/452, 2026-04-09, which raised 10 to 20).
GATEWAY_SECONDS = {"gke": 900, "envoy": 300, "istio": 300, "none": 300}
# Seconds that it waits until a gateway takes a route. A controller inside of the cluster answers in seconds;
# after that it does not serve the gateway. Google's says so once the load balancer has the route: with a
# reconcile, or two of them.
ROUTE_SECONDS = {"gke": 600, "envoy": 120, "istio": 120, "none": 120}


@dataclass(frozen=True)
class ServingStack:
    """The objects of one cluster that all models on it share."""

    cluster: str
    namespaces: Mapping[str, KubeObject]
    """Namespaces by name."""
    secrets: Mapping[tuple[str, str], KubeObject]
    """Secrets whose values the stack has, by namespace and name."""
    readers: tuple[KubeObject, ...] = ()
    """Who may read the metrics of pickers."""
    fabric: tuple[KubeObject, ...] = ()
    """What pods on networks between GPUs need."""
    parameters: tuple[KubeObject, ...] = ()
    """Objects that the Gateway refers to."""
    gateway: KubeObject | None = None
    """The Gateway that the stack creates; None where the cluster refers to an existing one."""

    def needs(self, namespace: str, secrets: Collection[str]) -> tuple[str, ...]:
        """Return the keys of what workloads with these Secrets need in a namespace, and on the cluster."""
        read = [item.key for (of, name), item in self.secrets.items() if of == namespace and name in secrets]
        return (self.namespaces[namespace].key, *read, *(item.key for item in self.fabric))

    @property
    def component(self) -> Component:
        """Return the Pulumi component; what others need comes first."""
        objects = (
            *self.namespaces.values(),
            *self.secrets.values(),
            *self.readers,
            *self.fabric,
            *self.parameters,
            *((self.gateway,) if self.gateway else ()),
        )
        return Component("ServingStack", self.cluster, objects)


def serving_stack(
    site: Site,
    *,
    namespaces: Collection[str],
    secrets: Mapping[tuple[str, str], tuple[str, ...]],
    serving: Serving,
    stack: str,
    pod_security: PodSecurity,
    models: bool = True,
    front_doors: bool = False,
) -> ServingStack:
    """Return the shared objects. `secrets` are the keys of each Secret, by namespace and name.

    `pod_security` says what the labels of namespaces ask of Pod Security admission, `models` whether the
    cluster has nodes for any, `front_doors` whether InferenceGateways stand there.
    """
    internal = site.cloud.internal if site.cloud else {}
    gateway_objects = own_gateway(gateway=serving.gateway, stack=stack, internal=internal) if models else None
    # The proxies of an unknown controller may run beside the Gateway, and need whatever they need.
    unknown = {names.SYSTEM_NAMESPACE} if serving.gateway.provider == "none" else set()
    spaces = {
        # To delete a namespace would delete what others created in it.
        name: site.place(
            namespace(name, stack=stack, labels=_security(name, pod_security, unknown)), retain=True
        )
        for name in sorted(
            {*namespaces, *([names.SYSTEM_NAMESPACE] if gateway_objects or front_doors else [])}
        )
    }
    held = {
        (space, name): site.place(
            secret(name, namespace=space, keys=keys, stack=stack), after=[spaces[space].key]
        )
        for (space, name), keys in sorted(secrets.items())
    }
    readers = [
        item
        for name, space in spaces.items()
        if name in namespaces
        for item in _in_turn(
            site,
            metrics_reader(namespace=name, serving=serving, stack=stack),
            [space.key],
            # Kubernetes deletes the Secret of a token whose account is not there (`syncSecret` in
            # pkg/controller/serviceaccount/tokens_controller.go).
            lambda before, _: before.kind == "ServiceAccount",
        )
    ]
    fabric = _in_turn(
        site,
        site.cloud.objects if site.cloud else (),
        [],
        # One that may refer to another has its name.
        lambda before, manifest: before.kubernetes_name == manifest["metadata"]["name"],
    )
    shared = ServingStack(site.cluster, spaces, held, tuple(readers), fabric)
    if gateway_objects is None:
        return shared
    system = spaces[names.SYSTEM_NAMESPACE].key
    parameters = tuple(site.place(manifest, after=[system]) for manifest in gateway_objects.parameters)
    gateway = site.place(
        gateway_objects.gateway,
        after=[system, *(item.key for item in parameters)],
        timeout=GATEWAY_SECONDS[serving.gateway.provider],
    )
    return replace(shared, parameters=parameters, gateway=gateway)


def _in_turn(
    site: Site,
    manifests: Iterable[dict[str, Any]],
    after: Iterable[str],
    waits_for: Callable[[KubeObject, dict[str, Any]], bool],
) -> tuple[KubeObject, ...]:
    """Return objects after these keys, and each after those before it that it waits for."""
    placed: list[KubeObject] = []
    for manifest in manifests:
        first = [before.key for before in placed if waits_for(before, manifest)]
        placed.append(site.place(manifest, after=[*after, *first]))
    return tuple(placed)


def _security(name: str, pod_security: PodSecurity, unknown: Collection[str]) -> dict[str, str]:
    """Return the labels for Pod Security admission; none on namespaces that every cluster has.

    Other people's pods are there too, and those of `kube-system` need what the baseline forbids. In the
    `unknown` namespaces there may be pods of whom nothing is known.
    """
    if pod_security == "ignore" or name == "default" or name.startswith("kube-"):
        return {}
    enforced = pod_security == "enforce" and name not in unknown
    # Where it is not enforced nothing is said of it, so that what the cluster enforces by default stays.
    modes = ("enforce", "warn", "audit") if enforced else ("warn", "audit")
    labels = {f"{standards.LABEL}/{mode}": standards.LEVEL for mode in modes}
    return labels | {f"{standards.LABEL}/{mode}-version": standards.VERSION for mode in modes}
