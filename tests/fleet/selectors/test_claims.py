"""Selectors as conditions of claims: what moves into the claim of which device, and what is left out."""

import json
from pathlib import Path

import pytest

from inferfleet.documents.kinds.inference_class import InferenceClass
from inferfleet.fleet.selectors.claims import ClaimConditions, claim_conditions
from inferfleet.fleet.selectors.devices import Selectors
from inferfleet.fleet.selectors.expressions import InvalidSelector

TABLE = Path(__file__).parent / "kubernetes" / "results.jsonl"
ROWS = [json.loads(line) for line in TABLE.read_text().splitlines()]
HOPPER = 'device.attributes["gpu.nvidia.com"].architecture == "Hopper"'
RACK = InferenceClass.model_validate(
    {
        "metadata": {"name": "rack"},
        "spec": {
            "node": {"cpu": "208", "memory": "1872Gi"},
            "allocation": "DRA",
            "devices": [
                {
                    "name": "nic",
                    "driver": "dra.net",
                    "claim": "Synthetic",
                    "attributes": {"linkType": {"string": "tcpxo"}},
                },
                {
                    "name": "rdma",
                    "driver": "rdma.example",
                    "deviceClassName": "rdma.example",
                    "attributes": {"fast": {"bool": True}},
                },
                {
                    "name": "gpu",
                    "driver": "gpu.nvidia.com",
                    "deviceClassName": "gpu.nvidia.com",
                    "count": 8,
                    "attributes": {
                        "architecture": {"string": "Hopper"},
                        "acme.example/in": {"int": 1},
                        "slot": {"int": 1},
                    },
                    "capacity": {"memory": {"value": "81559Mi"}},
                },
            ],
        },
    }
)


def _claimed(expression: str) -> ClaimConditions:
    return claim_conditions(expression, RACK, devices={"gpu", "rdma"})


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        (HOPPER, HOPPER),
        ('attributes["gpu.nvidia.com/architecture"] == "Hopper"', HOPPER),
        ("attributes['gpu.nvidia.com/architecture'] == \"Hopper\"", HOPPER),
        (
            'capacity["gpu.nvidia.com/memory"].compareTo(quantity("75Gi")) >= 0',
            'device.capacity["gpu.nvidia.com"].memory.compareTo(quantity("75Gi")) >= 0',
        ),
        (
            '"gpu.nvidia.com/architecture" in attributes',
            '"architecture" in device.attributes["gpu.nvidia.com"]',
        ),
        (
            'attributes[?"gpu.nvidia.com/architecture"].orValue("") == "Hopper"',
            'device.attributes["gpu.nvidia.com"][?"architecture"].orValue("") == "Hopper"',
        ),
        ('attributes["acme.example/in"] == 1', 'device.attributes["acme.example"]["in"] == 1'),
        (
            'attributes["acme.example/in"] == 1 || device.driver == "x" // the old ones',
            'device.attributes["acme.example"]["in"] == 1 || device.driver == "x"',
        ),
        (
            'attributes["acme.example/in"] == 1 ? device.driver != "" : false',
            'device.attributes["acme.example"]["in"] == 1 ? device.driver != "" : false',
        ),
    ],
)
def test_a_condition_on_the_accelerator_is_asked_of_each_device(written: str, asked: str) -> None:
    assert _claimed(written) == ClaimConditions({"gpu": (asked,)})


def test_each_condition_goes_to_the_claim_of_its_device() -> None:
    written = (
        'attributes["gpu.nvidia.com/architecture"] == "Hopper" && // the GPU\n'
        'attributes["rdma.example/fast"] && device.driver != ""'
    )
    asked = {
        "gpu": (HOPPER, 'device.driver != ""'),
        "rdma": ('device.attributes["rdma.example"].fast',),
    }
    assert _claimed(written) == ClaimConditions(asked)


@pytest.mark.parametrize(
    "written",
    [
        f'({HOPPER} && attributes["rdma.example/fast"])',
        f'(({HOPPER})) && (attributes["rdma.example/fast"] && attributes["dra.net/linkType"] == "x")',
    ],
)
def test_conditions_are_taken_out_of_brackets(written: str) -> None:
    asked = _claimed(written).conditions
    assert {device: [text.strip("()") for text in texts] for device, texts in asked.items()} == {
        "gpu": [HOPPER],
        "rdma": ['device.attributes["rdma.example"].fast'],
    }


