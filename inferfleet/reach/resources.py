"""Which kinds an API server knows, and where it lists their objects."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from inferfleet.reach.connect import Api, RefusedError

Kind = tuple[str, str]  # (apiVersion, kind)
# Up to this many namespaces are listed one by one, more of them in one list over the whole cluster.
FEW_NAMESPACES = 4


@dataclass(frozen=True)
class ApiResource:
    """A kind as the API server lists it."""

    root: str
    plural: str
    namespaced: bool

    def path(self, namespace: str | None = None, name: str | None = None) -> str:
        within = f"/namespaces/{namespace}" if namespace and self.namespaced else ""
        return f"{self.root}{within}/{self.plural}" + (f"/{name}" if name else "")


@dataclass(frozen=True)
class Found:
    """An object that stands on a cluster; `namespace` is "" for cluster-scoped ones."""

    namespace: str
    name: str
    labels: dict[str, str]
    terminating: bool


def known(api: Api, kinds: Iterable[Kind]) -> dict[Kind, ApiResource]:
    """Where the given kinds are listed; kinds that the API server does not know are left out."""
    wanted = set(kinds)
    found: dict[Kind, ApiResource] = {}
    for version in sorted({version for version, _ in wanted}):
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        try:
            offered = api.get(root).get("resources") or []
        except RefusedError as refused:
            if refused.status != 404:
                raise
            continue
        for one in offered:
            kind = (version, str(one.get("kind")))
            if kind in wanted and "/" not in one["name"]:  # deployments, but not deployments/scale
                found[kind] = ApiResource(root, one["name"], bool(one.get("namespaced")))
    return found


def served_versions(api: Api, group: str) -> tuple[str, ...]:
    """Versions of an API group that the server offers; none when it does not know the group."""
    try:
        versions = api.get(f"/apis/{group}").get("versions") or []
    except RefusedError as refused:
        if refused.status != 404:
            raise
        return ()
    return tuple(str(one.get("version")) for one in versions)


def listed(api: Api, resource: ApiResource, namespaces: set[str]) -> Iterator[Found]:
    """The objects of a kind in these namespaces, and maybe in others. Metadata only, a few requests."""
    few = resource.namespaced and len(namespaces) <= FEW_NAMESPACES
    paths = [resource.path(namespace) for namespace in sorted(namespaces)] if few else [resource.path()]
    for path in paths:
        for item in api.items(path, metadata_only=True):
            metadata = item["metadata"]
            yield Found(
                metadata.get("namespace") or "",
                metadata["name"],
                metadata.get("labels") or {},
                "deletionTimestamp" in metadata,
            )
