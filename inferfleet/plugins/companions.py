"""Objects that plugins add beside a workload: what they may be, and which of them its pods read.

They are in the workload's namespace and have a name made from its own. What runs pods, what belongs to a
whole cluster and what holds secrets comes from the stack, where it is planned and checked. Custom resources
that run pods are known by the containers and accelerators in them; what one only refers to, such as a
template by its name or a model by its address, nobody sees here.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Any

from inferfleet.documents.pods.references import references
from inferfleet.documents.pods.template import without_nulls
from inferfleet.documents.pods.texts import SUBDOMAIN
from inferfleet.documents.pods.types import is_of_clusters, object_mistakes
from inferfleet.documents.problems import FieldPath, Mistake
from inferfleet.documents.wording import listing, named, path_of, shown
from inferfleet.fleet import names
from inferfleet.plugins.calling import malformed
from inferfleet.plugins.contract import Companion, PluginCodeError, PodTemplate, Request, is_suffix
from inferfleet.tables.devices import vendor_of

# The engine takes these from annotations, and `waitFor` alone is about the object itself.
_OF_ENGINE, _WAIT_FOR = "pulumi.com/", "pulumi.com/waitFor"
_NOT_METADATA = {
    "finalizers": "they would keep the object when its plugin is removed",
    "generateName": "its name would be another one each time",
    "ownerReferences": "the object belongs to the stack, which deletes it",
}
# Pulumi sends numbers as floating point of 64 bits: `number_value` of google.protobuf.Struct.
_EXACT = 2**53
# What `Request.companion_name` appends for contents.
_BY_CONTENTS = re.compile(r"(?:(?P<suffix>.+)-)?[0-9a-f]{8}")
# As Kubernetes takes them of custom resources: a version and a kind in lower case are DNS labels
# (ValidateCustomResourceDefinitionSpec, apiextensions-apiserver 0.36).
_VERSION = re.compile(rf"({SUBDOMAIN.pattern}/)?[a-z][a-z0-9]*")
_KIND = re.compile(r"[A-Za-z]([-A-Za-z0-9]{0,61}[A-Za-z0-9])?")
_LISTS, _SINGLE = ("containers", "initContainers", "steps"), ("container", "script")
# Kinds of Kubernetes that run pods, or are some, by group.
_RUN_PODS = {
    "": ("Pod", "PodTemplate", "ReplicationController"),
    "apps": ("DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"),
    "batch": ("CronJob", "Job"),
}
_AMOUNTS = ("requests", "limits", "default", "defaultRequest")
_BEFORE = "Give it without when, so that it is created before: pods start only once it is there"
_KEY = "Name a key that it has, or write optional: true"
# Pods take the contents of these when they are created.
_READ = ("ConfigMap", "SecretProviderClass", "ServiceAccount")


def checked_companion(given: Companion, *, plugin: str, request: Request) -> Companion:
    """Return the object as it will be registered: in the workload's namespace.

    Raises PluginError for an object of another name or namespace, with labels of the system, or of a kind
    that a plugin must not add, and for fields of wrong types or names.
    """
    manifest: Any = given.manifest
    if not isinstance(manifest, dict) or not all(
        isinstance(manifest.get(key), str) and manifest[key] for key in ("apiVersion", "kind")
    ):
        raise PluginCodeError(
            f"a companion is {_given(manifest)}, but it must be an object with apiVersion and kind"
        )
    metadata, kind = manifest.get("metadata"), shown(manifest["kind"])
    name = metadata.get("name") if isinstance(metadata, dict) else None
    suffix = _suffix(name, plugin, request.workload)
    if not isinstance(metadata, dict) or suffix is None:
        expected = names.companion(request.workload, plugin)
        raise PluginCodeError(
            f"the companion {kind} is named {shown(str(name))}, but it must be named {expected}, or with a "
            "suffix; take request.companion_name"
        )
    given_metadata = {key: value for key, value in metadata.items() if value is not None}
    whole = {**manifest, "metadata": {"name": name, "namespace": request.namespace, **given_metadata}}
    thing = f"{kind} {name}"
    if reasons := (
        *_forbidden(whole, request),
        *_metadata_mistakes(whole, request),
        *_immutable(whole, suffix),
        *_inexact(whole),
    ):
        raise PluginCodeError(f"the companion {thing} {'; '.join(reasons)}")
    if mistakes := tuple(object_mistakes(whole)):
        raise malformed(f"a {thing}", mistakes)
    return replace(given, manifest=without_nulls(whole))


def add(companions: tuple[Companion, ...], new: Companion) -> tuple[Companion, ...]:
    """Return the companions with a new one; equal ones count once.

    Raises PluginError for another object of the same kind and name.
    """
    for old in companions:
        if _identity(old) == _identity(new) and old != new:
            raise PluginCodeError(
                f"the companion {new.title} clashes with another of that name; give one of the two a suffix, "
                "or let the plugin run once"
            )
    return companions if new in companions else (*companions, new)


def _given(manifest: Any) -> str:
    """Return what was given for an object, without what it holds: that may be meant for a Secret."""
    if not isinstance(manifest, dict) or not manifest:
        return named(manifest)
    return f"a map of {listing(map(str, manifest))}"


def _suffix(name: Any, plugin: str, workload: str) -> str | None:
    """Return the suffix of a companion's name, "" without one, None if this plugin has no such companion."""
    if not isinstance(name, str):
        return None
    tails = (name[index + 1 :] for index, character in enumerate(name) if character == "-")
    suffixes = ("", *filter(_is_suffix, tails))
    return next((suffix for suffix in suffixes if names.companion(workload, plugin, suffix) == name), None)


