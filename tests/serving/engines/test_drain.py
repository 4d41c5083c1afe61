"""How pods end: by `engine.drain`, and by grace period and preStop of the template."""

from typing import Any

import pytest

from inferfleet.documents.kinds.model_deployment import Engine
from inferfleet.serving.engines.drain import Ending, ending, grace_of_followers, lacking_grace


def _spec(grace: int | None = None, hook: Any = None, side: int | None = None) -> dict[str, Any]:
    containers: list[dict[str, Any]] = [{"name": "engine"}]
    if hook:
        containers[0]["lifecycle"] = {"preStop": hook}
    if side:
        containers.append({"name": "side", "lifecycle": {"preStop": {"sleep": {"seconds": side}}}})
    return {"containers": containers, **({} if grace is None else {"terminationGracePeriodSeconds": grace})}


def _engine(drain: str | None = None) -> Engine:
    return Engine.model_validate({"drain": drain})


EXEC = {"exec": {"command": ["sleep", "5"]}}


@pytest.mark.parametrize(
    ("drain", "spec", "end"),
    [
        (None, _spec(), Ending(30, 90, 130)),
        ("10m", _spec(), Ending(30, 600, 640)),
        (None, _spec(hook={"sleep": {"seconds": 5}}), Ending(5, 90, 105)),
        (None, _spec(hook=EXEC), Ending(30, 90, 130)),
        (None, _spec(side=300), Ending(30, 90, 300)),
        (None, _spec(grace=600), Ending(30, 560, 600)),
        (None, _spec(grace=40), Ending(20, 10, 40)),
        (None, _spec(grace=0), Ending(0, 0, 0)),
        ("60s", _spec(grace=600), Ending(30, 60, 600)),
    ],
)
def test_a_pause_then_time_for_requests_then_a_reserve(
    drain: str | None, spec: dict[str, Any], end: Ending
) -> None:
    assert ending(_engine(drain), spec) == end


@pytest.mark.parametrize(
    ("spec", "grace"), [(_spec(), 130), (_spec(side=300), 300), (_spec(grace=20), 20), (_spec(grace=0), 0)]
)
def test_pods_that_take_no_requests_have_the_usual_time(spec: dict[str, Any], grace: int) -> None:
    assert grace_of_followers(spec) == grace


@pytest.mark.parametrize(
    ("drain", "grace", "lacks"),
    [("60s", 100, None), ("60s", 99, 100), ("60s", 20, 80), (None, 20, None), ("60s", None, None)],
)
def test_a_declared_drain_needs_so_long_a_grace_period(
    drain: str | None, grace: int | None, lacks: int | None
) -> None:
    assert lacking_grace(_engine(drain), _spec(grace=grace)) == lacks
