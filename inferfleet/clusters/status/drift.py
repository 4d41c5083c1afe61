"""What somebody changed by hand, in Google Cloud and on the clusters: fields that differ from documents."""

from collections.abc import Iterator, Mapping
from typing import Any

from inferfleet.cloud.provider import provider_of
from inferfleet.cloud.values import Drift, shown
from inferfleet.clusters.status.read import METADATA_ONLY, LiveCloudCluster, LiveCluster
from inferfleet.clusters.status.routing import titled
from inferfleet.desired.values import Desired
from inferfleet.documents.kinds.inference_cluster import GIVEN_UP
from inferfleet.documents.problems import Problem
from inferfleet.serving.comparison import differences
from inferfleet.serving.workload import PATCH_FORCE, bounds

_AUTOSCALER = "kube-controller-manager"
# As which updates write: `pulumi-kubernetes-<8 digits>` (fieldManagerName in pulumi-kubernetes v4.25.0,
# provider/pkg/provider/provider.go).
_ENGINE = "pulumi-kubernetes"


def drift(
    desired: Desired, seen: Mapping[str, LiveCluster | Problem], in_cloud: Mapping[str, LiveCloudCluster]
) -> Iterator[Drift]:
    """Yield the drift of every cluster, that of the cloud first. An object that is missing on a cluster is no
    drift; the status of the cluster names it. Nor is it drift that what is paused is not as documents say.
    """
    for cluster in sorted(desired.clusters, key=lambda cluster: cluster.connection.cluster):
        name, plan = cluster.connection.cluster, cluster.connection.cloud
        if cluster.connection.state in GIVEN_UP:
            continue
        if plan and name in in_cloud and cluster.connection.state != "paused":
            yield from provider_of(plan).drift(plan, in_cloud[name].cluster, in_cloud[name].sizes)
        live = seen.get(name)
        if not isinstance(live, LiveCluster):
            continue
        for obj in cluster.changing.objects:
            key = (obj.kind, obj.namespace or "", obj.kubernetes_name)
            if key in live.objects:
                whole = obj.kind not in METADATA_ONLY and "spec" not in obj.ignore
                thing = f"{name} {titled(key)}"
                yield from object_drift(name, thing, obj.manifest, live.objects[key], whole=whole)


def object_drift(
    cluster: str, thing: str, manifest: Mapping[str, Any], live: Mapping[str, Any], *, whole: bool
) -> Iterator[Drift]:
    """Yield the fields of the manifest that the live object has differently. Only metadata is compared where
    `live` is not `whole`.
    """
    wanted = {key: value for key, value in manifest.items() if key not in ("apiVersion", "kind")}
    for path, value, actual in differences(wanted if whole else {"metadata": manifest["metadata"]}, live):
        if path == ".spec.replicas":
            if scaled := bounds(manifest):
                yield from _outside(cluster, thing, actual, scaled)
                continue
            if _scaled_by_a_controller(live):
                continue
        undeployed = actual is not None and _written_by_updates_alone(live)
        yield Drift(cluster, thing, path.removeprefix("."), shown(actual), shown(value), undeployed)


def _written_by_updates_alone(live: Mapping[str, Any]) -> bool:
    """Return whether nobody but updates set any field that is there, as API servers remember it. Of fields
    that are gone they remember nothing, and whoever writes a status or scales has a subresource of its own.
    """
    writers = [
        (entry.get("manager", ""), entry.get("operation"))
        for entry in live["metadata"].get("managedFields") or ()
        if not entry.get("subresource")
    ]
    return bool(writers) and all(
        name.startswith(_ENGINE) and operation == "Apply" for name, operation in writers
    )


def _outside(cluster: str, thing: str, replicas: Any, scaled: tuple[int, int]) -> Iterator[Drift]:
    """Yield the number of replicas where it is none of those between which the plan has them scaled."""
    least, most = scaled
    if not (isinstance(replicas, int) and least <= replicas <= most):
        yield Drift(cluster, thing, "spec.replicas", shown(replicas), f"{least} to {most}")


def _scaled_by_a_controller(live: Mapping[str, Any]) -> bool:
    """Return whether the controller of a HorizontalPodAutoscaler set the number, not a person."""
    if PATCH_FORCE in (live["metadata"].get("annotations") or {}):
        return False  # It was scaled, and its number is an update's again.
    return any(
        entry.get("manager") == _AUTOSCALER
        and entry.get("subresource") == "scale"
        and "f:replicas" in (entry.get("fieldsV1") or {}).get("f:spec", {})
        for entry in live["metadata"].get("managedFields") or ()
    )
