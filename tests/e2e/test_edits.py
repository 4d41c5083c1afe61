"""Edits of a running fleet give exactly the operations they should, and nothing is ever replaced."""

from typing import Any

import pytest
from documents import deployment, east, service, west
from project import Project

L4 = "NVIDIA L4"
TWEAK = "demo-pod-tweaks"


def tweaked(value: str) -> list[dict[str, Any]]:
    return [{"name": TWEAK, "config": {"env": [{"name": "LEVEL", "value": value}]}}]


@pytest.fixture
def fleet(standing: Project) -> Project:
    """`spread` on both clusters with a plugin, `one` and `two` on east, and a service over all three.

    Made from nothing for the first test, and for the others of what the one before left.
    """
    standing.begin(
        clusters=[east(), west()],
        spread=[deployment("spread", replicas=2, gpu=L4, plugins=tweaked("INFO"))],
        one=[deployment("one", on="east")],
        two=[deployment("two", on="east")],
        chat=[service("chat", one=1, two=1, spread=2)],
    )
    done = standing.up()
    assert done.code == 0, done.output
    return standing


def test_a_replica_more_is_an_update_of_its_workload_or_the_objects_of_a_new_placement(
    fleet: Project,
) -> None:
    fleet.write("one", deployment("one", on="east", replicas=2))
    done = fleet.up()
    assert done.code == 0, done.output
    assert done.operations == {
        "Deployment east/ml/one-decode-l4": "update",
        "PodDisruptionBudget east/ml/one-decode": "create",
    }
    assert done.changed["Deployment east/ml/one-decode-l4"] == ("spec.replicas",)

    fleet.write("one", deployment("one", replicas=3, gpu=L4))
    done = fleet.up()
    assert done.code == 0, done.output
    new = {name for name, op in done.operations.items() if op == "create"}
    assert new == {
        "ModelEndpoint west/ml/one",
        "ServiceAccount west/ml/one-epp",
        "Role west/ml/one-epp",
        "RoleBinding west/ml/one-epp",
        "ClusterRole west/inferfleet:ml:one:epp",
        "ClusterRoleBinding west/inferfleet:ml:one:epp",
        "InferencePool west/ml/one",
        "Deployment west/ml/one-epp",
        "Service west/ml/one-epp",
        "HTTPRoute west/ml/one",
        "ModelReplicas west/ml/one-l4",
        "Deployment west/ml/one-decode-l4",
    }
    assert {name: op for name, op in done.operations.items() if name not in new} == {
        "HTTPRoute west/ml/chat-svc": "update"
    }


def test_a_plugin_config_updates_the_workloads_of_that_deployment_alone(fleet: Project) -> None:
    fleet.write("spread", deployment("spread", replicas=2, gpu=L4, plugins=tweaked("DEBUG")))
    done = fleet.up()
    assert done.code == 0, done.output
    changed = (
        'metadata.annotations["inferfleet.dev/plugins"]',
        "spec.template.spec.containers[0].env[1].value",
    )
    assert done.changed == {
        "Deployment east/ml/spread-decode-l4": changed,
        "Deployment west/ml/spread-decode-l4": changed,
    }
    assert set(done.operations.values()) == {"update"}


def test_an_image_rolls_one_placement_after_the_other(fleet: Project) -> None:
    fleet.write(
        "spread",
        deployment(
            "spread", replicas=2, gpu=L4, plugins=tweaked("INFO"), image="docker.io/vllm/vllm-openai:v0.33.0"
        ),
    )
    done = fleet.up()
    assert done.code == 0, done.output
    east, west = "Deployment east/ml/spread-decode-l4", "Deployment west/ml/spread-decode-l4"
    assert done.operations == {east: "update", west: "update"}
    assert done.timeline == (f"start {east}", f"done {east}", f"start {west}", f"done {west}")


def test_a_picker_config_updates_its_deployment_alone(fleet: Project) -> None:
    config = {
        "apiVersion": "inference.networking.x-k8s.io/v1alpha1",
        "kind": "EndpointPickerConfig",
        "plugins": [{"type": "queue-scorer"}, {"type": "max-score-picker"}],
        "schedulingProfiles": [{"name": "default", "plugins": [{"pluginRef": "queue-scorer"}]}],
    }
    fleet.write("one", deployment("one", on="east", endpointPicker={"config": config}))
    done = fleet.up()
    assert done.code == 0, done.output
    assert done.operations == {"Deployment east/ml/one-epp": "update"}


def test_a_removed_deployment_takes_its_objects_and_nothing_else(fleet: Project) -> None:
    theirs = {
        name
        for name in fleet.state()
        if name.rpartition("/")[2] in ("two", "two-epp", "two-l4", "two-decode-l4")
    } | {"ClusterRole east/inferfleet:ml:two:epp", "ClusterRoleBinding east/inferfleet:ml:two:epp"}
    assert len(theirs) == 12
    (fleet.documents / "two.yaml").unlink()
    fleet.write("chat", service("chat", one=1, spread=2))
    done = fleet.up()
    assert done.code == 0, done.output
    assert done.operations == {
        **dict.fromkeys(theirs, "delete"),
        "HTTPRoute east/ml/chat-svc": "update",
    }


RENAMED = '''
from dataclasses import replace

import inferfleet.components.objects
from inferfleet.components.objects import ModelReplicas, ModelService
import pulumi

class Replicas(ModelReplicas):
    """Another type token: its name is part of every child's URN."""

    def __init__(self, plan, inputs, opts):
        old = pulumi.Alias(type_="inferfleet:components:ModelReplicas")
        opts = pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(aliases=[old]))
        super().__init__(plan, inputs, opts)

class Renamed(ModelService):
    """Another Pulumi name under the old type token."""

    def __init__(self, plan, inputs, opts):
        old = pulumi.Alias(name=plan.name)
        opts = pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(aliases=[old]))
        super().__init__(replace(plan, name="renamed/" + plan.name), inputs, opts)

Renamed.__name__ = "ModelService"
inferfleet.components.objects.BY_KIND.update(ModelReplicas=Replicas, ModelService=Renamed)
'''


# The last one: without the aliases, the names it leaves in the state are those of other resources.
def test_a_name_or_type_token_changed_in_code_with_an_alias_replaces_nothing(fleet: Project) -> None:
    with fleet.with_code(RENAMED):
        done = fleet.up()
    assert (done.code, done.operations) == (0, {}), done.output
    assert "ModelService renamed/east/ml/chat" in fleet.state()
    assert "Replicas east/ml/one-l4" in fleet.state()
