"""The JSON Schema for editors."""

import json
from typing import Any

from inferfleet.documents.loading.schema import json_schema, settings_schema


def test_a_document_is_one_of_the_kinds() -> None:
    schema = json_schema()
    kinds = ["InferenceClass", "InferenceCluster", "InferenceGateway", "ModelDeployment", "ModelService"]
    kinds += ["ModelCache", "Quota", "Policy", "Waiver"]
    assert schema["oneOf"] == [{"$ref": f"#/$defs/{kind}"} for kind in kinds]
    for kind in kinds:
        assert schema["$defs"][kind]["required"] == ["apiVersion", "kind", "metadata", "spec"]
        assert schema["$defs"][kind]["properties"]["kind"]["const"] == kind
        assert schema["$defs"][kind]["additionalProperties"] is False


def test_fields_have_their_written_names_and_rules_and_what_they_are_for() -> None:
    replace = json_schema()["$defs"]["Replace"]
    assert replace == {
        "title": "Replace",
        "description": "What may happen when a change would replace a node pool.",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "allow": {
                "type": "array",
                "items": {"type": "string"},
                "default": [],
                "description": "Fields whose change may replace a pool that holds replicas, such as "
                "`accelerator.type` or `capacity.model`. Default: none, so such a change is refused.",
            },
            "order": {
                "type": "string",
                "enum": ["CreateFirst", "DeleteFirst"],
                "default": "CreateFirst",
                "description": "`CreateFirst`: new nodes come before the old ones end, which needs capacity "
                "for both. `DeleteFirst`: old nodes end first, and there is a gap.",
            },
        },
    }


def test_numbers_have_their_limits() -> None:
    topology = json_schema()["$defs"]["Topology"]
    assert topology["required"] == ["tensor"]
    assert _rules(topology["properties"]) == {
        "tensor": {"type": "integer", "minimum": 1, "maximum": 1024},
        "pipeline": {"type": "integer", "minimum": 1, "maximum": 64, "default": 1},
        "data": {"type": "integer", "minimum": 1, "maximum": 512, "default": 1},
        "dataLocal": {"type": "integer", "minimum": 1, "maximum": 64, "default": 1},
        "attention": {"type": "integer", "minimum": 1, "maximum": 1024, "default": 1},
        "expert": {"type": "boolean", "default": False},
    }


def test_roles_are_at_most_eight_workers_by_name() -> None:
    roles = json_schema()["$defs"]["ModelDeploymentSpec"]["properties"]["roles"]
    assert _rules({"roles": roles}) == {
        "roles": {
            "type": "object",
            "additionalProperties": {"$ref": "#/$defs/Role"},
            "default": {},
            "maxProperties": 8,
        }
    }


def test_workers_have_one_template_or_one_for_each_position() -> None:
    workers = json_schema()["$defs"]["Workers"]
    assert workers["required"] == ["topology"]
    assert {"template", "entry", "follower"} < {*workers["properties"]}


def test_editors_know_how_a_cluster_and_its_pools_are_created() -> None:
    known = json_schema()["$defs"]
    assert known["Gke"]["required"] == ["project", "region"]
    assert known["GkeProvisioning"]["required"] == ["machineType"]
    assert _rules(known["Capacity"]["properties"]) == {
        "model": {
            "type": "string",
            "enum": ["OnDemand", "Spot", "FlexStart", "Queued", "Reservation"],
            "default": "OnDemand",
        },
        "reservation": {"anyOf": [{"$ref": "#/$defs/Reservation"}, {"type": "null"}], "default": None},
        "maxRunDuration": {
            "anyOf": [{"type": "string", "pattern": "^[0-9]{1,6}[smh]$"}, {"type": "null"}],
            "default": None,
        },
        "hostMaintenance": {
            "anyOf": [{"type": "string", "enum": ["Periodic", "AsNeeded"]}, {"type": "null"}],
            "default": None,
        },
    }


def test_it_is_plain_json() -> None:
    assert json.loads(json.dumps(json_schema(), allow_nan=False)) == json_schema()


def test_settings_have_the_names_that_people_write_and_secrets_their_values() -> None:
    settings = settings_schema()["properties"]
    assert list(settings) == [
        "documents",
        "locked",
        "unplaced",
        "objective",
        "await",
        "podSecurity",
        "trustRepositoryKubeconfigs",
        "plugins",
        "allowedPlugins",
        "secrets",
    ]
    values = {"type": "object", "additionalProperties": {"type": "string"}}
    assert settings["secrets"]["additionalProperties"] == values


def _rules(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        name: {key: value for key, value in rule.items() if key != "description"}
        for name, rule in properties.items()
    }
