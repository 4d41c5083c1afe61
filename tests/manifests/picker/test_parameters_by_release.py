"""Parameters that one release of llm-d-router takes and another refuses."""

from collections.abc import Callable
from typing import Any

import pytest

from inferfleet.api.kinds.inference_cluster import Serving
from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.manifests.picker.check import check_deployment
from inferfleet.profiles.table import picker

Make = Callable[..., ModelDeployment]
Serve = Callable[..., Serving]

SESSION = {"headerName": "x-chat", "profileName": "prefill"}
VALKEY = {"indexerConfig": {"kvBlockIndexConfig": {"valkeyConfig": {"address": "valkey:6379"}}}}
REPLAY = {"kvEventsConfig": {"podDiscoveryConfig": {"replaySocketPort": 5558}}}


def refused(deployment: Make, serving: Serve, release: str, type_: str, parameters: Any) -> list[str]:
    row = picker(release, disaggregated=False)
    config = {
        "apiVersion": row.config_api_versions[0],
        "kind": "EndpointPickerConfig",
        "plugins": [{"type": type_, "parameters": parameters}],
    }
    document = deployment(engine={"type": "vLLM"}, endpointPicker={"config": config})
    return [
        problem.what
        for problem in check_deployment(document, serving=serving("none"), profile=row)
        if "parameters" in problem.path
    ]


@pytest.mark.parametrize("kind", ["session-affinity-filter", "session-affinity-scorer"])
def test_a_session_is_of_a_profile_in_both_releases(deployment: Make, serving: Serve, kind: str) -> None:
    assert refused(deployment, serving, "llm-d-0.8", kind, SESSION) == []
    later = {"profileName": "prefill", "encodedEndpointHeaderConfig": {"header": "x-chat"}}
    assert refused(deployment, serving, "llm-d-0.9", kind, later) == []


@pytest.mark.parametrize(
    ("release", "parameters", "problems"),
    [
        ("llm-d-0.8", VALKEY, []),
        ("llm-d-0.8", REPLAY, ["precise-prefix-cache-producer has no field 'replaySocketPort'"]),
        ("llm-d-0.9", VALKEY, ["precise-prefix-cache-producer has no field 'valkeyConfig'"]),
        ("llm-d-0.9", REPLAY, []),
    ],
)
def test_an_index_of_caches_takes_what_its_release_has(
    deployment: Make, serving: Serve, release: str, parameters: Any, problems: list[str]
) -> None:
    kind = "precise-prefix-cache-producer"
    assert refused(deployment, serving, release, kind, parameters) == problems