def _is_suffix(text: str) -> bool:
    named_by = _BY_CONTENTS.fullmatch(text)
    return is_suffix(text) or (named_by is not None and is_suffix(named_by["suffix"] or "a"))


def _inexact(manifest: dict[str, Any]) -> Iterator[str]:
    """Yield whole numbers that would be others on the cluster."""
    for at, value in _parts(manifest):
        if isinstance(value, int) and abs(value) > _EXACT:
            yield (
                f"has {value} in {path_of(at)}, and Pulumi keeps whole numbers up to {_EXACT} exactly; "
                "write it as text if its kind takes text, or a smaller one"
            )


def _immutable(manifest: dict[str, Any], suffix: str) -> Iterator[str]:
    """Yield that other data would be another object of the same name.

    It can only be deleted and created again, and the kubelet, which does not watch immutable ones, may give
    the old one to new pods: https://kubernetes.io/docs/concepts/configuration/configmap/#configmap-immutable
    """
    if manifest["kind"] == "ConfigMap" and manifest.get("immutable") and not _BY_CONTENTS.fullmatch(suffix):
        yield (
            "is immutable, and its name stays when its data changes; take "
            "request.companion_name(..., contents=data), or leave immutable out"
        )


def _metadata_mistakes(manifest: dict[str, Any], request: Request) -> Iterator[str]:
    """Yield what a companion says of itself and only the system, or the cluster, may say."""
    metadata = manifest["metadata"]
    if metadata["namespace"] != request.namespace:
        yield (
            f"is in namespace {shown(str(metadata['namespace']))}, but it must be beside its workload in "
            f"{request.namespace}"
        )
    for key, why in _NOT_METADATA.items():
        if metadata.get(key):
            yield f"has metadata.{key}: {why}; remove it"
    for part, word in (("labels", "label"), ("annotations", "annotation")):
        entries = metadata.get(part)
        for key in entries if isinstance(entries, dict) else ():
            if key.startswith(f"{names.DOMAIN}/") or key == names.MANAGED_BY:
                yield f"has the {word} {shown(key)}, which only the system sets"
            elif key.startswith(_OF_ENGINE) and key != _WAIT_FOR:
                yield (
                    f"has the {word} {shown(key)}, by which the engine would treat it otherwise; remove it"
                )


