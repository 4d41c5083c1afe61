"""Which kinds an API server serves, where it lists their objects, and whether one of them is there."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from inferfleet.clusters.connections.api import Api, RefusedError

ApiKind = tuple[str, str]  # (apiVersion, kind)
# Up to this many namespaces are listed one by one, more of them in one list over the whole cluster.
FEW_NAMESPACES = 4


@dataclass(frozen=True)
class ApiResource:
    """A kind as the API server serves it; `root` is the path of its group and version."""

    root: str
    plural: str
    namespaced: bool

    def path(self, namespace: str | None = None, name: str | None = None) -> str:
        """Return the path of an object, or of the list of all, in one namespace or in the whole cluster."""
        within = f"/namespaces/{namespace}" if namespace and self.namespaced else ""
        return f"{self.root}{within}/{self.plural}" + (f"/{name}" if name else "")


def known(api: Api, kinds: Iterable[ApiKind]) -> dict[ApiKind, ApiResource]:
    """Return where the given kinds are listed, without those that the API server does not serve."""
    wanted = set(kinds)
    resources: dict[ApiKind, ApiResource] = {}
    for version in sorted({version for version, _ in wanted}):
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        try:
            offered = api.get(root).get("resources") or []
        except RefusedError as refused:
            if refused.status != 404:
                raise
            continue
        for entry in offered:
            kind = (version, str(entry.get("kind")))
            if kind in wanted and "/" not in entry["name"]:  # deployments, but not deployments/scale
                resources[kind] = ApiResource(root, entry["name"], bool(entry.get("namespaced")))
    return resources


def served_versions(api: Api, group: str) -> tuple[str, ...]:
    """Return the versions of an API group that the server serves; none when it does not know the group."""
    try:
        versions = api.get(f"/apis/{group}").get("versions") or []
    except RefusedError as refused:
        if refused.status != 404:
            raise
        return ()
    return tuple(str(version.get("version")) for version in versions)


def newest(api: Api, group: str, kind: str) -> ApiResource | None:
    """Return where a kind is listed in the version of its group that the server names first of those with it.

    That is the newest stable version, or the newest of the others.
    """
    for version in served_versions(api, group):
        wanted = (f"{group}/{version}", kind)
        if resource := known(api, [wanted]).get(wanted):
            return resource
    return None


def lists(resource: ApiResource, namespaces: set[str]) -> list[str]:
    """Return the paths of a few lists that have all objects of a kind in these namespaces."""
    few = resource.namespaced and len(namespaces) <= FEW_NAMESPACES
    return [resource.path(namespace) for namespace in sorted(namespaces)] if few else [resource.path()]


def exists(api: Api, path: str) -> bool:
    """Return whether there is an object at this path."""
    try:
        api.get(path, metadata_only=True)
    except RefusedError as refused:
        if refused.status != 404:
            raise
        return False
    return True


def readable(api: Api, path: str) -> dict[str, Any] | None:
    """Return an object or list, None where there is none, or where the credentials may not read it."""
    try:
        return api.get(path)
    except RefusedError as refused:
        if refused.status not in (403, 404):
            raise
        return None
