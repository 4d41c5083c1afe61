"""Every pod of every cluster of a user has a loopback address of its own."""

from ipaddress import IPv4Network
from pathlib import Path

import pytest

from sandbox.cluster import podnet
from sandbox.cluster.podnet import PodNetwork, contains, with_networks
from sandbox.cluster.reservations import Reservations
from sandbox.problem import SandboxProblem


def _node(name: str, cidr: str | None = None) -> dict[str, object]:
    return {"metadata": {"name": name}, "spec": {"podCIDR": cidr, "podCIDRs": [cidr]} if cidr else {}}


def _folder(home: Path, stack: str, cluster: str) -> Path:
    folder = home / stack / "kwok" / "clusters" / cluster
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def test_the_networks_of_all_blocks_are_loopback_and_nobody_s_twice() -> None:
    networks = [PodNetwork(block) for block in podnet.BLOCKS]
    loopback = IPv4Network("127.0.0.0/8")
    assert all(network.whole.subnet_of(loopback) for network in networks)
    assert not any(IPv4Network("127.0.0.0/16").overlaps(network.whole) for network in networks)
    assert len({network.whole for network in networks}) == len(networks)


def test_the_last_network_of_a_block_is_for_gateways_and_no_node_s() -> None:
    network = PodNetwork(1)
    nodes = list(network.of_nodes())
    assert str(nodes[0]) == "127.4.0.0/24"
    assert str(network.of_gateways) == "127.7.255.0/24"
    assert len(nodes) == 1023
    assert network.of_gateways not in nodes


def test_new_nodes_get_the_lowest_networks_that_no_standing_node_has() -> None:
    standing = [_node("a", "127.4.0.0/24"), _node("b", "127.4.2.0/24")]
    placed = with_networks([_node("c"), _node("d")], standing, PodNetwork(1))
    assert placed == [_node("c", "127.4.1.0/24"), _node("d", "127.4.3.0/24")]


def test_more_nodes_than_networks_are_a_problem_with_a_next_step() -> None:
    with pytest.raises(SandboxProblem, match=r"at most 1023 nodes\. Lower nodeCount"):
        with_networks([_node(str(number)) for number in range(1024)], [], PodNetwork(1))


@pytest.mark.parametrize(
    ("cidr", "held"), [("127.4.9.0/24", True), ("127.8.0.0/24", False), ("10.0.0.0/24", False), (None, False)]
)
def test_a_node_of_another_block_or_of_none_is_not_the_cluster_s(cidr: str | None, held: bool) -> None:
    assert contains(PodNetwork(1), _node("a", cidr)) is held


def test_a_cluster_keeps_its_block_until_it_gives_it_back(home: Path) -> None:
    first, second = _folder(home, "one", "east"), _folder(home, "two", "east")
    assert podnet.network(first) == podnet.network(first) == PodNetwork(1)
    assert podnet.network(second) == PodNetwork(2)
    podnet.release(first)
    assert podnet.network(_folder(home, "one", "west")) == PodNetwork(1)


def test_a_block_whose_stack_is_gone_is_free_again(home: Path) -> None:
    folder = _folder(home, "one", "east")
    podnet.network(folder)
    for path in (folder, *folder.parents[:3]):
        path.rmdir()
    assert podnet.network(_folder(home, "two", "east")) == PodNetwork(1)


def test_numbers_that_are_not_usable_or_to_be_avoided_are_passed_over(home: Path) -> None:
    numbers, folder = Reservations("test"), _folder(home, "one", "east")
    assert numbers.reserve(folder, [1, 2, 3], usable=lambda number: number != 1) == 2
    assert numbers.reserve(folder, [1, 2, 3], avoid=frozenset({2})) == 1
    assert numbers.reserve(_folder(home, "two", "east"), [1]) is None


def test_pods_of_a_network_namespace_have_private_addresses_and_gateways_those_of_this_machine() -> None:
    network = PodNetwork(3, namespaced=True)
    assert [str(net) for net in (network.whole, next(network.of_nodes()), network.of_gateways)] == [
        "10.12.0.0/14",
        "10.12.0.0/24",
        "127.15.255.0/24",
    ]
    assert (str(network.reachable), str(PodNetwork(3).reachable)) == ("10.0.0.0/8", "127.0.0.0/8")
