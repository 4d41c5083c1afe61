"""Which objects of a cluster an update would write, and how: those that are new, and those that change.

An object changes where it lacks what is wanted, or has what an update wrote and nobody wants any longer. What
others alone have set meanwhile is no change: an update, which compares with what it wrote before, leaves it.
Secrets are left out: only Pulumi knows their values. Into a namespace that does not exist yet nothing can be
written, not even for a try, so what goes there is shown in `default`. Whether an object is well formed does
not depend on its namespace; what else is said there counts for nothing.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from inferfleet.clusters.connections.dry_run import DryRun
from inferfleet.clusters.connections.resources import ApiKind, ApiResource
from inferfleet.clusters.preflight.ownership import ExistingObject, is_ours
from inferfleet.desired.values import DesiredCluster, KubeObject, titled
from inferfleet.fleet.names import REPLICAS
from inferfleet.serving.comparison import differing
from inferfleet.serving.workload import PATCH_FORCE

STAND_IN = "default"
# Each object has a field manager of its own that begins so (fieldManagerName in pulumi-kubernetes v4.25.0,
# provider/pkg/provider/provider.go), which a new one gets with its first update.
_PULUMI = "pulumi-kubernetes"
# An update takes over what these have set (fixCSAFieldManagers in provider/pkg/await/await.go).
_TAKEN_OVER = ("kubectl", "before-first-apply")
_OF_ENGINE = "pulumi.com/"


@dataclass(frozen=True)
class Write:
    """One object that an update would write, and how it is shown to the API server. It is shown in another
    namespace where its own one does not exist (`elsewhere`).
    """

    object: KubeObject
    resource: ApiResource
    dry_run: DryRun
    is_new: bool
    elsewhere: bool

    @property
    def name(self) -> str:
        """Return kind, namespace and name."""
        made = self.object
        return titled(made.kind, made.namespace, made.kubernetes_name)


def writes(
    cluster: DesiredCluster,
    stack: str,
    existing: Iterable[ExistingObject],
    resources: Mapping[ApiKind, ApiResource],
) -> Iterator[Write]:
    """Yield what an update writes on a cluster that has the `existing` objects. What somebody else owns is
    none of it, and objects of kinds that the cluster does not know are not either.
    """
    live = {(each.kind, each.namespace, each.name): each for each in existing}
    spaces = {made.kubernetes_name for made in cluster.objects if made.kind == "Namespace"}
    absent = {name for name in spaces if ("Namespace", "", name) not in live}
    for made in cluster.objects:
        resource = resources.get((made.api_version, made.kind))
        if resource is None or made.kind == "Secret":
            continue
        before = live.get((made.kind, made.namespace or "", made.kubernetes_name))
        if before is None or (is_ours(before, stack) and _changes(made, before.item)):
            yield _write(made, before, resource, elsewhere=made.namespace in absent)


def _changes(made: KubeObject, live: Mapping[str, Any]) -> bool:
    # Items of a list may have no kind of their own.
    manifest = {key: value for key, value in _kept(made, live).items() if key not in ("apiVersion", "kind")}
    ours = [entry.get("fieldsV1") or {} for entry in _managed(live, _PULUMI)]
    theirs = [entry.get("fieldsV1") or {} for entry in _managed(live, "", subresources=True)]
    theirs = [fields for fields in theirs if fields not in ours]
    return any(_lacks(manifest, fields) for fields in ours) or any(
        any(_has(fields, path) for fields in ours) or not any(_has(fields, path) for fields in theirs)
        for path, _, _ in differing(manifest, live)
    )


def _write(
    made: KubeObject, before: ExistingObject | None, resource: ApiResource, *, elsewhere: bool
) -> Write:
    live = before.item if before else {}
    manifest = _kept(made, live)
    if elsewhere:
        manifest = {**manifest, "metadata": {**manifest["metadata"], "namespace": STAND_IN}}
    ours = next(_managed(live, _PULUMI), None)
    annotations = (live.get("metadata") or {}).get("annotations") or {}
    # As the engine decides it, and `desired.awaiting` for workloads whose replicas were somebody else's.
    force = elsewhere or (
        ours is not None
        and (bool({REPLICAS, PATCH_FORCE} & annotations.keys()) or any(_managed(live, *_TAKEN_OVER)))
    )
    path = resource.path(STAND_IN if elsewhere else made.namespace, made.kubernetes_name)
    manager = str(ours["manager"]) if ours else _PULUMI
    return Write(made, resource, DryRun(path, manifest, manager, force), before is None, elsewhere)


def _kept(made: KubeObject, live: Mapping[str, Any]) -> dict[str, Any]:
    """Return the manifest with fields as they are on the cluster where they are somebody else's."""
    manifest = made.manifest
    for path in made.ignore:
        manifest = _with(manifest, path.split("."), live)
    return manifest


def _with(manifest: Mapping[str, Any], path: list[str], live: Mapping[str, Any]) -> dict[str, Any]:
    step, *rest = path
    if step not in live:
        return dict(manifest)
    value = _with(manifest.get(step) or {}, rest, live[step]) if rest else live[step]
    return {**manifest, step: value}


def _managed(
    live: Mapping[str, Any], *managers: str, subresources: bool = False
) -> Iterator[Mapping[str, Any]]:
    """Yield what managers whose names begin so have set, in `subresources` only where it is said."""
    for entry in (live.get("metadata") or {}).get("managedFields") or ():
        is_theirs = str(entry.get("manager", "")).startswith(managers)
        if is_theirs and (subresources or not entry.get("subresource")):
            yield entry


def _has(fields: Mapping[str, Any], path: str) -> bool:
    """Return whether these fields, in the form FieldsV1, have the one at a path of `differing`."""
    if not path or not fields.keys() - {"."}:
        return True  # what is below is set as a whole
    for step, inner in fields.items():
        form, _, name = step.partition(":")
        start = f"[{json.loads(name).get('name')}]" if form == "k" else f".{name}"
        rest = path.removeprefix(start)
        if form in ("f", "k") and rest != path and rest[:1] in ("", ".", "[") and _has(inner, rest):
            return True
    return False


def _lacks(value: Any, fields: Mapping[str, Any]) -> bool:
    """Return whether a value lacks one of these fields, which are in the form FieldsV1
    (https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management).
    """
    for step, inner in fields.items():
        form, _, name = step.partition(":")
        if form == "f" and not name.startswith(_OF_ENGINE):
            if isinstance(value, Mapping) and name in value:
                if _lacks(value[name], inner):
                    return True
            elif not inner or "." in inner or _lacks({}, inner):
                return True
        elif form == "k":
            keys = json.loads(name)
            # Keys that a manifest leaves out have their default, such as the protocol of a port.
            alike = (each for each in value or () if all(each.get(k, v) == v for k, v in keys.items()))
            entry = next(alike, None)
            if entry is None or _lacks(entry, inner):
                return True
        elif form == "v" and json.loads(name) not in (value or ()):
            return True
    return False
