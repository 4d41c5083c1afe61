"""Registers a whole fleet below its component: cloud resources, then everything on clusters.

What comes back is known at once, or comes with the answers of the engine: addresses of gateways, and
kubeconfigs of clusters that are created.
"""

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes

from inferfleet.cloud.values import CloudCluster
from inferfleet.components.ending import confirm_served, keep_all_if_any_failed
from inferfleet.components.objects import BY_KIND, Inputs, SecretValues
from inferfleet.components.provider import NOWHERE, gke_kubeconfig
from inferfleet.desired.values import (
    FRONT_DOORS,
    AwaitServed,
    CallHook,
    Confirm,
    Desired,
    KubeObject,
    Listen,
)
from inferfleet.serving.gateway import Address, address_of, url


@dataclass(frozen=True)
class Surroundings:
    """What a fleet is registered with, besides what is desired. Mappings go by cluster."""

    prefix: str
    """What the names of all resources begin with in this program."""
    providers: Mapping[str, kubernetes.Provider]
    kubeconfigs: Mapping[str, pulumi.Input[str]]
    """Texts of existing clusters, where they are known."""
    addresses: Mapping[str, Address]
    """Addresses of gateways that the stack did not make."""
    after: Mapping[str, Sequence[pulumi.Resource]]
    """Resources of the program that clusters are made of, such as their network."""
    secrets: SecretValues
    """Encoded values."""
    tell: CallHook
    """Calls ready hooks."""
    listen: Listen
    """Listens to pods that are awaited."""
    await_served: AwaitServed
    """Waits for what an object defines, or for its webhooks."""
    confirm: Confirm
    """Asks clusters at the end whether what they have serves."""
    preview: bool


@dataclass(frozen=True)
class Registered:
    """What is known of a fleet once it is registered."""

    outputs: Mapping[str, Any]
    """What a stack exports, by the names in `desired.values.Outputs`."""
    clusters: Mapping[str, Mapping[str, str]]
    """By cluster, its source and state, and of one in Google Cloud its project, region and name there."""
    identifiers: Mapping[str, str]
    """By cluster, the identifier of its provider."""
    kubeconfigs: Mapping[str, pulumi.Input[str]] = field(repr=False)


def register(fleet: pulumi.ComponentResource, desired: Desired, given: Surroundings) -> Registered:
    """Register all of `desired` below the component of the fleet."""
    registered: dict[str, pulumi.CustomResource] = {}
    remembered: dict[str, dict[str, pulumi.Output[str]]] = {}
    kubeconfigs: dict[str, pulumi.Input[str]] = {}
    google = _google(fleet, desired, given.prefix)
    addresses: dict[str, pulumi.Output[Address | None]] = {
        name: pulumi.Output.from_input(address) for name, address in given.addresses.items()
    }
    # They lead to gateways of all clusters, and those of several to each other.
    front_doors: list[Callable[[], object]] = []
    if google:
        _create_buckets(fleet, desired, google, registered, given.prefix)
    for cluster in desired.clusters:
        connection = cluster.connection
        name = connection.cluster
        if connection.cloud and connection.cloud.components and google:
            kubeconfigs[name] = _created(fleet, connection.cloud, google, registered, given)
        else:
            kubeconfigs[name] = given.kubeconfigs.get(name, NOWHERE)
        inputs = Inputs(
            registered=registered,
            remembered=remembered,
            tell=given.tell,
            listen=given.listen,
            await_served=given.await_served,
            secrets=given.secrets,
            prefix=given.prefix,
            created=registered.get(connection.cloud.key) if connection.cloud else None,
            addresses=addresses,
        )
        options = pulumi.ResourceOptions(parent=fleet, providers=[given.providers[name]])
        for component in cluster.components:
            registering = partial(BY_KIND[component.kind], component, inputs, options)
            if component.kind in FRONT_DOORS:
                front_doors.append(registering)
            else:
                registering()
        if cluster.gateway:
            addresses[name] = _address(registered[cluster.gateway.key], cluster.gateway)
    for register_front_door in front_doors:
        register_front_door()
    if not given.preview:
        confirm_served(desired, registered, given.confirm)
        keep_all_if_any_failed(registered, remembered)
    return Registered(
        outputs={
            **desired.outputs,
            **_addresses(desired, addresses),
            "frontDoors": _front_doors(desired, registered),
            "ready": remembered,
        },
        clusters=_clusters(desired),
        identifiers={
            cluster.connection.cluster: cluster.connection.identifier for cluster in desired.clusters
        },
        kubeconfigs=kubeconfigs,
    )


