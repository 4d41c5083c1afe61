"""The volumes of claims: for each a folder of the cluster, which all nodes share.

Clusters have a StorageClass `shared` for them. A claim of another class waits, as it does where nobody makes
its volume. They also have the driver of Cloud Storage FUSE, whose buckets are folders of the stack.
"""

import asyncio
import shutil
from pathlib import Path

from inferfleet.documents.pods.gcsfuse import DRIVER
from sandbox.cluster.objects import Object
from sandbox.cluster.watching import UNREACHABLE, Api, ApiError, Copies, follow

CLASS, PROVISIONER = "shared", "sandbox.inferfleet.dev/folders"
RETRY_SECONDS = 1.0
_CLASSES, _DRIVERS = "/apis/storage.k8s.io/v1/storageclasses", "/apis/storage.k8s.io/v1/csidrivers"
_VOLUMES = "/api/v1/persistentvolumes"


def claim_folder(cluster_folder: Path, namespace: str, name: str) -> Path:
    """Return the folder of the volume of a claim."""
    return cluster_folder / "claims" / namespace / name


async def serve_claims(api: Api, cluster_folder: Path) -> None:
    """Make the volumes of all claims of the class until cancelled, and remove those whose claim is gone."""
    await _there(
        api,
        _CLASSES,
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": CLASS},
            "provisioner": PROVISIONER,
        },
    )
    await _there(
        api,
        _DRIVERS,
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "CSIDriver",
            "metadata": {"name": DRIVER},
            "spec": {
                "attachRequired": False,
                "podInfoOnMount": True,
                "volumeLifecycleModes": ["Persistent", "Ephemeral"],
            },
        },
    )
    claims = Copies("/api/v1/persistentvolumeclaims")
    changed: asyncio.Queue[str] = asyncio.Queue()
    made: dict[str, Object] = {}
    async with asyncio.TaskGroup() as group:
        group.create_task(follow(api, claims, changed.put_nowait))
        while True:
            name = await changed.get()
            claim = claims.objects.get(name)
            if claim is None and name in made:
                await _remove(api, made.pop(name), cluster_folder)
            elif claim is not None and claim["spec"].get("storageClassName") == CLASS:
                made[name] = claim
                metadata = claim["metadata"]
                folder = claim_folder(cluster_folder, metadata["namespace"], metadata["name"])
                folder.mkdir(parents=True, exist_ok=True)
                await _there(api, _VOLUMES, volume(claim, folder))


def volume(claim: Object, folder: Path) -> Object:
    """Return the volume of a claim."""
    metadata, spec = claim["metadata"], claim["spec"]
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": _volume_name(claim)},
        "spec": {
            "accessModes": spec["accessModes"],
            "capacity": spec["resources"]["requests"],
            "claimRef": {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "namespace": metadata["namespace"],
                "name": metadata["name"],
                "uid": metadata["uid"],
            },
            "hostPath": {"path": str(folder)},
            "persistentVolumeReclaimPolicy": "Retain",
            "storageClassName": CLASS,
        },
    }


def _volume_name(claim: Object) -> str:
    return f"pvc-{claim['metadata']['uid']}"


async def _there(api: Api, path: str, wanted: Object) -> None:
    """Create an object, unless it is there."""
    while True:
        try:
            await api.call("POST", path, body=wanted)
        except UNREACHABLE:
            await asyncio.sleep(RETRY_SECONDS)
            continue
        except ApiError as error:
            if error.status != 409 and error.status < 500:
                raise
            if error.status >= 500:
                await asyncio.sleep(RETRY_SECONDS)
                continue
        return


async def _remove(api: Api, claim: Object, cluster_folder: Path) -> None:
    metadata = claim["metadata"]
    shutil.rmtree(claim_folder(cluster_folder, metadata["namespace"], metadata["name"]), ignore_errors=True)
    try:
        await api.call("DELETE", f"{_VOLUMES}/{_volume_name(claim)}")
    except (ApiError, *UNREACHABLE):
        return
