"""Objects that plugins add are checked by their types and their names."""

from typing import Any

import pytest

from inferfleet.documents.pods.types import object_mistakes
from inferfleet.documents.wording import path_of


def _said(kind: str, api_version: str = "v1", name: str = "a", **fields: Any) -> list[tuple[str, str]]:
    manifest = {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **fields}
    return [(path_of(mistake.field_path), mistake.what) for mistake in object_mistakes(manifest)]


@pytest.mark.parametrize(
    ("kind", "fields", "path", "what"),
    [
        ("ConfigMap", {"data": {"a": 1}}, "data.a", "{field} must be a string, not 1"),
        ("ConfigMap", {"spec": {}}, "spec", "Kubernetes 1.36 has no field 'spec' here"),
        ("Secret", {"data": {"a": "secret!"}}, "data.a", "{field} must be a text in base64"),
        ("Secret", {"stringData": "secret!"}, "stringData", "{field} must be a text in quotes"),
        ("Service", {"spec": {"type": "Nodeport"}}, "spec.type", "{field} 'Nodeport' is not one of"),
        (
            "Service",
            {"spec": {"ports": [{"port": "80"}]}},
            "spec.ports[0].port",
            "{field} must be an integer",
        ),
        ("Service", {"spec": {"ports": [{}]}}, "spec.ports[0].port", "field port is missing"),
        ("ServiceAccount", {"automountServiceAccountToken": "no"}, "automountServiceAccountToken", "{field}"),
        (
            "PersistentVolumeClaim",
            {"spec": {"resources": {"requests": {"storage": "1GB"}}}},
            "spec.resources.requests.storage",
            "{field} '1GB' is not a Kubernetes quantity",
        ),
    ],
)
def test_a_wrong_object_is_said_with_its_field(
    kind: str, fields: dict[str, Any], path: str, what: str
) -> None:
    ((where, said),) = _said(kind, **fields)
    assert (where, said[: len(what)]) == (path, what)


def test_right_objects_pass() -> None:
    assert _said("ConfigMap", data={"ranks.json": "[]"}) == []
    assert _said("Secret", stringData={"token": "x"}, data={"a": "eA=="}) == []
    assert _said("Service", spec={"clusterIP": "None", "selector": {"a": "b"}}) == []
    assert _said("Widget", "example.com/v1", spec={"anything": [None]}) == []


def test_no_value_of_a_secret_is_quoted() -> None:
    assert [what for _, what in _said("Secret", stringData={"token": 123456})] == [
        "{field} must be a text in quotes"
    ]


def test_a_kind_has_its_api_version_and_a_service_a_short_name() -> None:
    assert _said("Role", "v1") == [("apiVersion", "a Role has the apiVersion rbac.authorization.k8s.io/v1")]
    ((path, _),) = _said("Service", name="x" * 64, spec={"ports": [{"port": 80}]})
    assert path == "metadata.name"
