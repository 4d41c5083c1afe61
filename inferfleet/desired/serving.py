"""What all models on one cluster share: namespaces, secrets whose values the stack holds, the gateway."""

from collections.abc import Collection, Iterable, Mapping

from inferfleet.api.kinds.inference_cluster import Gateway
from inferfleet.desired.values import Component, kube_object
from inferfleet.fleet import names
from inferfleet.manifests import gateway as gateways
from inferfleet.manifests.metadata import namespace, secret

# Cloud controllers make a load balancer for it: one to three minutes on GKE.
GATEWAY_SECONDS = 300


def serving_stack(
    cluster: str,
    *,
    namespaces: Iterable[str],
    secrets: Mapping[tuple[str, str], tuple[str, ...]],
    gateway: Gateway,
    stack: str,
) -> Component:
    """`secrets` are the keys of each Secret to create, by (namespace, name)."""
    own = gateways.objects(gateway=gateway, stack=stack)
    wanted = {*namespaces, *(one["metadata"]["namespace"] for one in own)}
    objects = [
        # Whatever else stands in a namespace would go with it.
        kube_object(cluster, namespace(name, stack=stack), retain=True)
        for name in sorted(wanted)
    ]
    spaces = {one.kubernetes_name: one.key for one in objects}
    for (space, name), keys in sorted(secrets.items()):
        manifest = secret(name, namespace=space, keys=keys, stack=stack)
        objects.append(kube_object(cluster, manifest, after=[spaces[space]]))
    before: list[str] = []
    for manifest in own:
        made = kube_object(
            cluster,
            manifest,
            after=[spaces[manifest["metadata"]["namespace"]], *before],
            timeout=GATEWAY_SECONDS if manifest["kind"] == "Gateway" else None,
        )
        before.append(made.key)
        objects.append(made)
    return Component("ServingStack", names.cluster_component(cluster), tuple(objects))


def namespace_keys(shared: Component, name: str) -> tuple[str, ...]:
    """The key of a namespace in a serving stack."""
    return tuple(one.key for one in shared.objects if one.kind == "Namespace" and one.kubernetes_name == name)


def secret_keys(shared: Component, namespace: str, read: Collection[str]) -> tuple[str, ...]:
    """The keys of those Secrets of a serving stack that are `read` by name."""
    return tuple(
        one.key
        for one in shared.objects
        if one.kind == "Secret" and one.namespace == namespace and one.kubernetes_name in read
    )


def gateway_keys(shared: Component) -> tuple[str, ...]:
    """The key of our own Gateway, none where somebody else's is used."""
    return tuple(one.key for one in shared.objects if one.kind == "Gateway")
