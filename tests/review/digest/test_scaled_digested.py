"""What a digest says of replicas that somebody scales, and of those that are a number again."""

from typing import Any

import pytest
from documents import Document
from small_sides import STACK, head, l4, model, place, standing

from inferfleet.review.digest.comparison import stack_digest
from inferfleet.review.digest.values import ResourceChange, Scale, StackDigest

SCALER = ResourceChange("HorizontalPodAutoscaler east/ml/qwen-decode-l4", "create", ())
WORKLOAD = "Deployment east/ml/qwen-decode-l4"


def scaled(least: int, most: int, **more: Any) -> Document:
    metrics = [{"name": "vllm:num_requests_waiting", "target": 5}]
    made = model(scaling={"by": "HPA", "metrics": metrics}, **more)
    made["spec"]["replicas"] = {"min": least, "max": most}
    return made


def changed(before: Document, after: Document) -> StackDigest:
    base = standing(l4(), place("east"), before)
    return stack_digest(STACK, base, head(base, l4(), place("east"), after))


def test_a_range_in_place_of_a_number_restarts_nothing_and_adds_room() -> None:
    made = changed(model(), scaled(1, 3))
    [of_model] = made.models
    assert made.resources == (
        ResourceChange(WORKLOAD, "update", ("metadata.annotations",)),
        SCALER,
        ResourceChange("PodDisruptionBudget east/ml/qwen-decode", "create", ()),
    )
    assert (of_model.restarts, of_model.scales, of_model.gap, of_model.lines) == (
        (),
        (),
        False,
        ("ml/qwen: east/l4 1 -> 3",),
    )


def test_other_bounds_change_no_number_of_pods() -> None:
    made = changed(scaled(1, 3), scaled(2, 3))
    assert made.resources == (
        ResourceChange(WORKLOAD, "update", ('metadata.annotations["inferfleet.dev/replicas"]',)),
        ResourceChange(SCALER.resource, "update", ("spec.minReplicas",)),
    )
    assert [one.scales for one in made.models] == []


@pytest.mark.parametrize(
    ("least", "serving"),
    [
        (1, "it has one pod, and nothing serves there until the new one has loaded its model"),
        (2, "one pod of 2 after another, and the others take the requests meanwhile"),
    ],
)
def test_a_restart_is_of_as_many_pods_as_there_may_be_and_the_fewest_serve(least: int, serving: str) -> None:
    [of_model] = changed(scaled(least, 3), scaled(least, 3, env="other")).models
    [restart] = of_model.restarts
    assert (restart.pods, restart.gpus, restart.serving, restart.gap) == (3, 3, serving, least == 1)


def test_a_larger_range_adds_room_and_no_pods() -> None:
    made = changed(scaled(1, 3), scaled(1, 4))
    assert made.resources == (
        ResourceChange(WORKLOAD, "update", ('metadata.annotations["inferfleet.dev/replicas"]',)),
        ResourceChange(SCALER.resource, "update", ("spec.maxReplicas",)),
    )
    [of_model] = made.models
    assert (of_model.scales, of_model.restarts) == ((), ())


def test_a_smaller_range_of_somebody_elses_claims_no_pods_that_nobody_has_seen() -> None:
    def external(most: int) -> Document:
        made = model(scaling={"by": "External"})
        made["spec"]["replicas"] = {"min": 1, "max": most}
        return made

    assert [told.what for told in changed(external(3), external(2)).problems if "room for" in told.what] == []


def test_a_number_that_an_update_takes_over_changes_whatever_it_is() -> None:
    made = changed(scaled(1, 3), at_three())
    [workload] = [one for one in made.resources if one.resource == WORKLOAD]
    [of_model] = made.models
    assert workload.fields == ("metadata.annotations", "spec.replicas")
    assert of_model.scales == (Scale(WORKLOAD, 1, 3),)


def at_three() -> Document:
    made = model()
    made["spec"]["replicas"] = 3
    return made


def test_a_number_in_place_of_a_range_is_announced() -> None:
    made = changed(scaled(1, 3), model())
    told = [told.what for told in made.problems if "was scaled from 1 to 3" in told.what]
    assert len(told) == 1
