"""Google's answers about quotas, and what does not fit into them."""

import pytest

from inferfleet.cloud.gke.quotas import Quota, family_quotas, quota_problem, quota_problems, quotas
from inferfleet.cloud.values import QuotaUse
from inferfleet.documents.problems import Problem

NEED = QuotaUse("acme", "us-east5", "NVIDIA_L4_GPUS", 12, 4, ("east/a", "east/b"), "spec.nodePools[1]")
H100 = ("east/h100",)
ASK = (
    "Ask for more at https://console.cloud.google.com/iam-admin/quotas?project=acme, or nodes will be missing"
)


@pytest.mark.parametrize(
    ("quota", "holds"),
    [
        (Quota(12, 4), True),
        (Quota(12, 0), True),
        (Quota(11, 0), False),
        (Quota(12, 5), False),
        (Quota(12, None), True),
        (Quota(11, None), False),
    ],
    ids=["just", "less is in use than thought", "never", "others", "usage not told", "never, not told"],
)
def test_a_quota_holds_what_others_use_and_all_that_is_taken(quota: Quota, holds: bool) -> None:
    assert (quota_problem(NEED, quota) is None) == holds


def test_a_shortage_names_the_quota_its_use_and_the_pools() -> None:
    found = quota_problem(NEED, Quota(8, 4))
    assert found == Problem(
        "quota NVIDIA_L4_GPUS of project acme in us-east5 is 8, with 4 in use; pools east/a, east/b take 8 "
        "more",
        ASK,
        "spec.nodePools[1]",
        kind="InferenceCluster",
        key="east",
        severity="warning",
    )


def test_a_shortage_of_a_family_in_one_pool_and_of_the_whole_project() -> None:
    family = QuotaUse(
        "acme", "us-east5", "GPUS_PER_GPU_FAMILY:NVIDIA_H100", 8, 0, ("east/h100",), "spec.nodePools[0]"
    )
    whole = QuotaUse("acme", "", "GPUS_ALL_REGIONS", 8, 0, H100, "spec.nodePools[0]")
    told = quota_problems({family: Quota(0, None), whole: Quota(4, 1), NEED: None})
    assert [one.what for one in told] == [
        "quota GPUS_ALL_REGIONS of project acme is 4, with 1 in use; pool east/h100 takes 8 more",
        "quota GPUS_PER_GPU_FAMILY of NVIDIA_H100 of project acme in us-east5 is 0; pool east/h100 takes "
        "8 more",
    ]


def test_quotas_of_a_region_are_read_by_metric() -> None:
    answer = {"quotas": [{"metric": "CPUS", "limit": 24.0, "usage": 3.0}, {"metric": "X", "limit": 1.0}, {}]}
    assert quotas(answer) == {"CPUS": Quota(24, 3), "X": Quota(1, 0)}
    assert quotas({}) == {}


def test_the_more_exact_value_of_a_family_counts_and_unlimited_is_none() -> None:
    def info(value: str, **dimensions: str) -> dict[str, object]:
        places = ["us-east5", "us-east4"]
        return {"dimensions": dimensions, "details": {"value": value}, "applicableLocations": places}

    answer = {
        "dimensionsInfos": [
            info("8", gpu_family="NVIDIA_H100", region="us-east5"),
            info("0", gpu_family="NVIDIA_H100"),
            info("16", gpu_family="NVIDIA_H200", region="us-east4"),
            info("-1", gpu_family="NVIDIA_B200"),
            info("4"),
        ]
    }
    assert family_quotas(answer, "us-east5") == {"GPUS_PER_GPU_FAMILY:NVIDIA_H100": Quota(8, None)}
    assert family_quotas(answer, "us-west1") == {}
