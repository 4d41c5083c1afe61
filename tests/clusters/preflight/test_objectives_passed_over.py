"""Objects of one API group that endpoint pickers ignore where a cluster knows their kind in two."""

from typing import Any

import pytest
from fake_cluster import KINDS, FakeCluster
from own_cluster import east_problem

from inferfleet.clusters.preflight.observe import observe
from inferfleet.desired.values import Component, Connection, Desired, DesiredCluster, KubeObject
from inferfleet.documents.kinds.inference_cluster import Serving
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.documents.problems import Problem
from inferfleet.fleet.decisions import Plan
from inferfleet.serving.picker import Picker
from inferfleet.serving.picker import objects as picker_objects
from inferfleet.tables.pickers import names, profile

QWEN = ModelDeployment.model_validate(
    {
        "metadata": {"name": "qwen", "namespace": "ml"},
        "spec": {
            "engine": {"type": "vLLM"},
            "replicas": 1,
            "workers": {
                "topology": {"tensor": 1},
                "template": {"spec": {"containers": [{"name": "engine", "image": "engine:1"}]}},
            },
        },
    }
)
NEW, OLD = "llm-d.ai/v1alpha2", "inference.networking.x-k8s.io/v1alpha2"
PLURALS = {
    "InferenceObjective": ("inferenceobjectives", True),
    "InferenceModelRewrite": ("inferencemodelrewrites", True),
}
OBJECTIVES = {"InferenceObjective": PLURALS["InferenceObjective"]}
ROLES = {"rbac.authorization.k8s.io/v1": {"Role": ("roles", True)}}
BOTH = {OLD: PLURALS, NEW: PLURALS}


def _object(name: str, *, version: str = OLD, pool: str = "qwen", kind: str = "InferenceObjective") -> Any:
    spec = {"poolRef": {"name": pool, "group": "inference.networking.k8s.io"}}
    metadata = {"name": name, "namespace": "ml"}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}


def _seen(
    *objects: Any,
    kinds: dict[str, Any] = BOTH,
    row: str = "router-0.10",
    status: dict[str, int] | None = None,
) -> tuple[tuple[Problem, ...], list[str]]:
    """What is said of them, and which lists were asked for."""
    picker = picker_objects(
        Picker(deployment=QWEN, serving=Serving(), profile=profile(row), stack="prod", replicas=1, drain=130)
    )
    manifest = next(made for made in picker.rights if made["kind"] == "Role")
    component = Component("ModelEndpoint", "c", (KubeObject("n", manifest),))
    east = DesiredCluster(Connection("east", "existing/east", "active"), (component,))
    fake = FakeCluster(objects=list(objects), kinds=KINDS | ROLES | kinds, status=status or {})
    try:
        desired = Desired("prod", (east,), Plan(), frozenset(), ())
        problems = observe(desired, {"east": fake.kubeconfig}, seconds=300).problems
        paths = [path.partition("?")[0] for path, _ in fake.asked]
    finally:
        fake.close()
    versions = {f"/apis/{version}" for version in (NEW, OLD)}
    return problems, [path for path in paths if any(path.startswith(version) for version in versions)]


def _warning(kind: str, which: str) -> Problem:
    return east_problem(
        f"cluster 'east' knows {kind} in two groups, and its endpoint pickers of llm-d-router read {NEW} "
        f"alone: they ignore {which} of inference.networking.x-k8s.io",
        f"Write them again there with apiVersion: {NEW}",
        "spec.serving.profile",
        severity="warning",
    )


def test_what_names_a_pool_and_is_in_the_other_group_alone_is_warned_of() -> None:
    problems, _ = _seen(
        _object("batch"),
        _object("urgent"),
        _object("moved"),
        _object("moved", version=NEW),
        _object("other", pool="somebody-s"),
        _object("small", kind="InferenceModelRewrite"),
    )
    assert problems == (
        _warning("InferenceModelRewrite", "ml/small"),
        _warning("InferenceObjective", "ml/batch, ml/urgent"),
    )


@pytest.mark.parametrize(
    ("kinds", "asked"),
    [
        # Pickers read the only group that there is.
        ({OLD: PLURALS}, [f"/apis/{NEW}"]),
        ({NEW: PLURALS}, [f"/apis/{NEW}", f"/apis/{OLD}"]),
        ({OLD: PLURALS, NEW: {"InferencePoolImport": ("imports", True)}}, [f"/apis/{NEW}"]),
    ],
)
def test_without_a_kind_in_both_groups_nothing_is_listed(kinds: dict[str, Any], asked: list[str]) -> None:
    assert _seen(_object("batch"), kinds=kinds) == ((), asked)


def test_one_list_of_a_namespace_is_asked_for_where_nothing_is_ignored() -> None:
    asked = [f"/apis/{NEW}", f"/apis/{OLD}", f"/apis/{OLD}/namespaces/ml/inferenceobjectives"]
    kinds = {OLD: OBJECTIVES, NEW: OBJECTIVES}
    assert _seen(kinds=kinds) == ((), asked)


@pytest.mark.parametrize("row", names())
def test_only_pickers_of_llm_d_router_are_asked_about(row: str) -> None:
    problems, asked = _seen(_object("batch"), row=row)
    ours = row == "router-0.10"
    assert (problems, bool(asked)) == ((_warning("InferenceObjective", "ml/batch"),) if ours else (), ours)


def test_who_may_not_list_them_is_told_nothing() -> None:
    refused = {f"/apis/{OLD}/namespaces/ml/{plural}": 403 for plural, _ in PLURALS.values()}
    assert _seen(_object("batch"), status=refused)[0] == ()
