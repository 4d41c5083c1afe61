"""The shape of a pod: its fields and their types, in the words of Kubernetes' API reference.

The one check of pods. A document passes it when it is loaded, a pod template again after each plugin, and
code behind it takes types as given. DEFINITIONS holds all fields of a pod and of its containers; of what is
deeper it holds those that code behind the check reads, and the rest is left to the API server.

Source: PodTemplateSpec in k8s.io/api/core/v1 of Kubernetes 1.36.
"""

from collections.abc import Iterator
from typing import Any

from inferfleet.api.kinds.containers import ENGINE
from inferfleet.api.problems import Mistake
from inferfleet.api.wording import named, one_of, shown

Steps = tuple[str | int, ...]

# By definition: the type of each field, written as in `kubectl explain`. `Object` is a map that is
# not looked into.
DEFINITIONS: dict[str, dict[str, str]] = {
    "PodTemplateSpec": {"metadata": "ObjectMeta", "spec": "PodSpec"},
    "ObjectMeta": {"labels": "map[string]string", "annotations": "map[string]string"},
    "PodSpec": {
        "activeDeadlineSeconds": "integer",
        "affinity": "Affinity",
        "automountServiceAccountToken": "boolean",
        "containers": "[]Container",
        "dnsConfig": "Object",
        "dnsPolicy": "string",
        "enableServiceLinks": "boolean",
        "ephemeralContainers": "[]Object",
        "hostAliases": "[]Object",
        "hostIPC": "boolean",
        "hostNetwork": "boolean",
        "hostPID": "boolean",
        "hostUsers": "boolean",
        "hostname": "string",
        "hostnameOverride": "string",
        "imagePullSecrets": "[]LocalObjectReference",
        "initContainers": "[]Container",
        "nodeName": "string",
        "nodeSelector": "map[string]string",
        "os": "Object",
        "overhead": "map[string]Quantity",
        "preemptionPolicy": "string",
        "priority": "integer",
        "priorityClassName": "string",
        "readinessGates": "[]Object",
        "resourceClaims": "[]Object",
        "resources": "ResourceRequirements",
        "restartPolicy": "string",
        "runtimeClassName": "string",
        "schedulerName": "string",
        "schedulingGates": "[]Object",
        "schedulingGroup": "Object",
        "securityContext": "Object",
        "serviceAccount": "string",
        "serviceAccountName": "string",
        "setHostnameAsFQDN": "boolean",
        "shareProcessNamespace": "boolean",
        "subdomain": "string",
        "terminationGracePeriodSeconds": "seconds",
        "tolerations": "[]Object",
        "topologySpreadConstraints": "[]Object",
        "volumes": "[]Volume",
    },
    "Container": {
        "args": "[]string",
        "command": "[]string",
        "env": "[]EnvVar",
        "envFrom": "[]EnvFromSource",
        "image": "string",
        "imagePullPolicy": "string",
        "lifecycle": "Object",
        "livenessProbe": "Object",
        "name": "string",
        "ports": "[]ContainerPort",
        "readinessProbe": "Object",
        "resizePolicy": "[]Object",
        "resources": "ResourceRequirements",
        "restartPolicy": "string",
        "restartPolicyRules": "[]Object",
        "securityContext": "Object",
        "startupProbe": "Object",
        "stdin": "boolean",
        "stdinOnce": "boolean",
        "terminationMessagePath": "string",
        "terminationMessagePolicy": "string",
        "tty": "boolean",
        "volumeDevices": "[]Object",
        "volumeMounts": "[]VolumeMount",
        "workingDir": "string",
    },
    "ContainerPort": {"containerPort": "integer", "name": "string", "protocol": "string"},
    "EnvVar": {"name": "string", "value": "string", "valueFrom": "EnvVarSource"},
    "EnvVarSource": {"secretKeyRef": "SecretKeySelector"},
    "SecretKeySelector": {"key": "string", "name": "string", "optional": "boolean"},
    "EnvFromSource": {"secretRef": "SecretEnvSource"},
    "SecretEnvSource": {"name": "string", "optional": "boolean"},
    "ResourceRequirements": {"limits": "map[string]Quantity", "requests": "map[string]Quantity"},
    "VolumeMount": {"mountPath": "string", "name": "string"},
    "LocalObjectReference": {"name": "string"},
    "Volume": {
        "emptyDir": "EmptyDirVolumeSource",
        "name": "string",
        "projected": "ProjectedVolumeSource",
        "secret": "SecretVolumeSource",
    },
    "EmptyDirVolumeSource": {"medium": "string"},
    "SecretVolumeSource": {"items": "[]KeyToPath", "optional": "boolean", "secretName": "string"},
    "ProjectedVolumeSource": {"sources": "[]VolumeProjection"},
    "VolumeProjection": {"secret": "SecretProjection"},
    "SecretProjection": {"items": "[]KeyToPath", "name": "string", "optional": "boolean"},
    "KeyToPath": {"key": "string"},
    "Affinity": {"nodeAffinity": "NodeAffinity", "podAffinity": "PodAffinity"},
    "NodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": "NodeSelector"},
    "NodeSelector": {"nodeSelectorTerms": "[]NodeSelectorTerm"},
    "NodeSelectorTerm": {"matchExpressions": "[]NodeSelectorRequirement"},
    "NodeSelectorRequirement": {"key": "string", "operator": "string", "values": "[]string"},
    "PodAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": "[]Object"},
}
# Definitions that list all fields, so that another field is a typing error.
_COMPLETE = frozenset({"PodTemplateSpec", "PodSpec", "Container"})
# A blank string counts as absent, as it does for the API server.
_REQUIRED: dict[str, tuple[str, ...]] = {
    "PodTemplateSpec": ("spec",),
    "PodSpec": ("containers",),
    "Container": ("name", "image"),
    "ContainerPort": ("containerPort",),
    "EnvVar": ("name",),
    "VolumeMount": ("mountPath", "name"),
    "Volume": ("name",),
}
_WORDS = {
    "string": "a string",
    "integer": "an integer",
    "boolean": "true or false",
    "seconds": "an integer of at least 0",
    "Quantity": "a quantity such as 80Gi, 500m or 4",
}
# Messages for fields that are missing or of another type, where the type alone would not explain it.
_MESSAGES = {
    ("PodSpec", "containers"): ("a template needs spec.containers, a list of containers", "Write a list"),
    ("PodSpec", "initContainers"): (
        "a template needs spec.initContainers, a list of containers",
        "Write a list",
    ),
    ("Container", "name"): ("every container needs a name, as a string", "Add name"),
    ("Container", "image"): ("every container needs an image, as a string", "Add image"),
}


