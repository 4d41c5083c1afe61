"""The JSON Schema for editors."""

import json

from inferfleet.api.loading.schema import json_schema


def test_a_document_is_one_of_the_four_kinds() -> None:
    schema = json_schema()
    kinds = ["InferenceClass", "InferenceCluster", "ModelDeployment", "ModelService"]
    assert schema["oneOf"] == [{"$ref": f"#/$defs/{kind}"} for kind in kinds]
    for kind in kinds:
        assert schema["$defs"][kind]["required"] == ["apiVersion", "kind", "metadata", "spec"]
        assert schema["$defs"][kind]["properties"]["kind"]["const"] == kind
        assert schema["$defs"][kind]["additionalProperties"] is False


def test_fields_have_their_written_names_and_rules() -> None:
    topology = json_schema()["$defs"]["Topology"]
    assert topology == {
        "title": "Topology",
        "description": "GPUs per pod = tensor x dataLocal; pods per worker = pipeline x data / dataLocal.",
        "type": "object",
        "additionalProperties": False,
        "required": ["tensor"],
        "properties": {
            "tensor": {"type": "integer", "minimum": 1, "maximum": 64},
            "pipeline": {"type": "integer", "minimum": 1, "maximum": 64, "default": 1},
            "data": {"type": "integer", "minimum": 1, "maximum": 512, "default": 1},
            "dataLocal": {"type": "integer", "minimum": 1, "maximum": 64, "default": 1},
        },
    }


def test_what_is_not_yet_offered_is_absent() -> None:
    text = json.dumps(json_schema())
    assert [word for word in ("prefill", "Volcano", "Kueue") if word in text] == []


def test_editors_know_how_a_cluster_and_its_pools_are_created() -> None:
    known = json_schema()["$defs"]
    assert known["Gke"]["required"] == ["project", "region"]
    assert known["GkeProvisioning"]["required"] == ["machineType", "accelerator"]
    assert known["Capacity"]["properties"] == {
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
    }


def test_it_is_plain_json() -> None:
    assert json.loads(json.dumps(json_schema(), allow_nan=False)) == json_schema()
