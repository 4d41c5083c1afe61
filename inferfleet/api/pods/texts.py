"""What the texts of single fields may be: names, label keys, ports, paths, addresses."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
SUBDOMAIN_PATTERN = rf"{_LABEL}(\.{_LABEL})*"
_WORD = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LOOSE = r"_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL = r"[a-z0-9]([-_a-z0-9]*[a-z0-9])?"


@dataclass(frozen=True)
class Text:
    """A rule for a text: what holds for those that are right, and in words what they must be.

    `absent`: an empty text counts as an absent field.
    """

    holds: Callable[[str], object]
    words: str
    absent: bool = False

    def allows(self, text: str) -> bool:
        """Return whether the text follows the rule."""
        return (self.absent and not text) or bool(self.holds(text))

    @property
    def or_none(self) -> "Text":
        """The same rule for a field where an empty text counts as absent."""
        return Text(self.holds, self.words, absent=True)


def _matches(pattern: str, limit: int) -> Callable[[str], bool]:
    matching = re.compile(pattern).fullmatch
    return lambda text: len(text) <= limit and matching(text) is not None


def _is_label_key(text: str) -> bool:
    prefix, slash, name = text.rpartition("/")
    return (not slash or _is_subdomain(prefix)) and _is_label_name(name)


def _is_port_name(text: str) -> bool:
    return _is_port_word(text) and "--" not in text and text.strip("-") == text and not text.isdigit()


def _is_ip(text: str) -> bool:
    try:
        address = ip_address(text)
    except ValueError:
        return False
    # Without a zone, and no IPv4 address written as IPv6.
    return "%" not in text and not (isinstance(address, IPv6Address) and address.ipv4_mapped)


def _has_no_backstep(text: str) -> bool:
    return ".." not in text.split("/")


def _is_config_key(text: str) -> bool:
    return _is_config_word(text) and text != "." and not text.startswith("..")


def _is_search(text: str) -> bool:
    return text == "." or _is_loose_subdomain(text.removesuffix("."))


def _is_local(text: str) -> bool:
    return not text.startswith(("/", "..")) and _has_no_backstep(text)


_is_subdomain = _matches(SUBDOMAIN_PATTERN, 253)
_is_label_name = _matches(_WORD, 63)
_is_port_word = _matches(r"[-a-z0-9]+", 15)
_is_config_word = _matches(r"[-._a-zA-Z0-9]+", 253)
_is_loose_subdomain = _matches(rf"{_LOOSE}(\.{_LOOSE})*", 253)

DNS_LABEL = Text(
    _matches(_LABEL, 63),
    "at most 63 lowercase letters, digits and '-', with a letter or digit at both ends",
)
SUBDOMAIN = Text(
    _is_subdomain, "at most 253 lowercase letters, digits, '-' and '.', with a letter or digit at both ends"
)
# Where a name may be the beginning of one, and end with a dash.
PREFIX = Text(lambda text: _is_subdomain(text[:-1] + "a" if text.endswith("-") else text), SUBDOMAIN.words)
HOSTNAME = Text(_matches(SUBDOMAIN_PATTERN, 64), SUBDOMAIN.words.replace("253", "64"))
LABEL_KEY = Text(
    _is_label_key, "a key such as tier or example.com/tier, with at most 63 characters after the '/'"
)
LABEL_VALUE = Text(
    lambda text: not text or _is_label_name(text),
    "at most 63 letters, digits, '-', '_' and '.', with a letter or digit at both ends",
)
ANNOTATION_KEY = Text(lambda text: _is_label_key(text.lower()), LABEL_KEY.words)
PORT_NAME = Text(_is_port_name, "at most 15 lowercase letters, digits and '-', with at least one letter")
ENV_NAME = Text(
    lambda text: text and text.isascii() and text.isprintable() and "=" not in text,
    "printable ASCII characters other than '='",
)
CONFIG_KEY = Text(_is_config_key, "at most 253 letters, digits, '-', '_' and '.', and not start with '..'")
HEADER = Text(_matches(r"[-A-Za-z0-9]+", 1 << 20), "letters, digits and '-'")
SYSCTL = Text(_matches(rf"({_SYSCTL}[./])*{_SYSCTL}", 253), "a name such as net.core.somaxconn")
IP = Text(_is_ip, "an IP address such as 10.0.0.1")
SEARCH = Text(_is_search, "a domain such as example.com")
CSI_DRIVER = Text(lambda text: len(text) <= 63 and _is_subdomain(text.lower()), "the name of a driver")
NO_BACKSTEP = Text(_has_no_backstep, "a path without '..'")
DESCENDING = Text(
    lambda text: not text.startswith("/") and _has_no_backstep(text), "a relative path without '..'"
)
LOCAL = Text(_is_local, "a relative path that does not start with '..'")
ABSOLUTE = Text(lambda text: text.startswith("/"), "a path that starts with '/'")
ISCSI = Text(
    lambda text: re.fullmatch(
        r"iqn\.\d{4}-\d{2}\.([a-z0-9\-.]+)(:[^,;*&$|\s]+)|eui\.[0-9A-Fa-f]{16}|naa\.[0-9A-Fa-f]{32}", text
    ),
    "a name such as iqn.2015-02.example.com:test",
)
# The API server takes other images, at least of a template; no kubelet pulls them: the grammar of references
# (github.com/distribution/reference, reference.go) has ASCII characters alone.
IMAGE = Text(
    lambda text: not text.strip() or (text.isascii() and len(text.split()) == 1 and text == text.strip()),
    "a name of ASCII characters without blanks in or around it",
)
NONE_BLANK = Text(lambda text: bool(text), "a text that is not empty")

# By definition: what the text of a field, or of each entry of a list, must be.
TEXTS: Mapping[tuple[str, str], Text] = {
    ("CSIVolumeSource", "driver"): CSI_DRIVER,
    ("ConfigMapEnvSource", "name"): PREFIX,
    ("ConfigMapKeySelector", "key"): CONFIG_KEY,
    ("ConfigMapKeySelector", "name"): SUBDOMAIN,
    ("Container", "image"): IMAGE,
    ("Container", "name"): DNS_LABEL,
    ("ContainerPort", "name"): PORT_NAME.or_none,
    ("DownwardAPIVolumeFile", "path"): LOCAL,
    ("EnvFromSource", "prefix"): ENV_NAME.or_none,
    ("EnvVar", "name"): ENV_NAME,
    ("FileKeySelector", "key"): ENV_NAME,
    ("FileKeySelector", "path"): NO_BACKSTEP,
    ("FileKeySelector", "volumeName"): DNS_LABEL,
    ("GitRepoVolumeSource", "directory"): DESCENDING,
    ("HTTPHeader", "name"): HEADER,
    ("HostAlias", "hostnames"): SUBDOMAIN,
    ("HostAlias", "ip"): IP,
    ("HostPathVolumeSource", "path"): NO_BACKSTEP,
    ("ISCSIVolumeSource", "initiatorName"): ISCSI,
    ("ISCSIVolumeSource", "iqn"): ISCSI,
    ("KeyToPath", "path"): LOCAL,
    ("LabelSelectorRequirement", "key"): LABEL_KEY,
    ("LabelSelectorRequirement", "values"): LABEL_VALUE,
    ("LocalObjectReference", "name"): SUBDOMAIN,
    ("NFSVolumeSource", "path"): ABSOLUTE,
    ("ObjectMeta", "finalizers"): LABEL_KEY,
    ("PersistentVolumeClaimSpec", "storageClassName"): SUBDOMAIN.or_none,
    ("PersistentVolumeClaimSpec", "volumeAttributesClassName"): SUBDOMAIN.or_none,
    ("PodAffinityTerm", "matchLabelKeys"): LABEL_KEY,
    ("PodAffinityTerm", "mismatchLabelKeys"): LABEL_KEY,
    ("PodAffinityTerm", "namespaces"): DNS_LABEL,
    ("PodAffinityTerm", "topologyKey"): LABEL_KEY,
    ("PodDNSConfig", "nameservers"): IP,
    ("PodDNSConfig", "searches"): SEARCH,
    ("PodDNSConfigOption", "name"): NONE_BLANK,
    ("PodReadinessGate", "conditionType"): LABEL_KEY,
    ("PodResourceClaim", "name"): DNS_LABEL,
    ("PodResourceClaim", "resourceClaimName"): SUBDOMAIN,
    ("PodResourceClaim", "resourceClaimTemplateName"): SUBDOMAIN,
    ("PodSchedulingGate", "name"): LABEL_KEY,
    ("PodSchedulingGroup", "podGroupName"): SUBDOMAIN,
    ("PodSpec", "hostname"): DNS_LABEL.or_none,
    ("PodSpec", "hostnameOverride"): HOSTNAME,
    ("PodSpec", "nodeName"): SUBDOMAIN.or_none,
    ("PodSpec", "priorityClassName"): SUBDOMAIN.or_none,
    ("PodSpec", "runtimeClassName"): SUBDOMAIN,
    ("PodSpec", "serviceAccount"): SUBDOMAIN.or_none,
    ("PodSpec", "serviceAccountName"): SUBDOMAIN.or_none,
    ("PodSpec", "subdomain"): DNS_LABEL.or_none,
    ("ResourceClaim", "request"): DNS_LABEL.or_none,
    ("SecretEnvSource", "name"): PREFIX,
    ("SecretKeySelector", "key"): CONFIG_KEY,
    ("SecretKeySelector", "name"): SUBDOMAIN,
    ("ServiceAccountTokenProjection", "path"): LOCAL,
    ("ClusterTrustBundleProjection", "path"): LOCAL,
    ("PodCertificateProjection", "certificateChainPath"): LOCAL.or_none,
    ("PodCertificateProjection", "credentialBundlePath"): LOCAL.or_none,
    ("PodCertificateProjection", "keyPath"): LOCAL.or_none,
    ("ServicePort", "appProtocol"): LABEL_KEY,
    ("ServicePort", "name"): DNS_LABEL.or_none,
    ("StorageOSVolumeSource", "volumeName"): DNS_LABEL,
    ("StorageOSVolumeSource", "volumeNamespace"): DNS_LABEL.or_none,
    ("Sysctl", "name"): SYSCTL,
    ("Toleration", "key"): LABEL_KEY.or_none,
    ("TopologySpreadConstraint", "matchLabelKeys"): LABEL_KEY,
    ("Volume", "name"): DNS_LABEL,
    ("VolumeDevice", "devicePath"): NO_BACKSTEP,
    ("VolumeMount", "subPath"): DESCENDING.or_none,
    ("VolumeMount", "subPathExpr"): DESCENDING.or_none,
    ("WindowsSecurityContextOptions", "gmsaCredentialSpecName"): SUBDOMAIN,
}
# The same for the keys and values of maps.
MAPS: Mapping[tuple[str, str], tuple[Text, Text | None]] = {
    ("LabelSelector", "matchLabels"): (LABEL_KEY, LABEL_VALUE),
    ("ObjectMeta", "annotations"): (ANNOTATION_KEY, None),
    ("ObjectMeta", "labels"): (LABEL_KEY, LABEL_VALUE),
    ("PodSpec", "nodeSelector"): (LABEL_KEY, LABEL_VALUE),
    ("ServiceSpec", "selector"): (LABEL_KEY, LABEL_VALUE),
    ("ConfigMap", "data"): (CONFIG_KEY, None),
    ("ConfigMap", "binaryData"): (CONFIG_KEY, None),
    ("Secret", "data"): (CONFIG_KEY, None),
    ("Secret", "stringData"): (CONFIG_KEY, None),
}
