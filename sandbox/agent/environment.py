"""The environment and arguments of a container, with all references replaced by their values."""

import base64
import re
from collections.abc import Mapping
from typing import Any

from sandbox.agent.program import CannotStart
from sandbox.cluster.objects import Object
from sandbox.cluster.watching import Api, ApiError

_REFERENCE = re.compile(r"\$(\$|\([A-Za-z_.-][A-Za-z0-9_.-]*\))")


async def environment(api: Api, pod: Object, container: Object) -> dict[str, str]:
    """Return the variables by name. Raises CannotStart when a key they need is missing, as a kubelet does."""
    variables: dict[str, str] = {}
    for source in container.get("envFrom", []):
        for kind, field in (("configmaps", "configMapRef"), ("secrets", "secretRef")):
            if field in source:
                values = await values_of(api, pod, kind, source[field])
                prefix = source.get("prefix", "")
                variables |= {prefix + name: _decoded(value) for name, value in values.items()}
    for entry in container.get("env", []):
        value = await _value(api, pod, container, entry, variables)
        if value is not None:
            variables[entry["name"]] = value
    return variables


def expanded(texts: list[str], variables: Mapping[str, str]) -> list[str]:
    """Return the texts with $(NAME) replaced by the variable. Unknown names stay, and $$ becomes $."""

    def replacement(match: re.Match[str]) -> str:
        name = match[1]
        return "$" if name == "$" else variables.get(name[1:-1], match[0])

    return [_REFERENCE.sub(replacement, text) for text in texts]


async def values_of(api: Api, pod: Object, kind: str, reference: Object) -> dict[str, bytes]:
    """Return the values of a ConfigMap or Secret by key; none if it is optional and does not exist."""
    namespace, name = pod["metadata"]["namespace"], reference.get("name") or reference.get("secretName")
    try:
        source = await api.call("GET", f"/api/v1/namespaces/{namespace}/{kind}/{name}")
    except ApiError as error:
        if error.status == 404 and reference.get("optional"):
            return {}
        raise CannotStart("CreateContainerConfigError", str(error)) from error
    encoded = {**source.get("binaryData", {}), **(source.get("data", {}) if kind == "secrets" else {})}
    plain = {} if kind == "secrets" else source.get("data", {})
    decoded = {key: base64.b64decode(value) for key, value in encoded.items()}
    return decoded | {key: value.encode() for key, value in plain.items()}


def _decoded(value: bytes) -> str:
    return value.decode(errors="replace")


async def _value(
    api: Api, pod: Object, container: Object, variable: Object, before: Mapping[str, str]
) -> str | None:
    source = variable.get("valueFrom")
    if source is None:
        return expanded([variable.get("value", "")], before)[0]
    if "fieldRef" in source:
        return field_of(pod, source["fieldRef"]["fieldPath"])
    if "resourceFieldRef" in source:
        kind, _, resource = source["resourceFieldRef"]["resource"].partition(".")
        return str(container.get("resources", {}).get(kind, {}).get(resource, ""))
    for kind, field in (("configmaps", "configMapKeyRef"), ("secrets", "secretKeyRef")):
        if field in source:
            reference = source[field]
            values = await values_of(api, pod, kind, reference)
            if reference["key"] in values:
                return _decoded(values[reference["key"]])
            if reference.get("optional"):
                return None
            what = f"couldn't find key {reference['key']} in {kind.removesuffix('s')} {reference['name']}"
            raise CannotStart("CreateContainerConfigError", what)
    return None


def field_of(pod: Object, path: str) -> str:
    """Return what the downward API gives for a path such as `metadata.labels['app']`."""
    keyed = re.fullmatch(r"metadata\.(labels|annotations)\['(.*)'\]", path)
    if keyed:
        return str(pod["metadata"].get(keyed[1], {}).get(keyed[2], ""))
    if path == "status.podIPs":
        return ",".join(address["ip"] for address in pod["status"].get("podIPs", []))
    value: Any = pod
    for step in path.split("."):
        value = value.get(step, "") if isinstance(value, dict) else ""
    return str(value)
