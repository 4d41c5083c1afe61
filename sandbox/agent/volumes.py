"""Volumes of a container as folders of this machine."""

from pathlib import Path
from typing import Any

from sandbox.agent.environment import values_of
from sandbox.cluster.watching import Api

Object = dict[str, Any]


async def mounts(api: Api, pod: Object, container: Object, folder: Path) -> dict[str, Path]:
    """Mount path -> folder with the content of its ConfigMap or Secret; other volumes are empty folders.

    Raises CannotStart when a ConfigMap or Secret is not there.
    """
    volumes = {one["name"]: one for one in pod["spec"].get("volumes", [])}
    found = {}
    for mount in container.get("volumeMounts", []):
        volume = volumes.get(mount["name"], {})
        place = folder / mount["name"]
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        for name, content in (await _files(api, pod, volume)).items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_bytes(content)
        below = place / mount["subPath"] if mount.get("subPath") else place
        found[mount["mountPath"].rstrip("/") or "/"] = below
    return found


def redirected(word: str, places: dict[str, Path]) -> str:
    """The word with a path in a mounted folder, alone or after `=`, replaced by the one on this machine."""
    flag, equals, value = word.partition("=")
    head, path = (flag + equals, value) if equals and flag.startswith("-") else ("", word)
    for mount, place in sorted(places.items(), key=lambda one: -len(one[0])):
        if path == mount or path.startswith(f"{mount}/"):
            return f"{head}{place}{path[len(mount) :]}"
    return word


async def _files(api: Api, pod: Object, volume: Object) -> dict[str, bytes]:
    for kind, field in (("configmaps", "configMap"), ("secrets", "secret")):
        if field in volume:
            values = await values_of(api, pod, kind, volume[field])
            items = volume[field].get("items")
            if items is None:
                return values
            return {one["path"]: values[one["key"]] for one in items if one["key"] in values}
    return {}
