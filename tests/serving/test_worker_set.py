"""The LeaderWorkerSet of a placement, whole, and what of it follows from its deployment."""

from collections.abc import Callable
from typing import Any

import pytest

from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.fleet import names
from inferfleet.fleet.spot import Spot
from inferfleet.serving.workload import awaited, pods_of, templates_of, worker_set

Make = Callable[..., ModelDeployment]

ENTRY: dict[str, Any] = {"metadata": {"labels": {"a": "entry"}}, "spec": {"containers": []}}
FOLLOWER: dict[str, Any] = {"metadata": {"labels": {"a": "follower"}}, "spec": {"containers": []}}
SELECTOR = {
    "inferfleet.dev/deployment": "qwen",
    "inferfleet.dev/role": "decode",
    "inferfleet.dev/placement": "h100",
}


def _made(document: ModelDeployment, spot: Spot, *, replicas: int = 1, plugins: str = "") -> dict[str, Any]:
    made = worker_set(
        deployment=document,
        spot=spot,
        role="decode",
        replicas=replicas,
        size=4,
        entry=ENTRY,
        follower=FOLLOWER,
        stack="prod",
        plugins=plugins,
    )
    return awaited(made)


def test_a_worker_of_many_pods_is_a_group_that_lives_and_rolls_as_one(deployment: Make, spot: Spot) -> None:
    made = _made(deployment(count=2), spot, replicas=3, plugins="istio@1/aa")
    annotations = made["metadata"].pop("annotations")
    assert made == {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {
            "name": "qwen-decode-h100",
            "namespace": "ml",
            "labels": {
                "app.kubernetes.io/managed-by": "inferfleet",
                "inferfleet.dev/stack": "prod",
                **SELECTOR,
            },
        },
        "spec": {
            "replicas": 6,
            "startupPolicy": "LeaderCreated",
            "rolloutStrategy": {
                "type": "RollingUpdate",
                "rollingUpdateConfiguration": {"maxUnavailable": 1, "maxSurge": 0},
            },
            "leaderWorkerTemplate": {
                "size": 4,
                "restartPolicy": "RecreateGroupOnPodRestart",
                "leaderTemplate": ENTRY,
                "workerTemplate": FOLLOWER,
            },
        },
    }
    written = annotations["inferfleet.dev/spec"]
    assert annotations == {
        "inferfleet.dev/spec": written,
        "inferfleet.dev/plugins": "istio@1/aa",
        "pulumi.com/waitFor": '["condition=Available",'
        f"\"jsonpath={{.metadata.annotations['inferfleet.dev/spec']}}={written}\"]",
    }
    assert len(written) == 12
    assert (templates_of(made), pods_of(made)) == ((ENTRY, FOLLOWER), 24)


def test_a_surging_rollout_begins_a_group_before_one_ends(deployment: Make, spot: Spot) -> None:
    rolled = _made(deployment(rollout="Surge"), spot)["spec"]["rolloutStrategy"]["rollingUpdateConfiguration"]
    assert rolled == {"maxUnavailable": 0, "maxSurge": 1}


def test_an_update_waits_for_the_spec_that_it_wrote_and_no_other(deployment: Make, spot: Spot) -> None:
    waits = [
        _made(document, spot, replicas=replicas, plugins=plugins)["metadata"]["annotations"][
            "pulumi.com/waitFor"
        ]
        for document, replicas, plugins in (
            (deployment(), 1, ""),
            (deployment(), 1, "istio@1/aa"),
            (deployment(), 2, ""),
            (deployment(rollout="Surge"), 1, ""),
        )
    ]
    assert [waits.index(wait) for wait in waits] == [0, 0, 2, 3]


LONG = Spot("ml/a-model-with-a-long-name-of-32-ch", "east", (("decode", "pool-of-20-characters"),))
OTHER = Spot("ml/a-model-with-a-long-name-of-32-ch", "east", (("decode", "pool-of-20-characterz"),))


@pytest.mark.parametrize(
    ("spot", "name"),
    [
        (Spot("ml/qwen", "east", (("decode", "h100"),)), "qwen-decode-h100"),
        (LONG, "a-model-with-a-long-name-of-32-ch-decode-4a6f4e"),
    ],
)
def test_a_name_is_cut_so_that_labels_of_its_pods_fit(spot: Spot, name: str) -> None:
    made = names.worker_set(spot, "decode")
    assert made == name
    # The label of a follower's StatefulSet: name, group and a hash.
    assert len(f"{made}-9999-0123456789") <= 63


def test_a_set_is_never_called_like_the_followers_of_a_group_of_another() -> None:
    """The controller calls the StatefulSet of followers `<set>-<group>`, and that of leaders `<set>`."""
    pools = ("h200", "h200-1", "h200-17", "1")
    made = [names.worker_set(Spot("ml/a", "east", (("decode", pool),)), "decode") for pool in pools]
    assert made == [
        "a-decode-h200",
        "a-decode-h200-1-0d7079",
        "a-decode-h200-17-544d70",
        "a-decode-1-ae743c",
    ]


def test_names_that_are_cut_alike_differ() -> None:
    cut = [names.worker_set(spot, "decode") for spot in (LONG, OTHER)]
    assert cut[0][:40] == cut[1][:40]
    assert cut[0] != cut[1]
