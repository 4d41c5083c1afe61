"""Whether definitions (CRDs) of routes, Gateways and InferencePools on a cluster know what is written there.

Which release they are of is in an annotation, which nobody has to keep, and a field may be in a fork or in
the channel `experimental` earlier: so a field is looked for in the definition itself. Updates apply objects
on the server, which refuses a field that is not there, long after the update began (status 500, "field not
declared in schema", of Kubernetes 1.36 in the sandbox).
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from inferfleet.api.problems import Problem, Severity, cluster_problem
from inferfleet.api.wording import listing
from inferfleet.desired.values import DesiredCluster, KubeObject
from inferfleet.profiles.installing import (
    DEFINITIONS,
    GOOGLES_COMPONENT,
    GOOGLES_UPGRADE,
    Definitions,
    is_older,
)
from inferfleet.reach.api import Api
from inferfleet.reach.resources import ApiKind, ApiResource, readable

GROUP, PLURAL = "apiextensions.k8s.io", "customresourcedefinitions"
_PATH = f"/apis/{GROUP}/v1/{PLURAL}"
# What every object has, whatever its definition says.
_OF_ALL = ("apiVersion", "kind", "metadata")
# Objects that are named where a field of theirs is not known.
_NAMED = 2


def defined_elsewhere(cluster: DesiredCluster) -> dict[ApiKind, list[KubeObject]]:
    """Return the objects on a cluster by kind, of kinds whose definitions somebody else installs."""
    objects: dict[ApiKind, list[KubeObject]] = {}
    for made in cluster.objects:
        if made.api_version.partition("/")[0] in DEFINITIONS:
            objects.setdefault((made.api_version, made.kind), []).append(made)
    return objects


def old_definitions(
    api: Api, cluster: DesiredCluster, resources: Mapping[ApiKind, ApiResource]
) -> Iterator[Problem]:
    """Yield which definitions on a cluster are older than its pickers need, or lack fields that are written.

    Who may not read definitions is told nothing of them here; `inferfleet doctor` says it. On a cluster that
    the stack creates it is a warning, because Google brings newer ones with the versions of its clusters.
    """
    for kind, objects in sorted(defined_elsewhere(cluster).items()):
        if resource := resources.get(kind):
            group = kind[0].partition("/")[0]
            definition = readable(api, f"{_PATH}/{resource.plural}.{group}")
            if definition is not None:
                yield from _problems(cluster, kind, objects, definition)


def _problems(
    cluster: DesiredCluster, kind: ApiKind, objects: list[KubeObject], definition: Mapping[str, Any]
) -> Iterator[Problem]:
    version, name = kind
    group = version.partition("/")[0]
    known = DEFINITIONS[group]
    annotations = definition["metadata"].get("annotations") or {}
    release, needed = annotations.get(known.annotation, ""), cluster.definitions.get(group, "")
    of = f", of {known.title} {release}," if release else ""
    what = f"the CRD of {name} on cluster {cluster.connection.cluster!r}{of}"
    severity: Severity = "warning" if cluster.connection.cloud else "error"
    path = "spec.serving.profile"
    if is_older(release, needed):
        told = [f"{what} is older than {needed}, which the endpoint pickers there need"]
    else:
        schema, path = _schema(definition, version.rpartition("/")[2]), ""
        told = [f"{what} {lack}" for lack in _lacks(schema, name, objects, known)]
    step = _step(known, annotations)
    for each in told:
        yield cluster_problem(cluster.connection.cluster, each, step, path, severity=severity)


def _step(known: Definitions, annotations: Mapping[str, str]) -> str:
    if GOOGLES_COMPONENT in annotations:
        return f"GKE manages it: give the cluster a newer version, or see {GOOGLES_UPGRADE}"
    return f"Run `{known.install}` there"


def _lacks(
    schema: Mapping[str, Any], kind: str, objects: Iterable[KubeObject], known: Definitions
) -> Iterator[str]:
    """Yield what the objects have and the definition does not take, each once, with who has it."""
    having: dict[tuple[str, str], list[str]] = {}
    for made in objects:
        content = {key: value for key, value in made.manifest.items() if key not in _OF_ALL}
        whose = "/".join(filter(None, (made.namespace, made.kubernetes_name)))
        for lack in dict.fromkeys(_unknown(schema, content)):
            having.setdefault(lack, []).append(whose)
    for (path, verb), names in sorted(having.items()):
        since = known.since.get(f"{kind} {path}")
        needed = f"; that needs {since} or later" if since else ""
        yield f"{verb} {path}, which an update writes into {listing(names, _NAMED)}{needed}"


def _unknown(schema: Mapping[str, Any], value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield the fields of a value that a schema does not have, the topmost of each, and lists that are longer
    than it allows: the path without numbers, and the verb.
    """
    if isinstance(value, list):
        most = schema.get("maxItems")
        if most is not None and len(value) > most:
            yield path, f"takes no more than {most} in"
        for entry in value:
            yield from _unknown(schema.get("items") or {}, entry, path)
    elif isinstance(value, dict) and not schema.get("x-kubernetes-preserve-unknown-fields"):
        # Without any, keys are free, or nothing is said of them.
        if (properties := schema.get("properties")) is None:
            return
        for key, inner in value.items():
            below = f"{path}.{key}".removeprefix(".")
            if key in properties:
                yield from _unknown(properties[key], inner, below)
            else:
                yield below, "does not know"


def _schema(definition: Mapping[str, Any], version: str) -> Mapping[str, Any]:
    """Return the schema of a version of a definition, empty where there is none."""
    for served in definition["spec"].get("versions") or ():
        if served.get("name") == version:
            return (served.get("schema") or {}).get("openAPIV3Schema") or {}
    return {}
