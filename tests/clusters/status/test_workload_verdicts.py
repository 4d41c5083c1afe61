"""What of an update is gone or at zero, and what only looks like it."""

from typing import Any

import pytest

from inferfleet.clusters.status.routing import ABSENT, Verdict, picker_verdict, workload_verdict
from inferfleet.clusters.status.values import Phase
from inferfleet.desired.values import KubeObject
from inferfleet.fleet import names
from inferfleet.serving.metadata import SKIP_AWAIT

READY: Verdict = (Phase.READY, "")
AT_ZERO: Verdict = (Phase.FAILED, "was scaled to spec.replicas 0, where 2 is desired")


def _wanted(kind: str = "Deployment", replicas: int = 2, **annotations: str) -> KubeObject:
    metadata = {"name": "one", "namespace": "ml", "annotations": annotations}
    return KubeObject("east/ml/one", {"kind": kind, "metadata": metadata, "spec": {"replicas": replicas}})


def _actual(kind: str = "Deployment", replicas: int = 0, **status: int) -> dict[str, Any]:
    return {"kind": kind, "spec": {"replicas": replicas}, "status": status}


@pytest.mark.parametrize(
    ("wanted", "actual", "verdict"),
    [
        pytest.param(_wanted(), None, (Phase.MISSING, ABSENT), id="it is gone"),
        pytest.param(_wanted(), _actual(), AT_ZERO, id="a Deployment at zero"),
        pytest.param(_wanted("LeaderWorkerSet"), _actual("LeaderWorkerSet"), AT_ZERO, id="a set at zero"),
        pytest.param(_wanted(), _actual(replicas=1), READY, id="fewer, and none is ready"),
        pytest.param(_wanted(replicas=0), _actual(), READY, id="none is desired"),
        pytest.param(_wanted(**{SKIP_AWAIT: "true"}), _actual(), READY, id="no update waits for its pods"),
        pytest.param(
            _wanted(**{SKIP_AWAIT: "true"}), None, (Phase.MISSING, ABSENT), id="not waited for, but gone"
        ),
        pytest.param(_wanted(**{names.REPLICAS: "1-3"}), _actual(), READY, id="somebody else scales it"),
        pytest.param(_wanted("HTTPRoute"), _actual("HTTPRoute"), READY, id="a route has no number"),
    ],
)
def test_an_object_stands_unless_it_is_gone_or_at_zero(
    wanted: KubeObject, actual: dict[str, Any] | None, verdict: Verdict
) -> None:
    assert workload_verdict(actual, wanted) == verdict


@pytest.mark.parametrize(
    ("actual", "verdict"),
    [
        pytest.param(None, (Phase.MISSING, ABSENT), id="it is gone"),
        pytest.param(_actual(), AT_ZERO, id="it is at zero"),
        pytest.param(
            _actual(replicas=2),
            (Phase.FAILED, "is an endpoint picker without an available replica"),
            id="none is available",
        ),
        pytest.param(_actual(replicas=2, availableReplicas=1), READY, id="the elected leader is available"),
    ],
)
def test_a_picker_picks_with_one_available_replica(actual: dict[str, Any] | None, verdict: Verdict) -> None:
    assert picker_verdict(actual, _wanted()) == verdict
