"""What names, label keys and label values may be in Kubernetes, and which fields hold one."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
SUBDOMAIN_PATTERN = rf"{_LABEL}(\.{_LABEL})*"
_WORD = r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_BOTH_ENDS = "with a letter or digit at both ends"


@dataclass(frozen=True)
class Text:
    """A rule for a text: the pattern and length of those that are right, and in words what they must be."""

    pattern: str
    limit: int
    words: str

    def allows(self, text: str) -> bool:
        """Return whether the text follows the rule."""
        return len(text) <= self.limit and re.fullmatch(self.pattern, text) is not None


DNS_LABEL = Text(_LABEL, 63, f"at most 63 lowercase letters, digits and '-', {_BOTH_ENDS}")
SUBDOMAIN = Text(SUBDOMAIN_PATTERN, 253, f"at most 253 lowercase letters, digits, '-' and '.', {_BOTH_ENDS}")
LABEL_KEY = Text(
    rf"((?=[^/]{{1,253}}/){SUBDOMAIN_PATTERN}/)?{_WORD}",
    317,
    "a key such as tier or example.com/tier, with at most 63 characters after the '/'",
)
LABEL_VALUE = Text(f"({_WORD})?", 63, f"at most 63 letters, digits, '-', '_' and '.', {_BOTH_ENDS}")
# The prefix may have capitals.
ANNOTATION_KEY = Text(f"(?i:{LABEL_KEY.pattern})", LABEL_KEY.limit, LABEL_KEY.words)
PORT_NAME = Text(
    r"(?=.*[a-z])[a-z0-9]+(-[a-z0-9]+)*",
    15,
    "at most 15 lowercase letters, digits and '-', with at least one letter",
)
ENV_NAME = Text("[ -<>-~]+", 2**20, "printable ASCII characters other than '='")

# By definition: what the text of a field, or of each entry of a list, must be. "" counts as absent where the
# field is not required.
TEXTS: Mapping[tuple[str, str], Text] = {
    ("Container", "name"): DNS_LABEL,
    ("ContainerPort", "name"): PORT_NAME,
    ("EnvVar", "name"): ENV_NAME,
    ("LabelSelectorRequirement", "key"): LABEL_KEY,
    ("LabelSelectorRequirement", "values"): LABEL_VALUE,
    ("LocalObjectReference", "name"): SUBDOMAIN,
    ("NodeSelectorRequirement", "key"): LABEL_KEY,
    ("PodAffinityTerm", "topologyKey"): LABEL_KEY,
    ("PodResourceClaim", "name"): DNS_LABEL,
    ("PodSpec", "hostname"): DNS_LABEL,
    ("PodSpec", "nodeName"): SUBDOMAIN,
    ("PodSpec", "priorityClassName"): SUBDOMAIN,
    ("PodSpec", "runtimeClassName"): SUBDOMAIN,
    ("PodSpec", "serviceAccountName"): SUBDOMAIN,
    ("PodSpec", "subdomain"): DNS_LABEL,
    ("SecretEnvSource", "name"): SUBDOMAIN,
    ("SecretKeySelector", "name"): SUBDOMAIN,
    ("ServicePort", "name"): DNS_LABEL,
    ("Toleration", "key"): LABEL_KEY,
    ("TopologySpreadConstraint", "topologyKey"): LABEL_KEY,
    ("Volume", "name"): DNS_LABEL,
}
# The same for the keys and values of maps.
MAPS: Mapping[tuple[str, str], tuple[Text, Text | None]] = {
    ("LabelSelector", "matchLabels"): (LABEL_KEY, LABEL_VALUE),
    ("ObjectMeta", "annotations"): (ANNOTATION_KEY, None),
    ("ObjectMeta", "labels"): (LABEL_KEY, LABEL_VALUE),
    ("PodSpec", "nodeSelector"): (LABEL_KEY, LABEL_VALUE),
    ("ServiceSpec", "selector"): (LABEL_KEY, LABEL_VALUE),
}
