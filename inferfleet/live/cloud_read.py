"""What `status` reads of Google Cloud: the settings of the stack's own clusters and their pools."""

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from inferfleet.desired.values import Desired
from inferfleet.gke.values import NODE_POOL, CloudCluster
from inferfleet.live.asked import Asked
from inferfleet.live.cloud_refusals import CloudError
from inferfleet.live.compute_api import ComputeApi
from inferfleet.live.container_api import ContainerApi
from inferfleet.live.google_addresses import Addresses
from inferfleet.live.google_login import GoogleLogin, ready
from inferfleet.live.kubeconfig import GIVEN_UP

# .../projects/<project>/zones/<zone>/instanceGroupManagers/<name>
_GROUP = re.compile(r".*/projects/([^/]+)/zones/([^/]+)/instanceGroupManagers/([^/]+)")


@dataclass(frozen=True)
class InCloud:
    """One cluster: the answer of clusters.get, and the nodes of fixed pools by their name in the cloud."""

    cluster: Mapping[str, Any]
    sizes: Mapping[str, int] = field(default_factory=dict)


def read_cloud(desired: Desired, *, google: Addresses, seconds: float) -> dict[str, InCloud]:
    """By cluster of the stack's own, as far as Google told within so many seconds.

    Why it did not tell is said of the cluster; sizes that may not be read are left out.
    """
    plans = {
        one.connection.cluster: one.connection.cloud
        for one in desired.clusters
        if one.connection.cloud and one.connection.state not in GIVEN_UP
    }
    if not plans:
        return {}
    ready()
    until = time.monotonic() + seconds
    login = GoogleLogin()
    container = ContainerApi(google.container, login)
    compute = ComputeApi(google, login, seconds=seconds)

    def look(plan: CloudCluster) -> InCloud | None:
        try:
            found = container.cluster(plan, seconds=max(until - time.monotonic(), 0.1))
        except CloudError:
            return None
        return InCloud(found, _sizes(plan, found, compute)) if found else None

    answers = Asked({name: partial(look, plan) for name, plan in plans.items()}).answers(until=until)
    return {name: found for name, found in sorted(answers.items()) if found}


def _sizes(plan: CloudCluster, cluster: Mapping[str, Any], compute: ComputeApi) -> dict[str, int]:
    fixed = {
        one.inputs["name"]
        for part in plan.components
        for one in part.resources
        if one.token == NODE_POOL and "nodeCount" in one.inputs
    }
    found: dict[str, int] = {}
    for pool in cluster.get("nodePools") or ():
        groups = [_GROUP.fullmatch(str(url)) for url in pool.get("instanceGroupUrls") or ()]
        if pool.get("name") not in fixed or not groups:
            continue
        try:
            sizes = [compute.group_size(*group.groups()) for group in groups if group]
        except CloudError:
            return {}
        if None not in sizes:
            found[pool["name"]] = sum(size or 0 for size in sizes)
    return found
