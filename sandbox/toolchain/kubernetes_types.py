"""Makes `inferfleet/documents/pods/types.json` from the OpenAPI document that the pinned API server serves.

    kubectl get --raw /openapi/v2 \\
        | python -m sandbox.toolchain.kubernetes_types inferfleet/documents/pods/types.json

It has the types of a pod template and of objects that plugins add beside a workload, without descriptions,
and the kinds that belong to a whole cluster.
The served document is used and not the one of the release, because enums are in the former alone.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

POD = "io.k8s.api.core.v1.PodTemplateSpec"
OBJECTS = (
    "io.k8s.api.core.v1.ConfigMap",
    "io.k8s.api.core.v1.PersistentVolumeClaim",
    "io.k8s.api.core.v1.Secret",
    "io.k8s.api.core.v1.Service",
    "io.k8s.api.core.v1.ServiceAccount",
    "io.k8s.api.networking.v1.NetworkPolicy",
    "io.k8s.api.policy.v1.PodDisruptionBudget",
    "io.k8s.api.rbac.v1.Role",
    "io.k8s.api.rbac.v1.RoleBinding",
    "io.k8s.api.resource.v1.ResourceClaimTemplate",
)
# Types that JSON has no word for, by the names they have in `kubectl explain`.
_SCALARS = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": "Quantity",
    "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1": "Object",
    "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime": "Time",
    "io.k8s.apimachinery.pkg.apis.meta.v1.Time": "Time",
    "io.k8s.apimachinery.pkg.runtime.RawExtension": "Object",
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": "IntOrString",
}
_FORMATS = {"int32": "int32", "int64": "int64", "byte": "bytes"}

Types = dict[str, dict[str, str]]


def table(openapi: dict[str, Any]) -> dict[str, Any]:
    """Return the content of the table. Raises ValueError for two types of one name."""
    definitions = openapi["definitions"]
    return {
        "kubernetes": openapi["info"]["version"].removeprefix("v"),
        "kinds": dict(_kind(definitions[full]) for full in OBJECTS),
        "cluster": sorted(_of_clusters(openapi["paths"])),
        "types": _types(definitions, (POD, *OBJECTS)),
    }


def _kind(definition: dict[str, Any]) -> tuple[str, str]:
    """Return the kind of an object and its apiVersion."""
    (known,) = definition["x-kubernetes-group-version-kind"]
    return known["kind"], "/".join(filter(None, (known["group"], known["version"])))


def _of_clusters(paths: dict[str, Any]) -> set[str]:
    """Return the kinds, as group/Kind, that are created outside of namespaces. Kinds of Gateway API are among
    them, those of other projects are not.
    """
    created = (
        value["x-kubernetes-group-version-kind"]
        for path, operations in paths.items()
        if "{namespace}" not in path
        for value in operations.values()
        if isinstance(value, dict) and value.get("x-kubernetes-action") == "post"
    )
    return {
        f"{known['group']}/{known['kind']}"
        for known in created
        if known["group"] == "" or known["group"].endswith(".k8s.io")
    }


def _types(definitions: dict[str, Any], roots: tuple[str, ...]) -> Types:
    wanted, names = list(roots), dict[str, str]()
    for full in wanted:
        short = full.rpartition(".")[2]
        if names.setdefault(short, full) != full:
            raise ValueError(f"{full} and {names[short]} are both called {short}")
        wanted += [one for one in _references(definitions[full]) if one not in wanted]
    return {
        short: {
            field: _field(value, required=field in definitions[full].get("required", ()))
            for field, value in sorted(definitions[full].get("properties", {}).items())
        }
        for short, full in sorted(names.items())
    }


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        full = str(value.get("$ref", "")).rpartition("/")[2]
        if full and full not in _SCALARS:
            yield full
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _references(inner)


def _field(value: dict[str, Any], *, required: bool) -> str:
    """Return a field as text: `[]EnvVar by name`, `string required of Always Never`."""
    words = [_type(value)]
    if value.get("x-kubernetes-list-type") == "map":
        words += ["by", ",".join(value["x-kubernetes-list-map-keys"])]
    elif value.get("x-kubernetes-list-type") == "set":
        words.append("once")
    if required:
        words.append("required")
    if choices := value.get("enum", value.get("items", {}).get("enum", ())):
        words += ["of", *(choice or '""' for choice in choices)]
    return " ".join(words)


def _type(value: dict[str, Any]) -> str:
    if "$ref" in value:
        full = value["$ref"].rpartition("/")[2]
        return str(_SCALARS.get(full, full.rpartition(".")[2]))
    if value["type"] == "array":
        return f"[]{_type(value['items'])}"
    if "additionalProperties" in value:
        return f"map[string]{_type(value['additionalProperties'])}"
    if value["type"] == "object":
        return "Object"
    return str(_FORMATS.get(value.get("format", ""), value["type"]))


def text_of(content: dict[str, Any]) -> str:
    """Return the table as the text of its file."""
    return json.dumps(content, indent=1) + "\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(text_of(table(json.load(sys.stdin))), encoding="utf-8")
