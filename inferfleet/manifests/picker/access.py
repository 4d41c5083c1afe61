"""Permissions of an endpoint picker on its cluster: an account, and roles no wider than it needs."""

from collections.abc import Mapping, Sequence
from typing import Any

from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.fleet import names
from inferfleet.manifests.metadata import metadata
from inferfleet.profiles.profile import Profile

_RBAC = "rbac.authorization.k8s.io"
_READ = ("get", "list", "watch")
_POOLS, _OBJECTIVES = ["inferencepools"], ["inferenceobjectives", "inferencemodelrewrites"]


def account(*, deployment: ModelDeployment, stack: str, revision: str) -> dict[str, Any]:
    """Return the ServiceAccount."""
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": _metadata(deployment, stack, revision),
    }


def role(*, deployment: ModelDeployment, profile: Profile, stack: str, revision: str) -> dict[str, Any]:
    """Return rights to read pods, pool and objectives; with several replicas also to elect a leader.

    A request to create has no name that RBAC could compare, so that right is for any Lease and Event of the
    namespace. A list or watch has one where it selects by `metadata.name`, as pickers do with their pool
    (pkg/epp/server/controller_manager.go of all releases).
    """
    key = deployment.metadata.key
    rules = [
        _rule("", ["pods"], *_READ),
        _rule(profile.pool_group, _POOLS, *_READ, only=[names.inference_pool(key, revision)]),
        *(_rule(group, _OBJECTIVES, *_READ) for group in profile.objective_groups),
    ]
    if deployment.spec.endpoint_picker.replicas > 1:
        lease = names.epp_lease(key, revision, profile.lease_suffix)
        rules += [
            _rule("coordination.k8s.io", ["leases"], "create"),
            _rule("coordination.k8s.io", ["leases"], "get", "update", only=[lease]),
            _rule("", ["events"], "create", "patch"),
        ]
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "Role",
        "metadata": _metadata(deployment, stack, revision),
        "rules": rules,
    }


def pool_of(role: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return group and name of the InferencePool that a picker with this role reads, None for others."""
    for rule in role.get("rules") or ():
        if rule.get("resources") == _POOLS and rule.get("resourceNames"):
            return rule["apiGroups"][0], rule["resourceNames"][0]
    return None


def objective_groups(role: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the API groups in which a picker with this role looks for objectives, in its order."""
    rules = role.get("rules") or ()
    return tuple(rule["apiGroups"][0] for rule in rules if rule.get("resources") == _OBJECTIVES)


def role_binding(*, deployment: ModelDeployment, stack: str, revision: str) -> dict[str, Any]:
    """Return the binding of the role to the account."""
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "RoleBinding",
        "metadata": _metadata(deployment, stack, revision),
        **_binds(deployment, "Role", names.epp(deployment.metadata.key, revision), revision),
    }


def cluster_role(*, deployment: ModelDeployment, stack: str, revision: str) -> dict[str, Any]:
    """Return rights to check who reads the picker's metrics, and whether they may."""
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "ClusterRole",
        "metadata": _cluster_metadata(deployment, stack, revision),
        "rules": [
            _rule("authentication.k8s.io", ["tokenreviews"], "create"),
            _rule("authorization.k8s.io", ["subjectaccessreviews"], "create"),
        ],
    }


def cluster_role_binding(*, deployment: ModelDeployment, stack: str, revision: str) -> dict[str, Any]:
    """Return the binding of the cluster role to the account."""
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": _cluster_metadata(deployment, stack, revision),
        **_binds(
            deployment, "ClusterRole", names.epp_cluster_scoped(deployment.metadata.key, revision), revision
        ),
    }


def _metadata(deployment: ModelDeployment, stack: str, revision: str) -> dict[str, Any]:
    key = deployment.metadata.key
    return metadata(
        names.epp(key, revision), stack=stack, namespace=deployment.metadata.namespace, deployment=key
    )


def _cluster_metadata(deployment: ModelDeployment, stack: str, revision: str) -> dict[str, Any]:
    key = deployment.metadata.key
    return metadata(names.epp_cluster_scoped(key, revision), stack=stack, deployment=key)


def _binds(deployment: ModelDeployment, kind: str, name: str, revision: str) -> dict[str, Any]:
    subject = {
        "kind": "ServiceAccount",
        "name": names.epp(deployment.metadata.key, revision),
        "namespace": deployment.metadata.namespace,
    }
    return {"roleRef": {"apiGroup": _RBAC, "kind": kind, "name": name}, "subjects": [subject]}


def _rule(group: str, resources: list[str], *verbs: str, only: Sequence[str] = ()) -> dict[str, Any]:
    named = {"resourceNames": list(only)} if only else {}
    return {"apiGroups": [group], "resources": resources, **named, "verbs": list(verbs)}
