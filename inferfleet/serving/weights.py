"""Weights of a ModelCache on a cluster: the claim that holds them, the Job that fetches them, and what pods
have to load them.

A claim and a Job are for one content, a commit with a selection of files, and have its hash in their names:
another commit is fetched beside the old one, and pods go over by their usual roll. The Job is not waited for,
has no time to live, after which it would be made again, and never gives up: what keeps it from going on is in
its pod's status. Pods begin with a container that waits for the marker of the commit, so that nothing
half-filled is ever loaded.
"""

import json
from functools import cache as cached
from pathlib import Path
from typing import Any

from inferfleet.documents.kinds.inference_cluster import Serving
from inferfleet.documents.kinds.model_cache import ModelCache
from inferfleet.documents.pods.gcsfuse import DRIVER, with_annotations
from inferfleet.documents.pods.template import engine_container
from inferfleet.fleet import names
from inferfleet.fleet.roles import usual_image
from inferfleet.serving import filling
from inferfleet.serving.engines.command_line import TOKEN
from inferfleet.serving.metadata import SKIP_AWAIT, metadata
from inferfleet.serving.programs import pull_secrets
from inferfleet.tables.engines import engine

VOLUME = "weights"
# Where the Job and the container that waits have all of the volume.
ROOT = "/weights-volume"
# Where the Job has parts of files: of a bucket on a disk of its node.
_PART = "/weights-part"
GATE = "wait-for-weights"
FILLER = "fill"
CLAIM = "PersistentVolumeClaim"
# The label by which the pods of a Job name it (batch/v1, JobNameLabel).
JOB_NAME = "batch.kubernetes.io/job-name"
# Seconds between looks at the marker.
_EVERY = 5
# A Job with fewer tries would be over one day, and nothing would begin it again.
_TRIES = 1_000_000_000
_WAIT = f"""\
until [ -e "$WEIGHTS_VOLUME/$WEIGHTS_REVISION.filled" ]; do
  cat "$WEIGHTS_VOLUME/{filling.PROGRESS}" 2>/dev/null || echo "not begun"
  sleep {_EVERY}
done
"""
RESTRAINED = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}


def filling_name(cache: ModelCache) -> str:
    """Return the name of the claim and the Job of what the cache holds, or of the folder in a bucket."""
    return names.filling(cache.metadata.key, cache.content | cache.place)


def filler_account(cache: ModelCache) -> str:
    """Return the name of the ServiceAccount that writes a bucket."""
    return f"{cache.metadata.name}-filler"


def account(cache: ModelCache, *, stack: str) -> dict[str, Any]:
    """Return the ServiceAccount that writes a bucket, and that no other pod has."""
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": metadata(
            filler_account(cache),
            stack=stack,
            namespace=cache.metadata.namespace,
            labels=_labels(cache),
        ),
        "automountServiceAccountToken": False,
    }


def _folder(cache: ModelCache) -> str:
    """Return the folder of a cache in its volume: of a claim all of it, in a bucket one of its own."""
    if cache.spec.to.bucket is None:
        return ""
    return f"{cache.metadata.namespace}/{filling_name(cache)}/"


def claim(cache: ModelCache, *, stack: str) -> dict[str, Any]:
    """Return the claim of a cache that inferfleet fills, which any number of nodes can mount at once.

    It is not waited for: some classes make a volume in minutes, others for the first pod alone.
    """
    return {
        "apiVersion": "v1",
        "kind": CLAIM,
        "metadata": _with_end(_metadata(cache, stack), cache),
        "spec": {
            "accessModes": ["ReadWriteMany"],
            "storageClassName": cache.place["class"],
            "resources": {"requests": {"storage": cache.spec.size}},
        },
    }


def _with_end(metadata: dict[str, Any], cache: ModelCache) -> dict[str, Any]:
    """Return the metadata of a claim with what becomes of it, which no document may say any more then."""
    if not is_deleted(cache):
        return metadata
    return {**metadata, "annotations": {**metadata["annotations"], names.WHEN_REMOVED: "Delete"}}


def is_deleted(cache: ModelCache) -> bool:
    """Return whether claims of a cache are deleted once no document has them."""
    return cache.spec.when_removed == "Delete"


def fill_job(cache: ModelCache, *, serving: Serving, stack: str) -> dict[str, Any]:
    """Return the Job that fetches the weights of a cache, on nodes where pickers may run."""
    source, in_bucket = cache.spec.source.hugging_face, cache.spec.to.bucket is not None
    variables: list[dict[str, Any]] = [
        {"name": "WEIGHTS_ROOT", "value": ROOT},
        *_where(cache),
        {"name": "WEIGHTS_PART", "value": f"{_PART}/files" if in_bucket else f"{ROOT}/.part"},
        {"name": "WEIGHTS_REPOSITORY", "value": source.repository},
        {"name": "WEIGHTS_FILES", "value": json.dumps(source.files)},
        {"name": "WEIGHTS_SIZE", "value": str(cache.spec.size_in_bytes)},
        {"name": "HF_ENDPOINT", "value": source.endpoint},
        {"name": "HF_HOME", "value": "/tmp/hf"},
        {"name": "HF_HUB_DISABLE_TELEMETRY", "value": "1"},
    ]
    if source.token:
        ref = source.token.secret_ref
        reference = {"secretKeyRef": {"name": ref.name, "key": ref.key}}
        variables.append({"name": TOKEN, "valueFrom": reference})
    container = {
        "name": FILLER,
        "image": cache.spec.image
        or serving.images.engine.get("vLLM")
        or usual_image("vLLM", engine("vLLM").version),
        "imagePullPolicy": "IfNotPresent",
        "command": ["python3", "-c", _program()],
        "env": variables,
        "resources": {"requests": {"cpu": "1", "memory": "2Gi"}},
        "volumeMounts": [
            {"name": VOLUME, "mountPath": ROOT},
            *([{"name": "part", "mountPath": _PART}] if in_bucket else []),
        ],
        "securityContext": RESTRAINED,
        # Its status then says what keeps it from going on.
        "terminationMessagePolicy": "FallbackToLogsOnError",
    }
    placed = serving.endpoint_picker
    template = {
        "metadata": {"labels": names.object_labels(stack) | _labels(cache)},
        "spec": {
            **pull_secrets(serving),
            **({"nodeSelector": dict(placed.node_selector)} if placed.node_selector else {}),
            **(
                {"tolerations": [each.model_dump(exclude_none=True) for each in placed.tolerations]}
                if placed.tolerations
                else {}
            ),
            **({"serviceAccountName": filler_account(cache)} if in_bucket else {}),
            "restartPolicy": "OnFailure",
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "containers": [container],
            "volumes": [
                _volume(cache),
                *([{"name": "part", "emptyDir": {"sizeLimit": cache.spec.size}}] if in_bucket else []),
            ],
        },
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": _metadata(cache, stack),
        "spec": {
            "backoffLimit": _TRIES,
            "template": with_annotations(template),
        },
    }


