"""An edit gives a field of a document another value, and no file changes."""

from pathlib import Path
from typing import Any

import pytest
from fleet_of_one import CLASS, CLUSTER, DEPLOYMENT, together

from inferfleet.documents.loading.edits import Edit, apply_edits, parse_edit
from inferfleet.documents.loading.files import Source
from inferfleet.documents.loading.load import KINDS, NAMESPACED, load
from inferfleet.documents.problems import InvalidDocuments, Problem
from inferfleet.documents.yaml import texts


def edit(written: str) -> Edit:
    made = parse_edit(written, KINDS, NAMESPACED)
    assert isinstance(made, Edit)
    return made


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "fleet.yaml"
    path.write_text(together(CLASS, CLUSTER, DEPLOYMENT))
    return path


def test_a_document_is_loaded_as_if_the_value_were_written(file: Path) -> None:
    edits = (
        edit("InferenceCluster/east.spec.nodePools[l4].nodeCount=null"),
        edit("InferenceCluster/east.spec.nodePools[0].maxNodeCount=4"),
        edit("InferenceCluster/east.metadata.labels[example.com/tier]=prod"),
        edit("ModelDeployment/ml/qwen.spec.workers.template={spec: {containers: []}}"),
    )
    before = file.read_text()
    with pytest.raises(InvalidDocuments) as raised:
        load([file], edits=edits, base=file.parent)
    assert [str(problem.where) for problem in raised.value.problems] == ["fleet.yaml:24"]
    documents = load([file], edits=edits[:3])
    cluster = documents.clusters["east"]
    assert (cluster.spec.node_pools[0].size, cluster.metadata.labels) == (4, {"example.com/tier": "prod"})
    assert file.read_text() == before


@pytest.mark.parametrize(
    "field", ["metadata.name=y", "metadata.namespace=y", "metadata={name: y}", "kind=ModelService"]
)
def test_what_a_document_is_known_by_cannot_be_set(field: str) -> None:
    written = f"ModelDeployment/ml/qwen.{field}"
    assert parse_edit(written, KINDS, NAMESPACED) == Problem(
        f"{written!r} would make it another document: kind, name and namespace cannot be set",
        "Set another field, or add that document to the folder of the stack",
    )


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("spec.scaling.metrics=null", {"spec": {"a": {"b": 1, "c": None}, "l": [{"name": "x", "y": 2}]}}),
        ("spec.a.c.d=null", {"spec": {"a": {"b": 1, "c": None}, "l": [{"name": "x", "y": 2}]}}),
        ("spec.a.b=null", {"spec": {"a": {"c": None}, "l": [{"name": "x", "y": 2}]}}),
        ("spec.l[x].y=null", {"spec": {"a": {"b": 1, "c": None}, "l": [{"name": "x"}]}}),
        ("spec.l[x].z.y=null", {"spec": {"a": {"b": 1, "c": None}, "l": [{"name": "x", "y": 2}]}}),
        ("spec.l[x]=null", {"spec": {"a": {"b": 1, "c": None}, "l": []}}),
        ("spec.a.c.d=1", {"spec": {"a": {"b": 1, "c": {"d": 1}}, "l": [{"name": "x", "y": 2}]}}),
    ],
)
def test_null_removes_what_is_there_and_makes_nothing(written: str, expected: dict[str, Any]) -> None:
    (text,) = texts("spec: {a: {b: 1, c: null}, l: [{name: x, y: 2}]}\n")
    source, problems = apply_edits(
        Source(text, Path("x.yaml"), "x.yaml"), [edit(f"ModelDeployment/ml/qwen.{written}")]
    )
    assert (source.text.data, problems) == (expected, [])


@pytest.mark.parametrize(
    ("written", "what"),
    [
        ("ModelDeployment/ml/qwen=4", "'ModelDeployment/ml/qwen=4' is no edit of a document"),
        ("Deployment/ml/qwen.spec.replicas=4", "there is no kind 'Deployment'"),
        (
            "ModelDeployment/ml/qwen.spec.replicas=",
            "the value of 'ModelDeployment/ml/qwen.spec.replicas=' cannot be read: it is not one value",
        ),
    ],
)
def test_what_is_no_edit_is_told(written: str, what: str) -> None:
    told = parse_edit(written, KINDS, NAMESPACED)
    assert isinstance(told, Problem)
    assert told.what == what


def test_an_edit_that_leads_nowhere_is_told_with_what_there_is(file: Path) -> None:
    edits = (
        edit("ModelDeployment/qwen.spec.replicas=4"),
        edit("InferenceCluster/east.spec.nodePools[l5].nodeCount=4"),
        edit("ModelDeployment/ml/qwen.spec.replicas.most=4"),
    )
    with pytest.raises(InvalidDocuments) as raised:
        load([file], edits=edits)
    assert [problem.what for problem in raised.value.problems] == [
        "there is no ModelDeployment 'default/qwen' for 'ModelDeployment/qwen.spec.replicas=4'",
        "'InferenceCluster/east.spec.nodePools[l5].nodeCount=4' leads to no field: the list has no entry l5, "
        "but l4",
        "'ModelDeployment/ml/qwen.spec.replicas.most=4' leads to no field: '1' has no field most",
    ]