def _google(fleet: pulumi.ComponentResource, desired: Desired, prefix: str) -> pulumi.ProviderResource | None:
    """Return the provider for Google Cloud that the program gave the fleet, or a new one; None without need.

    Inputs that the installed provider does not take are refused here, before anything is registered.
    """
    components = [
        *desired.buckets,
        *(
            component
            for cluster in desired.clusters
            if cluster.connection.cloud
            for component in cluster.connection.cloud.components
        ),
    ]
    if not components:
        return None
    try:
        from inferfleet.components.cloud import Provider, unknown_inputs
    except ModuleNotFoundError as missing:
        raise pulumi.RunError(
            f"clusters of source GKE need the package {missing.name}, which is not installed. "
            "Install it where inferfleet is: pip install 'inferfleet[gke]'"
        ) from None
    if unknown := [said for component in components for said in unknown_inputs(component)]:
        raise pulumi.RunError(
            f"the installed pulumi-gcp does not take what documents pass on: {'; '.join(unknown)}. "
            "Correct it in `provider` of the document, or install another version"
        )
    return fleet.get_provider("gcp:container/cluster:Cluster") or Provider(fleet, prefix)


def _create_buckets(
    fleet: pulumi.ComponentResource,
    desired: Desired,
    google: pulumi.ProviderResource,
    registered: dict[str, pulumi.CustomResource],
    prefix: str,
) -> None:
    """Register the buckets that are of no cluster, before what comes after them."""
    from inferfleet.components import cloud

    options = pulumi.ResourceOptions(parent=fleet, providers=[google])
    for component in desired.buckets:
        cloud.BY_KIND[component.kind](component, registered, options, prefix=prefix)


def _created(
    fleet: pulumi.ComponentResource,
    plan: CloudCluster,
    google: pulumi.ProviderResource,
    registered: dict[str, pulumi.CustomResource],
    given: Surroundings,
) -> pulumi.Input[str]:
    """Register a cluster in the cloud, and return its kubeconfig; a paused one may have parts alone."""
    from inferfleet.components import cloud

    options = pulumi.ResourceOptions(parent=fleet, providers=[google])
    after = given.after.get(plan.cluster, ())
    for component in plan.components:
        cloud.BY_KIND[component.kind](component, registered, options, prefix=given.prefix, after=after)
    return gke_kubeconfig(plan, registered[plan.key]) if plan.key in registered else NOWHERE


def _clusters(desired: Desired) -> dict[str, dict[str, str]]:
    clusters: dict[str, dict[str, str]] = {}
    for connection in (cluster.connection for cluster in desired.clusters):
        cloud = connection.cloud
        place = {"project": cloud.project, "region": cloud.region, "name": cloud.cloud_name} if cloud else {}
        source = "GKE" if cloud else "Existing"
        clusters[connection.cluster] = {"source": source, "state": connection.state} | place
    return clusters


def _front_doors(
    desired: Desired, registered: Mapping[str, pulumi.CustomResource]
) -> dict[str, dict[str, pulumi.Output[str | None]]]:
    """Return the addresses of InferenceGateways by their names and clusters."""
    found: dict[str, dict[str, pulumi.Output[str | None]]] = {}
    for cluster in desired.clusters:
        for name, gateway in cluster.front_doors.items():
            if gateway.key in registered:
                address = _address(registered[gateway.key], gateway).apply(_host)
                found.setdefault(name, {})[cluster.connection.cluster] = address
    return found


def _addresses(desired: Desired, addresses: Mapping[str, pulumi.Output[Address | None]]) -> dict[str, Any]:
    """Return `gateways` by cluster, and `urls` by service and cluster. A cluster whose gateway is somebody
    else's and has no address yet is left out.
    """
    urls: dict[str, dict[str, pulumi.Output[str | None]]] = {}
    for route in desired.plan.services:
        if route.cluster in addresses:
            reached = addresses[route.cluster].apply(partial(_url, route.path))
            urls.setdefault(route.service, {})[route.cluster] = reached
    return {"gateways": {name: address.apply(_host) for name, address in addresses.items()}, "urls": urls}


def _address(gateway: pulumi.CustomResource, plan: KubeObject) -> pulumi.Output[Address | None]:
    status: pulumi.Output[Any] = getattr(gateway, "status")  # noqa: B009
    return status.apply(lambda status: address_of({**plan.manifest, "status": status}))


def _host(address: Address | None) -> str | None:
    return address.host if address else None


def _url(path: str, address: Address | None) -> str | None:
    return url(address, path)


def plain_values(
    setting: str | Mapping[str, Mapping[str, str]] | None,
) -> Mapping[tuple[str, str], Mapping[str, str]]:
    """Return the values in the setting `secrets`, as JSON text or a map, by namespace, name and key."""
    secrets: Mapping[str, Mapping[str, str]] = (
        json.loads(setting) if isinstance(setting, str) else setting or {}
    )
    return {_pair(name): values for name, values in secrets.items()}


def secret_values(values: Mapping[tuple[str, str], Mapping[str, str]]) -> SecretValues:
    """Return the values in base64, and as outputs that Pulumi encrypts in its state."""
    return {
        name: {
            key: pulumi.Output.secret(base64.b64encode(value.encode()).decode())
            for key, value in of_secret.items()
        }
        for name, of_secret in values.items()
    }


def _pair(name: str) -> tuple[str, str]:
    namespace, _, secret = name.partition("/")
    return namespace, secret
