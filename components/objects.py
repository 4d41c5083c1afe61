"""The components whose children are Kubernetes objects of one cluster, and the resource that each object is.

None decides what they are.
"""

import base64
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from ipaddress import ip_address
from typing import Any

import pulumi

from inferfleet.components.hooks import hooks_of, remember
from inferfleet.desired.clusters import CLOUD_BODIED
from inferfleet.desired.values import (
    COMPONENTS,
    AwaitServed,
    CallHook,
    Component,
    ComponentKind,
    KubeObject,
    Listen,
)
from inferfleet.serving.front_door import endpoint
from inferfleet.serving.gateway import Address

_NAMESPACE = "kubernetes:core/v1:Namespace"
SecretValues = Mapping[tuple[str, str], Mapping[str, pulumi.Output[str]]]  # (namespace, name) -> key -> value


@dataclass(frozen=True)
class Inputs:
    """What a component needs besides its plan."""

    registered: dict[str, pulumi.CustomResource]
    """All resources of the Fleet so far, by key."""
    remembered: dict[str, dict[str, pulumi.Output[str]]]
    """What the state remembers of ready hooks so far, by workload and plugin."""
    tell: CallHook
    """Calls ready hooks."""
    listen: Listen
    """Listens to pods of engines and pickers."""
    await_served: AwaitServed
    """Waits for what an object defines, or for its webhooks."""
    secrets: SecretValues
    """Values of Secrets, which the manifest of none has."""
    prefix: str
    """What names of resources and hooks begin with, in the program that has them."""
    created: pulumi.Resource | None
    """The cluster itself, where the Fleet creates it."""
    addresses: Mapping[str, pulumi.Output[Address | None]]
    """Addresses of clusters' gateways, as far as these are registered or belong to somebody else."""


class _OnCluster(pulumi.ComponentResource):
    """Type tokens are part of every child's URN: the class names below must never change."""

    def __init__(self, plan: Component, inputs: Inputs, opts: pulumi.ResourceOptions) -> None:
        kind = f"{COMPONENTS}{type(self).__name__}"
        super().__init__(kind, inputs.prefix + plan.name, None, opts)
        for planned in plan.objects:
            inputs.registered[planned.key] = Manifest(planned, inputs, parent=self, held=plan.held)
        inputs.remembered.update(
            remember(self, plan.hooks, registered=inputs.registered, tell=inputs.tell, prefix=inputs.prefix)
        )
        register_standing(
            self,
            plan.standing,
            inputs.prefix,
            inputs.created,
            # An add-on of which nothing is decided any more belongs to others.
            retain=plan.kind == "ClusterAddon",
        )
        self.register_outputs({})


class ClusterAddon(_OnCluster):
    """What a cluster needs before models can be served there: definitions of kinds, and a controller."""


class ServingStack(_OnCluster):
    """What all models on one cluster share: namespaces, secrets whose values the stack holds, the gateway."""


class ModelCache(_OnCluster):
    """Weights on one cluster: the claim that holds them, and the Job that fetches them."""


class ModelEndpoint(_OnCluster):
    """Where a deployment can be reached on one cluster: endpoint picker, InferencePool and HTTPRoute."""


class ModelReplicas(_OnCluster):
    """The alike replicas of one placement: one workload per role, and the companions of plugins."""


class ModelService(_OnCluster):
    """A service on one cluster: its HTTPRoute over the endpoints there."""


class FrontDoor(_OnCluster):
    """An InferenceGateway on one of its clusters: the gateway, its keys, and where clusters are reached."""


class FrontDoorService(_OnCluster):
    """The routes of a service behind an InferenceGateway, and who may use them."""


BY_KIND: dict[ComponentKind, type[_OnCluster]] = {
    "ClusterAddon": ClusterAddon,
    "ServingStack": ServingStack,
    "ModelCache": ModelCache,
    "ModelEndpoint": ModelEndpoint,
    "ModelReplicas": ModelReplicas,
    "ModelService": ModelService,
    "FrontDoor": FrontDoor,
    "FrontDoorService": FrontDoorService,
}


