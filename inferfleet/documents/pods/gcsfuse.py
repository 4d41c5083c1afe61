"""The sidecar of Cloud Storage FUSE, which a webhook of GKE adds to pods that an annotation asks for.

Without the sidecar a volume of the driver is never mounted, so pods with such a volume get the annotation,
whoever gave it to them. What a template says itself stays, `false` too. Volumes by a claim do not say their
driver; their templates have the annotation themselves. The sidecar's requests are written beside it: the
webhook's own defaults may change, and the plan counts these. Of GKE's other drivers Parallelstore's has a
sidecar and an annotation too, but volumes by claims alone, and Lustre's has neither.

Sources: cloud.google.com/kubernetes-engine/docs/how-to/cloud-storage-fuse-csi-driver-sidecar (2026); of
GoogleCloudPlatform/gcs-fuse-csi-driver the defaults in deploy/base/webhook/deployment.yaml at 0b99364, and
populateResource in pkg/webhook/config.go at 01870a9.
"""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from inferfleet.documents.pods.diff import field_path
from inferfleet.documents.pods.template import containers_of
from inferfleet.documents.problems import FieldPath
from inferfleet.documents.quantity import parse_quantity

DRIVER = "gcsfuse.csi.storage.gke.io"
_PREFIX = "gke-gcsfuse/"
ASKS = f"{_PREFIX}volumes"
SIDECAR = "gke-gcsfuse-sidecar"
_DEFAULTS = {"cpu": "250m", "memory": "256Mi", "ephemeral-storage": "5Gi"}
_NO_LIMIT = "0"


def with_annotations(template: Mapping[str, Any]) -> dict[str, Any]:
    """Return the template with the annotations of the sidecar, where it gets one."""
    metadata = template.get("metadata", {})
    annotations = dict(metadata.get("annotations", {}))
    if any(map(_is_bucket, template["spec"].get("volumes", ()))):
        annotations.setdefault(ASKS, "true")
    if annotations.get(ASKS) != "true":
        return dict(template)
    for resource, amount in _DEFAULTS.items():
        request, limit = _key(resource, "request"), _key(resource, "limit")
        if request not in annotations and limit not in annotations:
            annotations |= {request: amount, limit: _NO_LIMIT}
        elif request not in annotations and _amount(annotations[limit]) == 0:
            annotations[request] = amount
    return {**template, "metadata": {**metadata, "annotations": annotations}}


def sidecar(template: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Return what the sidecar requests that pods of a template get, by its name; nothing where they get none.

    One that is in the template itself requests what it has there.
    """
    annotations = with_annotations(template).get("metadata", {}).get("annotations", {})
    spec = template["spec"]
    written = {container.get("name") for _, container in containers_of(spec)}
    if annotations.get(ASKS) != "true" or SIDECAR in written:
        return {}
    # A limit alone is the request too.
    amounts = {
        resource: annotations.get(_key(resource, "request"), annotations.get(_key(resource, "limit"), ""))
        for resource in _DEFAULTS
    }
    # The webhook refuses pods with what is no amount.
    return {SIDECAR: {resource: amount for resource, amount in amounts.items() if _amount(amount)}}


def fields(template: Mapping[str, Any]) -> frozenset[str]:
    """Return the fields by which pods of a template get the sidecar, and its size."""
    annotations = template.get("metadata", {}).get("annotations", {})
    volumes = enumerate(template["spec"].get("volumes", ()))
    keys = [key for key in annotations if key.startswith(_PREFIX)]
    paths: list[FieldPath] = [("metadata", "annotations", key) for key in keys]
    paths += [("spec", "volumes", index, "csi", "driver") for index, volume in volumes if _is_bucket(volume)]
    return frozenset(field_path(template, path) for path in paths)


def _is_bucket(volume: Mapping[str, Any]) -> bool:
    return bool(volume.get("csi", {}).get("driver") == DRIVER)


def _key(resource: str, what: str) -> str:
    return f"{_PREFIX}{resource}-{what}"


def _amount(text: str) -> Decimal | None:
    try:
        return parse_quantity(text)
    except ValueError:
        return None
