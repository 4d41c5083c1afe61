"""How a picker ends, and what makes it another one."""

from collections.abc import Callable

import pytest

from inferfleet.documents.kinds.inference_cluster import Serving
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.serving import picker as endpoint_picker
from inferfleet.tables.pickers import profile

Make = Callable[..., ModelDeployment]
Serve = Callable[..., Serving]


@pytest.mark.parametrize(
    ("drain", "ending"), [(0, (5, 40)), (40, (5, 40)), (60, (25, 60)), (570, (535, 570)), (3600, (535, 570))]
)
def test_a_picker_ends_as_late_as_engines_and_before_a_deletion_is_given_up(
    deployment: Make, serving: Serve, drain: int, ending: tuple[int, int]
) -> None:
    made = endpoint_picker.objects(
        endpoint_picker.Picker(
            deployment=deployment(),
            serving=serving(),
            profile=profile("gie-1.5"),
            stack="prod",
            replicas=1,
            drain=drain,
        )
    )
    pod = made.deployment["spec"]["template"]["spec"]
    [container] = pod["containers"]
    sleep = container["lifecycle"]["preStop"]["sleep"]["seconds"]
    assert (sleep, pod["terminationGracePeriodSeconds"]) == ending


def test_several_replicas_have_an_edition_of_what_they_run_and_one_has_none(
    deployment: Make, serving: Serve
) -> None:
    editions = [
        endpoint_picker.edition(
            endpoint_picker.Picker(
                deployment=deployment(endpointPicker=picker),
                serving=serving(),
                profile=profile(name),
                stack="prod",
                replicas=1,
                drain=drain,
            )
        )
        for picker, name, drain in (
            ({}, "gie-1.5", 130),
            ({"replicas": 2}, "gie-1.5", 130),
            ({"replicas": 3}, "gie-1.5", 130),
            ({"replicas": 2, "image": "mirror/epp:v1.5.0"}, "gie-1.5", 130),
            ({"replicas": 2, "flags": {"v": 2}}, "gie-1.5", 130),
            ({"replicas": 2, "config": {"plugins": []}}, "gie-1.5", 130),
            ({"replicas": 2, "port": 9100}, "gie-1.5", 130),
            ({"replicas": 2}, "router-0.10", 130),
            ({"replicas": 2}, "gie-1.5", 200),
        )
    ]
    one, two, three, *others = editions
    assert (one, len(two), three) == ("", 6, two)
    assert len({two, *others}) == 1 + len(others)