def test_a_choice_keeps_its_brackets_beside_other_conditions() -> None:
    choice = '(device.driver == "a" || device.driver == "b")'
    assert _claimed(f"{choice} && {HOPPER}").expression("gpu") == f"{choice} && {HOPPER}"


def test_an_optional_field_is_no_choice() -> None:
    optional = 'device.attributes["gpu.nvidia.com"].?architecture.orValue("") == "Hopper"'
    written = f'{optional} && attributes["dra.net/linkType"] == "x"'
    assert _claimed(written).conditions == {"gpu": (optional,)}


@pytest.mark.parametrize(
    ("condition", "why"),
    [
        ('attributes["dra.net/linkType"] == "tcpxo"', "it is about device nic, which is not claimed"),
        (
            '(attributes["dra.net/linkType"] == "x" || attributes["acme.example/in"] == 1)',
            "it is about devices gpu, nic, and a claim sees one",
        ),
        (
            'attributes.exists(key, key == "acme.example/in")',
            "it uses attributes of all devices otherwise than by one key",
        ),
        (
            'attributes["acme.example/" + "in"] == 1',
            "it uses attributes of all devices otherwise than by one key",
        ),
        (
            '["acme.example/in"].all(key, key in attributes)',
            "it looks up a key of attributes that is worked out, or written with escapes",
        ),
        (
            r'attributes["acme.example/\x69n"] == 1',
            "it looks up a key of attributes that is worked out, or written with escapes",
        ),
        ('attributes["gpu.nvidia.com/slot"] == 1', "the driver gpu.nvidia.com publishes no slot"),
        ('device.attributes["gpu.nvidia.com"].slot == 1', "the driver gpu.nvidia.com publishes no slot"),
        (
            'attributes["gpu.nvidia.com/form-factor"] == 1',
            "the driver gpu.nvidia.com publishes no form-factor",
        ),
        (
            "attributes['acme.example/\"in'] == 1",
            "it looks up a key of attributes that is worked out, or written with escapes",
        ),
        ('!("architecture" in attributes)', "'architecture' has no domain"),
        (
            '("acme.example" + "/in" in attributes)',
            "it uses attributes of all devices otherwise than by one key",
        ),
        (
            '"%s".format([device.driver]) == "x"',
            "it calls format, whose arguments only the API server checks",
        ),
        ('int("4") == 4', "it calls int, whose arguments only the API server checks"),
        ('.attributes["acme.example/in"] == 1', "it begins a name with a point"),
    ],
)
def test_what_a_claim_cannot_ask_is_left_out_and_said(condition: str, why: str) -> None:
    assert _claimed(f"{condition} && {HOPPER}") == ClaimConditions({"gpu": (HOPPER,)}, ((condition, why),))


def test_a_part_of_a_condition_is_looked_up_as_a_whole_one() -> None:
    written = '!("acme.example/in" in attributes) || "acme.example/in" in attributes'
    asked = '!("in" in device.attributes["acme.example"]) || "in" in device.attributes["acme.example"]'
    assert _claimed(written) == ClaimConditions({"gpu": (asked,)})


@pytest.mark.parametrize("written", ["device.driver ==", "`", 'capacity["gpu.nvidia.com/memory"] >= 75', "1"])
def test_what_is_no_selector_asks_nothing(written: str) -> None:
    assert _claimed(written) == ClaimConditions()


def test_every_condition_that_is_asked_is_one_of_kubernetes() -> None:
    """Over the flat maps no claim may ask anything, whatever else an expression has."""
    for row in ROWS:
        try:
            Selectors().check(row["expression"])
        except InvalidSelector:
            continue
        asked_of_all = _claimed(row["expression"])
        for asked in map(asked_of_all.expression, asked_of_all.conditions):
            Selectors().check(asked)
            assert "attributes[" not in asked.replace("device.attributes[", "")
