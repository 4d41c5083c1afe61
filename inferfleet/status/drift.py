"""What differs from the documents, in Google Cloud and on the clusters: somebody changed it by hand."""

from collections.abc import Iterator, Mapping
from typing import Any

from inferfleet.api.kinds.quantity import parse_quantity
from inferfleet.api.problems import Problem
from inferfleet.desired.values import Desired
from inferfleet.gke.drift import Drift, cloud_drift, shown
from inferfleet.reach.kubeconfig import GIVEN_UP
from inferfleet.status.read import METADATA_ONLY, InCloud, Seen
from inferfleet.status.routing import titled

# Told to the engine, and different from run to run.
_OF_ENGINE = "pulumi.com/"
# Values there are quantities, which may be written in many ways: 1000m is 1.
_QUANTITIES = ("requests", "limits", "sizeLimit")
_AUTOSCALER = "kube-controller-manager"


def object_drift(
    cluster: str, thing: str, manifest: Mapping[str, Any], live: Mapping[str, Any], *, whole: bool
) -> Iterator[Drift]:
    """Of `live` only the metadata is known where it is not `whole`."""
    wanted = {key: value for key, value in manifest.items() if key not in ("apiVersion", "kind")}
    for path, one, found in _differing(wanted if whole else {"metadata": manifest["metadata"]}, live):
        if path == ".spec.replicas" and _scaled_by_a_controller(live):
            continue
        yield Drift(cluster, thing, path.removeprefix("."), shown(found), shown(one))


def _differing(wanted: Any, found: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    if isinstance(wanted, Mapping) and isinstance(found, Mapping):
        for key, value in wanted.items():
            if not key.startswith(_OF_ENGINE):
                yield from _differing(value, found.get(key), f"{path}.{key}")
    elif isinstance(wanted, list) and isinstance(found, list):
        yield from _items(wanted, found, path)
    elif not _same(wanted, found, path):
        yield path, wanted, found


def _items(wanted: list[Any], found: list[Any], path: str) -> Iterator[tuple[str, Any, Any]]:
    """Items with names go by these: somebody else's may stand between ours."""
    names, there = _by_name(wanted), _by_name(found)
    if names is None or there is None:
        if len(wanted) != len(found):
            yield path, wanted, found
            return
        for place, (one, other) in enumerate(zip(wanted, found, strict=True)):
            yield from _differing(one, other, f"{path}[{place}]")
        return
    for name, one in names.items():
        yield from _differing(one, there.get(name), f"{path}[{name}]")


def _by_name(items: list[Any]) -> dict[str, Any] | None:
    """None for items without names, or with the same ones."""
    found = {one["name"]: one for one in items if isinstance(one, Mapping) and "name" in one}
    return found if len(found) == len(items) else None


def _same(wanted: Any, found: Any, path: str) -> bool:
    if wanted == found or (not wanted and wanted is not False and found is None):
        return True
    if not any(f".{one}." in f"{path}." for one in _QUANTITIES):
        return False
    try:
        return parse_quantity(str(wanted)) == parse_quantity(str(found))
    except ValueError:
        return False


def _scaled_by_a_controller(live: Mapping[str, Any]) -> bool:
    """A HorizontalPodAutoscaler's controller set the number, not a person."""
    return any(
        one.get("manager") == _AUTOSCALER
        and one.get("subresource") == "scale"
        and "f:replicas" in (one.get("fieldsV1") or {}).get("f:spec", {})
        for one in live["metadata"].get("managedFields") or ()
    )


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
                thing = f"{name} {titled(key)}"
                yield from object_drift(name, thing, one.manifest, found.objects[key], whole=whole)
