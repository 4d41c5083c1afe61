"""Decides which addresses outside of a cluster's network lead to what inside: those of Gateways."""

from collections.abc import Iterable, Mapping
from ipaddress import IPv4Network, ip_address

from sandbox.cluster.objects import Object
from sandbox.network.load_balancers import Place


def doors(gateways: Iterable[Object], network: IPv4Network) -> Mapping[Place, tuple[Place, ...]]:
    """Return the places outside that lead into the cluster, each with the places inside that serve it.

    A Gateway's address is of `network`, loopback addresses that belong to the cluster; its proxy listens at
    the same address inside.
    """
    found: dict[Place, tuple[Place, ...]] = {}
    for gateway in gateways:
        for address in gateway.get("status", {}).get("addresses") or ():
            if not _within(address["value"], network):
                continue
            for listener in gateway["spec"]["listeners"]:
                place = (address["value"], listener["port"])
                found[place] = (place,)
    return found


def _within(address: str, network: IPv4Network) -> bool:
    try:
        return ip_address(address) in network
    except ValueError:
        return False  # a host name
