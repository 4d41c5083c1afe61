"""Quotas among the documents of a stack."""

from pathlib import Path

import pytest

from inferfleet.documents.loading.load import load
from inferfleet.documents.problems import InvalidDocuments

QUOTA = """\
apiVersion: inferfleet.dev/v1alpha1
kind: Quota
metadata: {name: team, namespace: ml}
spec:
  gpus: 8
  gpusByClass:
    gke-l4-1x-g2: 4
  cost: {perHour: 12.5}
"""


def _refused(file: Path, text: str) -> list[str]:
    file.write_text(text)
    with pytest.raises(InvalidDocuments) as refused:
        load([file], base=file.parent)
    return [str(problem) for problem in refused.value.problems]


def test_a_quota_is_read_by_namespace_and_name(tmp_path: Path) -> None:
    (tmp_path / "quota.yaml").write_text(QUOTA)
    quota = load([tmp_path / "quota.yaml"]).quotas["ml/team"]
    assert (quota.spec.gpus, quota.spec.gpus_by_class, quota.spec.cost and quota.spec.cost.per_hour) == (
        8,
        {"gke-l4-1x-g2": 4},
        "12.5",
    )


def test_a_class_that_does_not_exist_is_told_with_its_line(tmp_path: Path) -> None:
    (problem,) = _refused(tmp_path / "quota.yaml", QUOTA.replace("gke-l4-1x-g2", "gke-l4-1x"))
    assert problem.startswith(
        "quota.yaml:7: spec.gpusByClass.gke-l4-1x: a quota limits class 'gke-l4-1x', which does not exist. "
        "Did you mean gke-l4-1x-g2"
    )


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("{}", "quota.yaml:4: spec: a quota has no limit. Write gpus, gpusByClass or cost"),
        ("{gpus: -1}", "quota.yaml:4: spec.gpus: gpus must be at least 0, not -1. Change the number"),
        (
            "{cost: {perHour: a lot}}",
            "quota.yaml:4: spec.cost.perHour: perHour 'a lot' must be an amount of at least 0 such as "
            '"250.00". Change it',
        ),
    ],
)
def test_a_limit_that_makes_no_sense_is_told(tmp_path: Path, spec: str, expected: str) -> None:
    text = QUOTA.partition("spec:")[0] + f"spec: {spec}\n"
    assert _refused(tmp_path / "quota.yaml", text) == [expected]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (
            "capacityModels: [Spot], onDemandReplicas: 1",
            "model.yaml:4: spec.onDemandReplicas: onDemandReplicas is 1, and capacityModels allow Spot "
            "alone. Add OnDemand or Reservation to capacityModels, or remove onDemandReplicas",
        ),
        (
            "prefer: [{}]",
            "model.yaml:4: spec.prefer[0]: a preference names nothing. Write clusterSelector, pools or "
            "capacityModels",
        ),
        (
            "spread: {maxSkew: 0}",
            "model.yaml:4: spec.spread.maxSkew: maxSkew must be at least 1, not 0. Change the number",
        ),
        (
            "spread: {over: 'a b'}",
            "model.yaml:4: spec.spread.over: over 'a b' must be cluster, region, zone or the key of a "
            "cluster label, such as example.com/site. Change it",
        ),
        (
            "clusterSelector: {matchExpressions: [{key: tier, operator: In}]}",
            "model.yaml:4: spec.clusterSelector.matchExpressions[0]: operator In needs values. Add values: "
            "[...], or use Exists",
        ),
        (
            "clusterSelector: {matchExpressions: [{key: tier, operator: Exists, values: [a]}]}",
            "model.yaml:4: spec.clusterSelector.matchExpressions[0]: operator Exists has no values. Remove "
            "values, or use In or NotIn",
        ),
    ],
)
def test_what_a_deployment_asks_of_placement_is_checked(tmp_path: Path, fields: str, expected: str) -> None:
    workers = "workers: {topology: {tensor: 1}, template: {spec: {containers: [{name: engine, image: e}]}}}"
    text = (
        "apiVersion: inferfleet.dev/v1alpha1\nkind: ModelDeployment\nmetadata: {name: m}\n"
        f"spec: {{replicas: 1, {fields}, {workers}}}\n"
    )
    assert _refused(tmp_path / "model.yaml", text) == [expected]
