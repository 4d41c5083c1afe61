"""Every kind of mistake in what a document says of scaling, and its message."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from fleet_text import BASE

from inferfleet.documents import InvalidDocuments, load

RANGE = {"min": 1, "max": 4}
BY_HPA = {"by": "HPA", "metrics": [{"name": "vllm:num_requests_waiting", "target": 5}]}
WORKERS = {
    "topology": {"tensor": 1},
    "template": {"spec": {"containers": [{"name": "engine", "image": "a"}]}},
}
FIXED = "write replicas as a number and remove scaling"

# Fields of the deployment; then path, what, next step of the one problem that makes.
CASES: dict[str, tuple[dict[str, Any], str, str, str]] = {
    "nobody who scales": (
        {"replicas": RANGE},
        "spec.replicas",
        "replicas are 1 to 4, and nobody scales them",
        "Add scaling with by: HPA, KEDA or External, or write a number",
    ),
    "nothing to scale": (
        {"replicas": 2, "scaling": BY_HPA},
        "spec.scaling",
        "replicas is 2, so there is nothing to scale",
        "Write replicas: {min: 1, max: 4}, or remove scaling",
    ),
    "none at all": (
        {"replicas": {"min": 0, "max": 4}, "scaling": BY_HPA},
        "spec.replicas.min",
        "min must be at least 1, not 0",
        "Change the number",
    ),
    "upside down": (
        {"replicas": {"min": 5, "max": 4}, "scaling": BY_HPA},
        "spec.replicas.min",
        "min 5 is more than max 4",
        "Lower min, or raise max",
    ),
    "without the most": (
        {"replicas": {"min": 5}, "scaling": BY_HPA},
        "spec.replicas.max",
        "field max is missing",
        "Add max",
    ),
    "misspelt": (
        {"replicas": {"min": 1, "max": 4, "mim": 1}, "scaling": BY_HPA},
        "spec.replicas.mim",
        "unknown field 'mim'",
        "Did you mean min?",
    ),
    "without metrics": (
        {"replicas": RANGE, "scaling": {"by": "KEDA"}},
        "spec.scaling.by",
        "by is KEDA, and no metric says how many replicas there should be",
        "Add metrics",
    ),
    "metrics that nobody reads": (
        {"replicas": RANGE, "scaling": {**BY_HPA, "by": "External"}},
        "spec.scaling.metrics",
        "by is External, so nothing here reads metrics",
        "Remove metrics, or write by: HPA or KEDA",
    ),
    "a metric twice": (
        {"replicas": RANGE, "scaling": {"by": "HPA", "metrics": BY_HPA["metrics"] * 2}},  # type: ignore[operator]
        "spec.scaling.metrics[1].name",
        "metric vllm:num_requests_waiting is there twice",
        "Keep one of the two",
    ),
    "no metric": (
        {"replicas": RANGE, "scaling": {"by": "HPA", "metrics": [{"name": "a b", "target": 1}]}},
        "spec.scaling.metrics[0].name",
        "name 'a b' is not a name of a metric",
        "Write it as the engine or picker has it, such as vllm:num_requests_waiting",
    ),
    "no target": (
        {"replicas": RANGE, "scaling": {"by": "HPA", "metrics": [{"name": "vllm:a", "target": 0}]}},
        "spec.scaling.metrics[0].target",
        "target 0 must be more than 0",
        "Write how much one replica should have",
    ),
    "prefill apart": (
        {"replicas": RANGE, "scaling": BY_HPA, "prefill": {"workers": WORKERS}},
        "spec.prefill",
        "replicas are scaled, and prefill and decode are two workloads: a scaler of each knows nothing of "
        "the other's number",
        f"Remove prefill, or {FIXED}",
    ),
    "other roles": (
        {"replicas": RANGE, "scaling": BY_HPA, "roles": {"encode": {"workers": WORKERS}}},
        "spec.roles",
        "replicas are scaled, and each replica has workers of other roles: a scaler of one workload would "
        "leave them behind",
        f"Give the other roles a deployment of their own, or {FIXED}",
    ),
    "several workers": (
        {"replicas": RANGE, "scaling": BY_HPA, "workers": {**WORKERS, "count": 2}},
        "spec.workers.count",
        "replicas are scaled, and a replica is several workers: a scaler adds and ends them one by one, not "
        "by replicas",
        f"Write workers.count: 1 and multiply min and max, or {FIXED}",
    ),
    "a gang": (
        {
            "replicas": RANGE,
            "scaling": BY_HPA,
            "scheduler": {"type": "Volcano", "gang": {"minRoleReplicas": {"decode": 2}}},
        },
        "spec.scheduler.gang",
        "replicas are scaled, and its gang waits for so many workers at once, fewer than that of a scaler "
        "never start",
        f"Remove scheduler.gang, or {FIXED}",
    ),
    "steady nodes": (
        {"replicas": RANGE, "scaling": BY_HPA, "onDemandReplicas": 1},
        "spec.onDemandReplicas",
        "replicas are scaled, and a scaler ends replicas wherever they run, so no number of them stays on "
        "such nodes",
        f"Write capacityModels: [OnDemand] or another deployment for them, or {FIXED}",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_mistake_in_scaling_has_its_message(name: str, tmp_path: Path) -> None:
    fields, path, what, next_step = CASES[name]
    document = {
        "apiVersion": "inferfleet.dev/v1alpha1",
        "kind": "ModelDeployment",
        "metadata": {"name": "scaled", "namespace": "ml"},
        "spec": {"workers": WORKERS, **fields},
    }
    (tmp_path / "base.yaml").write_text(BASE)
    (tmp_path / "scaled.yaml").write_text(yaml.safe_dump(document))
    with pytest.raises(InvalidDocuments) as refused:
        load([tmp_path])
    [problem] = refused.value.problems
    assert (problem.path, problem.what, problem.next_step) == (path, what, next_step)
    assert problem.where is not None
    assert problem.where.file.endswith("scaled.yaml")