def bucket_url(cache: ModelCache) -> str | None:
    """Return where a bucket has the files, None for a claim."""
    bucket = cache.spec.to.bucket
    return f"gs://{bucket.name}/{_folder(cache)}{filling.MODEL}" if bucket else None


def load_weights(spec: dict[str, Any], cache: ModelCache, *, mounted: bool) -> None:
    """Have the engine of a pod wait until the weights of a cache are all there, and give it these, read-only,
    where they are to be `mounted`.
    """
    _, container = engine_container(spec)
    if mounted:
        mount_cache(spec, container, cache, path=cache.folder)
    else:
        _await(spec, container, cache, VOLUME)


def mount_cache(
    spec: dict[str, Any], container: dict[str, Any], cache: ModelCache, *, path: str, volume: str = VOLUME
) -> None:
    """Mount the files of a cache, read-only, as a volume of this name in the pod, which waits until all are
    there.
    """
    mount: dict[str, Any] = {"name": volume, "mountPath": path, "readOnly": True}
    kept = cache.spec.to.claim or cache.spec.to.image
    somebodys = kept.folder if kept else None
    if folder := f"{_folder(cache)}{filling.MODEL}" if cache.spec.filled_here else somebodys:
        mount["subPath"] = folder
    container.setdefault("volumeMounts", []).append(mount)
    _await(spec, container, cache, volume)


def _await(spec: dict[str, Any], container: dict[str, Any], cache: ModelCache, volume: str) -> None:
    """Give a pod the volume of a cache, and have it wait until all files are there."""
    volumes = spec.setdefault("volumes", [])
    if not any(each["name"] == volume for each in volumes):
        volumes.append({**_volume(cache, read_only=True), "name": volume})
    if cache.spec.filled_here:
        gate = _gate(cache, container.get("image", ""), volume)
        first = spec.setdefault("initContainers", [])
        if not any(each["name"] == gate["name"] for each in first):
            first.insert(0, gate)


@cached
def _program() -> str:
    return Path(filling.__file__).read_text()


def _gate(cache: ModelCache, image: str, volume: str) -> dict[str, Any]:
    """Return the container that ends once the marker is there, of the engine's image: its node has that."""
    return {
        "name": GATE if volume == VOLUME else f"{GATE}-{cache.metadata.name}",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["/bin/sh", "-c", _WAIT],
        "env": _where(cache),
        "volumeMounts": [{"name": volume, "mountPath": ROOT, "readOnly": True}],
        "securityContext": RESTRAINED,
    }


def _where(cache: ModelCache) -> list[dict[str, Any]]:
    """Return the variables that say where the marker is, in the Job and in pods."""
    return [
        {"name": "WEIGHTS_VOLUME", "value": f"{ROOT}/{_folder(cache)}".rstrip("/")},
        {"name": "WEIGHTS_REVISION", "value": cache.spec.source.hugging_face.revision},
    ]


def _volume(cache: ModelCache, *, read_only: bool = False) -> dict[str, Any]:
    only_read = {"readOnly": True} if read_only else {}
    if bucket := cache.spec.to.bucket:
        # Folders of a bucket that no object stands for are seen by this option alone.
        attributes = {"bucketName": bucket.name, "mountOptions": "implicit-dirs"}
        return {"name": VOLUME, "csi": {"driver": DRIVER, **only_read, "volumeAttributes": attributes}}
    if image := cache.spec.to.image:
        return {"name": VOLUME, "image": {"reference": image.reference, "pullPolicy": "IfNotPresent"}}
    claim = cache.spec.to.claim
    name = claim.name if claim and claim.name else filling_name(cache)
    return {"name": VOLUME, "persistentVolumeClaim": {"claimName": name, **only_read}}


def _metadata(cache: ModelCache, stack: str) -> dict[str, Any]:
    source = cache.spec.source.hugging_face
    return metadata(
        filling_name(cache),
        stack=stack,
        namespace=cache.metadata.namespace,
        labels=_labels(cache),
        annotations={
            SKIP_AWAIT: "true",
            names.WEIGHTS: f"{source.repository}@{source.revision}",
        },
    )


def _labels(cache: ModelCache) -> dict[str, str]:
    return {names.CACHE: cache.metadata.name}
