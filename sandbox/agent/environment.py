"""The environment and the command line of a container, with what they refer to put in."""

import base64
import re
from collections.abc import Mapping
from typing import Any

from sandbox.agent.program import CannotStart
from sandbox.cluster.watching import Api, ApiError

Object = dict[str, Any]
_REFERENCE = re.compile(r"\$(\$|\([A-Za-z_.-][A-Za-z0-9_.-]*\))")


async def environment(api: Api, pod: Object, container: Object) -> dict[str, str]:
    """Variables by name. Raises CannotStart when a key they need is not there, as a kubelet does."""
    found: dict[str, str] = {}
    for source in container.get("envFrom", []):
        for kind, field in (("configmaps", "configMapRef"), ("secrets", "secretRef")):
            if field in source:
                values = await values_of(api, pod, kind, source[field])
                found |= {source.get("prefix", "") + name: text(one) for name, one in values.items()}
    for variable in container.get("env", []):
        value = await _value(api, pod, container, variable, found)
        if value is not None:
            found[variable["name"]] = value
    return found


def expanded(words: list[str], variables: Mapping[str, str]) -> list[str]:
    """The words with $(NAME) replaced by the variable; unknown names stay, and $$ is a $."""

    def replacement(match: re.Match[str]) -> str:
        name = match[1]
        return "$" if name == "$" else variables.get(name[1:-1], match[0])

    return [_REFERENCE.sub(replacement, word) for word in words]


async def values_of(api: Api, pod: Object, kind: str, reference: Object) -> dict[str, bytes]:
    """The keys of a ConfigMap or Secret; none of an optional one that is missing."""
    namespace, name = pod["metadata"]["namespace"], reference.get("name") or reference.get("secretName")
    try:
        found = await api.call("GET", f"/api/v1/namespaces/{namespace}/{kind}/{name}")
    except ApiError as error:
        if error.status == 404 and reference.get("optional"):
            return {}
        raise CannotStart("CreateContainerConfigError", str(error)) from error
    encoded = {**found.get("binaryData", {}), **(found.get("data", {}) if kind == "secrets" else {})}
    plain = {} if kind == "secrets" else found.get("data", {})
    return {key: base64.b64decode(one) for key, one in encoded.items()} | {
        key: one.encode() for key, one in plain.items()
    }


def text(value: bytes) -> str:
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
                return text(values[reference["key"]])
            if reference.get("optional"):
                return None
            what = f"couldn't find key {reference['key']} in {kind.removesuffix('s')} {reference['name']}"
            raise CannotStart("CreateContainerConfigError", what)
    return None


def field_of(pod: Object, path: str) -> str:
    """What the downward API gives for a path such as `metadata.labels['app']`."""
    keyed = re.fullmatch(r"metadata\.(labels|annotations)\['(.*)'\]", path)
    if keyed:
        return str(pod["metadata"].get(keyed[1], {}).get(keyed[2], ""))
    if path == "status.podIPs":
        return ",".join(one["ip"] for one in pod["status"].get("podIPs", []))
    value: Any = pod
    for step in path.split("."):
        value = value.get(step, "") if isinstance(value, dict) else ""
    return str(value)
