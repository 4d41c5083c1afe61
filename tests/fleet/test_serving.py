"""Services: which endpoints share the traffic on a cluster, and in which integers."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_fleet import cluster, deployment, fleet, lock, service

from inferfleet.documents.documents import Documents
from inferfleet.documents.problems import Problem, Where, of_severity
from inferfleet.fleet.decisions import Backend, ServiceRoute
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.planning import plan
from inferfleet.fleet.traffic import WEIGHT_LIMIT, shares

EAST = cluster("east", {"l4": ("l4", 2)}, labels={"region": "east"})
WEST = cluster("west", {"l4": ("l4", 2)}, labels={"region": "west"})
SMALL = deployment("small", 3, labels={"size": "small"}, selector={"region": "east"})
LARGE = deployment("large", 1, labels={"size": "large"}, selector={"region": "east"})


@pytest.mark.parametrize(
    ("entries", "weights"),
    [
        ([(80, {"a": 1}), (20, {"b": 1})], {"a": 4, "b": 1}),
        ([(1, {"a": 3, "b": 1})], {"a": 3, "b": 1}),
        ([(50, {"a": 1, "b": 2}), (50, {"c": 1})], {"a": 1, "b": 2, "c": 3}),
        ([(1, {"a": 1, "b": 1}), (1, {"b": 5})], {"a": 1, "b": 3}),
        ([(7, {"a": 9})], {"a": 1}),
        ([(999_983, {"a": 1, "b": 2}), (999_979, {"c": 1})], {"a": 166_667, "b": 333_334, "c": 499_999}),
        ([(1_000_000, {"a": 1}), (1, {"b": 1, "c": 9})], {"a": 999_999, "b": 1, "c": 1}),
    ],
)
def test_an_entrys_weight_is_split_by_replicas_in_integers(
    entries: list[tuple[int, dict[str, int]]], weights: dict[str, int]
) -> None:
    assert shares(entries) == weights


_entries = st.lists(
    st.tuples(
        st.integers(1, WEIGHT_LIMIT),
        st.dictionaries(st.sampled_from("abcd"), st.integers(1, 500), min_size=1),
    ),
    min_size=1,
    max_size=4,
)


@given(_entries)
def test_weights_stay_within_what_gateways_take_and_near_the_exact_share(
    entries: list[tuple[int, dict[str, int]]],
) -> None:
    weights = shares(entries)
    assert all(1 <= weight <= WEIGHT_LIMIT for weight in weights.values())
    asked = sum(weight for weight, _ in entries)
    for name, weight in weights.items():
        exact = (
            sum(weight * replicas.get(name, 0) / sum(replicas.values()) for weight, replicas in entries)
            / asked
        )
        assert abs(weight / sum(weights.values()) - exact) < 0.00001


@pytest.mark.parametrize(
    ("documents", "locked", "services"),
    [
        pytest.param(
            fleet(
                EAST, WEST, SMALL, LARGE, service("chat", (80, {"size": "small"}), (20, {"size": "large"}))
            ),
            lock({}),
            (ServiceRoute("ml/chat", "east", (Backend("ml/large", 1), Backend("ml/small", 4))),),
            id="one route where there is a match",
        ),
        pytest.param(
            fleet(EAST, SMALL, LARGE, service("chat", (1, {}))),
            lock({}),
            (ServiceRoute("ml/chat", "east", (Backend("ml/large", 1), Backend("ml/small", 3))),),
            id="an empty selector matches all endpoints of the namespace",
        ),
        pytest.param(
            fleet(EAST, WEST, deployment("a", 2), service("chat", (1, {"region": "west"}))),
            lock({}),
            (ServiceRoute("ml/chat", "west", (Backend("ml/a", 1),)),),
            id="a cluster's labels select its endpoints",
        ),
        pytest.param(
            fleet(
                cluster("east", {"l4": ("l4", 1)}, state="lost"), deployment("a", 1), service("new", (1, {}))
            ),
            lock({"a east/l4": 1}),
            (),
            id="nothing new on a lost cluster",
        ),
        pytest.param(
            fleet(
                cluster("east", {"l4": ("l4", 1)}, state="lost"), deployment("a", 0), service("old", (1, {}))
            ),
            lock({"a east/l4": 1}, {"old": ("east",)}),
            (ServiceRoute("ml/old", "east", (Backend("ml/a", 1),)),),
            id="a lost cluster keeps its routes",
        ),
    ],
)
def test_which_routes_there_are(
    documents: Documents, locked: Lock, services: tuple[ServiceRoute, ...]
) -> None:
    planned = plan(documents, locked)
    assert (planned.services, of_severity(planned.problems, "error")) == (services, ())


@pytest.mark.parametrize(
    ("documents", "locked", "problems", "warnings"),
    [
        (
            fleet(EAST, SMALL, service("chat", (1, {"size": "huge"}))),
            lock({}),
            ["selector size=huge matches no deployment of namespace ml"],
            ["service ml/chat has no endpoint on any cluster, so it gets no route"],
        ),
        (
            fleet(EAST, SMALL, service("chat", (1, {"size": "small"}), namespace="other")),
            lock({}),
            ["selector size=small matches no deployment of namespace other"],
            ["service other/chat has no endpoint on any cluster, so it gets no route"],
        ),
        (
            fleet(
                EAST,
                SMALL,
                deployment("large", 0, labels={"size": "large"}),
                service("chat", (80, {"size": "small"}), (20, {"size": "large"})),
            ),
            lock({}),
            [],
            [
                "service ml/chat has no endpoint with size=large on any cluster; "
                "its other endpoints get that share of the traffic"
            ],
        ),
        (
            fleet(
                EAST,
                WEST,
                SMALL,
                deployment("large", 2, labels={"size": "large"}),
                service("chat", (80, {"size": "small"}), (20, {"size": "large"})),
            ),
            lock({}),
            [],
            [
                "service ml/chat has no endpoint with size=small on cluster west; "
                "its other endpoints get that share of the traffic"
            ],
        ),
        (
            fleet(
                cluster("east", {"l4": ("l4", 1)}, state="lost"),
                WEST,
                deployment("a", 1),
                deployment("b", 1, labels={"size": "b"}),
                service("chat", (1, {"size": "b"})),
            ),
            lock({"a east/l4": 1}, {"chat": ("east",)}),
            ["cluster east is lost, and service ml/chat no longer selects the endpoints of its route there"],
            [],
        ),
    ],
)
def test_selectors_without_endpoints_are_reported(
    documents: Documents, locked: Lock, problems: list[str], warnings: list[str]
) -> None:
    planned = plan(documents, locked)
    assert [problem.what for problem in of_severity(planned.problems, "error")] == problems
    assert [problem.what for problem in of_severity(planned.problems, "warning")] == warnings


def _many(on_east: int, on_west: int = 0, *, east_state: str = "active") -> Documents:
    return fleet(
        cluster("east", {"l4": ("l4", 8)}, labels={"region": "east"}, state=east_state),
        cluster("west", {"l4": ("l4", 8)}, labels={"region": "west"}),
        *(deployment(f"e{number:02}", 1, selector={"region": "east"}) for number in range(on_east)),
        *(deployment(f"w{number:02}", 1, selector={"region": "west"}) for number in range(on_west)),
        service("chat", (1, {})),
    )


def test_a_route_takes_sixteen_deployments_on_each_cluster_however_many_there_are_in_all() -> None:
    assert plan(_many(16, 16), lock({})).problems == ()


def test_a_service_over_nineteen_deployments_of_a_cluster_is_refused_with_the_numbers() -> None:
    assert plan(_many(19, 1), lock({})).problems == (
        Problem(
            "service ml/chat selects 19 deployments with replicas on cluster east, "
            "and its route there takes at most 16",
            "Select at least 3 fewer there, serve the same model by fewer deployments with more replicas, "
            "or write a second service for some of them",
            "spec.endpoints",
            kind="ModelService",
            key="ml/chat",
        ),
    )


def test_the_route_on_a_lost_cluster_is_not_counted_because_nothing_is_written_there() -> None:
    locked = lock({f"e{number:02} east/l4": 1 for number in range(19)}, {"chat": ("east",)})
    planned = plan(_many(19, 1, east_state="lost"), locked)
    assert of_severity(planned.problems, "error") == ()


@pytest.mark.parametrize(
    ("engines", "told"),
    [
        (({"servedNames": ["chat", "small"]}, {"servedNames": ["chat", "large"]}), None),
        (({"servedNames": ["Qwen/Qwen3"]}, {"servedNames": [], "model": "Qwen/Qwen3"}), None),
        (
            ({"servedNames": ["chat"]}, {"servedNames": [], "model": "Qwen/Qwen3"}),
            "ml/a has chat; ml/b has Qwen/Qwen3",
        ),
        # Whoever starts a program of his own serves under a name that no field says.
        (({"servedNames": ["chat"]}, {"servedNames": []}), "ml/a has chat; ml/b declares none"),
        (({"servedNames": []}, {"servedNames": []}), "ml/a declares none; ml/b declares none"),
        (({"servedNames": []},), None),
    ],
)
def test_deployments_of_a_service_have_a_served_name_in_common(
    engines: tuple[dict[str, Any], ...], told: str | None
) -> None:
    models = [deployment(name, 1, engine=engine) for name, engine in zip("ab", engines, strict=False)]
    documents = fleet(EAST, *models, service("chat", (1, {})))
    problem = Problem(
        f"service ml/chat shares requests among deployments without a served name in common: {told}",
        "Declare one name for all of them in engine.servedNames, also beside a command of your own, or "
        "write a service for each",
        "spec.endpoints",
        kind="ModelService",
        key="ml/chat",
    )
    found = of_severity(plan(documents, lock({})).problems, "error")
    assert found == ((problem,) if told else ())


def test_the_lines_are_named_that_declare_other_names() -> None:
    models = [
        deployment("a", 1, engine={"servedNames": ["chat"]}),
        deployment("b", 1, engine={"servedNames": [], "model": "m"}),
    ]
    lines = {
        ("ModelDeployment", "ml/a"): {"spec.engine.servedNames": Where("models.yaml", 7)},
        ("ModelDeployment", "ml/b"): {"spec.engine.model": Where("models.yaml", 19)},
    }
    documents = replace(fleet(EAST, *models, service("chat", (1, {}))), positions=lines)
    [problem] = of_severity(plan(documents, lock({})).problems, "error")
    assert problem.what.endswith("ml/a (models.yaml:7) has chat; ml/b (models.yaml:19) has m")
