"""Pods with a volume of Cloud Storage FUSE ask for GKE's sidecar, and what it requests is known."""

from typing import Any

import pytest

from inferfleet.documents.pods.gcsfuse import fields, sidecar, with_annotations

BUCKET = {"name": "models", "csi": {"driver": "gcsfuse.csi.storage.gke.io", "volumeAttributes": {}}}
CLAIM = {"name": "models", "persistentVolumeClaim": {"claimName": "models"}}
OTHER = {"name": "secrets", "csi": {"driver": "secrets-store.csi.k8s.io"}}
ASKS = {"gke-gcsfuse/volumes": "true"}
SIZES = {
    "gke-gcsfuse/cpu-request": "250m",
    "gke-gcsfuse/cpu-limit": "0",
    "gke-gcsfuse/memory-request": "256Mi",
    "gke-gcsfuse/memory-limit": "0",
    "gke-gcsfuse/ephemeral-storage-request": "5Gi",
    "gke-gcsfuse/ephemeral-storage-limit": "0",
}
DEFAULTS = {"cpu": "250m", "memory": "256Mi", "ephemeral-storage": "5Gi"}


def _template(*volumes: dict[str, Any], container: str = "engine", **annotations: str) -> dict[str, Any]:
    own = {f"gke-gcsfuse/{key.replace('_', '-')}": value for key, value in annotations.items()}
    return {
        "metadata": {"labels": {"a": "b"}, **({"annotations": own} if own else {})},
        "spec": {"containers": [{"name": container}], "volumes": list(volumes)},
    }


def _annotations(template: dict[str, Any]) -> dict[str, str]:
    annotations: dict[str, str] = with_annotations(template)["metadata"].get("annotations", {})
    return annotations


def test_a_volume_of_the_driver_asks_for_the_sidecar_with_its_sizes() -> None:
    template = _template(OTHER, BUCKET)
    expected = {**template, "metadata": {"labels": {"a": "b"}, "annotations": ASKS | SIZES}}
    assert with_annotations(template) == with_annotations(expected) == expected
    assert sidecar(template) == sidecar(expected) == {"gke-gcsfuse-sidecar": DEFAULTS}


@pytest.mark.parametrize("volumes", [(), (OTHER,), (CLAIM,)])
def test_other_pods_stay_as_they_are(volumes: tuple[dict[str, Any], ...]) -> None:
    template = _template(*volumes)
    assert (with_annotations(template), sidecar(template)) == (template, {})


def test_a_claim_with_the_annotation_gets_the_sidecar_too() -> None:
    template = _template(CLAIM, volumes="true")
    assert _annotations(template) == ASKS | SIZES
    assert sidecar(template) == {"gke-gcsfuse-sidecar": DEFAULTS}


def test_what_a_template_says_itself_stays() -> None:
    template = _template(BUCKET, volumes="false")
    assert (with_annotations(template), sidecar(template)) == (template, {})


@pytest.mark.parametrize(
    ("own", "added", "requests"),
    [
        # As the webhook completes what is missing: one alone is both, and no limit leaves the default.
        ({"memory_request": "1Gi"}, {}, "1Gi"),
        ({"memory_limit": "2Gi"}, {}, "2Gi"),
        ({"memory_limit": "0"}, {"gke-gcsfuse/memory-request": "256Mi"}, "256Mi"),
        ({"memory_request": "1Gi", "memory_limit": "2Gi"}, {}, "1Gi"),
        ({"memory_request": "much"}, {}, None),
        ({"memory_request": ""}, {}, None),
    ],
)
def test_sizes_of_a_template_stay_and_are_counted(
    own: dict[str, str], added: dict[str, str], requests: str | None
) -> None:
    template = _template(BUCKET, **own)
    written = {f"gke-gcsfuse/{key.replace('_', '-')}": value for key, value in own.items()}
    others = {key: value for key, value in SIZES.items() if "/memory-" not in key}
    assert _annotations(template) == ASKS | others | written | added
    assert sidecar(template)["gke-gcsfuse-sidecar"].get("memory") == requests


def test_a_sidecar_that_a_template_has_itself_is_counted_there() -> None:
    template = _template(BUCKET, container="gke-gcsfuse-sidecar")
    assert _annotations(template) == ASKS | SIZES
    assert sidecar(template) == {}


def test_the_fields_by_which_pods_get_the_sidecar_are_those_of_buckets_and_of_its_annotations() -> None:
    template = _template(OTHER, BUCKET, cpu_limit="1")
    template["metadata"]["annotations"]["team"] = "chat"
    assert fields(template) == {
        'metadata.annotations["gke-gcsfuse/cpu-limit"]',
        "spec.volumes[models].csi.driver",
    }
