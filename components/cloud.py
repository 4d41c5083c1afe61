"""The components whose children are resources of Google Cloud. None decides what they are.

Resources are of `pulumi_gcp`'s own classes. They take our inputs as they are, but for the names at the top,
which are Python's there. Importing them takes a second and more, so only a stack with such clusters imports
this module.
"""

import inspect
import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, cast

import pulumi
from pulumi_gcp import compute, container, projects, serviceaccount, storage

from inferfleet.cloud.values import PROJECT_NUMBER, CloudComponent, CloudResource
from inferfleet.components.objects import register_standing, timeouts
from inferfleet.desired.values import COMPONENTS
from inferfleet.tables.gke import PROVIDER_VERSION

CLASSES: Mapping[str, type[pulumi.CustomResource]] = {
    "gcp:compute/firewall:Firewall": compute.Firewall,
    "gcp:compute/network:Network": compute.Network,
    "gcp:compute/resourcePolicy:ResourcePolicy": compute.ResourcePolicy,
    "gcp:compute/router:Router": compute.Router,
    "gcp:compute/routerNat:RouterNat": compute.RouterNat,
    "gcp:compute/subnetwork:Subnetwork": compute.Subnetwork,
    "gcp:container/cluster:Cluster": container.Cluster,
    "gcp:container/nodePool:NodePool": container.NodePool,
    "gcp:projects/iAMMember:IAMMember": projects.IAMMember,
    "gcp:serviceaccount/account:Account": serviceaccount.Account,
    "gcp:storage/bucket:Bucket": storage.Bucket,
    "gcp:storage/bucketIAMMember:BucketIAMMember": storage.BucketIAMMember,
}


class Provider(pulumi.ProviderResource):
    """The Fleet's provider for Google Cloud. Every resource names its project itself.

    That of `pulumi_gcp` would take a project, a region and a zone from the process environment for inputs.
    """

    def __init__(self, parent: pulumi.Resource, prefix: str) -> None:
        options = pulumi.ResourceOptions(parent=parent, version=PROVIDER_VERSION)
        super().__init__("gcp", f"{prefix}gcp", {}, options)


class _InCloud(pulumi.ComponentResource):
    """Type tokens are part of every child's URN: the class names below must never change."""

    def __init__(
        self,
        plan: CloudComponent,
        registered: dict[str, pulumi.CustomResource],
        opts: pulumi.ResourceOptions,
        *,
        prefix: str,
        after: Sequence[pulumi.Resource] = (),
    ) -> None:
        super().__init__(f"{COMPONENTS}{type(self).__name__}", prefix + plan.name, None, opts)
        for planned in plan.resources:
            options = _options(self, planned, registered, after)
            registered[planned.key] = resource(planned, registered, prefix=prefix, opts=options)
        register_standing(self, plan.standing, prefix)
        self.register_outputs({})


class GkeNetwork(_InCloud):
    """A cluster's own network: subnetworks, the way out, and extra networks between GPUs."""


class GkeCluster(_InCloud):
    """A cluster without its accelerators: the account of its nodes, the control plane, the system pool."""


class GpuNodePool(_InCloud):
    """One pool of accelerators, and what only it needs."""


class WeightsBucket(_InCloud):
    """A bucket for the weights of a namespace in a region, and who reads and writes it."""


BY_KIND: dict[str, type[_InCloud]] = {
    "GkeNetwork": GkeNetwork,
    "GkeCluster": GkeCluster,
    "GpuNodePool": GpuNodePool,
    "WeightsBucket": WeightsBucket,
}


def resource(
    plan: CloudResource,
    registered: Mapping[str, pulumi.CustomResource],
    *,
    prefix: str,
    opts: pulumi.ResourceOptions,
) -> pulumi.CustomResource:
    """Register one resource with the inputs of the plan."""
    inputs: dict[str, Any] = {argument(name): value for name, value in plan.inputs.items()}
    if plan.project_number_of:
        bucket = cast(storage.Bucket, registered[plan.project_number_of])
        inputs["member"] = bucket.project_number.apply(partial(_with_number, inputs["member"]))
    return CLASSES[plan.token](prefix + plan.name, opts=opts, **inputs)


def _with_number(member: str, number: int) -> str:
    return member.replace(PROJECT_NUMBER, str(int(number)))


def unknown_inputs(plan: CloudComponent) -> list[str]:
    """Return the inputs of its resources that the installed provider has no argument for, in words.

    Only those that documents pass on can be such: what inferfleet decides is held by a test.
    """
    return [
        f"{planned.title} has {name}"
        for planned in plan.resources
        for name in planned.inputs
        if argument(name) not in _arguments(planned.token)
    ]


def _arguments(token: str) -> frozenset[str]:
    """Return the inputs of a class by their Python names. Its signature says nothing: it is overloaded."""
    return frozenset(inspect.signature(CLASSES[token]._internal_init).parameters)  # type: ignore[attr-defined]


def argument(name: str) -> str:
    """Return the Python name of an input by its name on the wire: `nodeConfig` is `node_config`."""
    return re.sub("(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def _options(
    parent: pulumi.ComponentResource,
    plan: CloudResource,
    registered: Mapping[str, pulumi.CustomResource],
    after: Sequence[pulumi.Resource],
) -> pulumi.ResourceOptions:
    return pulumi.ResourceOptions(
        parent=parent,
        depends_on=[*after, *(registered[key] for key in plan.after)],
        ignore_changes=list(plan.ignore) or None,
        # The engine refuses to delete or replace what is protected.
        protect=plan.protect or None,
        retain_on_delete=plan.retain or None,
        delete_before_replace=plan.delete_first or None,
        deleted_with=registered[plan.deleted_with] if plan.deleted_with else None,
        custom_timeouts=timeouts(plan.timeout),
    )
