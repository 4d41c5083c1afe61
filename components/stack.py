"""Registers the whole stack: cloud resources, a provider per cluster, then everything on it."""

from collections.abc import Mapping
from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes

from inferfleet.cloud.values import CloudCluster
from inferfleet.components import on_cluster
from inferfleet.components.addresses import addresses
from inferfleet.components.cluster_provider import NOWHERE, ExistingCluster, cluster_provider, gke_kubeconfig
from inferfleet.components.confirmed import confirm_served
from inferfleet.components.manifest import SecretValues
from inferfleet.components.unfinished import keep_all_if_any_failed
from inferfleet.desired.values import Confirm, Connection, Desired, Listen, Tell
from inferfleet.serving.gateway import Address

Registered = dict[str, pulumi.CustomResource]


def register_stack(
    desired: Desired,
    kubeconfigs: Mapping[str, str],
    secrets: SecretValues,
    theirs: Mapping[str, Address],
    tell: Tell,
    listen: Listen,
    confirm: Confirm,
    *,
    preview: bool,
) -> dict[str, Any]:
    """Register all of `desired` and return the stack's outputs.

    By cluster: `kubeconfigs` holds texts of existing ones, `theirs` addresses of gateways that the stack did
    not make. `secrets` holds encoded values. `tell` calls ready hooks, `listen` listens to pods that are
    awaited, `confirm` asks clusters whether it serves.
    """
    registered: Registered = {}
    remembered: dict[str, dict[str, pulumi.Output[str]]] = {}
    google = _google() if any(cluster.connection.cloud for cluster in desired.clusters) else None
    for cluster in desired.clusters:
        connection = cluster.connection
        if connection.cloud and google:
            provider = _created(connection, connection.cloud, google, registered)
        else:
            text = kubeconfigs.get(connection.cluster, NOWHERE)
            provider = ExistingCluster(connection.cluster, connection, text).provider
        inputs = on_cluster.Inputs(
            registered=registered,
            tell=tell,
            listen=listen,
            remembered=remembered,
            untouched=connection.state == "lost",
            secrets=secrets,
        )
        for component in cluster.components:
            on_cluster.BY_KIND[component.kind](
                component.name, component, inputs, pulumi.ResourceOptions(providers=[provider])
            )
    if not preview:
        confirm_served(desired, registered, confirm)
        keep_all_if_any_failed(registered, remembered)
    return {**desired.outputs, **addresses(desired, registered, theirs), "ready": remembered}


def _google() -> pulumi.ProviderResource:
    try:
        from inferfleet.components.cloud import Provider
    except ModuleNotFoundError as missing:
        raise pulumi.RunError(
            f"clusters of source GKE need the package {missing.name}, which is not installed. "
            "Install it where inferfleet is: pip install 'inferfleet[gke]'"
        ) from None
    return Provider()


def _created(
    connection: Connection, plan: CloudCluster, google: pulumi.ProviderResource, registered: Registered
) -> kubernetes.Provider:
    """Register a cluster in the cloud, and return its Kubernetes provider, a child of GkeCluster."""
    from inferfleet.components import cloud

    home: pulumi.ComponentResource | None = None
    for component in plan.components:
        made = cloud.BY_KIND[component.kind](
            component.name, component, registered, pulumi.ResourceOptions(providers=[google])
        )
        if isinstance(made, cloud.GkeCluster):
            home = made
    kubeconfig = gke_kubeconfig(plan, registered[plan.key])
    return cluster_provider(connection.cluster, connection, kubeconfig, parent=home)