def _identity(companion: Companion) -> tuple[str, str, str]:
    manifest = companion.manifest
    return (manifest["apiVersion"].rpartition("/")[0], manifest["kind"], manifest["metadata"]["name"])


def _forbidden(manifest: dict[str, Any], request: Request) -> Iterator[str]:
    """Yield why no plugin may add this object, and what to do instead."""
    version, kind = manifest["apiVersion"], manifest["kind"]
    group = version.rpartition("/")[0]
    if not _VERSION.fullmatch(version):
        yield f"has the apiVersion {shown(version)!r}, but it must be one such as v1 or example.com/v1"
    elif not _KIND.fullmatch(kind):
        yield f"is of kind {shown(kind)!r}, but a kind has at most 63 letters, digits and '-'"
    elif group == "" and kind.lower() == "secret":
        yield (
            "would hold a secret in plain text; set its values with pulumi config set --secret --path "
            "'inferfleet:secrets[...]', and let the pod read them by name"
        )
    elif group == names.DOMAIN or group.endswith(f".{names.DOMAIN}"):
        yield (
            f"is of {shown(version)}, a document of inferfleet, which no cluster knows; write it into a file "
            "of the stack"
        )
    elif kind in _RUN_PODS.get(group, ()) or any(_containers(manifest)):
        yield (
            "runs pods, which nothing plans; put containers into the template as sidecars, or run it outside "
            "of the stack"
        )
    elif is_of_clusters(group, kind):
        yield "belongs to a whole cluster and not to a namespace; create it outside of the stack"
    else:
        yield from _takes_devices(manifest, request)
        yield from _sets_replicas(manifest, request)


def _containers(manifest: dict[str, Any]) -> Iterator[bool]:
    """Yield a True for everything in an object that becomes a container: a pod template, steps of a task."""
    for at, value in _maps(manifest):
        if at[-1:] == ("spec",) and isinstance(value.get("containers"), list):
            yield True
        listed = [entry for name in _LISTS if isinstance(value.get(name), list) for entry in value[name]]
        if any(map(_is_container, (*listed, *(value.get(name) for name in _SINGLE)))):
            yield True


def _is_container(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("image"), str)


def _takes_devices(manifest: dict[str, Any], request: Request) -> Iterator[str]:
    """Yield where the object asks for accelerators, which only the plan gives to pods."""
    ours = {device.resource for device in request.node_class.devices}
    for at, value in _maps(manifest):
        if at[-1:] and at[-1] in _AMOUNTS:
            for resource in sorted(value):
                if resource in ours or vendor_of(resource):
                    yield (
                        f"asks for {shown(resource)} in {path_of(at)}, which nothing plans; only the "
                        "engine's pods have accelerators, as many as spec.workers.topology says"
                    )
        claims = value.get("resourceClaims")
        if isinstance(claims, list) and any(map(_is_claim, claims)):
            yield (
                f"claims devices in {path_of((*at, 'resourceClaims'))}, which nothing plans; only the "
                "engine's pods have accelerators, as many as spec.workers.topology says"
            )
    if manifest["kind"] == "LimitRange" and any(
        at[-1:] and at[-1] in ("default", "defaultRequest") for at, _ in _maps(manifest)
    ):
        yield (
            "gives containers of the namespace amounts that the plan does not count; write them into the "
            "containers"
        )


def _is_claim(value: Any) -> bool:
    return isinstance(value, dict) and bool({"resourceClaimName", "resourceClaimTemplateName"} & value.keys())


