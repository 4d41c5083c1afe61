"""What all documents share: strict frozen models, names, labels, quantities and durations."""

from functools import partial
from typing import Annotated, Any, Literal, NoReturn

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo
from pydantic.alias_generators import to_camel
from pydantic.fields import FieldInfo

from inferfleet.api.kinds.quantity import parse_duration, parse_quantity
from inferfleet.api.kinds.text_rules import LABEL_KEY, LABEL_VALUE, Dns1035, InEditors, label_mistakes
from inferfleet.api.problems import Mistaken, mistaken

API_VERSION: Literal["inferfleet.dev/v1alpha1"] = "inferfleet.dev/v1alpha1"

# Derived names (`<deployment>-<role>-<pool>`, `<service>-svc`, labels of at most 63 characters) fit because
# these parts are short.
NAME_LIMIT = 32
CLUSTER_LIMIT = 24
POOL_LIMIT = 20
ROLE_LIMIT = 12
DAY = 86_400


class Model(BaseModel):
    """Frozen, strict about keys, written in camelCase."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)


def _labels(labels: dict[str, str]) -> dict[str, str]:
    if found := label_mistakes(labels, ("inferfleet.dev/",)):
        raise Mistaken(*found)
    return labels


def _wanted(labels: dict[str, str]) -> dict[str, str]:
    if found := label_mistakes(labels):
        raise Mistaken(*found)
    return labels


def _quantity(value: Any) -> Any:
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = str(value)
    if isinstance(value, str) and parse_quantity(value) < 0:
        raise mistaken(f"{{field}} {value!r} is negative", "Write a quantity of at least 0")
    return value


def seconds(value: Any, info: ValidationInfo, *, shortest: str, longest: str) -> Any:
    """A duration as a person writes it, in seconds. In Python it may be a number of seconds."""
    if isinstance(value, str):
        found = parse_duration(value)
        if not parse_duration(shortest) <= found <= parse_duration(longest):
            raise mistaken(f"{{field}} {value} must be between {shortest} and {longest}", "Change it")
        return found
    if isinstance(value, int) and info.mode == "json":  # as in a document
        raise mistaken(f"{{field}} {value} has no unit", "Write it like 90s, 30m or 2h")
    return value


def _not_yet(value: Any) -> NoReturn:
    raise mistaken("{field} is not yet offered", "Remove it")


Name = Annotated[str, Dns1035(NAME_LIMIT)]
ClusterName = Annotated[str, Dns1035(CLUSTER_LIMIT)]
PoolName = Annotated[str, Dns1035(POOL_LIMIT)]
RoleName = Annotated[str, Dns1035(ROLE_LIMIT)]
Labels = Annotated[dict[str, str], AfterValidator(_labels)]
# Labels to select by: those that inferfleet makes may be among them.
WantedLabels = Annotated[dict[str, str], AfterValidator(_wanted)]
Quantity = Annotated[
    str,
    BeforeValidator(_quantity),
    InEditors({"anyOf": [{"type": "string"}, {"type": "number", "minimum": 0}]}),
]
WRITTEN_DURATION = InEditors({"type": "string", "pattern": "^[0-9]{1,6}[smh]$"})
# Written `90s`, `30m` or `2h`; held in seconds.
Duration = Annotated[
    int,
    BeforeValidator(partial(seconds, shortest="1s", longest="24h")),
    Field(ge=1, le=DAY),
    WRITTEN_DURATION,
]
_NOT_YET = BeforeValidator(_not_yet)
# A field whose meaning is settled and whose feature is not there: refused by name instead of as a typo.
NotYetOffered = Annotated[Any, _NOT_YET]


def is_offered(field: FieldInfo) -> bool:
    """False for fields that are NotYetOffered."""
    return _NOT_YET not in field.metadata


class Metadata(Model):
    """Name and labels of a cluster-scoped document; `labels` are what selectors look at."""

    labels: Labels = {}


class ClassMetadata(Metadata):
    name: Annotated[str, Dns1035(63)]


class ClusterMetadata(Metadata):
    name: ClusterName


class NamespacedMetadata(Metadata):
    name: Name
    namespace: Name = "default"

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


class LabelSelector(Model):
    """Equality on every label named; an empty selector matches everything."""

    match_labels: WantedLabels = {}

    def matches(self, labels: dict[str, str]) -> bool:
        return all(labels.get(key) == value for key, value in self.match_labels.items())


class Toleration(Model):
    """A Kubernetes toleration, as Modelplane has it for the taints of whole clusters."""

    key: str | None = None
    operator: Literal["Equal", "Exists"] = "Equal"
    value: str | None = None
    effect: Literal["NoSchedule", "NoExecute", "PreferNoSchedule"] | None = None


class Taint(Model):
    key: Annotated[str, LABEL_KEY]
    value: Annotated[str, LABEL_VALUE] = ""
    effect: Literal["NoSchedule", "NoExecute"]
