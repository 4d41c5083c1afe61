"""Names are joined from parts, so two things can come to one name. Each is told, with both owners."""

import pytest
from small_stack import NOTHING, Document, cluster, deployment, lock, made, service

from inferfleet.api.problems import InvalidDocuments, Problem
from inferfleet.fleet.lock.lock import Lock

RENAME = "Rename one of the deployments, services or pools from which the name is derived"


def _doubled(what: str, *by: str) -> Problem:
    wanted = " and ".join(by)
    return Problem(
        f"two different things on cluster east would be called {what} (wanted by {wanted})", RENAME
    )


@pytest.mark.parametrize(
    ("documents", "problems"),
    [
        pytest.param(
            [cluster("east"), deployment("x-svc"), service("x")],
            [_doubled("HTTPRoute ml/x-svc", "ModelEndpoint east/ml/x-svc", "ModelService east/ml/x")],
            id="a deployment called like a service's route",
        ),
        pytest.param(
            [cluster("east", pools=("epp",)), deployment("q"), deployment("q-decode")],
            [
                _doubled(
                    "Deployment ml/q-decode-epp",
                    "ModelEndpoint east/ml/q-decode",
                    "ModelReplicas east/ml/q-epp",
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
        _doubled("ModelReplicas east/ml/a-b-c", "Deployment ml/a-decode-b-c", "Deployment ml/a-b-decode-c")
    ]


def _problems(*documents: Document, lock: Lock = NOTHING) -> list[Problem]:
    try:
        made(*documents, lock=lock)
    except InvalidDocuments as invalid:
        return list(invalid.problems)
    return []
