"""What all documents share: strict frozen models, names, labels, quantities, durations, selectors, taints,
and links of plugin chains.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    ValidationInfo,
    model_validator,
)
from pydantic.alias_generators import to_camel
from pydantic_core import CoreSchema

from inferfleet.documents.pods.texts import LABEL_KEY, LABEL_VALUE, SUBDOMAIN_PATTERN, TextRule
from inferfleet.documents.problems import Mistake, Mistaken, mistaken
from inferfleet.documents.quantity import parse_duration, parse_quantity
from inferfleet.documents.wording import shown

API_VERSION: Literal["inferfleet.dev/v1alpha1"] = "inferfleet.dev/v1alpha1"

# Derived names (`<deployment>-<role>-<pool>`, `<service>-svc`, labels of at most 63 characters) fit because
# these parts are short.
NAME_LIMIT = 32
CLUSTER_LIMIT = 24
POOL_LIMIT = 20
ROLE_LIMIT = 12
DAY = 86_400


@dataclass(frozen=True)
class RefusedField:
    """What to do about a field that people look for and a model does not have."""

    next_step: str
    why: str = ""
    """Why what it stands for is not offered; "" for what is written otherwise."""
    instead: str = ""
    """The field to write in its place, if it is a required one: that it is missing too is not told then."""


class StrictModel(BaseModel):
    """Frozen, strict about keys, written in camelCase.

    The text under a field is its description, in editors and in docs/reference; `loading.schema` reads it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)
    # What the next step is for unknown fields whose meaning is known.
    refused_fields: ClassVar[Mapping[str, RefusedField]] = {}
    # Steps to the map of the model that passes on inputs of a cloud which are no fields here; none for most.
    passed_on: ClassVar[tuple[str, ...]] = ()


@dataclass(frozen=True, eq=False)  # types must be hashable, so by identity
class InEditors:
    """Metadata of a field that a person may write in more ways than the model holds: its JSON Schema."""

    schema: Mapping[str, Any]

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return dict(self.schema)


@dataclass(frozen=True)
class OrText:
    """Metadata of a map that a person may also write as one text."""

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {"anyOf": [{"type": "string", "minLength": 1}, handler(schema)]}


# Words for a program.
Args = Annotated[tuple[Annotated[str, Field(max_length=100_000)], ...], Field(max_length=1000)]


def Dns1035(limit: int) -> TextRule:  # noqa: N802 (metadata of a type, like pydantic's Field)
    """Metadata of a text field that becomes (part of) a Kubernetes name."""
    return TextRule(
        r"[a-z]([-a-z0-9]*[a-z0-9])?",
        "lowercase letters, digits and '-', start with a letter, not end with '-', "
        f"at most {limit} characters",
        limit,
        suggest=True,
    )


# As of images in pods, which no kubelet pulls otherwise.
IMAGE = TextRule(r"[!-~]+", "a name of ASCII characters without blanks", 4096, thing="image")
HOSTNAME = TextRule(rf"(\*\.)?{SUBDOMAIN_PATTERN}", "a host name such as models.example.com or *.example.com")


def label_mistakes(labels: Mapping[str, str], reserved: tuple[str, ...] = ()) -> list[Mistake]:
    """Return what is wrong with labels that a person wrote; keys under `reserved` are set by inferfleet."""
    mistakes = []
    for key, text in labels.items():
        if not LABEL_KEY.allows(key):
            what = f"{shown(key)!r} is not a Kubernetes label key"
            mistakes.append(Mistake(what, "Write it like tier or example.com/tier", (key,)))
        elif key.startswith(reserved):
            what = f"labels under {key.partition('/')[0]}/ are reserved for inferfleet"
            mistakes.append(Mistake(what, "Remove it, or use a prefix of your own", (key,)))
        if not LABEL_VALUE.allows(text):
            what = f"{shown(text)!r} is not a Kubernetes label value"
            mistakes.append(Mistake(what, f"Use {LABEL_VALUE.words}", (key,)))
    return mistakes


def _check_labels(labels: dict[str, str]) -> dict[str, str]:
    if mistakes := label_mistakes(labels, ("inferfleet.dev/",)):
        raise Mistaken(*mistakes)
    return labels


def _check_wanted_labels(labels: dict[str, str]) -> dict[str, str]:
    if mistakes := label_mistakes(labels):
        raise Mistaken(*mistakes)
    return labels


