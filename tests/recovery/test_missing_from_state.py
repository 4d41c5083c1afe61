"""What a state lacks, by what a preview would create."""

from typing import Any

from inferfleet.recovery.state import Missing, missing

_URN = "urn:pulumi:prod::inferfleet::"
STACK = f"{_URN}pulumi:pulumi:Stack::inferfleet-prod"
CLUSTER = f"{_URN}inferfleet:components:ExistingCluster::east"
PROVIDER = (
    "urn:pulumi:prod::inferfleet::inferfleet:components:ExistingCluster$pulumi:providers:kubernetes::east"
)
SECRET = (
    "urn:pulumi:prod::inferfleet::inferfleet:components:ServingStack$kubernetes:core/v1:Secret::east/ml/key"
)
PART = f"{_URN}inferfleet:components:ServingStack::east"


def _create(urn: str, *, parent: str = STACK, **more: Any) -> dict[str, Any]:
    values = {"urn": urn, "type": urn.split("::")[2].split("$")[-1], "parent": parent, **more}
    return {"op": "create", "urn": urn, "newState": {**values, "sourcePosition": "project:///x.py#1"}}


STEPS = [
    {"op": "same", "urn": STACK, "newState": {"urn": STACK}},
    _create(CLUSTER, custom=False),
    _create(PROVIDER, parent=CLUSTER, custom=True, inputs={"kubeconfig": "[secret]", "context": "a"}),
    _create(PART, custom=False),
    _create(
        SECRET,
        parent=PART,
        custom=True,
        provider=f"{PROVIDER}::0000",
        inputs={"kind": "Secret", "data": {"key": "[secret]"}, "metadata": {"name": "key"}},
    ),
]


def _state(*urns: str) -> dict[str, Any]:
    return {"version": 3, "deployment": {"resources": [{"urn": urn} for urn in urns]}}


def test_providers_come_first_with_the_components_that_they_are_in() -> None:
    lacking = missing(_state(STACK), {"steps": STEPS})
    assert (lacking.providers, lacking.operations) == ((CLUSTER, PROVIDER), ())


def test_what_is_of_somebody_else_is_not_missing() -> None:
    assert missing(_state(STACK), {"steps": STEPS}, lambda resource: resource.urn == CLUSTER) == Missing(
        (), (), ({"urn": CLUSTER, "type": CLUSTER.split("::")[2], "parent": STACK, "custom": False},)
    )


def test_a_provider_that_depends_on_what_is_not_there_yet_waits_for_it() -> None:
    waits = _create(PROVIDER, parent=CLUSTER, custom=True, propertyDependencies={"kubeconfig": [PART]})
    assert missing(_state(STACK), {"steps": [STEPS[1], waits]}).providers == ()
    assert missing(_state(STACK, PART), {"steps": [STEPS[1], waits]}).providers == (CLUSTER, PROVIDER)


def test_what_is_read_through_providers_is_an_operation_without_secrets() -> None:
    resource = {
        "urn": SECRET,
        "type": "kubernetes:core/v1:Secret",
        "parent": PART,
        "custom": True,
        "provider": f"{PROVIDER}::0000",
        "inputs": {"kind": "Secret", "data": {}, "metadata": {"name": "key"}},
    }
    component = {"urn": PART, "type": "inferfleet:components:ServingStack", "parent": STACK, "custom": False}
    assert missing(_state(STACK, CLUSTER, PROVIDER), {"steps": STEPS[3:]}) == Missing(
        (), ({"type": "creating", "resource": resource},), (component,)
    )