class Manifest(pulumi.CustomResource):
    """One object, sent as it is.

    It is no class of `pulumi_kubernetes`, as resources of Google Cloud are classes of `pulumi_gcp`. Those of
    InferencePools, HTTPRoutes and the objects that plugins add do not exist, so there would be two ways to
    register an object; a Deployment in a class costs twice the time of a dict (5.2 s against 2.6 s for a
    thousand), half of it to turn answers of the engine into objects that nobody reads; and what reviews,
    dry runs and tests have seen is this dict, key for key. To the engine, its provider and policy packs the
    resource is the same: the type token says which kind it is.

    The data of a Secret are encoded values from the configuration. Of what is `held` all changes are ignored:
    an edit of what is paused, or on a cluster that does not answer, must not become a call.
    """

    status: pulumi.Output[Any]  # only of Gateways

    def __init__(self, plan: KubeObject, inputs: Inputs, *, parent: pulumi.Resource, held: bool) -> None:
        props = dict(plan.manifest)
        if plan.kind == "Gateway":
            # Not sent: an empty property is an output that the engine's answer resolves.
            props["status"] = None
        if plan.kind == "Secret":
            values = inputs.secrets.get((plan.namespace or "", plan.kubernetes_name))
            props |= {} if values is None else {"data": dict(values)}
        if plan.invented:
            # Kept by `ignore`: what is invented here counts only where there is no Secret yet.
            value = base64.b64encode(secrets.token_urlsafe(32).encode()).decode()
            props["data"] = {plan.invented: pulumi.Output.secret(value)}
        if plan.address_of:
            address = inputs.addresses[plan.address_of]
            props["endpoints"] = address.apply(partial(_endpoints, plan.address_of))
        super().__init__(
            plan.token,
            inputs.prefix + plan.name,
            props,
            pulumi.ResourceOptions(
                parent=parent,
                depends_on=[inputs.registered[key] for key in plan.after],
                retain_on_delete=plan.retain or None,
                ignore_changes=["*"] if held else list(plan.ignore) or None,
                deleted_with=inputs.registered[plan.deleted_with] if plan.deleted_with else None,
                custom_timeouts=timeouts(plan.timeout),
                hooks=None if held else hooks_of(plan, inputs.listen, inputs.await_served, inputs.prefix),
            ),
        )


def _endpoints(cluster: str, address: Address | None) -> list[dict[str, Any]]:
    """Return the endpoints of an EndpointSlice for the gateway of a cluster. Raises RunError for host names,
    which no EndpointSlice has.
    """
    if address is None:
        return []
    try:
        ip_address(address.host)
    except ValueError:
        raise pulumi.RunError(
            f"the gateway of cluster {cluster!r} has the host name {address.host}, and an InferenceGateway "
            "on another cluster finds it by an IP address. Write this name, or another that leads there, as "
            "serving.gateway.address of the cluster"
        ) from None
    return [endpoint(address.host)]


def register_standing(
    parent: pulumi.Resource,
    standing: Iterable[tuple[str, ...]],
    prefix: str,
    deleted_with: pulumi.Resource | None = None,
    *,
    retain: bool = False,
) -> None:
    """Register resources that the state has, by type and name: the engine keeps all else that it knows.

    It takes options from the program, and deletes by these once a resource has left it. So they are what they
    are for the resources of documents: those of `deleted_with` go with it, but for what leaves something of
    a cloud behind, and namespaces stay with all that is in them.
    """
    for *_, token, name in standing:
        retained = retain or token == _NAMESPACE
        own_end = retained or token.rpartition(":")[2] in CLOUD_BODIED
        options = pulumi.ResourceOptions(
            parent=parent,
            ignore_changes=["*"],
            retain_on_delete=retained or None,
            deleted_with=None if own_end else deleted_with,
        )
        pulumi.CustomResource(token, prefix + name, {}, options)


def timeouts(seconds: int | None) -> pulumi.CustomTimeouts | None:
    """Return the timeouts of creation and update, or None for the provider's own."""
    return pulumi.CustomTimeouts(create=f"{seconds}s", update=f"{seconds}s") if seconds else None
