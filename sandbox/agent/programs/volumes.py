"""The volumes of a container, as folders on this machine."""

import asyncio
from contextlib import suppress
from pathlib import Path

from inferfleet.documents.pods.gcsfuse import DRIVER
from sandbox.agent.claims import claim_folder
from sandbox.agent.environment import values_of
from sandbox.agent.program import CannotStart
from sandbox.cluster.objects import Object
from sandbox.cluster.watching import UNREACHABLE, Api
from sandbox.gcp.rules.buckets import may
from sandbox.gcp.store import Store
from sandbox.places import CLOUD

# Seconds between looks at the Secrets of a pod, which its own controller fills after it has started.
_SYNC_SECONDS = 2.0


async def mounts(api: Api, pod: Object, container: Object, folder: Path) -> dict[str, Path]:
    """Return a folder for each mount path: that of its claim, or one with the content of its ConfigMap or
    Secret. Other volumes are empty. `folder` is that of the pod's volumes, in the folder of the cluster.

    Raises CannotStart when a ConfigMap or Secret does not exist.
    """
    volumes = {volume["name"]: volume for volume in pod["spec"].get("volumes", [])}
    folders = {}
    for mount in container.get("volumeMounts", []):
        volume = volumes.get(mount["name"], {})
        volume_folder = folder / mount["name"]
        if claim := volume.get("persistentVolumeClaim"):
            # <cluster>/pods/<pod>/volumes
            namespace = pod["metadata"]["namespace"]
            volume_folder = claim_folder(folder.parents[2], namespace, claim["claimName"])
        if volume.get("csi", {}).get("driver") == DRIVER:
            name = volume["csi"]["volumeAttributes"]["bucketName"]
            volume_folder = bucket_folder(folder, pod, name, writes=not volume["csi"].get("readOnly"))
        volume_folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        for name, content in (await _files(api, pod, volume)).items():
            (volume_folder / name).parent.mkdir(parents=True, exist_ok=True)
            _write(volume_folder / name, content)
        mounted = volume_folder / mount["subPath"] if mount.get("subPath") else volume_folder
        folders[mount["mountPath"].rstrip("/") or "/"] = mounted
    return folders


async def keep(api: Api, pod: Object, container: Object, folder: Path) -> None:
    """Bring Secrets and ConfigMaps of the pod up to date, as a kubelet does, until cancelled."""
    while True:
        await asyncio.sleep(_SYNC_SECONDS)
        with suppress(*UNREACHABLE):
            await mounts(api, pod, container, folder)


def bucket_folder(folder: Path, pod: Object, name: str, *, writes: bool) -> Path:
    """Return the folder of a bucket, which all clusters of a stack have. One of the stack's cloud is for pods
    that its policy lets in. `folder` is that of the pod's volumes.

    Raises CannotStart.
    """
    # <stack>/kwok/<cluster>/pods/<pod>/volumes
    stack = next(parent.parent for parent in folder.parents if parent.name == "kwok")
    records = Store(stack / CLOUD).read()
    namespace, account = pod["metadata"]["namespace"], pod["spec"].get("serviceAccountName", "default")
    if name in records and not may(records, name, namespace=namespace, account=account, writes=writes):
        raise CannotStart("CreateContainerError", f"googleapi: Error 403: no access to bucket {name}")
    return stack / "buckets" / name


def _write(file: Path, content: bytes) -> None:
    """Give a file its content at once, unless it has it."""
    if file.exists() and file.read_bytes() == content:
        return
    new = file.with_name(f".{file.name}.new")
    new.write_bytes(content)
    new.replace(file)


def redirected(argument: str, folders: dict[str, Path]) -> str:
    """Return the argument with a path below a mount, alone or after `=`, replaced by that on this machine."""
    flag, equals, value = argument.partition("=")
    head, path = (flag + equals, value) if equals and flag.startswith("-") else ("", argument)
    for mount in sorted(folders, key=len, reverse=True):
        if path == mount or path.startswith(f"{mount}/"):
            return f"{head}{folders[mount]}{path[len(mount) :]}"
    return argument


async def _files(api: Api, pod: Object, volume: Object) -> dict[str, bytes]:
    for kind, field in (("configmaps", "configMap"), ("secrets", "secret")):
        if field in volume:
            values = await values_of(api, pod, kind, volume[field])
            items = volume[field].get("items")
            if items is None:
                return values
            return {item["path"]: values[item["key"]] for item in items if item["key"] in values}
    return {}
