"""Manifest: any Kubernetes object, registered from its dict, key for key."""

from collections.abc import Mapping, Sequence
from typing import Any

import pulumi

from inferfleet.components.listening import while_awaited
from inferfleet.desired.values import KubeObject, Listen

SecretValues = Mapping[tuple[str, str], Mapping[str, pulumi.Output[str]]]  # (namespace, name) -> key -> value


class Manifest(pulumi.CustomResource):
    """One object, sent as it is.

    It is no class of `pulumi_kubernetes`, as resources of Google Cloud are classes of `pulumi_gcp`. Those of
    InferencePools, HTTPRoutes and the objects that plugins add do not exist, so there would be two ways to
    register an object; a Deployment in a class costs twice the time of a dict (5.2 s against 2.6 s for a
    thousand), half of it to turn answers of the engine into objects that nobody reads; and what reviews,
    dry runs and tests have seen is this dict, key for key. To the engine, its provider and policy packs the
    resource is the same: the type token says which kind it is.

    `values` are the encoded data of a Secret; the manifest of a Secret never holds any.
    """

    status: pulumi.Output[Any]  # only of Gateways

    def __init__(
        self,
        plan: KubeObject,
        *,
        values: Mapping[str, pulumi.Output[str]] | None = None,
        opts: pulumi.ResourceOptions,
    ) -> None:
        props = dict(plan.manifest)
        if plan.kind == "Gateway":
            # Not sent: an empty property is an output that the engine's answer resolves.
            props["status"] = None
        if values is not None:
            props["data"] = dict(values)
        super().__init__(plan.token, plan.name, props, opts)


def register(
    parent: pulumi.ComponentResource,
    objects: Sequence[KubeObject],
    *,
    registered: dict[str, pulumi.CustomResource],
    untouched: bool,
    secrets: SecretValues | None = None,
    listen: Listen | None = None,
) -> None:
    """Register `objects` under `parent` and add them to `registered` by key.

    `listen` listens to the pods of those that are `heard` while they are awaited. `untouched` ignores all
    changes: on a cluster that does not answer, an edit must not become a call.
    """
    for plan in objects:
        registered[plan.key] = Manifest(
            plan,
            values=(secrets or {}).get((plan.namespace or "", plan.kubernetes_name))
            if plan.kind == "Secret"
            else None,
            opts=pulumi.ResourceOptions(
                parent=parent,
                depends_on=[registered[key] for key in plan.after],
                retain_on_delete=plan.retain or None,
                ignore_changes=["*"] if untouched else list(plan.ignore) or None,
                deleted_with=registered[plan.deleted_with] if plan.deleted_with else None,
                custom_timeouts=timeouts(plan.timeout),
                hooks=while_awaited(plan, listen) if listen and plan.heard and not untouched else None,
            ),
        )


def timeouts(seconds: int | None) -> pulumi.CustomTimeouts | None:
    """Return the timeouts of creation and update, or None for the provider's own."""
    return pulumi.CustomTimeouts(create=f"{seconds}s", update=f"{seconds}s") if seconds else None