def _quantity(value: Any) -> Any:
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = str(value)
    if isinstance(value, str) and parse_quantity(value) < 0:
        raise mistaken(f"{{field}} {value!r} is negative", "Write a quantity of at least 0")
    return value


def seconds(value: Any, info: ValidationInfo, *, shortest: str, longest: str) -> Any:
    """Return a duration as a person writes it in seconds; in Python it may be a number of seconds already."""
    if isinstance(value, str):
        duration = parse_duration(value)
        if not parse_duration(shortest) <= duration <= parse_duration(longest):
            raise mistaken(f"{{field}} {value} must be between {shortest} and {longest}", "Change it")
        return duration
    if isinstance(value, int) and info.mode == "json":  # as in a document
        raise mistaken(f"{{field}} {value} has no unit", "Write it like 90s, 30m or 2h")
    return value


Name = Annotated[str, Dns1035(NAME_LIMIT)]
ClusterName = Annotated[str, Dns1035(CLUSTER_LIMIT)]
PoolName = Annotated[str, Dns1035(POOL_LIMIT)]
RoleName = Annotated[str, Dns1035(ROLE_LIMIT)]
Labels = Annotated[dict[str, str], AfterValidator(_check_labels)]
# Labels to select by: those that inferfleet makes may be among them.
WantedLabels = Annotated[dict[str, str], AfterValidator(_check_wanted_labels)]
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


class Metadata(StrictModel):
    """Name and labels of a document."""

    labels: Labels = {}
    """Deployments select clusters by these labels, and services select endpoints, which carry the labels of
    their deployment and cluster. Keys under `inferfleet.dev/` are reserved; default: none.
    """


class ClassMetadata(Metadata):
    """Name and labels of an InferenceClass."""

    labels: Labels = {}
    """Labels for people: nothing selects classes by them. Keys under `inferfleet.dev/` are reserved;
    default: none.
    """
    name: Annotated[str, Dns1035(63)]
    """The name by which node pools refer to the class (`className`). A class beside the stack takes the place
    of one of the same name in the catalogue.
    """


class ClusterMetadata(Metadata):
    """Name and labels of an InferenceCluster."""

    name: ClusterName
    """The name of the cluster in plans, in `placement.lock` and in the names of Pulumi resources. Another
    name is another cluster.
    """


class NamespacedMetadata(Metadata):
    """Name, namespace and labels of a document that makes Kubernetes objects."""

    name: Name
    """The name of the document, from which the names of its Kubernetes objects are made."""
    namespace: Name = "default"
    """The Kubernetes namespace of its objects on every cluster; it is created where it is missing. Default:
    `default`.
    """

    @property
    def key(self) -> str:
        """`namespace/name`, by which documents and plans refer to it."""
        return f"{self.namespace}/{self.name}"


class LabelRequirement(StrictModel):
    """A condition on one label, as Kubernetes' selectors have them."""

    key: Annotated[str, LABEL_KEY]
    """Key of the label."""
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"]
    """`In`: the label has one of the values; `NotIn`: it has none of them, or there is no such label.
    `Exists` and `DoesNotExist`: there is such a label, whatever its value, or there is none.
    """
    values: Annotated[tuple[Annotated[str, LABEL_VALUE], ...], Field(max_length=64)] = ()
    """Values for `In` and `NotIn`, at least one; refused with the others."""

    @model_validator(mode="after")
    def _check_values(self) -> "LabelRequirement":
        if self.operator in ("In", "NotIn") and not self.values:
            raise mistaken(f"operator {self.operator} needs values", "Add values: [...], or use Exists")
        if self.operator in ("Exists", "DoesNotExist") and self.values:
            what = f"operator {self.operator} has no values"
            raise mistaken(what, "Remove values, or use In or NotIn")
        return self

    def matches(self, labels: dict[str, str]) -> bool:
        """Return whether the labels fulfil the condition."""
        has = labels.get(self.key)
        if self.operator in ("In", "Exists"):
            return has is not None and (self.operator == "Exists" or has in self.values)
        return has is None or (self.operator == "NotIn" and has not in self.values)

    def __str__(self) -> str:
        """Return the condition as kubectl writes it: `tier in (prod,canary)`, `!spot`."""
        if self.operator in ("Exists", "DoesNotExist"):
            return self.key if self.operator == "Exists" else f"!{self.key}"
        return f"{self.key} {self.operator.lower()} ({','.join(self.values)})"


