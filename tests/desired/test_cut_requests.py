"""Whether pods that end abort requests is asked of the pods as they come out of the chain of plugins."""

from typing import Any

import pytest
from small_stack import NOTHING, cluster, deployment, stack

from inferfleet.api.problems import Problem
from inferfleet.desired import desired

ENGINE = {"image": "vllm/vllm-openai:v0.30.0", "command": ["vllm", "serve", "m"], "args": ["-tp=1"]}
ENGINE_ARGS = "engine-args"


def _warned(args: tuple[str, ...] = (), **spec: Any) -> list[tuple[str, str]]:
    engine = {**ENGINE, "args": [*ENGINE["args"], *args]}
    found = desired(
        stack(cluster("east"), cluster("west"), deployment("a", 4, engine=engine, **spec)), NOTHING
    )
    told = [warning for warning in found.warnings if isinstance(warning, Problem)]
    return [(one.path, one.next_step.partition(",")[0]) for one in told if "shutdown-timeout" in one.what]


CONTAINER = "spec.workers.template.spec.containers[0]"


@pytest.mark.parametrize(
    ("spec", "warned"),
    [
        ({}, [(CONTAINER, "Add --shutdown-timeout=90")]),
        ({"args": ("--shutdown-timeout=90",)}, []),
        ({"args": ("--shutdown-timeout=3600",)}, []),
        ({"pod": {"terminationGracePeriodSeconds": 60}}, [(CONTAINER, "Add --shutdown-timeout=20")]),
        (
            {"args": ("--shutdown-timeout=90",), "pod": {"terminationGracePeriodSeconds": 60}},
            [(f"{CONTAINER}.args[1]", "Write terminationGracePeriodSeconds: 130")],
        ),
        ({"plugins": [{"name": ENGINE_ARGS}]}, [(CONTAINER, "Add --shutdown-timeout=90")]),
        ({"plugins": [{"name": ENGINE_ARGS, "config": {"drain": True}}]}, []),
    ],
)
def test_a_deployment_is_warned_once_of_what_its_pods_would_abort(
    spec: dict[str, Any], warned: list[tuple[str, str]]
) -> None:
    assert _warned(**spec) == warned


@pytest.mark.parametrize(
    ("args", "picker", "spec", "seconds"),
    [
        ((), {"replicas": 2}, {}, ["125"]),
        (("--shutdown-timeout=300",), {"replicas": 2}, {}, ["335"]),
        (("--shutdown-timeout=3600",), {"replicas": 3}, {}, ["565"]),
        ((), {"replicas": 2}, {"profile": "router-0.10"}, []),
        ((), {"replicas": 2, "failureMode": "FailOpen"}, {}, []),
        ((), {"replicas": 1}, {}, []),
    ],
)
def test_a_deployment_is_warned_once_of_a_leader_that_keeps_its_lease_while_it_ends(
    args: tuple[str, ...], picker: dict[str, Any], spec: dict[str, Any], seconds: list[str]
) -> None:
    engine = {**ENGINE, "args": [*ENGINE["args"], *args]}
    model = deployment("a", 4, engine=engine, endpointPicker=picker, **spec)
    warnings = desired(stack(cluster("east"), cluster("west"), model), NOTHING).warnings
    told = [warning for warning in warnings if isinstance(warning, Problem) and "Lease" in warning.what]
    assert [(warning.path, warning.what.partition("up to ")[2].partition(" s ")[0]) for warning in told] == [
        ("spec.endpointPicker.replicas", number) for number in seconds
    ]