def _sets_replicas(manifest: dict[str, Any], request: Request) -> Iterator[str]:
    """Yield that the object changes the workload by itself: how many pods it has, or what they ask for."""
    for at, value in _maps(manifest):
        if at[-1:] == ("scaleTargetRef",) and _is_workload(value, request):
            yield (
                f"scales the workload {request.workload}, whose replicas the plan says; set spec.replicas "
                "of the deployment, or spec.scaling"
            )
    spec = manifest.get("spec")
    if manifest["kind"] == "VerticalPodAutoscaler" and isinstance(spec, dict):
        policy = spec.get("updatePolicy")
        # Without a mode it is Recreate (kubernetes/autoscaler, vertical-pod-autoscaler/docs/quickstart.md).
        mode = policy.get("updateMode") if isinstance(policy, dict) else None
        if mode != "Off" and _is_workload(spec.get("targetRef"), request):
            yield (
                f"changes what pods of the workload {request.workload} ask for, which the plan says; set "
                'spec.updatePolicy.updateMode to "Off", so that it only recommends'
            )


def _is_workload(target: Any, request: Request) -> bool:
    """Return whether a reference is to the workload. That of a KEDA ScaledObject needs no kind."""
    if not isinstance(target, dict) or target.get("name") != request.workload:
        return False
    kind = target.get("kind") or "Deployment"
    return isinstance(kind, str) and kind.lower() == "deployment"


def _parts(value: Any, at: FieldPath = ()) -> Iterator[tuple[FieldPath, Any]]:
    """Yield every value in an object with its place, the object itself first."""
    yield at, value
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _parts(inner, (*at, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _parts(inner, (*at, index))


def _maps(manifest: dict[str, Any]) -> Iterator[tuple[FieldPath, dict[str, Any]]]:
    return ((at, value) for at, value in _parts(manifest) if isinstance(value, dict))


def companion_mistakes(template: PodTemplate, companions: tuple[Companion, ...]) -> list[Mistake]:
    """Return what pods need of the companions before they start, and what is not there then."""
    if late := _read_too_late(template, companions):
        what = f"pods read the companion {late.title}, which is created after their workload"
        return [Mistake(what, _BEFORE)]
    return [Mistake(what, _KEY) for what in dict.fromkeys(_absent_keys(template, companions))]


def _read_too_late(template: PodTemplate, companions: tuple[Companion, ...]) -> Companion | None:
    """Return a companion that pods cannot start without and that is created after their workload, if any."""
    # A claim too: pods wait for it, whatever is in it.
    named = _named(template, (*_READ, "PersistentVolumeClaim")) if companions else ()
    return next(
        (
            companion
            for companion in companions
            if companion.when == "after"
            and (companion.manifest["kind"], companion.manifest["metadata"]["name"]) in named
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
    for one in references(template) if keys else ():
        if one.kind == "ConfigMap" and one.key is not None and not one.optional and one.name in keys:
            has = keys[one.name]
            if one.key not in has:
                listed = ", ".join(map(shown, has)) or "no key"
                yield f"{one.reader} needs key {shown(one.key)!r} of ConfigMap {one.name}, which has {listed}"


def with_fingerprints(template: PodTemplate, companions: tuple[Companion, ...]) -> PodTemplate:
    """Return the template with an annotation of the companions that its pods read, if they read any.

    Other contents of one, such as the data of a ConfigMap, are then another template, and its pods roll. What
    pods do not read before they start, such as a Service or the size of a volume, restarts none.
    """
    named = _named(template, _READ) if companions else ()
    read = sorted(
        f"{companion.manifest['kind']}/{companion.manifest['metadata']['name']}@{_fingerprint(companion)}"
        for companion in companions
        if (companion.manifest["kind"], companion.manifest["metadata"]["name"]) in named
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
    return names.digest(kept)


def _named(template: PodTemplate, kinds: Collection[str]) -> frozenset[tuple[str, str]]:
    """Return kind and name of the objects of these kinds that the pods name."""
    return frozenset((one.kind, one.name) for one in references(template) if one.kind in kinds)
