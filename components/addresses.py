"""Stack outputs read from the clusters: addresses of gateways, and URLs of services on each cluster."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import pulumi

from inferfleet.desired.values import Desired, KubeObject
from inferfleet.serving.gateway import Address, address_of, url


def addresses(
    desired: Desired, registered: Mapping[str, pulumi.CustomResource], theirs: Mapping[str, Address]
) -> dict[str, Any]:
    """Return `gateways` by cluster, and `urls` by service and cluster.

    `theirs` are addresses of gateways that the stack did not create; a cluster whose gateway has none is
    left out.
    """
    known = {name: pulumi.Output.from_input(address) for name, address in theirs.items()} | {
        cluster.connection.cluster: _address(registered[cluster.gateway.key], cluster.gateway)
        for cluster in desired.clusters
        if cluster.gateway
    }
    urls: dict[str, dict[str, pulumi.Output[str | None]]] = {}
    for route in desired.plan.services:
        if route.cluster in known:
            reached = known[route.cluster].apply(partial(_url, route.path))
            urls.setdefault(route.service, {})[route.cluster] = reached
    return {"gateways": {name: address.apply(_host) for name, address in known.items()}, "urls": urls}


def _address(gateway: pulumi.CustomResource, plan: KubeObject) -> pulumi.Output[Address | None]:
    status: pulumi.Output[Any] = getattr(gateway, "status")  # noqa: B009
    return status.apply(lambda status: address_of({**plan.manifest, "status": status}))


def _host(address: Address | None) -> str | None:
    return address.host if address else None


def _url(path: str, address: Address | None) -> str | None:
    return url(address, path)
