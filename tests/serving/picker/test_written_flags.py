"""Flags that are written for pickers, and those of documents that are refused, against the pickers' own."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from one_picker import picker as one_picker

from inferfleet.documents.kinds.inference_cluster import Serving
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.serving.picker import args
from inferfleet.serving.picker_check import flag_mistakes
from inferfleet.tables.engines import EngineType
from inferfleet.tables.pickers import picker as picker_row

Make = Callable[..., ModelDeployment]
Serve = Callable[..., Serving]

WORKERS = {
    "topology": {"tensor": 1},
    "template": {"spec": {"containers": [{"name": "engine", "image": "engine:1"}]}},
}


def _flags(name: str) -> set[str]:
    """Flags that `make tables` found in the sources of a picker."""
    return {*json.loads((Path(__file__).parent / f"{name}.json").read_text())["flags"]}


@pytest.mark.parametrize(
    ("profile", "disaggregated", "table"),
    [
        ("gie-1.5", False, "gie-1.5"),
        ("router-0.10", False, "router-0.10"),
        ("router-0.10", True, "router-0.10"),
        # Its flags are those of GIE.
        ("scheduler-0.7", True, "gie-1.5"),
    ],
)
def test_a_picker_has_every_flag_that_is_written_for_it(
    deployment: Make, serving: Serve, profile: str, disaggregated: bool, table: str
) -> None:
    row = picker_row(profile, disaggregated=disaggregated)
    apart = {"prefill": {"workers": WORKERS}} if disaggregated else {}
    engines = ("vLLM", "SGLang") if disaggregated else EngineType.__args__  # type: ignore[attr-defined]
    written = set()
    for engine in engines:
        for replicas in (1, 2):
            document = deployment(engine={"type": engine}, endpointPicker={"replicas": replicas}, **apart)
            for auth in (True, False):
                picker = one_picker(document, serving(metricsAuth=auth), profile=row.name, revision="abc123")
                words = args(picker)
                written |= {word.removeprefix("--").partition("=")[0] for word in words}
    assert written >= {"config-text", "ha-enable-leader-election", "refresh-metrics-interval"}
    assert written - _flags(table) == set()


def test_a_flag_that_is_refused_since_another_field_says_it_is_a_flag_of_a_picker() -> None:
    known = _flags("gie-1.5") | _flags("router-0.10")
    refused = {mistake.field_path[0] for mistake in flag_mistakes(dict.fromkeys(known, 8080))}
    assert refused == {
        "config-file",
        "config-text",
        "endpoint-selector",
        "endpoint-target-ports",
        "grpc-port",
        "ha-enable-leader-election",
        "metrics-endpoint-auth",
        "pool-group",
        "pool-name",
        "pool-namespace",
        "tracing",
    }
