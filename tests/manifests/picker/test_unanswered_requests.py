"""What a picker starts with, and by which it sends no request of a route to any pod."""

from collections.abc import Callable
from typing import Any

import pytest

from inferfleet.api.kinds.inference_cluster import Serving
from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.manifests.picker.check import check_deployment
from inferfleet.profiles.table import profile

Make = Callable[..., ModelDeployment]
Serve = Callable[..., Serving]

GIE, ROUTER = "inference.networking.x-k8s.io/v1alpha1", "llm-d.ai/v1alpha1"
QUEUE = {"type": "queue-scorer"}
GRPC = {"type": "vllmgrpc-parser"}
TESTS = {"type": "header-based-testing-filter"}


def _said(document: ModelDeployment, serving: Serving, name: str) -> list[tuple[str, str, str, str]]:
    return [
        (one.severity, one.path.removeprefix("spec.endpointPicker.config."), one.what, one.next_step)
        for one in check_deployment(document, serving=serving, profile=profile(name))
    ]


def _config(api: str, *plugins: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"config": {"apiVersion": api, "kind": "EndpointPickerConfig", "plugins": [*plugins]} | fields}


@pytest.mark.parametrize(
    ("name", "config", "at"),
    [
        ("gie-1.5", _config(GIE, QUEUE, GRPC, parser={"pluginRef": "vllmgrpc-parser"}), "parser.pluginRef"),
        (
            "router-0.10",
            _config(ROUTER, QUEUE, requestHandler={"parsers": [{"pluginRef": "vllmgrpc-parser"}]}),
            "requestHandler.parsers[0].pluginRef",
        ),
    ],
)
def test_parsers_of_grpc_alone_are_warned_of_since_routes_are_http(
    deployment: Make, serving: Serve, name: str, config: dict[str, Any], at: str
) -> None:
    what = "vllmgrpc-parser reads gRPC alone, and requests of routes, which are HTTP, get status 400"
    step = "Write openai-parser, or remove it: the picker has parsers by itself"
    found = _said(deployment(endpointPicker=config), serving(), name)
    assert found == [("warning", at, what, step)]


def test_a_parser_of_grpc_beside_another_is_fine(deployment: Make, serving: Serve) -> None:
    both = {"parsers": [{"pluginRef": "vllmgrpc-parser"}, {"pluginRef": "openai-parser"}]}
    document = deployment(endpointPicker=_config(ROUTER, QUEUE, requestHandler=both))
    assert _said(document, serving(), "router-0.10") == []


@pytest.mark.parametrize(("name", "api"), [("gie-1.5", GIE), ("router-0.10", ROUTER)])
def test_a_filter_of_tests_is_warned_of_in_each_profile(
    deployment: Make, serving: Serve, name: str, api: str
) -> None:
    what = "mine lets no pod pass for requests without the header test-epp-endpoint-selection"
    step = "Remove it: it is for tests of pickers"
    named = [{"name": "default", "plugins": [{"pluginRef": "queue-scorer"}, {"pluginRef": "mine"}]}]
    own = _config(api, QUEUE, {**TESTS, "name": "mine"}, schedulingProfiles=named)
    assert _said(deployment(endpointPicker=own), serving(), name) == [
        ("warning", "schedulingProfiles[0].plugins[1].pluginRef", what, step)
    ]
    by_default = _config(api, QUEUE, {**TESTS, "name": "mine"})
    assert _said(deployment(endpointPicker=by_default), serving(), name) == [
        ("warning", "plugins[1].type", what, step)
    ]