class LabelSelector(StrictModel):
    """A selection by labels, as in Kubernetes: all conditions hold, and an empty one matches everything."""

    match_labels: WantedLabels = {}
    """Labels and the values they must have. Default: none, which matches everything."""
    match_expressions: Annotated[tuple[LabelRequirement, ...], Field(max_length=32)] = ()
    """Further conditions on labels, all of which must hold. Default: none."""

    def matches(self, labels: dict[str, str]) -> bool:
        """Return True when the labels have every value that is asked for and fulfil every condition."""
        for key, value in self.match_labels.items():
            if labels.get(key) != value:
                return False
        return all(requirement.matches(labels) for requirement in self.match_expressions)

    def unmet(self, labels: dict[str, str]) -> Iterator[tuple[str, str]]:
        """Yield the key of each label that is not as asked, and what is asked: `tier`, `tier=prod`."""
        for key, value in sorted(self.match_labels.items()):
            if labels.get(key) != value:
                yield key, f"{key}={value}"
        for requirement in self.match_expressions:
            if not requirement.matches(labels):
                yield requirement.key, str(requirement)

    def __str__(self) -> str:
        """Return the conditions as kubectl writes them: `tier=prod, !spot`; "" for an empty selector."""
        labels = (f"{key}={value}" for key, value in sorted(self.match_labels.items()))
        return ", ".join([*labels, *map(str, self.match_expressions)])


class Toleration(StrictModel):
    """A toleration of a taint, read as Kubernetes reads those of pods."""

    key: str | None = None
    """Key of the taint. Left out with operator `Exists`, every taint is tolerated."""
    operator: Literal["Equal", "Exists"] = "Equal"
    """`Equal`: the value must be that of the taint. `Exists`: any value will do."""
    value: str | None = None
    """Value of the taint, for operator `Equal`. Default: an empty value."""
    effect: Literal["NoSchedule", "NoExecute", "PreferNoSchedule"] | None = None
    """Effect of the taint. Left out, all effects are tolerated."""

    @model_validator(mode="after")
    def _check_as_kubernetes_does(self) -> "Toleration":
        # https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/
        if self.operator == "Exists" and self.value:
            raise mistaken("a toleration with operator Exists has no value", "Remove value, or use Equal")
        if self.operator == "Equal" and not self.key:
            raise mistaken("a toleration with operator Equal needs a key", "Add key, or use operator Exists")
        return self


class Taint(StrictModel):
    """A Kubernetes taint."""

    key: Annotated[str, LABEL_KEY]
    """Key of the taint, such as `dedicated` or `example.com/team`."""
    value: Annotated[str, LABEL_VALUE] = ""
    """Value of the taint. Default: empty."""
    effect: Literal["NoSchedule", "NoExecute"]
    """`NoSchedule`: nothing new is placed where it is not tolerated. `NoExecute`: what runs there has to
    leave as well.
    """


class PluginScope(StrictModel):
    """Which pods a plugin edits; a pod must meet both fields."""

    roles: Annotated[tuple[RoleName, ...], Field(min_length=1)] = ()
    """Roles whose pods are edited, such as `decode`. Default: all roles."""
    target: Literal["All", "Entry", "Worker"] = "All"
    """Which pods of a worker are edited: `Entry` (the pod that serves requests), `Worker` (the others) or
    `All`.
    """

    def has(self, role: str, position: str) -> bool:
        """Return whether pods of the role at this position of a worker, Entry or Worker, are in scope."""
        return (not self.roles or role in self.roles) and self.target in ("All", position)


class PluginSpec(StrictModel):
    """One plugin of a chain. Plugins edit generated pod templates in the order class, cluster, stack,
    deployment.
    """

    name: str = Field(min_length=1, max_length=63)
    """Name of a plugin: one that comes with inferfleet, such as `accelerator`, or one that the setting
    `inferfleet:allowedPlugins` names.
    """
    type: Literal["BuiltIn"] = "BuiltIn"
    """How the plugin runs. `BuiltIn`, the only value, means in the program, also for plugins of your own."""
    config: Any = None
    """Configuration of the plugin, checked against the plugin's own model. Default: empty."""
    scope: PluginScope = PluginScope()
    """Which pods the plugin edits. Default: all pods that the chain is for."""
    override: bool = False
    """Whether the plugin may change fields that an earlier link of the chains changed. Without it, that is an
    error that names both links.
    """
