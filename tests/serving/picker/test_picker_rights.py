"""What endpoint pickers may do on a cluster and in their containers, and how profiles differ in it."""

from collections.abc import Callable
from typing import Any

from inferfleet.documents.kinds.inference_cluster import Serving
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.serving import picker as endpoint_picker
from inferfleet.tables.pickers import profile

Make = Callable[..., ModelDeployment]
Serve = Callable[..., Serving]


def _role(document: ModelDeployment, serving: Serving, name: str = "gie-1.5") -> Any:
    picker = endpoint_picker.objects(
        endpoint_picker.Picker(
            deployment=document, serving=serving, profile=profile(name), stack="prod", replicas=1, drain=130
        )
    )
    (role,) = (made for made in picker.rights if made["kind"] == "Role")
    return role


def test_replicas_elect_a_leader_by_one_lease_and_may_change_no_other(
    deployment: Make, serving: Serve
) -> None:
    role = _role(deployment(endpointPicker={"replicas": 2}), serving())
    assert role["rules"][-3:] == [
        {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create"]},
        {
            "apiGroups": ["coordination.k8s.io"],
            "resources": ["leases"],
            "resourceNames": ["epp-ml-qwen.gateway-api-inference-extension.sigs.k8s.io"],
            "verbs": ["get", "update"],
        },
        {"apiGroups": [""], "resources": ["events"], "verbs": ["create", "patch"]},
    ]


def test_a_picker_of_another_release_has_rights_on_its_own_groups_and_lease(
    deployment: Make, serving: Serve
) -> None:
    role = _role(deployment(endpointPicker={"replicas": 2}), serving(), "router-0.10")
    assert [(rule["resources"], rule.get("resourceNames")) for rule in role["rules"]] == [
        (["pods"], None),
        (["inferencepools"], ["qwen"]),
        (["inferenceobjectives", "inferencemodelrewrites"], None),
        (["inferenceobjectives", "inferencemodelrewrites"], None),
        (["leases"], None),
        (["leases"], ["epp-ml-qwen.llm-d.ai"]),
        (["events"], None),
    ]
