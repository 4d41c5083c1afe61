"""The PodGroups of Volcano that are made here: sized from final templates, cut into workers."""

from typing import Any

import pytest

from inferfleet.documents.kinds.scheduler import Closeness
from inferfleet.fleet.scheduling import Scheduling
from inferfleet.fleet.spot import Spot
from inferfleet.serving.schedulers import pod_groups

SPOT = Spot("ml/kimi", "east", (("decode", "h200"), ("encode", "l4")))
SELECTOR = {"inferfleet.dev/deployment": "kimi", "inferfleet.dev/role": "encode"}


def pod(gpus: int, cpu: str = "8", **more: Any) -> dict[str, Any]:
    limits = {"nvidia.com/gpu": str(gpus), "cpu": cpu, "memory": "10Gi"}
    return {"spec": {"containers": [{"name": "engine", "resources": {"limits": limits}}], **more}}


def single(replicas: int = 4) -> dict[str, Any]:
    spec = {"replicas": replicas, "selector": {"matchLabels": SELECTOR}, "template": pod(1)}
    return {"kind": "Deployment", "metadata": {"name": "kimi-encode-l4"}, "spec": spec}


def group(*, replicas: int = 2, leader: dict[str, Any] | None = None) -> dict[str, Any]:
    """Workers of three pods with eight GPUs each."""
    pods = {"size": 3, "workerTemplate": pod(8, "500m"), **({"leaderTemplate": leader} if leader else {})}
    return {
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "kimi-decode-h200"},
        "spec": {"replicas": replicas, "leaderWorkerTemplate": pods},
    }


def made(scheduling: Scheduling | None, **workloads: dict[str, Any]) -> list[dict[str, Any]]:
    return list(pod_groups(workloads, scheduling, spot=SPOT, stack="prod"))


def volcano(topology: dict[str, Any] | None = None, **gang: int) -> Scheduling:
    close = Closeness.model_validate(topology) if topology else None
    return Scheduling("Volcano", "team-a", "volcano", close, gang)


def test_a_worker_of_several_pods_is_a_group_of_the_size_of_its_final_templates() -> None:
    assert made(volcano(), decode=group(leader=pod(8, "2"))) == [
        {
            "apiVersion": "scheduling.volcano.sh/v1beta1",
            "kind": "PodGroup",
            "metadata": {
                "name": "kimi-decode-h200",
                "namespace": "ml",
                "labels": {
                    "app.kubernetes.io/managed-by": "inferfleet",
                    "inferfleet.dev/stack": "prod",
                    "inferfleet.dev/deployment": "kimi",
                },
            },
            "spec": {
                "queue": "team-a",
                "minMember": 3,
                "minResources": {"cpu": "3000m", "memory": "32212254720", "nvidia.com/gpu": "24"},
                "subGroupPolicy": [
                    {
                        "name": "decode",
                        "labelSelector": {
                            "matchLabels": {"leaderworkerset.sigs.k8s.io/name": "kimi-decode-h200"}
                        },
                        "matchLabelKeys": ["leaderworkerset.sigs.k8s.io/group-index"],
                        "subGroupSize": 3,
                        "minSubGroups": 1,
                    }
                ],
            },
        }
    ]


def test_the_default_queue_is_left_to_volcano() -> None:
    """Namespaces may name another one, and an update would put the default one back."""
    (group_,) = made(Scheduling("Volcano", "default", "volcano"), decode=group())
    assert "queue" not in group_["spec"]


@pytest.mark.parametrize(
    ("topology", "network"),
    [
        ({"required": 1}, {"mode": "hard", "highestTierAllowed": 1}),
        ({"preferred": 2}, {"mode": "soft", "highestTierAllowed": 2}),
        ({"required": 0}, {"mode": "hard", "highestTierAllowed": 0}),
        ({"required": "rack"}, {"mode": "hard", "highestTierName": "rack"}),
    ],
)
def test_every_worker_of_a_group_is_as_close_as_the_topology_says(
    topology: dict[str, Any], network: dict[str, Any]
) -> None:
    (group_,) = made(volcano(topology), decode=group())
    assert [policy["networkTopology"] for policy in group_["spec"]["subGroupPolicy"]] == [network]


def test_the_roles_of_a_gang_share_a_group_that_waits_for_one_replica() -> None:
    (group_,) = made(volcano(decode=1, encode=2), decode=group(), encode=single())
    assert (group_["metadata"]["name"], group_["spec"]) == (
        "kimi-h200-l4-gang",
        {
            "queue": "team-a",
            "minMember": 5,
            "minResources": {"cpu": "17500m", "memory": "53687091200", "nvidia.com/gpu": "26"},
            "subGroupPolicy": [
                {
                    "name": "decode",
                    "labelSelector": {
                        "matchLabels": {"leaderworkerset.sigs.k8s.io/name": "kimi-decode-h200"}
                    },
                    "matchLabelKeys": ["leaderworkerset.sigs.k8s.io/group-index"],
                    "subGroupSize": 3,
                    "minSubGroups": 1,
                },
                {
                    "name": "encode",
                    "labelSelector": {"matchLabels": SELECTOR},
                    "subGroupSize": 2,
                    "minSubGroups": 1,
                },
            ],
        },
    )


def test_a_role_outside_of_the_gang_keeps_its_own_group() -> None:
    groups = made(volcano(encode=1), decode=group(), encode=single())
    assert [group_["metadata"]["name"] for group_ in groups] == ["kimi-decode-h200", "kimi-h200-l4-gang"]


def test_a_group_never_waits_for_more_workers_than_there_are() -> None:
    (group_,) = made(volcano(encode=3), encode=single(replicas=2))
    assert (group_["spec"]["minMember"], group_["spec"]["subGroupPolicy"][0]["subGroupSize"]) == (2, 2)


@pytest.mark.parametrize(
    "scheduling", [None, Scheduling("Kueue", "team-a"), Scheduling("KAI", "team-a", "kai-scheduler")]
)
def test_other_schedulers_want_no_group_of_ours(scheduling: Scheduling | None) -> None:
    assert made(scheduling, decode=group(), encode=single()) == []


def test_volcano_makes_the_groups_of_single_pods_itself() -> None:
    assert made(volcano(), encode=single()) == []


def test_everything_that_a_pod_requests_counts() -> None:
    worker = pod(
        1,
        initContainers=[
            {"name": "pull", "resources": {"requests": {"ephemeral-storage": "1Gi", "cpu": "12"}}},
            {"name": "proxy", "restartPolicy": "Always", "resources": {"requests": {"cpu": "100m"}}},
        ],
        overhead={"memory": "1Mi"},
    )
    one = {**single(replicas=1), "spec": {**single()["spec"], "replicas": 1, "template": worker}}
    (group_,) = made(volcano(encode=1), encode=one)
    assert group_["spec"]["minResources"] == {
        "cpu": "12000m",
        "ephemeral-storage": "1073741824",
        "memory": str(10 * 2**30 + 2**20),
        "nvidia.com/gpu": "1",
    }
