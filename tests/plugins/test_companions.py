"""Objects beside a workload: their names and namespace, and what may not be among them."""

from typing import Any

import pytest
from running import mine, outcome_of, ran

from inferfleet.api.kinds.plugin_spec import PluginSpec
from inferfleet.plugins import contract
from inferfleet.plugins.contract import Edited, Request
from inferfleet.plugins.link import Link
from inferfleet.plugins.registry import Registry


def link(name: str) -> Link:
    return Link(PluginSpec(name=name), "deployment", "ModelDeployment", "ml/web")


def only(edit: contract.Edit) -> Registry:
    """A registry whose one plugin, `mine`, does this."""
    return Registry((mine(edit),))


def _ranks(**metadata: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"ranks": "[]"}}


def _beside(*companions: dict[str, Any]) -> contract.Edit:
    return lambda template, request, config: Edited(template, companions)


def test_companions_get_the_namespace_of_their_workload(
    generated: dict[str, Any], pod_request: Request
) -> None:
    registry = only(_beside(_ranks(name="web-decode-h100-mine", labels={"a": "b"})))
    # Asked for twice, they are the same object.
    outcome = outcome_of(generated, pod_request, [link("mine"), link("mine")], registry)
    assert outcome.companions == (_ranks(name="web-decode-h100-mine", namespace="ml", labels={"a": "b"}),)
    assert [one.companions for one in outcome.steps] == [("ConfigMap web-decode-h100-mine",)] * 2
    assert outcome.template == generated


@pytest.mark.parametrize(
    ("companion", "said"),
    [
        (
            _ranks(name="ranks"),
            "the companion ConfigMap is named ranks, but it must be named web-decode-h100-mine",
        ),
        (_ranks(), "is named None"),
        ({"kind": "ConfigMap"}, "must be an object with apiVersion and kind"),
        (_ranks(name="web-decode-h100-mine", namespace="other"), "is in namespace other"),
        (
            _ranks(name="web-decode-h100-mine", labels={"inferfleet.dev/stack": "x"}),
            "has the label inferfleet.dev/stack, which only the system sets",
        ),
        ({**_ranks(name="web-decode-h100-mine"), "data": {1}}, "in a companion, data is {1}"),
    ],
)
def test_a_companion_that_cannot_stand_there_is_refused(
    generated: dict[str, Any], pod_request: Request, companion: dict[str, Any], said: str
) -> None:
    outcome, (problem,) = ran(generated, pod_request, [link("mine")], only(_beside(companion)))
    assert said in problem.what
    assert outcome.companions == ()


def test_two_different_companions_of_one_name_clash(generated: dict[str, Any], pod_request: Request) -> None:
    first = _ranks(name="web-decode-h100-mine")
    registry = only(_beside(first, {**first, "data": {}}))
    _, (problem,) = ran(generated, pod_request, [link("mine")], registry)
    assert "clashes with another of that name" in problem.what