def template_mistakes(template: Any) -> Iterator[Mistake]:
    """Yield a mistake for each field of a pod template that is unknown, missing or of another type."""
    yield from _typed(template, "PodTemplateSpec", ())
    if isinstance(template, dict) and isinstance(template.get("spec"), dict):
        yield from _names(template["spec"], ("spec",))


def spec_mistakes(spec: Any) -> Iterator[Mistake]:
    """Yield the mistakes of the `spec` of a pod template."""
    yield from _typed(spec, "PodSpec", ())
    if isinstance(spec, dict):
        yield from _names(spec, ())


def without_nulls(value: Any) -> Any:
    """Return the value without fields that are null, which Kubernetes treats as absent."""
    if isinstance(value, dict):
        return {key: without_nulls(inner) for key, inner in value.items() if inner is not None}
    return [without_nulls(inner) for inner in value] if isinstance(value, list) else value


def _typed(value: Any, kind: str, at: Steps) -> Iterator[Mistake]:
    if kind.startswith("[]"):
        if not isinstance(value, list):
            yield _wrong(value, "a list", at)
            return
        for place, entry in enumerate(value):
            yield from _typed(entry, kind.removeprefix("[]"), (*at, place))
    elif kind.startswith("map[string]"):
        if not isinstance(value, dict):
            yield _wrong(value, "a map", at)
            return
        for key, entry in value.items():
            yield from _typed(entry, kind.removeprefix("map[string]"), (*at, key))
    elif kind in _WORDS:
        if not _is_scalar(value, kind):
            yield _wrong(value, _WORDS[kind], at)
    elif not isinstance(value, dict):
        container = Mistake("a container must be a map with name and image", "Write a map", at)
        yield container if kind == "Container" else _wrong(value, "a map", at)
    elif kind != "Object":
        yield from _fields(value, kind, at)


def _fields(written: dict[str, Any], kind: str, at: Steps) -> Iterator[Mistake]:
    types, required = DEFINITIONS[kind], _REQUIRED.get(kind, ())
    for key, value in written.items():
        if key not in types:
            if kind in _COMPLETE:
                what = f"Kubernetes 1.36 has no field {shown(key)!r} here"
                yield Mistake(what, one_of(key, types, "Fields"), (*at, key))
        elif value is not None:
            for mistake in _typed(value, types[key], (*at, key)):
                yield _worded(kind, key, mistake) if mistake.at == (*at, key) else mistake
    for key in required:
        value = written.get(key)
        if value is None or (types[key] == "string" and isinstance(value, str) and not value.strip()):
            yield _worded(kind, key, Mistake(f"field {key} is missing", f"Add {key}", (*at, key)))


def _worded(kind: str, key: str, mistake: Mistake) -> Mistake:
    what, next_step = _MESSAGES.get((kind, key), (mistake.what, mistake.next_step))
    return Mistake(what, next_step, mistake.at)


def _is_scalar(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "Quantity":
        return isinstance(value, str | int | float)
    if kind == "seconds":
        return isinstance(value, int) and value >= 0
    return isinstance(value, {"string": str, "integer": int}.get(kind, bool))


def _wrong(value: Any, words: str, at: Steps) -> Mistake:
    quoted = words == _WORDS["string"] and isinstance(value, bool | int | float)
    return Mistake(
        f"{{field}} must be {words}, not {named(value)}", "Quote it" if quoted else f"Write {words}", at
    )


def _names(spec: dict[str, Any], at: Steps) -> Iterator[Mistake]:
    """Yield names that occur twice, and a missing engine."""
    for thing, fields in (("container", ("containers", "initContainers")), ("volume", ("volumes",))):
        seen: set[str] = set()
        for field in fields:
            for place, entry in enumerate(_maps(spec.get(field))):
                name = entry.get("name")
                if isinstance(name, str) and name in seen:
                    what = f"a second {thing} is named {shown(name)!r}"
                    yield Mistake(what, "Rename one", (*at, field, place, "name"))
                elif isinstance(name, str) and name:
                    seen.add(name)
    containers = spec.get("containers")
    if isinstance(containers, list) and not any(
        container.get("name") == ENGINE for container in _maps(containers)
    ):
        what = f"a template has exactly one container named {ENGINE}, but this one has none"
        yield Mistake(what, f"Name the container that serves the model {ENGINE}", (*at, "containers"))


def _maps(entries: Any) -> list[dict[str, Any]]:
    """Return the entries, with an empty map for each of another type, which is a mistake of its own."""
    return (
        [entry if isinstance(entry, dict) else {} for entry in entries] if isinstance(entries, list) else []
    )
