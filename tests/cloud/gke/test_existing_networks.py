"""What is said of a subnetwork that somebody else keeps, by what Google answers about it."""

from typing import Any

import pytest
from small_clouds import clouds, cluster, made, pool, recipe

from inferfleet.cloud.gke.existing_networks import subnetwork_needs, subnetwork_problems
from inferfleet.documents.problems import Problem

EXISTING = {
    "name": "shared",
    "subnetwork": "nodes",
    "podsRange": "pods",
    "servicesRange": "services",
    "project": "acme-net",
}
PATH = "spec.cluster.gke.network.existing"
ENOUGH = "10.0.0.0/22"


def subnetwork(primary: str = ENOUGH, access: bool = True, **ranges: str) -> dict[str, Any]:
    """Google's answer about a subnetwork; `ranges` are the secondary ones by name."""
    secondary = ranges or {"pods": "10.4.0.0/16", "services": "10.5.0.0/20"}
    return {
        "ipCidrRange": primary,
        "privateIpGoogleAccess": access,
        "secondaryIpRanges": [{"rangeName": name, "ipCidrRange": block} for name, block in secondary.items()],
    }


def problems(
    answer: dict[str, Any] | None, *pools: dict[str, Any], pods: int = 110, **gke: Any
) -> list[Problem]:
    thin = recipe("thin", "g2-standard-48", "nvidia-l4", 4, pods=pods)
    document = cluster("east", *(pools or (pool(),)), network={"existing": EXISTING}, **gke)
    documents = clouds(document, classes=(thin,))
    (need,) = subnetwork_needs(documents, [made(documents)])
    return list(subnetwork_problems(need, answer))


def said(answer: dict[str, Any] | None, *pools: dict[str, Any], **more: Any) -> list[tuple[str, str, str]]:
    return [(one.severity, one.path, one.what) for one in problems(answer, *pools, **more)]


def test_one_that_has_all_is_not_spoken_of() -> None:
    assert problems(subnetwork()) == []


def test_one_that_is_not_there_is_an_error_with_the_command_that_lists_those_there() -> None:
    assert problems(None) == [
        Problem(
            "there is no subnetwork nodes in us-east5 of project acme-net, which cluster east is to be in",
            "Look with `gcloud compute networks subnets list --project acme-net --regions us-east5`, and "
            "write one of them",
            f"{PATH}.subnetwork",
            kind="InferenceCluster",
            key="east",
        )
    ]


def test_ranges_of_other_names_are_listed() -> None:
    answer = subnetwork(services="10.5.0.0/20", podz="10.4.0.0/16")
    assert said(answer) == [
        (
            "error",
            f"{PATH}.podsRange",
            "subnetwork nodes has no secondary range pods; it has podz, services",
        )
    ]
    without = subnetwork() | {"secondaryIpRanges": None}
    assert [what for _, _, what in said(without)] == [
        "subnetwork nodes has no secondary range pods; it has none",
        "subnetwork nodes has no secondary range services; it has none",
    ]


PODS_PAGE = (
    "(GKE, maximum Pods per node, 2026-11-24: "
    "https://cloud.google.com/kubernetes-engine/docs/how-to/flexible-pod-cidr)"
)


@pytest.mark.parametrize(
    ("size", "severity", "which"),
    [
        ({"nodeCount": 2}, "error", "its pools of fixed size are 2: l4 2"),
        ({"maxNodeCount": 2}, "warning", "its pools at their maxima are 6: l4 2, system 4"),
    ],
)
def test_a_24_for_pods_is_one_node_of_110(size: dict[str, int], severity: str, which: str) -> None:
    answer = subnetwork(pods="10.4.0.0/24", services="10.5.0.0/20")
    assert said(answer, pool(**size)) == [
        (
            severity,
            f"{PATH}.podsRange",
            "range pods of subnetwork nodes has 10.4.0.0/24 for pods of cluster east, which is 1 node of 110 "
            f"pods (a /24 each); {which} {PODS_PAGE}",
        )
    ]


def test_fewer_pods_for_each_node_of_all_pools_fit_into_it() -> None:
    answer = subnetwork(pods="10.4.0.0/24", services="10.5.0.0/20")
    few = {"pods": 16, "systemPool": {"maxPodsPerNode": 16}}
    assert said(answer, pool(class_name="thin", maxNodeCount=4), **few) == []


@pytest.mark.parametrize(
    ("size", "told"),
    [
        ({"maxNodeCount": 8}, []),
        ({"maxNodeCount": 9}, [("warning", "its pools at their maxima are 13: l4 9, system 4")]),
        ({"nodeCount": 13}, [("error", "its pools of fixed size are 13: l4 13")]),
    ],
)
def test_a_28_for_nodes_is_twelve_of_them(size: dict[str, int], told: list[tuple[str, str]]) -> None:
    assert said(subnetwork("10.0.0.0/28"), pool(**size)) == [
        (
            severity,
            f"{PATH}.subnetwork",
            "subnetwork nodes has 10.0.0.0/28 for nodes of cluster east, which is 12 of them (Google, "
            f"subnets, 2026-11-28: https://docs.cloud.google.com/vpc/docs/subnets); {which}",
        )
        for severity, which in told
    ]


def test_private_nodes_without_private_access_are_a_warning_with_the_command() -> None:
    (problem,) = problems(subnetwork(access=False))
    assert (problem.severity, problem.path, problem.next_step) == (
        "warning",
        f"{PATH}.subnetwork",
        "Have somebody run `gcloud compute networks subnets update nodes --project acme-net --region "
        "us-east5 --enable-private-ip-google-access`",
    )
    assert problems(subnetwork(access=False), privateNodes=False) == []


def test_a_network_of_its_own_is_not_asked_about() -> None:
    documents = clouds(cluster())
    assert subnetwork_needs(documents, [made(documents)]) == ()
