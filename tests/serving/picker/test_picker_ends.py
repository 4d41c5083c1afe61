"""How long a picker goes on, and how long it gives its streams once it is told to end."""

from collections.abc import Callable

import pytest

from inferfleet.documents.kinds.inference_cluster import Serving
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.serving import picker as objects
from inferfleet.serving.picker import Ending, ending, unled_seconds
from inferfleet.tables.pickers import names, profile

Make = Callable[..., ModelDeployment]
Serve = Callable[..., Serving]


@pytest.mark.parametrize(
    ("drain", "told"),
    [(130, Ending(95, 30)), (40, Ending(5, 30)), (10, Ending(5, 30)), (3600, Ending(535, 30))],
)
def test_a_picker_that_takes_no_new_streams_once_told_is_told_late(drain: int, told: Ending) -> None:
    assert ending(drain, profile("gie-1.5"), {}) == told


@pytest.mark.parametrize(
    ("drain", "told"),
    [(130, Ending(5, 120)), (40, Ending(5, 30)), (10, Ending(5, 30)), (3600, Ending(5, 560))],
)
def test_a_picker_that_serves_on_is_told_as_soon_as_gateways_know(drain: int, told: Ending) -> None:
    assert ending(drain, profile("router-0.10"), {}) == told


def test_no_picker_takes_new_streams_for_longer_than_its_release_does_by_itself(
    deployment: Make, serving: Serve
) -> None:
    made = objects.objects(
        objects.Picker(
            deployment=deployment(engine={"type": "vLLM"}),
            serving=serving("none", profile="router-0.10"),
            profile=profile("router-0.10"),
            stack="prod",
            replicas=1,
            drain=640,
        )
    )
    spec = made.deployment["spec"]["template"]["spec"]
    container = spec["containers"][0]
    assert [word for word in container["args"] if word.startswith("--drain-timeout")] == []
    assert container["lifecycle"] == {"preStop": {"sleep": {"seconds": 5}}}
    assert spec["terminationGracePeriodSeconds"] == 570


def test_the_time_in_a_flag_is_reckoned_with() -> None:
    made = ending(130, profile("router-0.10"), {"drain-timeout": "1m30s"})
    assert (made, made.grace) == (Ending(5, 120), 130)
    assert ending(130, profile("router-0.10"), {"drain-timeout": "5m"}) == Ending(5, 300)


@pytest.mark.parametrize(
    ("release", "drain", "seconds"),
    [("gie-1.5", 130, 125), ("scheduler-0.7", 640, 565), ("gie-1.5", 10, 35), ("router-0.10", 640, 5)],
)
def test_an_evicted_leader_keeps_its_lease_until_it_has_ended_or_serves_on(
    release: str, drain: int, seconds: int
) -> None:
    assert unled_seconds(drain, profile(release), {}) == seconds


def test_both_times_end_before_the_pod_is_killed() -> None:
    for drain in (10, 40, 130, 570, 3600):
        for name in names():
            made = ending(drain, profile(name), {})
            assert made.sleep + made.stop < made.grace <= 575
