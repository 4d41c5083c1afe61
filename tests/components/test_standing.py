"""What the engine says that stands, by the URNs of its state."""

import asyncio
from typing import Any

import pulumi
import pytest
from pulumi.runtime.proto import resource_pb2

from inferfleet.components import standing as components_standing
from inferfleet.components.standing import standing
from inferfleet.desired.values import Resource, Standing

FLEET = "urn:pulumi:prod::acme::inferfleet:components:Fleet"
STATE = {
    "urn:pulumi:prod::acme::pulumi:pulumi:Stack::acme-prod": {},
    f"{FLEET}::prod": {},
    f"{FLEET}::two": {},
    f"{FLEET}$pulumi:providers:kubernetes::two/east": {},
    f"{FLEET}$inferfleet:components:ModelEndpoint::two/east/ml/a": {},
    f"{FLEET}$inferfleet:components:ModelEndpoint$kubernetes:core/v1:Service::two/east/ml/a-epp": {"kind": 1},
    f"{FLEET}$inferfleet:components:ModelEndpoint$kubernetes:core/v1:Service::east/ml/a-epp": {},
    "urn:pulumi:prod::acme::aws:s3/bucket:Bucket::two/east": {},
}


def _standing(monkeypatch: pytest.MonkeyPatch, prefix: str) -> Standing:
    class Engine:
        def Invoke(self, request: Any) -> Any:  # noqa: N802 (the name of the call)
            assert request.acceptResources is False, "a reference would be looked up, which may fail"
            assert dict(request.args) == {"stackName": "org/acme/prod"}
            outputs = {urn: {"type": "any", "outputs": outputs} for urn, outputs in STATE.items()}
            answer = resource_pb2.ResourceInvokeResponse()
            getattr(answer, "return").update({"outputs": outputs})
            return answer

    for name, value in {"organization": "org", "project": "acme", "stack": "prod"}.items():
        monkeypatch.setattr(pulumi, f"get_{name}", lambda value=value: value)
    monkeypatch.setattr(components_standing, "get_monitor", Engine)
    return asyncio.run(standing(prefix))


def test_parts_of_a_fleet_stand_by_their_names_without_that_of_the_fleet(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert _standing(monkeypatch, "two/") == {
        Resource("", "inferfleet:components:ModelEndpoint", "east/ml/a"): {},
        Resource("ModelEndpoint", "kubernetes:core/v1:Service", "east/ml/a-epp"): {"kind": 1},
    }


def test_parts_of_other_fleets_are_none_of_the_stacks_own(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _standing(monkeypatch, "") == {
        Resource("ModelEndpoint", "kubernetes:core/v1:Service", "east/ml/a-epp"): {}
    }
