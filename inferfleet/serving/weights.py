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
GATE = "wait-for-weights"
FILLER = "fill"
# Seconds between looks at the marker.
_EVERY = 5
# A Job with fewer tries would be over one day, and nothing would begin it again.
_TRIES = 1_000_000_000
_WAIT = f"""\
until [ -e "{ROOT}/$WEIGHTS_REVISION.filled" ]; do
  if [ -e {ROOT}/{filling.PROGRESS} ]; then cat {ROOT}/{filling.PROGRESS}; else echo "not begun"; fi
  sleep {_EVERY}
done
"""
_RESTRAINED = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}


def claim_name(cache: ModelCache) -> str:
    """Return the name of the claim that pods of the cache mount."""
    return cache.spec.to.claim.name or filling_name(cache)


def filling_name(cache: ModelCache) -> str:
    """Return the name of the claim and the Job of what the cache holds. Another class is another claim."""
    return names.filling(
        cache.metadata.key, cache.content | {"class": cache.spec.to.claim.storage_class_name}
    )


def claim(cache: ModelCache, *, stack: str) -> dict[str, Any]:
    """Return the claim of a cache that inferfleet fills, which any number of nodes can mount at once.

    It is not waited for: some classes make a volume in minutes, others for the first pod alone.
    """
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": _metadata(cache, stack),
        "spec": {
            "accessModes": ["ReadWriteMany"],
            "storageClassName": cache.spec.to.claim.storage_class_name,
            "resources": {"requests": {"storage": cache.spec.size}},
        },
    }


def fill_job(cache: ModelCache, *, serving: Serving, stack: str) -> dict[str, Any]:
    """Return the Job that fetches the weights of a cache, on nodes where pickers may run."""
    source = cache.spec.source.hugging_face
    variables: list[dict[str, Any]] = [
        {"name": "WEIGHTS_VOLUME", "value": ROOT},
        {"name": "WEIGHTS_REPOSITORY", "value": source.repository},
        {"name": "WEIGHTS_REVISION", "value": source.revision},
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
        "volumeMounts": [{"name": VOLUME, "mountPath": ROOT}],
        "securityContext": _RESTRAINED,
        # Its status then says what keeps it from going on.
        "terminationMessagePolicy": "FallbackToLogsOnError",
    }
    placed = serving.endpoint_picker
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": _metadata(cache, stack),
        "spec": {
            "backoffLimit": _TRIES,
            "template": {
                "metadata": {"labels": names.object_labels(stack) | _labels(cache)},
                "spec": {
                    **pull_secrets(serving),
                    **({"nodeSelector": dict(placed.node_selector)} if placed.node_selector else {}),
                    **(
                        {"tolerations": [each.model_dump(exclude_none=True) for each in placed.tolerations]}
                        if placed.tolerations
                        else {}
                    ),
                    "restartPolicy": "OnFailure",
                    "automountServiceAccountToken": False,
                    "enableServiceLinks": False,
                    "containers": [container],
                    "volumes": [_volume(cache)],
                },
            },
        },
    }


def load_weights(spec: dict[str, Any], cache: ModelCache) -> None:
    """Give the engine of a pod the weights of a cache, read-only, and have it wait until all are there."""
    _, container = engine_container(spec)
    spec.setdefault("volumes", []).append(_volume(cache, read_only=True))
    mount: dict[str, Any] = {"name": VOLUME, "mountPath": cache.folder, "readOnly": True}
    if folder := filling.MODEL if cache.spec.filled_here else cache.spec.to.claim.folder:
        mount["subPath"] = folder
    container.setdefault("volumeMounts", []).append(mount)
    if cache.spec.filled_here:
        spec.setdefault("initContainers", []).insert(0, _gate(cache, container.get("image", "")))


@cached
def _program() -> str:
    return Path(filling.__file__).read_text()


def _gate(cache: ModelCache, image: str) -> dict[str, Any]:
    """Return the container that ends once the marker is there, of the engine's image: its node has that."""
    return {
        "name": GATE,
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["/bin/sh", "-c", _WAIT],
        "env": [{"name": "WEIGHTS_REVISION", "value": cache.spec.source.hugging_face.revision}],
        "volumeMounts": [{"name": VOLUME, "mountPath": ROOT, "readOnly": True}],
        "securityContext": _RESTRAINED,
    }


def _volume(cache: ModelCache, *, read_only: bool = False) -> dict[str, Any]:
    source: dict[str, Any] = {"claimName": claim_name(cache)}
    return {"name": VOLUME, "persistentVolumeClaim": source | ({"readOnly": True} if read_only else {})}


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
