"""The components whose children are resources of Google Cloud. None decides what they are."""

from collections.abc import Mapping
from typing import Any

import pulumi

from inferfleet.cloud.gke.values import CloudComponent, CloudKind, CloudResource
from inferfleet.components.manifest import timeouts
from inferfleet.tables.gke import PROVIDER_VERSION

# The outputs of a Cluster that its kubeconfig is made of: the engine's answer resolves them, none is sent.
_OUTPUTS = {"gcp:container/cluster:Cluster": ("endpoint", "masterAuth", "controlPlaneEndpointsConfig")}


class Cloud(pulumi.CustomResource):
    """One resource, sent as written: typed classes would translate keys and cost seconds of import."""

    def __init__(self, plan: CloudResource, *, opts: pulumi.ResourceOptions) -> None:
        unknown: dict[str, Any] = dict.fromkeys(_OUTPUTS.get(plan.token, ()))
        super().__init__(plan.token, plan.name, unknown | plan.inputs, opts)

    def output(self, name: str) -> pulumi.Output[Any]:
        value: pulumi.Output[Any] = getattr(self, name)
        return value


class Provider(pulumi.ProviderResource):
    """The stack's provider for Google Cloud. Every resource names its project itself."""

    def __init__(self) -> None:
        super().__init__("gcp", "gcp", {}, pulumi.ResourceOptions(version=PROVIDER_VERSION))


class _InCloud(pulumi.ComponentResource):
    """Type tokens are part of every child's URN: the class names below must never change."""

    def __init__(
        self,
        name: str,
        plan: CloudComponent,
        registered: dict[str, pulumi.CustomResource],
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__(f"inferfleet:components:{type(self).__name__}", name, None, opts)
        for resource in plan.resources:
            registered[resource.key] = Cloud(resource, opts=_options(self, resource, registered))
        self.register_outputs({})


class GkeNetwork(_InCloud):
    """A cluster's own network: subnetworks, the way out, and extra networks between GPUs."""


class GkeCluster(_InCloud):
    """A cluster without its accelerators: the account of its nodes, the control plane, the system pool."""


class GpuNodePool(_InCloud):
    """One pool of accelerators, and what only it needs."""


BY_KIND: dict[CloudKind, type[_InCloud]] = {
    "GkeNetwork": GkeNetwork,
    "GkeCluster": GkeCluster,
    "GpuNodePool": GpuNodePool,
}


def _options(
    parent: pulumi.ComponentResource, plan: CloudResource, registered: Mapping[str, pulumi.CustomResource]
) -> pulumi.ResourceOptions:
    return pulumi.ResourceOptions(
        parent=parent,
        depends_on=[registered[key] for key in plan.after],
        ignore_changes=list(plan.ignore) or None,
        # The engine refuses to delete or replace what is protected.
        protect=plan.protect or None,
        delete_before_replace=plan.delete_first or None,
        deleted_with=registered[plan.deleted_with] if plan.deleted_with else None,
        custom_timeouts=timeouts(plan.timeout),
    )
