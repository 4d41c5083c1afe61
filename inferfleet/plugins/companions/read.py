"""Which companions the pods of a template read, and what of these objects another template says."""

import hashlib
import json
from collections.abc import Iterator

from inferfleet.api.problems import Mistake
from inferfleet.api.wording import shown
from inferfleet.fleet import names
from inferfleet.plugins.contract import Companion, PodTemplate

_BEFORE = "Give it without when, so that it is created before: pods start only once it is there"
_KEY = "Name a key that it has, or write optional: true"


def misread(template: PodTemplate, companions: tuple[Companion, ...]) -> list[Mistake]:
    """Return what pods need of the companions before they start, and what is not there then."""
    if late := _read_too_late(template, companions):
        what = f"pods read the companion {late.title}, which is created after their workload"
        return [Mistake(what, _BEFORE)]
    return [Mistake(what, _KEY) for what in _absent_keys(template, companions)]


def _read_too_late(template: PodTemplate, companions: tuple[Companion, ...]) -> Companion | None:
    """Return a companion that pods cannot start without and that is created after their workload, if any."""
    references = frozenset((*_read(template), *_claimed(template))) if companions else ()
    return next(
        (
            companion
            for companion in companions
            if companion.when == "after"
            and (companion.manifest["kind"], companion.manifest["metadata"]["name"]) in references
        ),
        None,
    )


def _absent_keys(template: PodTemplate, companions: tuple[Companion, ...]) -> Iterator[str]:
    """Yield the keys that pods need of a ConfigMap among the companions, and that it does not have.

    A kubelet does not start a container with such a variable, nor mount a volume with such an item.
    """
    keys = {
        companion.manifest["metadata"]["name"]: [
            *(companion.manifest.get("data") or {}),
            *(companion.manifest.get("binaryData") or {}),
        ]
        for companion in companions
        if companion.manifest["kind"] == "ConfigMap"
    }
    for who, name, key in dict.fromkeys(_keys(template)) if keys else ():
        if name in keys and key not in keys[name]:
            has = ", ".join(map(shown, keys[name])) or "no key"
            yield f"{who} needs key {shown(key)!r} of ConfigMap {name}, which has {has}"


def with_fingerprints(template: PodTemplate, companions: tuple[Companion, ...]) -> PodTemplate:
    """Return the template with an annotation of the companions that its pods read, if they read any.

    Other contents of one, such as the data of a ConfigMap, are then another template, and its pods roll. What
    pods do not read before they start, such as a Service or the size of a volume, restarts none.
    """
    references = frozenset(_read(template)) if companions else ()
    read = sorted(
        f"{companion.manifest['kind']}/{companion.manifest['metadata']['name']}@{_fingerprint(companion)}"
        for companion in companions
        if (companion.manifest["kind"], companion.manifest["metadata"]["name"]) in references
    )
    if not read:
        return template
    metadata = template.get("metadata", {})
    annotations = {**metadata.get("annotations", {}), names.COMPANIONS: ",".join(read)}
    return {**template, "metadata": {**metadata, "annotations": annotations}}


def _fingerprint(companion: Companion) -> str:
    """Return 8 hex digits that change with what a pod reads of the object, and not with its labels."""
    kept = {key: value for key, value in companion.manifest.items() if key != "metadata"}
    if companion.manifest["kind"] == "ServiceAccount":
        # Clouds give pods their identity by annotations of their account, when they are created.
        kept["annotations"] = companion.manifest["metadata"].get("annotations", {})
    text = json.dumps(kept, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _claimed(template: PodTemplate) -> Iterator[tuple[str, str]]:
    """Yield the volumes that pods wait for, whatever is in them."""
    for volume in template["spec"].get("volumes", []):
        yield "PersistentVolumeClaim", volume.get("persistentVolumeClaim", {}).get("claimName", "")


def _read(template: PodTemplate) -> Iterator[tuple[str, str]]:
    """Yield kind and name of the objects whose contents the pods take when they are created."""
    spec = template["spec"]
    if account := spec.get("serviceAccountName"):
        yield "ServiceAccount", account
    for volume in spec.get("volumes", []):
        for source in (volume, *volume.get("projected", {}).get("sources", [])):
            yield "ConfigMap", source.get("configMap", {}).get("name", "")
        attributes = volume.get("csi", {}).get("volumeAttributes", {})
        yield "SecretProviderClass", attributes.get("secretProviderClass", "")
    for container in (*spec.get("initContainers", []), *spec["containers"]):
        for source in container.get("envFrom", []):
            yield "ConfigMap", source.get("configMapRef", {}).get("name", "")
        for variable in container.get("env", []):
            reference = variable.get("valueFrom", {}).get("configMapKeyRef", {})
            yield "ConfigMap", reference.get("name", "")


def _keys(template: PodTemplate) -> Iterator[tuple[str, str, str]]:
    """Yield the keys of ConfigMaps without which pods do not start: who needs it, ConfigMap, key."""
    spec = template["spec"]
    for volume in spec.get("volumes", []):
        for source in (volume, *volume.get("projected", {}).get("sources", [])):
            of_map = source.get("configMap", {})
            for item in () if of_map.get("optional") else of_map.get("items", []):
                yield f"volume {volume['name']}", of_map.get("name", ""), item["key"]
    for container in (*spec.get("initContainers", []), *spec["containers"]):
        for variable in container.get("env", []):
            reference = variable.get("valueFrom", {}).get("configMapKeyRef", {})
            if reference and not reference.get("optional"):
                who = f"variable {variable['name']} of container {container['name']}"
                yield who, reference.get("name", ""), reference["key"]
