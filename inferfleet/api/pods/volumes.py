"""Rules of volumes: what their sources need, and files that would have one path."""

from collections.abc import Iterator
from typing import Any

from inferfleet.api.kinds.quantity import parse_quantity
from inferfleet.api.pods.texts import DNS_LABEL, LABEL_KEY, SUBDOMAIN
from inferfleet.api.problems import Mistake
from inferfleet.api.wording import shown


def empty_dir(source: dict[str, Any]) -> Iterator[Mistake]:
    """Yield a size that is less than nothing."""
    if parse_quantity(str(source.get("sizeLimit", 0))) < 0:
        yield Mistake("{field} is negative", "Write a quantity of at least 0", ("sizeLimit",))


def projected(source: dict[str, Any]) -> Iterator[Mistake]:
    """Yield files of a projected volume that would have one path."""
    seen: set[str] = set()
    for place, projection in enumerate(source.get("sources", [])):
        for at, path in _paths(projection):
            if path in seen:
                what = f"a second file of the volume is {shown(path)}"
                yield Mistake(what, "Change one of the two", ("sources", place, *at))
            seen.add(path)


def _paths(projection: dict[str, Any]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    for kind in ("secret", "configMap", "downwardAPI"):
        for place, item in enumerate(projection.get(kind, {}).get("items", [])):
            yield (kind, "items", place, "path"), item["path"]
    bundle, certificate = projection.get("clusterTrustBundle", {}), projection.get("podCertificate", {})
    if bundle:
        yield ("clusterTrustBundle", "path"), bundle["path"]
    for key in ("credentialBundlePath", "keyPath", "certificateChainPath"):
        if certificate.get(key):
            yield ("podCertificate", key), certificate[key]


def trust_bundle(source: dict[str, Any]) -> Iterator[Mistake]:
    """Yield what is wrong with a bundle of certificates: its name, or its signer."""
    name = source.get("name")
    if name is not None and "labelSelector" in source:
        what = "a bundle that is named has no labelSelector"
        yield Mistake(what, "Remove one of the two", ("labelSelector",))
    if name and not SUBDOMAIN.allows(name.rpartition(":")[2]):
        yield Mistake(f"{{field}} {shown(name)!r} is no name of a ClusterTrustBundle", "Change it", ("name",))
    if source.get("signerName"):
        yield from _signer(source["signerName"])


def certificate(source: dict[str, Any]) -> Iterator[Mistake]:
    """Yield what is wrong with a certificate of a pod."""
    yield from _signer(source["signerName"])
    if not any(source.get(key) for key in ("credentialBundlePath", "keyPath", "certificateChainPath")):
        what = "a certificate needs a path for its files"
        yield Mistake(what, "Add credentialBundlePath", ("credentialBundlePath",))
    domain = source["signerName"].partition("/")[0]
    longest = 86_400 if f".{domain}".endswith(".kubernetes.io") else 91 * 86_400
    if source.get("maxExpirationSeconds", 0) > longest:
        yield Mistake(f"{{field}} must be at most {longest}", "Lower it", ("maxExpirationSeconds",))
    for key in source.get("userAnnotations", {}):
        if "/" not in key or not LABEL_KEY.allows(key.lower()):
            what = f"the key {shown(key)!r} must be like example.com/tier"
            yield Mistake(what, "Change it", ("userAnnotations", key))


def _signer(name: str) -> Iterator[Mistake]:
    domain, slash, path = name.partition("/")
    right = slash and "." in domain and len(domain) <= 253 and "/" not in path
    if not right or not all(map(DNS_LABEL.allows, domain.split("."))) or not SUBDOMAIN.allows(path):
        what = f"{{field}} {shown(name)!r} must be like example.com/signer"
        yield Mistake(what, "Change it", ("signerName",))


def iscsi(source: dict[str, Any]) -> Iterator[Mistake]:
    """Yield a missing secret for an authentication that is asked for."""
    if (source.get("chapAuthDiscovery") or source.get("chapAuthSession")) and "secretRef" not in source:
        yield Mistake("the authentication needs a secretRef", "Add secretRef", ("secretRef",))


def quobyte(source: dict[str, Any]) -> Iterator[Mistake]:
    """Yield a registry that is no list of host:port."""
    if not all(_is_address(address) for address in source["registry"].split(",")):
        yield Mistake("{field} must be host:port, or several with commas between", "Change it", ("registry",))
    if len(source.get("tenant", "")) > 64:
        yield Mistake("{field} has more than 64 characters", "Shorten it", ("tenant",))


def _is_address(address: str) -> bool:
    host, colon, _ = address.rpartition(":")
    bare = host.removeprefix("[").removesuffix("]")
    return bool(colon) and not any(char in bare for char in "[]") and (":" not in bare or host != bare)


def flocker(source: dict[str, Any]) -> Iterator[Mistake]:
    """Yield the name of a data set that is a path."""
    if "/" in source.get("datasetName", ""):
        yield Mistake("{field} must not contain '/'", "Change it", ("datasetName",))


def fibre_channel(source: dict[str, Any]) -> Iterator[Mistake]:
    """Yield a missing unit of targets."""
    if source.get("targetWWNs") and "lun" not in source:
        yield Mistake("targetWWNs need a lun beside them", "Add lun", ("lun",))


def flex(source: dict[str, Any]) -> Iterator[Mistake]:
    """Yield options under the names of Kubernetes."""
    for key in source.get("options", {}):
        domain = f".{key.partition('/')[0].lower()}"
        if domain.endswith((".kubernetes.io", ".k8s.io")):
            yield Mistake("options of kubernetes.io and k8s.io are reserved", "Remove it", ("options", key))


def azure_disk(source: dict[str, Any]) -> Iterator[Mistake]:
    """Yield an address that is not one of the kind of disk."""
    kind = source.get("kind") or "Shared"
    start = "/subscriptions/" if kind == "Managed" else "https://"
    if not source["diskURI"].startswith(start):
        yield Mistake(
            f"{{field}} of a disk of kind {kind} must start with {start}", "Change it", ("diskURI",)
        )


_CLAIM_METADATA = ("labels", "annotations")


def claim_template(template: dict[str, Any]) -> Iterator[Mistake]:
    """Yield metadata that a claim of a volume cannot have."""
    for key, value in template.get("metadata", {}).items():
        if key not in _CLAIM_METADATA and value not in ("", 0, [], {}):
            what = f"a claim of a volume has labels and annotations, and no {key}"
            yield Mistake(what, "Remove it", ("metadata", key))


def claim(spec: dict[str, Any]) -> Iterator[Mistake]:
    """Yield what is wrong with a claim of a volume."""
    modes = spec["accessModes"]
    if "ReadWriteOncePod" in modes and set(modes) != {"ReadWriteOncePod"}:
        what = "ReadWriteOncePod does not go with other access modes"
        yield Mistake(what, "Keep it alone, or remove it", ("accessModes",))
    storage = spec.get("resources", {}).get("requests", {}).get("storage")
    if storage is None:
        at = ("resources", "requests", "storage")
        yield Mistake("a claim says how much storage it needs", "Add resources.requests.storage", at)
    elif parse_quantity(str(storage)) <= 0:
        yield Mistake("{field} must be more than 0", "Change it", ("resources", "requests", "storage"))
    for key in ("dataSource", "dataSourceRef"):
        source = spec.get(key)
        group = (source or {}).get("apiGroup") or ""
        if source and not group and source["kind"] != "PersistentVolumeClaim":
            what = f"a {key} without apiGroup is a PersistentVolumeClaim"
            yield Mistake(what, "Add apiGroup", (key, "kind"))
        if group and not SUBDOMAIN.allows(group):
            yield Mistake(
                f"{{field}} {shown(group)!r} must be {SUBDOMAIN.words}", "Change it", (key, "apiGroup")
            )
    if "dataSource" in spec and "dataSourceRef" in spec:
        reference = {key: value for key, value in spec["dataSourceRef"].items() if value}
        if {key: value for key, value in spec["dataSource"].items() if value} != reference:
            yield Mistake(
                "dataSource and dataSourceRef must be the same", "Remove one of the two", ("dataSource",)
            )
    elif not DNS_LABEL.allows(spec.get("dataSourceRef", {}).get("namespace") or "default"):
        here = ("dataSourceRef", "namespace")
        yield Mistake(f"{{field}} must be {DNS_LABEL.words}", "Change it", here)


RULES = {
    "AzureDiskVolumeSource": (azure_disk,),
    "ClusterTrustBundleProjection": (trust_bundle,),
    "EmptyDirVolumeSource": (empty_dir,),
    "FCVolumeSource": (fibre_channel,),
    "FlexVolumeSource": (flex,),
    "FlockerVolumeSource": (flocker,),
    "ISCSIVolumeSource": (iscsi,),
    "PersistentVolumeClaimSpec": (claim,),
    "PersistentVolumeClaimTemplate": (claim_template,),
    "PodCertificateProjection": (certificate,),
    "ProjectedVolumeSource": (projected,),
    "QuobyteVolumeSource": (quobyte,),
}
