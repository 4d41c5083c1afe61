"""The check of objects that plugins add beside a workload: by their types, and by the rules of their kinds.

Of a kind that the tables lack, such as a custom resource, only the metadata is checked; of a
ResourceClaimTemplate fields and types, and not what its devices are to each other.
"""

import base64
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import ip_network
from typing import Any

from inferfleet.api.pods import scheduling, volumes
from inferfleet.api.pods.containers import named_port
from inferfleet.api.pods.services import service
from inferfleet.api.pods.shape import Walk
from inferfleet.api.pods.texts import DNS_LABEL, SUBDOMAIN, Text
from inferfleet.api.problems import Mistake
from inferfleet.api.wording import shown

Object = dict[str, Any]

_RBAC = "rbac.authorization.k8s.io"
_LONGEST = 1024 * 1024
_ANNOTATIONS = 256 * 1024
# What the API server writes into the metadata of an object, and takes from nobody who creates one.
_ITS_OWN = ("generateName", "managedFields", "resourceVersion", "uid")
_FINALIZERS = ("foregroundDeletion", "kubernetes", "orphan")
# What data a Secret of a type must have: (one of these keys), each.
_SECRETS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "kubernetes.io/basic-auth": (("username", "password"),),
    "kubernetes.io/dockercfg": ((".dockercfg",),),
    "kubernetes.io/dockerconfigjson": ((".dockerconfigjson",),),
    "kubernetes.io/ssh-auth": (("ssh-privatekey",),),
    "kubernetes.io/tls": (("tls.crt",), ("tls.key",)),
}
_JSON = (".dockercfg", ".dockerconfigjson")


def object_mistakes(manifest: Object) -> Iterator[Mistake]:
    """Yield every mistake for which the API server would refuse this object, without values of a Secret."""
    kind = _KINDS.get(manifest["kind"])
    if kind is not None and manifest["apiVersion"] != kind.api_version:
        if _is_built_in(manifest["apiVersion"]):
            what = f"a {manifest['kind']} has the apiVersion {kind.api_version}"
            yield Mistake(what, f"Write {kind.api_version}", ("apiVersion",))
            return
        kind = None
    walk = Walk(_RULES)
    if kind is None:
        kept = {"metadata": walk.of(manifest.get("metadata", {}), "ObjectMeta", ("metadata",))}
    else:
        kept = walk.of(manifest, manifest["kind"], ())
    found = list(walk.mistakes)
    found += _metadata(kept.get("metadata", {}), kind.name if kind else None)
    if kind is not None and not walk.mistakes:
        found += kind.rule(kept)
    for mistake in found:
        yield _without_value(mistake) if manifest["kind"] == "Secret" else mistake


def _is_built_in(api_version: str) -> bool:
    group, slash, _ = api_version.rpartition("/")
    return not slash or "." not in group or group.endswith(".k8s.io")


def _without_value(mistake: Mistake) -> Mistake:
    if mistake.at[:1] not in (("data",), ("stringData",)) or "the key" in mistake.what:
        return mistake
    words = "text in base64" if mistake.at[0] == "data" else "text in quotes"
    return Mistake(f"{{field}} must be a {words}", "Correct it", mistake.at)


def _metadata(metadata: Object, names: Text | None) -> Iterator[Mistake]:
    name = metadata.get("name", "")
    if names and not names.allows(name):
        yield Mistake(f"{{field}} {shown(name)!r} must be {names.words}", "Shorten it", ("metadata", "name"))
    for key in _ITS_OWN:
        if metadata.get(key):
            yield Mistake(f"{key} is the API server's to write", "Remove it", ("metadata", key))
    for place, finalizer in enumerate(metadata.get("finalizers", [])):
        if "/" not in finalizer and finalizer not in _FINALIZERS:
            what = f"{shown(finalizer)!r} is no finalizer of Kubernetes"
            yield Mistake(what, "Write it like example.com/it", ("metadata", "finalizers", place))
    annotations = metadata.get("annotations", {})
    if sum(len(key.encode()) + len(text.encode()) for key, text in annotations.items()) > _ANNOTATIONS:
        what = f"annotations have more than {_ANNOTATIONS} bytes"
        yield Mistake(what, "Shorten them", ("metadata", "annotations"))


