"""What a digest says of replicas that somebody scales, and of those that are a number again."""

from typing import Any

from documents import Document
from small_sides import STACK, head, l4, model, place, standing

from inferfleet.digest.compare import compared_stack
from inferfleet.digest.values.nodes import Resource
from inferfleet.digest.values.stack import Stack

SCALER = Resource("HorizontalPodAutoscaler east/ml/qwen-decode-l4", "create", ())
WORKLOAD = "Deployment east/ml/qwen-decode-l4"


def scaled(least: int, most: int, **more: Any) -> Document:
    metrics = [{"name": "vllm:num_requests_waiting", "target": 5}]
    made = model(scaling={"by": "HPA", "metrics": metrics}, **more)
    made["spec"]["replicas"] = {"min": least, "max": most}
    return made


def changed(before: Document, after: Document) -> Stack:
    base = standing(l4(), place("east"), before)
    return compared_stack(STACK, base, head(base, l4(), place("east"), after))


def test_a_range_in_place_of_a_number_restarts_nothing_and_adds_room() -> None:
    made = changed(model(), scaled(1, 3))
    [of_model] = made.models
    assert made.resources == (
        Resource(WORKLOAD, "update", ("metadata.annotations",)),
        SCALER,
    )
    assert (of_model.restarts, of_model.scales, of_model.gap, of_model.told) == (
        (),
        (),
        False,
        ("ml/qwen: east/l4 1 -> 3",),
    )


def test_other_bounds_change_no_number_of_pods() -> None:
    made = changed(scaled(1, 3), scaled(2, 3))
    # The manifest begins with two then, which no update writes where it stands.
    assert made.resources == (
        Resource(WORKLOAD, "update", ('metadata.annotations["inferfleet.dev/replicas"]',)),
        Resource(SCALER.resource, "update", ("spec.minReplicas",)),
    )
    assert [one.scales for one in made.models] == []


def test_a_restart_is_of_as_many_pods_as_there_may_be() -> None:
    [of_model] = changed(scaled(1, 3), scaled(1, 3, env="other")).models
    [restart] = of_model.restarts
    assert (restart.pods, restart.gpus) == (3, 3)


def test_a_number_in_place_of_a_range_is_announced() -> None:
    made = changed(scaled(1, 3), model())
    told = [told.what for told in made.problems if "was scaled from 1 to 3" in told.what]
    assert len(told) == 1
