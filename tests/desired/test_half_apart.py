"""Replicas that run without prefill, in stacks whose document has it: no command fails over them."""

from typing import Any

import pytest
from small_stack import Document, cluster, deployment, lock, stack

from inferfleet.desired import desired
from inferfleet.documents.problems import InvalidDocuments
from inferfleet.fleet.lock.lock import Lock


def _apart(replicas: int, *, gpus: int = 1, prefill: int = 1, **prefills: Any) -> Document:
    workers = {"topology": {"tensor": prefill}}
    engine = {"model": "m", "image": "engine:1"}
    return deployment(
        "a",
        replicas,
        gpus=gpus,
        engine={"image": None},
        declared=engine,
        prefill={"workers": workers, **prefills},
    )


@pytest.mark.parametrize(
    ("documents", "before", "told"),
    [
        pytest.param(
            [cluster("east"), _apart(2, gpus=4, prefill=4)],
            lock({"a east/l4": 2}),
            ["2 replicas of ml/a cannot leave east decode=l4 @23f718 (has no pool for role prefill): "],
            id="no room beside them",
        ),
        pytest.param(
            [cluster("east"), _apart(1, nodeSelector={"cel": 'attributes["x"] == "y"'})],
            lock({"a east/l4": 1}),
            ["nodeSelector matches no class"],
            id="no pool for prefill",
        ),
    ],
)
def test_it_is_told_in_words(documents: list[Document], before: Lock, told: list[str]) -> None:
    with pytest.raises(InvalidDocuments) as refused:
        desired(stack(*documents), before)
    words = [problem.what for problem in refused.value.problems]
    assert [text for text in told if not any(what.startswith(text) for what in words)] == []


def test_on_a_lost_cluster_they_stay_as_they_are() -> None:
    before = lock({"a east/l4": 1, "a away/l4": 1})
    found = desired(stack(cluster("east"), cluster("away", state="lost"), _apart(2)), before)
    away = next(one for one in found.clusters if one.connection.cluster == "away")
    assert [one.kubernetes_name for one in away.objects if one.kind == "Deployment"] == [
        "a-epp",
        "a-decode-l4",
    ]
    assert {spot.cluster: bool(spot.revision) for spot in found.plan.lock.placements} == {
        "away": False,
        "east": True,
    }
