"""Checks a companion where it is given: its name and namespace, what it says of itself, and its kind."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from inferfleet.api.pods.objects import object_mistakes
from inferfleet.api.pods.template import without_nulls
from inferfleet.api.wording import listing, named, path_of, shown
from inferfleet.fleet import names
from inferfleet.plugins.calling import malformed
from inferfleet.plugins.companions.kinds import parts, refused
from inferfleet.plugins.contract import Companion, PluginCodeError, Request, is_suffix

# The engine takes these from annotations, and `waitFor` alone is about the object itself.
_OF_ENGINE, _WAIT_FOR = "pulumi.com/", "pulumi.com/waitFor"
_NOT_METADATA = {
    "finalizers": "they would keep the object when its plugin is removed",
    "generateName": "its name would be another one each time",
    "ownerReferences": "the object belongs to the stack, which deletes it",
    **dict.fromkeys(
        ("creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation", "selfLink"),
        "the API server writes it, and takes it from nobody",
    ),
}
# Pulumi sends numbers as floating point of 64 bits: `number_value` of google.protobuf.Struct.
_EXACT = 2**53
# What `Request.companion_name` appends for contents.
_BY_CONTENTS = re.compile(r"(?:(?P<suffix>.+)-)?[0-9a-f]{8}")


def checked_companion(given: Companion, *, plugin: str, request: Request) -> Companion:
    """Return the object as it will be registered: in the workload's namespace.

    Raises PluginError for an object of another name or namespace, with labels of the system, or of a kind
    that a plugin must not add, and for one that the API server would refuse.
    """
    manifest: Any = given.manifest
    if not isinstance(manifest, dict) or not all(
        isinstance(manifest.get(key), str) and manifest[key] for key in ("apiVersion", "kind")
    ):
        raise PluginCodeError(
            f"a companion is {_keys(manifest)}, but it must be an object with apiVersion and kind"
        )
    metadata, kind = manifest.get("metadata"), shown(manifest["kind"])
    name = metadata.get("name") if isinstance(metadata, dict) else None
    suffix = _suffix(name, plugin, request.workload)
    if not isinstance(metadata, dict) or suffix is None:
        wanted = names.companion(request.workload, plugin)
        raise PluginCodeError(
            f"the companion {kind} is named {shown(str(name))}, but it must be named {wanted}, or with a "
            "suffix; take request.companion_name"
        )
    told = {key: value for key, value in metadata.items() if value is not None}
    whole = {**manifest, "metadata": {"name": name, "namespace": request.namespace, **told}}
    thing = f"{kind} {name}"
    if against := (
        *refused(whole, request),
        *_own(whole, request),
        *_immutable(whole, suffix),
        *_inexact(whole),
    ):
        raise PluginCodeError(f"the companion {thing} {'; '.join(against)}")
    if mistakes := tuple(object_mistakes(whole)):
        raise malformed(f"a {thing}", mistakes)
    return replace(given, manifest=without_nulls(whole))


def add(known: tuple[Companion, ...], new: Companion) -> tuple[Companion, ...]:
    """Return the companions with a new one; equal ones count once.

    Raises PluginError for another object of the same kind and name.
    """
    for old in known:
        if _identity(old) == _identity(new) and old != new:
            raise PluginCodeError(
                f"the companion {new.title} clashes with another of that name; give one of the two a suffix, "
                "or let the plugin run once"
            )
    return known if new in known else (*known, new)


def _keys(manifest: Any) -> str:
    """Return what was given for an object, without what it holds: that may be meant for a Secret."""
    if not isinstance(manifest, dict) or not manifest:
        return named(manifest)
    return f"a map of {listing(map(str, manifest))}"


def _suffix(name: Any, plugin: str, workload: str) -> str | None:
    """Return the suffix of a companion's name, "" without one, None if this plugin has no such companion."""
    if not isinstance(name, str):
        return None
    tails = (name[place + 1 :] for place, character in enumerate(name) if character == "-")
    suffixes = ("", *filter(_is_suffix, tails))
    return next((suffix for suffix in suffixes if names.companion(workload, plugin, suffix) == name), None)


def _is_suffix(text: str) -> bool:
    named_by = _BY_CONTENTS.fullmatch(text)
    return is_suffix(text) or (named_by is not None and is_suffix(named_by["suffix"] or "a"))


def _inexact(manifest: dict[str, Any]) -> Iterator[str]:
    """Yield whole numbers that would be others on the cluster."""
    for at, value in parts(manifest):
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


def _own(manifest: dict[str, Any], request: Request) -> Iterator[str]:
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
    if manifest.get("status"):
        yield "has a status, which its controller writes; remove it"
    labels, annotations = (metadata.get(key) or {} for key in ("labels", "annotations"))
    if not isinstance(labels, dict):
        yield f"has labels {named(labels)}, but labels must be a map"
    if not isinstance(annotations, dict):
        yield f"has annotations {named(annotations)}, but annotations must be a map"
    for key in (*labels, *annotations):
        if key.startswith(f"{names.DOMAIN}/") or key == names.MANAGED_BY:
            word = "label" if key in labels else "annotation"
            yield f"has the {word} {shown(key)}, which only the system sets"
        elif key.startswith(_OF_ENGINE) and key != _WAIT_FOR:
            yield f"has the annotation {shown(key)}, by which the engine would treat it otherwise; remove it"


def _identity(companion: Companion) -> tuple[str, str, str]:
    manifest = companion.manifest
    return (manifest["apiVersion"].rpartition("/")[0], manifest["kind"], manifest["metadata"]["name"])