def _config_map(manifest: Object) -> Iterator[Mistake]:
    texts, binary = manifest.get("data", {}), manifest.get("binaryData", {})
    for key in texts.keys() & binary.keys():
        yield Mistake(f"{shown(key)} is in data and in binaryData", "Keep one of the two", ("data", key))
    size = sum(len(text.encode()) for text in texts.values()) + sum(map(_decoded, binary.values()))
    if size > _LONGEST:
        yield Mistake(f"it has {size} bytes, and may have {_LONGEST}", "Shorten it", ("data",))


def _decoded(text: str) -> int:
    return len(base64.b64decode(text))


def _secret(manifest: Object) -> Iterator[Mistake]:
    texts = manifest.get("stringData", {})
    values = {key: base64.b64decode(text) for key, text in manifest.get("data", {}).items()}
    values |= {key: text.encode() for key, text in texts.items()}
    size = sum(map(len, values.values()))
    if size > _LONGEST:
        yield Mistake(f"it has {size} bytes, and may have {_LONGEST}", "Shorten it", ("type",))
    kind = manifest.get("type") or "Opaque"
    for keys in _SECRETS.get(kind, ()):
        if not any(key in values for key in keys):
            what = f"a Secret of type {kind} needs data under {' or '.join(keys)}"
            yield Mistake(what, f"Add {keys[0]}, or write another type", ("type",))
    if kind == "kubernetes.io/ssh-auth" and values.get("ssh-privatekey") == b"":
        yield Mistake("a Secret of type kubernetes.io/ssh-auth needs a key", "Add it", ("type",))
    for key in _JSON if kind.startswith("kubernetes.io/docker") else ():
        if kind.endswith(key.removeprefix(".")) and key in values and not _is_object(values[key]):
            yield Mistake(f"{key} must be an object in JSON", "Correct it", ("type",))
    if kind == "kubernetes.io/service-account-token":
        account = "kubernetes.io/service-account.name"
        if not manifest.get("metadata", {}).get("annotations", {}).get(account):
            what = f"a Secret of type {kind} names its account in an annotation"
            yield Mistake(what, f"Add {account}", ("metadata", "annotations"))


def _is_object(text: bytes) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _claim(manifest: Object) -> Iterator[Mistake]:
    if "spec" not in manifest:
        yield Mistake("field spec is missing", "Add spec", ("spec",))


def _role(manifest: Object) -> Iterator[Mistake]:
    for place, rule in enumerate(manifest.get("rules", [])):
        at = ("rules", place)
        if rule.get("nonResourceURLs"):
            yield Mistake("a Role has no nonResourceURLs", "Remove them", (*at, "nonResourceURLs"))
        for key in ("verbs", "apiGroups", "resources"):
            if not rule.get(key):
                yield Mistake(f"a rule needs {key}", f"Add {key}", (*at, key))


def _binding(manifest: Object) -> Iterator[Mistake]:
    role = manifest["roleRef"]
    if role.get("apiGroup", "") not in ("", _RBAC):
        yield Mistake(f"a role is of {_RBAC}", f"Write apiGroup: {_RBAC}", ("roleRef", "apiGroup"))
    if role["kind"] not in ("Role", "ClusterRole"):
        yield Mistake("a roleRef is of kind Role or ClusterRole", "Change it", ("roleRef", "kind"))
    if role["name"] in (".", "..") or re.search("[/%]", role["name"]):
        yield Mistake(f"{{field}} {shown(role['name'])!r} is no name", "Change it", ("roleRef", "name"))
    for place, subject in enumerate(manifest.get("subjects", [])):
        at = ("subjects", place)
        group = subject.get("apiGroup", "")
        if subject["kind"] not in ("ServiceAccount", "User", "Group"):
            what = "a subject is of kind ServiceAccount, User or Group"
            yield Mistake(what, "Change it", (*at, "kind"))
        elif subject["kind"] == "ServiceAccount":
            if group:
                yield Mistake("a ServiceAccount has no apiGroup", "Remove it", (*at, "apiGroup"))
            if not SUBDOMAIN.allows(subject["name"]):
                yield Mistake(f"{{field}} must be {SUBDOMAIN.words}", "Change it", (*at, "name"))
        elif group not in ("", _RBAC):
            yield Mistake(f"apiGroup must be {_RBAC}", "Change it", (*at, "apiGroup"))


