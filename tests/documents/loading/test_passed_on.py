"""Inputs of Google's that somebody writes as fields: the next step names the map that passes them on."""

from pathlib import Path

import pytest
from test_bad_gke_documents import BASE

from inferfleet.documents import InvalidDocuments, load

GKE, RECIPE = "region: us-east5\n", "machineType: g2-standard-12, "
FIELDS_OF_SYSTEM_POOL = "diskSizeGb, machineType, maxPodsPerNode, provider"


def step(folder: Path, old: str, new: str) -> tuple[str, str]:
    assert old in BASE
    (folder / "documents.yaml").write_text(BASE.replace(old, new))
    with pytest.raises(InvalidDocuments) as raised:
        load([folder / "documents.yaml"], catalogue=None)
    (problem,) = raised.value.problems
    return problem.what, problem.next_step


@pytest.mark.parametrize(
    ("old", "new", "field", "begins"),
    [
        (
            GKE,
            f"{GKE}      enableIntranodeVisibility: true\n",
            "enableIntranodeVisibility",
            "Write provider: {cluster: {enableIntranodeVisibility: ...}} if it is an input of Google's; "
            "fields here are: authorizedNetworks, ",
        ),
        (
            GKE,
            f"{GKE}      network_performance_config: {{}}\n",
            "network_performance_config",
            "Write provider: {cluster: {networkPerformanceConfig: ...}} if it is an input of Google's; "
            "fields here are: ",
        ),
        (
            GKE,
            f"{GKE}      systemPool: {{sandboxConfig: {{}}}}\n",
            "sandboxConfig",
            "Write provider: {sandboxConfig: ...} if it is an input of Google's; fields here are: "
            f"{FIELDS_OF_SYSTEM_POOL}",
        ),
        (
            RECIPE,
            f"{RECIPE}nodeConfig: {{}}, ",
            "nodeConfig",
            "Write provider: {nodeConfig: ...} if it is an input of Google's; fields here are: accelerator, ",
        ),
        (GKE, f"{GKE}      network_tag: [a]\n", "network_tag", "Did you mean networkTags?"),
    ],
)
def test_an_unknown_field_that_is_no_mistyped_one_is_passed_on_by_provider(
    tmp_path: Path, old: str, new: str, field: str, begins: str
) -> None:
    what, next_step = step(tmp_path, old, new)
    assert (what, next_step[: len(begins)]) == (f"unknown field {field!r}", begins)
