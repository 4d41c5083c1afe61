"""Names are state: a changed one replaces what runs. This table is what deployed stacks already have."""

from pathlib import Path

from inferfleet.desired import desired
from inferfleet.documents.loading.stack import load_stack
from inferfleet.fleet.lock.lock import Lock

ROOT = Path(__file__).parents[2]

URNS = {
    ("ServingStack", "east"): [
        ("kubernetes:core/v1:Namespace", "east/inferfleet-system"),
        ("kubernetes:core/v1:Namespace", "east/ml"),
        ("kubernetes:gateway.networking.k8s.io/v1:Gateway", "east/inferfleet-system/inferfleet"),
    ],
    ("ModelEndpoint", "east/ml/gemma3-4b"): [
        ("kubernetes:core/v1:ServiceAccount", "east/ml/gemma3-4b-epp"),
        ("kubernetes:rbac.authorization.k8s.io/v1:Role", "east/ml/gemma3-4b-epp"),
        ("kubernetes:rbac.authorization.k8s.io/v1:RoleBinding", "east/ml/gemma3-4b-epp"),
        ("kubernetes:rbac.authorization.k8s.io/v1:ClusterRole", "east/inferfleet:ml:gemma3-4b:epp"),
        ("kubernetes:rbac.authorization.k8s.io/v1:ClusterRoleBinding", "east/inferfleet:ml:gemma3-4b:epp"),
        ("kubernetes:inference.networking.k8s.io/v1:InferencePool", "east/ml/gemma3-4b"),
        ("kubernetes:core/v1:Service", "east/ml/gemma3-4b-epp"),
        ("kubernetes:networking.istio.io/v1:DestinationRule", "east/ml/gemma3-4b-epp"),
        ("kubernetes:apps/v1:Deployment", "east/ml/gemma3-4b-epp"),
        ("kubernetes:gateway.networking.k8s.io/v1:HTTPRoute", "east/ml/gemma3-4b"),
    ],
    ("ModelEndpoint", "east/ml/qwen3-32b"): [
        ("kubernetes:core/v1:ServiceAccount", "east/ml/qwen3-32b-epp"),
        ("kubernetes:rbac.authorization.k8s.io/v1:Role", "east/ml/qwen3-32b-epp"),
        ("kubernetes:rbac.authorization.k8s.io/v1:RoleBinding", "east/ml/qwen3-32b-epp"),
        ("kubernetes:rbac.authorization.k8s.io/v1:ClusterRole", "east/inferfleet:ml:qwen3-32b:epp"),
        ("kubernetes:rbac.authorization.k8s.io/v1:ClusterRoleBinding", "east/inferfleet:ml:qwen3-32b:epp"),
        ("kubernetes:inference.networking.k8s.io/v1:InferencePool", "east/ml/qwen3-32b"),
        ("kubernetes:core/v1:Service", "east/ml/qwen3-32b-epp"),
        ("kubernetes:networking.istio.io/v1:DestinationRule", "east/ml/qwen3-32b-epp"),
        ("kubernetes:apps/v1:Deployment", "east/ml/qwen3-32b-epp"),
        ("kubernetes:gateway.networking.k8s.io/v1:HTTPRoute", "east/ml/qwen3-32b"),
    ],
    ("ModelEndpoint", "east/ml/qwen3-8b"): [
        ("kubernetes:core/v1:ServiceAccount", "east/ml/qwen3-8b-epp"),
        ("kubernetes:rbac.authorization.k8s.io/v1:Role", "east/ml/qwen3-8b-epp"),
        ("kubernetes:rbac.authorization.k8s.io/v1:RoleBinding", "east/ml/qwen3-8b-epp"),
        ("kubernetes:rbac.authorization.k8s.io/v1:ClusterRole", "east/inferfleet:ml:qwen3-8b:epp"),
        ("kubernetes:rbac.authorization.k8s.io/v1:ClusterRoleBinding", "east/inferfleet:ml:qwen3-8b:epp"),
        ("kubernetes:inference.networking.k8s.io/v1:InferencePool", "east/ml/qwen3-8b"),
        ("kubernetes:core/v1:Service", "east/ml/qwen3-8b-epp"),
        ("kubernetes:networking.istio.io/v1:DestinationRule", "east/ml/qwen3-8b-epp"),
        ("kubernetes:apps/v1:Deployment", "east/ml/qwen3-8b-epp"),
        ("kubernetes:gateway.networking.k8s.io/v1:HTTPRoute", "east/ml/qwen3-8b"),
    ],
    ("ModelReplicas", "east/ml/gemma3-4b-l4"): [
        ("kubernetes:apps/v1:Deployment", "east/ml/gemma3-4b-decode-l4"),
    ],
    ("ModelReplicas", "east/ml/qwen3-32b-l4"): [
        ("kubernetes:apps/v1:Deployment", "east/ml/qwen3-32b-decode-l4"),
    ],
    ("ModelReplicas", "east/ml/qwen3-8b-l4"): [
        ("kubernetes:apps/v1:Deployment", "east/ml/qwen3-8b-decode-l4"),
    ],
    ("ModelService", "east/ml/chat"): [
        ("kubernetes:gateway.networking.k8s.io/v1:HTTPRoute", "east/ml/chat-svc"),
    ],
    ("ServingStack", "west"): [
        ("kubernetes:core/v1:Namespace", "west/inferfleet-system"),
        ("kubernetes:core/v1:Namespace", "west/ml"),
        ("kubernetes:gateway.networking.k8s.io/v1:Gateway", "west/inferfleet-system/inferfleet"),
    ],
    ("ModelEndpoint", "west/ml/deepseek-r1"): [
        ("kubernetes:core/v1:ServiceAccount", "west/ml/deepseek-r1-epp"),
        ("kubernetes:rbac.authorization.k8s.io/v1:Role", "west/ml/deepseek-r1-epp"),
        ("kubernetes:rbac.authorization.k8s.io/v1:RoleBinding", "west/ml/deepseek-r1-epp"),
        ("kubernetes:rbac.authorization.k8s.io/v1:ClusterRole", "west/inferfleet:ml:deepseek-r1:epp"),
        ("kubernetes:rbac.authorization.k8s.io/v1:ClusterRoleBinding", "west/inferfleet:ml:deepseek-r1:epp"),
        ("kubernetes:inference.networking.k8s.io/v1:InferencePool", "west/ml/deepseek-r1"),
        ("kubernetes:core/v1:Service", "west/ml/deepseek-r1-epp"),
        ("kubernetes:networking.istio.io/v1:DestinationRule", "west/ml/deepseek-r1-epp"),
        ("kubernetes:apps/v1:Deployment", "west/ml/deepseek-r1-epp"),
        ("kubernetes:gateway.networking.k8s.io/v1:HTTPRoute", "west/ml/deepseek-r1"),
    ],
    ("ModelEndpoint", "west/ml/gemma3-4b"): [
        ("kubernetes:core/v1:ServiceAccount", "west/ml/gemma3-4b-epp"),
        ("kubernetes:rbac.authorization.k8s.io/v1:Role", "west/ml/gemma3-4b-epp"),
        ("kubernetes:rbac.authorization.k8s.io/v1:RoleBinding", "west/ml/gemma3-4b-epp"),
        ("kubernetes:rbac.authorization.k8s.io/v1:ClusterRole", "west/inferfleet:ml:gemma3-4b:epp"),
        ("kubernetes:rbac.authorization.k8s.io/v1:ClusterRoleBinding", "west/inferfleet:ml:gemma3-4b:epp"),
        ("kubernetes:inference.networking.k8s.io/v1:InferencePool", "west/ml/gemma3-4b"),
        ("kubernetes:core/v1:Service", "west/ml/gemma3-4b-epp"),
        ("kubernetes:networking.istio.io/v1:DestinationRule", "west/ml/gemma3-4b-epp"),
        ("kubernetes:apps/v1:Deployment", "west/ml/gemma3-4b-epp"),
        ("kubernetes:gateway.networking.k8s.io/v1:HTTPRoute", "west/ml/gemma3-4b"),
    ],
    ("ModelReplicas", "west/ml/deepseek-r1-h100"): [
        ("kubernetes:apps/v1:Deployment", "west/ml/deepseek-r1-decode-h100"),
    ],
    ("ModelReplicas", "west/ml/gemma3-4b-l4"): [
        ("kubernetes:apps/v1:Deployment", "west/ml/gemma3-4b-decode-l4"),
    ],
}


def test_components_and_objects_of_the_local_stack_have_exactly_these_types_and_names() -> None:
    documents, _ = load_stack(ROOT, "local")
    found = desired(documents, Lock(stack="local"))
    assert {
        (component.kind, component.name): [(one.token, one.name) for one in component.objects]
        for cluster in found.clusters
        for component in cluster.components
    } == URNS


def test_providers_of_the_local_stack_have_exactly_these_identities() -> None:
    documents, _ = load_stack(ROOT, "local")
    found = desired(documents, Lock(stack="local"))
    assert {one.connection.cluster: one.connection.identifier for one in found.clusters} == {
        "east": "existing/east",
        "west": "existing/west",
    }


def test_namespaces_outlive_the_stack_and_nothing_else_does() -> None:
    documents, _ = load_stack(ROOT, "local")
    found = desired(documents, Lock(stack="local"))
    kept = {one.kind for cluster in found.clusters for one in cluster.objects if one.retain}
    gone = {one.kind for cluster in found.clusters for one in cluster.objects if not one.retain}
    assert (kept, "Namespace" in gone) == ({"Namespace"}, False)
