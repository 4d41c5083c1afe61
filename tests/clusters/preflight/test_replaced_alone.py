"""A preview says where the only pod of a deployment ends before its successor is ready."""

from typing import Any

import pytest
from test_remade import grouped, single

from inferfleet.clusters.preflight.workloads import lone_pod_problems
from inferfleet.desired.values import Component, Connection, DesiredCluster, KubeObject
from inferfleet.documents.problems import Problem
from inferfleet.fleet.spot import Spot

SPOT = Spot("ml/a", "east", (("decode", "h"),))
OTHER = Spot("ml/a", "east", (("decode", "other"),))


def _with(workload: Any, **container: Any) -> Any:
    """The workload with these fields of its engine, in all of its templates."""
    spec = workload["spec"]
    group = spec.get("leaderWorkerTemplate", {})
    templates = [spec[key] for key in spec if key == "template"]
    for template in (*templates, *(group[key] for key in group if key.endswith("Template"))):
        template["spec"]["containers"][0].update(container)
    return workload


def _told(before: list[Any], *wanted: Any, spots: tuple[Spot, ...] = (SPOT,)) -> list[Problem]:
    objects = tuple(KubeObject(each["metadata"]["name"], each) for each in wanted)
    keys = tuple(made.key for made in objects)
    cluster = DesiredCluster(
        Connection("east", "existing/east", "active"),
        (Component("ModelReplicas", "east", objects),),
        workloads=dict.fromkeys(spots, keys),
    )
    return list(lone_pod_problems(cluster, before))


@pytest.mark.parametrize(("made", "what"), [(single, "pod"), (grouped, "group")])
def test_the_only_pod_of_a_workload_whose_template_changes_is_told_as_digests_tell_it(
    made: Any, what: str
) -> None:
    assert _told([_with(made(), image="m:1")], _with(made(), image="m:2")) == [
        Problem(
            "an update replaces the pods of ml/a-decode-h on cluster 'east' where they are: it has one "
            f"{what}, and nothing serves there until the new one has loaded its model",
            "Add a replica first, or write rollout: Surge where there is room for another",
            "spec.workers",
            kind="ModelDeployment",
            key="ml/a",
            severity="warning",
        )
    ]


def _renamed(workload: Any, name: str) -> Any:
    return workload | {"metadata": workload["metadata"] | {"name": name}}


def test_one_line_names_all_of_a_cluster() -> None:
    names = [f"m{number}" for number in range(7)]
    before = [_renamed(_with(single(), image="m:1"), name) for name in names]
    [told] = _told(before, *(_renamed(_with(single(), image="m:2"), name) for name in names))
    assert told.what == (
        "an update replaces the pods of ml/m0, ml/m1, ml/m2, ml/m3, ml/m4, and 2 more on cluster 'east' "
        "where they are: each has one pod, and nothing serves there until the new one has loaded its model"
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (_with(single(2), image="m:1"), _with(single(2), image="m:2")),
        (_with(single(0), image="m:1"), _with(single(), image="m:2")),
        (_with(single(), image="m:1"), _with(single(surge=1), image="m:2")),
        # Told with its words by another warning.
        (single(), single(schedulerName="kai-scheduler")),
        # What API servers write where nobody did, and in which form they write quantities.
        (
            _with(single(), imagePullPolicy="Always", ports=[{"containerPort": 1, "protocol": "TCP"}]),
            _with(single(), ports=[{"containerPort": 1}], env=[]),
        ),
        (
            _with(single(), resources={"limits": {"cpu": "1", "nvidia.com/gpu": "8"}}),
            _with(single(), resources={"limits": {"cpu": "1000m", "nvidia.com/gpu": 8}}),
        ),
    ],
)
def test_nothing_is_told_where_a_pod_serves_on_or_none_is_replaced(before: Any, after: Any) -> None:
    assert _told([before], after) == []


def test_a_flag_that_is_taken_away_replaces_pods_too() -> None:
    assert len(_told([_with(single(), args=["--x"])], single())) == 1


def test_another_placement_of_the_cluster_takes_the_requests_meanwhile() -> None:
    before, after = _with(single(), image="m:1"), _with(single(), image="m:2")
    assert _told([before], after, spots=(SPOT, OTHER)) == []