def _budget(manifest: Object) -> Iterator[Mistake]:
    spec = manifest.get("spec", {})
    if "minAvailable" in spec and "maxUnavailable" in spec:
        what = "a budget has minAvailable or maxUnavailable, not both"
        yield Mistake(what, "Remove one of the two", ("spec", "maxUnavailable"))
    for key in ("minAvailable", "maxUnavailable"):
        number = spec.get(key, 0)
        right = number >= 0 if isinstance(number, int) else _is_share(number)
        if not right:
            what = f"{{field}} must be a number of at least 0, or from 0% to 100%, not {number!r:.40}"
            yield Mistake(what, "Change it", ("spec", key))


def _is_share(text: str) -> bool:
    return re.fullmatch(r"\d{1,9}%", text) is not None and int(text.removesuffix("%")) <= 100


def _peer(peer: Object) -> Iterator[Mistake]:
    block = peer.get("ipBlock")
    if block is None:
        return
    if peer.keys() & {"podSelector", "namespaceSelector"}:
        yield Mistake("a peer is an ipBlock, or selected by labels", "Keep one of the two", ("ipBlock",))
    for at, text in ((("cidr",), block["cidr"]), *((("except",), text) for text in block.get("except", []))):
        if not _is_network(text):
            yield Mistake(
                f"{shown(text)!r} must be a network such as 10.0.0.0/8", "Change it", ("ipBlock", *at)
            )


def _is_network(text: str) -> bool:
    try:
        ip_network(text)
    except ValueError:
        return False
    return "/" in text and "%" not in text


def _policy_port(port: Object) -> Iterator[Mistake]:
    if "port" in port:
        yield from named_port(port["port"], "port")
    last = port.get("endPort")
    if last is not None and not (isinstance(port.get("port"), int) and port["port"] <= last <= 65_535):
        yield Mistake("endPort must be at least port, which is a number", "Change it", ("endPort",))


_RULES = {
    **scheduling.RULES,
    **volumes.RULES,
    "NetworkPolicyPeer": (_peer,),
    "NetworkPolicyPort": (_policy_port,),
}


def _nothing(manifest: Object) -> Iterator[Mistake]:
    return iter(())


@dataclass(frozen=True)
class _Kind:
    """A kind of the tables: its apiVersion, what its names are, and its own rules."""

    api_version: str
    name: Text = SUBDOMAIN
    rule: Callable[[Object], Iterator[Mistake]] = _nothing


_KINDS = {
    "ConfigMap": _Kind("v1", rule=_config_map),
    "NetworkPolicy": _Kind("networking.k8s.io/v1"),
    "PersistentVolumeClaim": _Kind("v1", rule=_claim),
    "PodDisruptionBudget": _Kind("policy/v1", rule=_budget),
    "ResourceClaimTemplate": _Kind("resource.k8s.io/v1"),
    "Role": _Kind(f"{_RBAC}/v1", rule=_role),
    "RoleBinding": _Kind(f"{_RBAC}/v1", rule=_binding),
    "Secret": _Kind("v1", rule=_secret),
    "Service": _Kind("v1", DNS_LABEL, service),
    "ServiceAccount": _Kind("v1"),
}
