"""The table of changes against the models, the settings made from documents, and the provider's own table."""

import types
from collections.abc import Iterator
from typing import Any, Union, get_args, get_origin

import pytest
from pydantic import BaseModel

from bench.pages.changes import DEPLOYMENT_FIELDS
from inferfleet.cloud.gke.facts import schema
from inferfleet.cloud.gke.facts.change_table import POOLS, ROWS, Effect, Row
from inferfleet.cloud.gke.facts.create_only import is_create_only, recreates
from inferfleet.cloud.gke.facts.schema import CLUSTER, NODE_POOL
from inferfleet.cloud.gke.settings.addresses import BLOCK
from inferfleet.documents.kinds.inference_class import InferenceClass
from inferfleet.documents.kinds.inference_cluster import InferenceCluster
from inferfleet.documents.kinds.model_deployment import ModelDeployment, Role


def _leaves(model: type[BaseModel], before: str) -> Iterator[str]:
    for name, field in model.model_fields.items():
        path = f"{before}{field.alias or name}"
        inner, many = _model(field.annotation)
        if inner is None:
            yield path
        else:
            yield from _leaves(inner, f"{path}[]." if many else f"{path}.")


def _model(kind: Any) -> tuple[type[BaseModel] | None, bool]:
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return kind, False
    if get_origin(kind) in (Union, types.UnionType) or hasattr(kind, "__metadata__"):
        return next((found for one in get_args(kind) if (found := _model(one))[0]), (None, False))
    if get_origin(kind) is tuple:
        return _model(get_args(kind)[0])[0], True
    return None, False


@pytest.mark.parametrize("model", [InferenceClass, InferenceCluster])
def test_every_field_of_the_documents_has_a_row_or_a_parent_with_one(model: type[BaseModel]) -> None:
    rows = [row.path for row in ROWS if row.kind == model.__name__]
    leaves = list(_leaves(model, ""))
    # The row of whole pools says nothing of their fields.
    parents = [row for row in rows if row != POOLS]
    assert [one for one in leaves if not any(_inside(one, row) for row in parents)] == []
    assert [row for row in rows if not any(_inside(one, row) for one in leaves)] == []
    assert sorted({row for row in rows if rows.count(row) > 1}) == []


def test_every_field_of_a_deployment_has_a_row_or_a_parent_with_one() -> None:
    rows = [row.path for row in DEPLOYMENT_FIELDS]
    role = [f"spec.roles.<name>.{field}" for field in _leaves(Role, "")]
    leaves = [*_leaves(ModelDeployment, ""), *role]
    assert [field for field in leaves if not any(_inside(field, row) for row in rows)] == []
    assert [row for row in rows if not any(_inside(field, row) for field in leaves)] == []
    assert len(set(rows)) == len(rows)


def _inside(path: str, row: str) -> bool:
    return path == row or path.startswith((f"{row}.", f"{row}["))


@pytest.mark.parametrize("row", [row for row in ROWS if row.wire], ids=lambda row: f"{row.kind} {row.path}")
def test_a_row_says_of_its_settings_what_the_provider_has_of_them(row: Row) -> None:
    """A setting that cannot change in place replaces its resource, and no other does."""
    assert row.effect == EXPLAINED.get(row.path, max(_effect(one) for one in row.wire)[1])


# The effect of most changes, though one of the settings of the field could do more.
EXPLAINED = {
    "spec.cluster.gke.zones": Effect.ZONES,  # networks between GPUs are of a zone only with RDMA
    "spec.nodePools[].zones": Effect.ZONES,  # as above
}
_ORDER = (Effect.IN_PLACE, Effect.ZONES, Effect.NODES, Effect.REPLACES, Effect.REFUSED)


def _effect(wire: str) -> tuple[int, Effect]:
    resource, _, path = wire.partition(".")
    found = Effect.IN_PLACE
    if resource == "Cluster":
        found = Effect.REFUSED if path == BLOCK or _any_create_only(CLUSTER, path) else found
    elif _any_create_only(NODE_POOL, path):
        found = Effect.REPLACES
    elif recreates(path):
        found = Effect.NODES
    return _ORDER.index(found), found


def _any_create_only(token: str, path: str) -> bool:
    inside = [one for one in schema.replacing(token) if one.startswith(f"{path}.")]
    return any(is_create_only(token, one) for one in (path, *inside))


def test_every_setting_of_a_row_is_a_field_of_the_provider() -> None:
    tokens = {"Cluster": CLUSTER, "NodePool": NODE_POOL, "SystemPool": NODE_POOL}
    parts = [wire.partition(".") for row in ROWS for wire in row.wire if wire != f"Cluster.{BLOCK}"]
    assert [one for one in parts if schema.at(tokens[one[0]], one[2]) is None] == []


def test_names_that_may_be_allowed_are_told_apart() -> None:
    names = [row.name for row in ROWS if row.effect == Effect.REPLACES]
    assert sorted({one for one in names if names.count(one) > 1}) == []
