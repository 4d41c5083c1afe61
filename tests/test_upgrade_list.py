"""The list of what an upgrade may do: each step has a row, and each row a step."""

import json
from typing import Any

from upgrades import LIST, Row, Step, rows, steps, unlisted, unused

TYPE = {"map": "kubernetes:core/v1:ConfigMap", "pods": "kubernetes:apps/v1:Deployment"}


def urn(kind: str, name: str = "east/ml/qwen", *, parent: str = "Fleet") -> str:
    return f"urn:pulumi:e2e::inferfleet::inferfleet:components:{parent}${TYPE[kind]}::{name}"


def step(op: str, of: str, before: Any = None, after: Any = None) -> dict[str, Any]:
    return {"op": op, "urn": of, "oldState": {"inputs": before}, "newState": {"inputs": after}}


def announced(*planned: dict[str, Any], said: tuple[tuple[str, str], ...] = ()) -> list[Step]:
    diagnostics = [{"severity": severity, "message": message} for severity, message in said]
    return steps(json.dumps({"steps": planned, "diagnostics": diagnostics}))


def test_what_stays_is_no_step_and_a_replacement_is_one() -> None:
    replaced = [step(op, urn("pods")) for op in ("create-replacement", "replace", "delete-replaced")]
    planned = [step("same", urn("map")), *replaced, step("delete", urn("map", "east/ml/old"))]
    assert announced(*planned) == [Step("replace", urn("pods")), Step("delete", urn("map", "east/ml/old"))]


def test_an_update_of_pods_is_a_restart() -> None:
    one, more = ({"spec": {"replicas": count, "template": {"spec": {}}}} for count in (1, 2))
    other = {"spec": {"replicas": 1, "template": {"spec": {"hostIPC": True}}}}
    assert announced(step("update", urn("pods"), one, more)) == [Step("update", urn("pods"))]
    assert announced(step("update", urn("pods"), one, other)) == [Step("restart", urn("pods"))]


def test_what_goes_and_comes_with_the_same_name_is_renamed_or_replaced() -> None:
    former = step("delete", urn("map", parent="Stack"), {"data": {}})
    same, other = (step("create", urn("map"), None, {"data": data}) for data in ({}, {"a": "b"}))
    assert announced(same, former) == [Step("rename", urn("map"))]
    assert announced(other, former) == [Step("replace", urn("map"))]


def test_errors_are_refusals_and_warnings_are_not() -> None:
    said = (("warning", "1 of 2 replicas"), ("error", "models.yaml:3: spec.engine.model is a mapping\n"))
    assert announced(said=said) == [Step("refuse", "models.yaml:3: spec.engine.model is a mapping")]


def test_a_step_needs_a_row_of_its_kind_and_name() -> None:
    found = [Step("update", urn("map")), Step("restart", urn("pods"))]
    row = Row("update", "*:ConfigMap::east/ml/*", "pickers have another flag")
    assert unlisted(found, [row]) == [Step("restart", urn("pods"))]
    assert unlisted(found, [row._replace(step="delete"), row._replace(of="*::west/*")]) == found


def test_a_row_without_a_step_is_found() -> None:
    used, idle = Row("update", "*:ConfigMap::*", "a flag"), Row("replace", "*:ConfigMap::*", "a name")
    assert unused([Step("update", urn("map"))], [used, idle]) == [idle]


def test_each_row_of_the_list_has_a_reason() -> None:
    assert [row for row in rows(LIST.read_text()) if not row.reason.strip()] == []
