"""Names are joined from parts, so two things can come to one name. Each is told, with both owners."""

from dataclasses import replace
from typing import Any

import pytest
from small_stack import NOTHING, Document, cluster, deployment, lock, made, service, stack

from inferfleet.desired import desired
from inferfleet.documents.problems import InvalidDocuments, Problem, Where
from inferfleet.fleet.lock.lock import Lock

RENAME = "Rename one of the deployments, roles, services or pools from which the name is derived"
NAME = "metadata.name"
CONTAINER = {"name": "engine", "image": "engine:1", "args": ["serve", "m"]}


def _doubled(what: str, *by: str, at: str, path: str = NAME) -> Problem:
    kind, _, key = at.partition(" ")
    wanted = " and by ".join(by)
    told = f"two different things on cluster east would be called {what} (wanted by {wanted})"
    return Problem(told, RENAME, path, kind=kind, key=key)


@pytest.mark.parametrize(
    ("documents", "problems"),
    [
        pytest.param(
            [cluster("east"), deployment("x-svc"), service("x")],
            [
                _doubled(
                    "HTTPRoute ml/x-svc",
                    "ModelDeployment ml/x-svc",
                    "ModelService ml/x",
                    at="ModelService ml/x",
                )
            ],
            id="a deployment called like a service's route",
        ),
        pytest.param(
            [cluster("east", pools=("epp",)), deployment("q"), deployment("q-decode")],
            [
                _doubled(
                    "Deployment ml/q-decode-epp",
                    "ModelDeployment ml/q-decode",
                    "role decode of ModelDeployment ml/q",
                    at="ModelDeployment ml/q",
                )
            ],
            id="a workload called like another deployment's picker",
        ),
        pytest.param(
            [cluster("east"), deployment("x"), service("x")],
            [],
            id="a deployment and a service of one name",
        ),
        pytest.param(
            [cluster("east"), deployment("x-epp"), deployment("x")],
            [],
            id="a deployment called like another's picker, whose objects are of other kinds",
        ),
        pytest.param(
            [cluster("east"), deployment("x", namespace="a"), deployment("x", namespace="b")],
            [],
            id="two namespaces",
        ),
    ],
)
def test_two_things_of_one_name_are_told_with_both_owners(
    documents: list[Document], problems: list[Problem]
) -> None:
    assert _problems(*documents) == problems


def test_deployments_and_pools_that_join_to_one_component_are_told_with_both_workloads() -> None:
    east = cluster("east", pools=("b-c", "c"))
    found = _problems(east, deployment("a"), deployment("a-b"), lock=lock({"a east/b-c": 1, "a-b east/c": 1}))
    assert found == [
        _doubled(
            "ModelReplicas east/ml/a-b-c",
            "Deployment ml/a-decode-b-c of role decode of ModelDeployment ml/a",
            "Deployment ml/a-b-decode-c of role decode of ModelDeployment ml/a-b",
            at="ModelDeployment ml/a-b",
        )
    ]


def _roles(*roles: str) -> dict[str, Any]:
    container = {"name": "engine", "image": "x:1"}
    workers = {"topology": {"tensor": 1}, "template": {"spec": {"containers": [container]}}}
    return {"roles": {name: {"workers": workers} for name in roles}}


def test_roles_that_join_to_one_name_are_told_with_the_line_of_each() -> None:
    documents = stack(cluster("east"), deployment("a", **_roles("b-c")), deployment("a-b", **_roles("c")))
    lines = {
        ("ModelDeployment", "ml/a"): {"": Where("a.yaml", 1), "spec.roles.b-c": Where("a.yaml", 12)},
        ("ModelDeployment", "ml/a-b"): {"": Where("b.yaml", 1), "spec.roles.c": Where("b.yaml", 21)},
    }
    with pytest.raises(InvalidDocuments) as raised:
        desired(replace(documents, positions=lines), NOTHING)
    by = (
        "role b-c of ModelDeployment ml/a (a.yaml:12)",
        "role c of ModelDeployment ml/a-b (b.yaml:21)",
    )
    here = {"at": "ModelDeployment ml/a-b", "path": "spec.roles.c"}
    assert list(raised.value.problems) == [
        replace(_doubled("Service ml/a-b-c", *by, **here), where=Where("b.yaml", 21))
    ]


def test_a_name_like_anothers_revision_is_one_problem_with_both_lines() -> None:
    workers = {"topology": {"tensor": 1}, "template": {"spec": {"containers": [CONTAINER]}}}
    engine = {"args": ["serve", "m", "--port=8200"]}
    apart = deployment("q", prefill={"workers": workers}, engine=engine)
    plan = made(cluster("east"), apart).plan
    (revision,) = (placement.spot.revision for placement in plan.placements)
    other = f"q-{revision}"
    documents = stack(cluster("east"), apart, deployment(other))
    lines = {
        ("ModelDeployment", "ml/q"): {"": Where("a.yaml", 1), "metadata.name": Where("a.yaml", 3)},
        ("ModelDeployment", f"ml/{other}"): {"": Where("b.yaml", 1), "metadata.name": Where("b.yaml", 4)},
    }
    with pytest.raises(InvalidDocuments) as raised:
        desired(replace(documents, positions=lines), NOTHING)
    (problem,) = raised.value.problems
    assert (
        f"(wanted by ModelDeployment ml/q (a.yaml:3) and by ModelDeployment ml/{other} (b.yaml:4))"
        in problem.what
    )
    assert (problem.kind, problem.key, problem.where) == (
        "ModelDeployment",
        f"ml/{other}",
        Where("b.yaml", 4),
    )
    assert "None" not in problem.what


def _problems(*documents: Document, lock: Lock = NOTHING) -> list[Problem]:
    try:
        made(*documents, lock=lock)
    except InvalidDocuments as invalid:
        return list(invalid.problems)
    return []
