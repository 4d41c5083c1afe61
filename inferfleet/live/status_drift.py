"""What differs from the documents, in Google Cloud and on the clusters."""

from collections.abc import Iterator, Mapping

from inferfleet.api.problems import Problem
from inferfleet.desired.values import Desired
from inferfleet.gke.drift import Drift, cloud_drift
from inferfleet.live.cloud_read import InCloud
from inferfleet.live.kubeconfig import GIVEN_UP
from inferfleet.live.object_drift import object_drift
from inferfleet.live.status_read import METADATA_ONLY, Seen
from inferfleet.live.status_routing import shown


def drift(
    desired: Desired, seen: Mapping[str, Seen | Problem], in_cloud: Mapping[str, InCloud]
) -> Iterator[Drift]:
    """By cluster: the cloud first. What is missing on a cluster is no drift; its status says so."""
    for cluster in sorted(desired.clusters, key=lambda one: one.connection.cluster):
        name, plan = cluster.connection.cluster, cluster.connection.cloud
        if cluster.connection.state in GIVEN_UP:
            continue
        if plan and name in in_cloud:
            yield from cloud_drift(plan, in_cloud[name].cluster, in_cloud[name].sizes)
        found = seen.get(name)
        if not isinstance(found, Seen):
            continue
        for one in cluster.objects:
            key = (one.kind, one.namespace or "", one.kubernetes_name)
            if key in found.objects:
                whole = one.kind not in METADATA_ONLY
                thing = f"{name} {shown(key)}"
                yield from object_drift(name, thing, one.manifest, found.objects[key], whole=whole)
