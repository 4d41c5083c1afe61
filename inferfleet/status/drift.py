"""What somebody changed by hand, in Google Cloud and on the clusters: fields that differ from documents."""

from collections.abc import Iterator, Mapping
from typing import Any

from inferfleet.api.kinds.quantity import parse_quantity
from inferfleet.api.problems import Problem
from inferfleet.desired.values import Desired
from inferfleet.gke.drift import Drift, cloud_drift, shown
from inferfleet.reach.kubeconfig import GIVEN_UP
from inferfleet.status.read import METADATA_ONLY, InCloud, Seen
from inferfleet.status.routing import titled

# Annotations for the engine, which differ from run to run.
_OF_ENGINE = "pulumi.com/"
# Fields whose values are quantities, which may be written in many ways: 1000m is 1.
_QUANTITIES = ("requests", "limits", "sizeLimit")
_AUTOSCALER = "kube-controller-manager"


def drift(
    desired: Desired, seen: Mapping[str, Seen | Problem], in_cloud: Mapping[str, InCloud]
) -> Iterator[Drift]:
    """Yield the drift of every cluster, that of the cloud first. An object that is missing on a cluster is no
    drift; the status of the cluster names it.
    """
    for cluster in sorted(desired.clusters, key=lambda cluster: cluster.connection.cluster):
        name, plan = cluster.connection.cluster, cluster.connection.cloud
        if cluster.connection.state in GIVEN_UP:
            continue
        if plan and name in in_cloud:
            yield from cloud_drift(plan, in_cloud[name].cluster, in_cloud[name].sizes)
        live = seen.get(name)
        if not isinstance(live, Seen):
            continue
        for wanted in cluster.objects:
            key = (wanted.kind, wanted.namespace or "", wanted.kubernetes_name)
            if key in live.objects:
                whole = wanted.kind not in METADATA_ONLY
                thing = f"{name} {titled(key)}"
                yield from object_drift(name, thing, wanted.manifest, live.objects[key], whole=whole)


def object_drift(
    cluster: str, thing: str, manifest: Mapping[str, Any], live: Mapping[str, Any], *, whole: bool
) -> Iterator[Drift]:
    """Yield the fields of the manifest that the live object has differently. Only metadata is compared where
    `live` is not `whole`.
    """
    wanted = {key: value for key, value in manifest.items() if key not in ("apiVersion", "kind")}
    for path, value, actual in _differing(wanted if whole else {"metadata": manifest["metadata"]}, live):
        if path == ".spec.replicas" and _scaled_by_a_controller(live):
            continue
        yield Drift(cluster, thing, path.removeprefix("."), shown(actual), shown(value))


def _differing(wanted: Any, actual: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    if isinstance(wanted, Mapping) and isinstance(actual, Mapping):
        for key, value in wanted.items():
            if not key.startswith(_OF_ENGINE):
                yield from _differing(value, actual.get(key), f"{path}.{key}")
    elif isinstance(wanted, list) and isinstance(actual, list):
        yield from _differing_items(wanted, actual, path)
    elif not _same(wanted, actual, path):
        yield path, wanted, actual


def _differing_items(wanted: list[Any], actual: list[Any], path: str) -> Iterator[tuple[str, Any, Any]]:
    """Compare items by their names: between ours there may be items that a controller added."""
    wanted_items, actual_items = _by_name(wanted), _by_name(actual)
    if wanted_items is None or actual_items is None:
        if len(wanted) != len(actual):
            yield path, wanted, actual
            return
        for number, (wanted_item, actual_item) in enumerate(zip(wanted, actual, strict=True)):
            yield from _differing(wanted_item, actual_item, f"{path}[{number}]")
        return
    for name, wanted_item in wanted_items.items():
        yield from _differing(wanted_item, actual_items.get(name), f"{path}[{name}]")


def _by_name(items: list[Any]) -> dict[str, Any] | None:
    """Return the items by name, None where some have no name or the same one."""
    named = {item["name"]: item for item in items if isinstance(item, Mapping) and "name" in item}
    return named if len(named) == len(items) else None


def _same(wanted: Any, actual: Any, path: str) -> bool:
    if wanted == actual or (not wanted and wanted is not False and actual is None):
        return True
    if not any(f".{field}." in f"{path}." for field in _QUANTITIES):
        return False
    try:
        return parse_quantity(str(wanted)) == parse_quantity(str(actual))
    except ValueError:
        return False


def _scaled_by_a_controller(live: Mapping[str, Any]) -> bool:
    """Return whether the controller of a HorizontalPodAutoscaler set the number, not a person."""
    return any(
        entry.get("manager") == _AUTOSCALER
        and entry.get("subresource") == "scale"
        and "f:replicas" in (entry.get("fieldsV1") or {}).get("f:spec", {})
        for entry in live["metadata"].get("managedFields") or ()
    )
