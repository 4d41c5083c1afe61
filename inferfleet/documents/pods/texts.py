"""What names, label keys and label values may be in Kubernetes, and which fields hold one."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from inferfleet.documents.problems import mistaken
from inferfleet.documents.wording import shown

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
    from pydantic_core import CoreSchema

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
SUBDOMAIN_PATTERN = rf"{_LABEL}(\.{_LABEL})*"
_WORD = r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_BOTH_ENDS = "with a letter or digit at both ends"


@dataclass(frozen=True)
class TextRule:
    """A rule for a text: the pattern and length of those that are right, and in words what they must be. As
    metadata of a field it checks the field's value.

    Messages quote it: "name 'X' must be <words>", with the name of the field, or with `thing`.
    """

    pattern: str
    words: str
    limit: int = 253
    suggest: bool = False
    """Whether a value of lowercase letters, digits and '-' is likely what is meant."""
    thing: str = "{field}"
    """What the value is, where fields are named after what it is for."""

    def allows(self, text: str) -> bool:
        """Return whether the text follows the rule."""
        return len(text) <= self.limit and re.fullmatch(self.pattern, text) is not None

    def check(self, value: str) -> str:
        """Return the value. Raises Mistaken when it does not match or is longer than the limit."""
        if not self.allows(value):
            close = re.sub(r"[^a-z0-9]+", "-", value[:300].lower()).strip("-")
            suggestion_is_valid = (
                self.suggest and len(close) <= self.limit and re.fullmatch(self.pattern, close)
            )
            next_step = f"Write it like {close}" if suggestion_is_valid else "Change it"
            raise mistaken(f"{self.thing} {shown(value)!r} must be {self.words}", next_step)
        return value

    def __get_pydantic_core_schema__(self, source: Any, handler: "GetCoreSchemaHandler") -> "CoreSchema":
        # Whoever checks pods alone does not pay the import.
        from pydantic_core.core_schema import no_info_after_validator_function

        return no_info_after_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: "CoreSchema", handler: "GetJsonSchemaHandler"
    ) -> dict[str, Any]:
        return {**handler(schema), "pattern": f"^({self.pattern})$", "maxLength": self.limit}


DNS_LABEL = TextRule(_LABEL, f"at most 63 lowercase letters, digits and '-', {_BOTH_ENDS}", 63)
SUBDOMAIN = TextRule(SUBDOMAIN_PATTERN, f"at most 253 lowercase letters, digits, '-' and '.', {_BOTH_ENDS}")
LABEL_KEY = TextRule(
    rf"((?=[^/]{{1,253}}/){SUBDOMAIN_PATTERN}/)?{_WORD}",
    "a key such as tier or example.com/tier, with at most 63 characters after the '/'",
    317,
)
LABEL_VALUE = TextRule(f"({_WORD})?", f"at most 63 letters, digits, '-', '_' and '.', {_BOTH_ENDS}", 63)
# The prefix may have capitals.
ANNOTATION_KEY = replace(LABEL_KEY, pattern=f"(?i:{LABEL_KEY.pattern})")
EXTENDED_RESOURCE = TextRule(
    rf"(?=[^/]{{1,253}}/){SUBDOMAIN_PATTERN}/{_WORD}",
    "the name of an extended resource, such as nvidia.com/mig-1g.10gb",
    317,
)
PORT_NAME = TextRule(
    r"(?=.*[a-z])[a-z0-9]+(-[a-z0-9]+)*",
    "at most 15 lowercase letters, digits and '-', with at least one letter",
    15,
)
ENV_NAME = TextRule("[ -<>-~]+", "printable ASCII characters other than '='", 2**20)

# By definition: what the text of a field, or of each entry of a list, must be. "" counts as absent where the
# field is not required.
TEXTS: Mapping[tuple[str, str], TextRule] = {
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
MAPS: Mapping[tuple[str, str], tuple[TextRule, TextRule | None]] = {
    ("LabelSelector", "matchLabels"): (LABEL_KEY, LABEL_VALUE),
    ("ObjectMeta", "annotations"): (ANNOTATION_KEY, None),
    ("ObjectMeta", "labels"): (LABEL_KEY, LABEL_VALUE),
    ("PodSpec", "nodeSelector"): (LABEL_KEY, LABEL_VALUE),
    ("ServiceSpec", "selector"): (LABEL_KEY, LABEL_VALUE),
}
