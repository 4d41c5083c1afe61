"""What is said of a subnetwork that somebody else keeps, by what Google answers about it."""

from typing import Any

import pytest
from small_clouds import clouds, cluster, made, pool, recipe

from inferfleet.cloud.gke.existing_networks import (
    closed_problems,
    interface_needs,
    interface_problems,
    subnetwork_needs,
    subnetwork_problems,
)
from inferfleet.cloud.gke.facts import sources
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
        ({"nodeCount": 2}, "error", "it has at least 5: l4 2, system 3"),
        ({"maxNodeCount": 2}, "error", "it has at least 3: system 3"),
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
        ({"nodeCount": 13}, [("error", "it has at least 16: l4 13, system 3")]),
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


OPEN = {
    "name": "in",
    "direction": "INGRESS",
    "sourceRanges": ["10.0.0.0/8"],
    "allowed": [{"IPProtocol": "all"}],
}
FRAMES = {"TCPXO": 8244, "RDMA": None}
Answers = dict[str, dict[str, Any] | None]


def test_a_rule_before_those_of_gke_that_keeps_out_health_checks_is_a_warning() -> None:
    documents = clouds(cluster("east", network={"existing": EXISTING}))
    (need,) = subnetwork_needs(documents, [made(documents)])
    rule = {
        "name": "out",
        "priority": 900,
        "denied": [{"IPProtocol": "all"}],
        "sourceRanges": ["35.191.0.0/16"],
    }
    assert list(closed_problems(need, subnetwork(), {}, {"firewalls": []})) == []
    assert list(closed_problems(need, subnetwork(), {}, {"firewalls": [rule]})) == [
        Problem(
            "firewall rule out of network shared of project acme-net keeps out 35.191.0.0/16, which Google's "
            "health checks come from, before GKE's own rules for cluster east let it in, and nothing says so "
            "(GKE, automatically created firewall rules, 2026-11-28: "
            "https://docs.cloud.google.com/kubernetes-engine/docs/concepts/firewall-rules)",
            "Have somebody let it in by a rule that comes before, to all nodes: tcp from 35.191.0.0/16",
            f"{PATH}.name",
            kind="InferenceCluster",
            key="east",
            severity="warning",
        )
    ]
    of_pods = rule | {"sourceRanges": ["10.0.0.0/8"]}
    (problem,) = closed_problems(need, subnetwork(), {}, {"firewalls": [of_pods]})
    assert "keeps out 10.4.0.0/16, which its pods have, before" in problem.what


def wired(fabric: str, **answers: Any) -> list[tuple[str, str, str]]:
    """What is said of the first two networks of a pool, of which these answers differ from right ones."""
    class_name, zone = {"TCPXO": "mega", "RDMA": "h200"}[fabric], "us-east5-a"
    configs = [{"network": f"n{place}", "subnetwork": f"s{place}"} for place in range(8)]
    if fabric == "RDMA":
        rails = [{"network": "n1", "subnetwork": f"s{place}"} for place in range(1, 9)]
        configs = [configs[0], *rails]
    gpus = pool("gpus", class_name, zones=[zone], additionalNodeNetworkConfigs=configs)
    documents = clouds(cluster("east", gpus, network={"existing": EXISTING}))
    cloud = made(documents)
    assert interface_needs(documents, [cloud], {"east": [cloud.pools["gpus"].name]}) == ()
    (need,) = interface_needs(documents, [cloud], {"east": []})
    link = "https://www.googleapis.com/compute/v1/projects/acme-net/global/networks"
    subnetworks: Answers = {
        f"s{place}": {"network": f"{link}/n{place}", "ipCidrRange": f"10.{place}.0.0/20"}
        for place in range(2)
    }
    networks: Answers = {
        "n0": {"mtu": 8244},
        "n1": {"mtu": 8896, "networkProfile": f"x/{zone}-vpc-roce"} if fabric == "RDMA" else {"mtu": 8244},
    }
    firewalls = {f"n{place}": {"firewalls": [OPEN]} for place in range(2)}
    found = interface_problems(
        need,
        subnetworks | answers.get("subnetworks", {}),
        networks | answers.get("networks", {}),
        firewalls | answers.get("firewalls", {}),
    )
    return [(one.severity, one.path.rpartition("additionalNodeNetworkConfigs")[2], one.what) for one in found]


@pytest.mark.parametrize("fabric", ["TCPXO", "RDMA"])
def test_networks_between_gpus_that_have_all_are_not_spoken_of(fabric: str) -> None:
    assert wired(fabric) == []


def test_a_network_or_subnetwork_that_is_not_there_is_an_error() -> None:
    to_be_in = "which an interface of nodes of pool gpus of cluster east is to be in"
    assert wired("TCPXO", subnetworks={"s0": None}) == [
        ("error", "[0].subnetwork", f"there is no subnetwork s0 in us-east5 of project acme-net, {to_be_in}")
    ]
    assert wired("TCPXO", networks={"n1": None}) == [
        ("error", "[1].network", f"there is no network n1 of project acme-net, {to_be_in}")
    ]


def test_a_subnetwork_of_another_network_and_one_that_is_too_small_are_told() -> None:
    elsewhere = {"network": "x/projects/acme-net/global/networks/other", "ipCidrRange": "10.0.0.0/29"}
    small = "subnetwork s0 in us-east5 of project acme-net has 10.0.0.0/29, which is 4 nodes"
    first, *rest = wired("TCPXO", subnetworks={"s0": elsewhere})
    assert (first, rest) == (
        (
            "error",
            "[0].subnetwork",
            "subnetwork s0 in us-east5 of project acme-net is in network other, not in n0",
        ),
        [],
    )
    tiny = elsewhere | {"network": "x/projects/acme-net/global/networks/n0", "ipCidrRange": "10.0.0.0/30"}
    ((severity, path, what),) = wired("TCPXO", subnetworks={"s0": tiny})
    assert (severity, path) == ("warning", "[0].subnetwork")
    assert what.startswith(small.replace("/29", "/30").replace("is 4", "is 0"))


def test_small_frames_are_a_warning_because_nothing_says_that_they_are_slow() -> None:
    ((severity, path, what),) = wired("TCPXO", networks={"n0": {"mtu": 1460}})
    assert (severity, path) == ("warning", "[0].network")
    assert what.startswith(
        "network n0 of project acme-net has frames of 1460 bytes, and TCPXO is made for 8244"
    )
    assert wired("RDMA", networks={"n0": {"mtu": 1460}}) == []


def test_interfaces_of_rdma_are_in_a_network_with_the_profile_of_their_zone() -> None:
    other = {"networkProfile": "x/us-east5-b-vpc-roce"}
    told = wired("RDMA", networks={"n1": other})
    assert told[0] == (
        "error",
        "[1].network",
        "network n1 of project acme-net has us-east5-b-vpc-roce network profile, and an interface of RDMA in "
        f"us-east5-a needs us-east5-a-vpc-roce ({sources.RDMA_ZONE})",
    )
    ((_, path, what),) = wired("RDMA", networks={"n0": other})
    assert (path, what.partition(", and ")[2]) == (
        "[0].network",
        f"a gVNIC needs none ({sources.RDMA_ZONE})",
    )


def test_a_network_in_which_nodes_do_not_hear_each_other_is_a_warning() -> None:
    closed: dict[str, Any] = {"n0": {"firewalls": []}}
    ((severity, path, what),) = wired("TCPXO", firewalls=closed)
    assert (severity, path) == ("warning", "[0].network")
    assert what.startswith("no firewall rule lets in what comes from 10.0.0.0/20 in network n0 of project")
    assert wired("RDMA", firewalls=closed) == []
