"""Field types for plugin configs, checked by the rules of the Kubernetes API."""

from typing import Annotated, Any

from pydantic import AfterValidator, Field, model_validator

from inferfleet.api.kinds.text_rules import Written
from inferfleet.api.problems import Mistake, Mistaken, mistaken
from inferfleet.plugins.contract import Config

_SUBDOMAIN = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_WORD = r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"

# Empty means "leave it as it is", as in Kthena.
RuntimeClassName = Annotated[str, Written(f"({_SUBDOMAIN})?", "the name of a RuntimeClass, such as nvidia")]
# Labels and annotations have the same keys.
MetadataKey = Annotated[
    str, Written(f"({_SUBDOMAIN}/)?{_WORD}", "a key such as team or example.com/team", limit=317)
]
LabelValue = Annotated[
    str, Written(_WORD, "1 to 63 letters, digits, '-', '_' and '.', with a letter or digit at both ends")
]
EnvName = Annotated[
    str,
    Written(
        r"[-._a-zA-Z][-._a-zA-Z0-9]*",
        "letters, digits, '_', '-' and '.', and not start with a digit",
        limit=32_768,
    ),
]


class FieldRef(Config):
    field_path: str = Field(min_length=1)
    api_version: str | None = None


class ResourceFieldRef(Config):
    resource: str = Field(min_length=1)
    container_name: str | None = None
    divisor: str | int | None = None


class KeyRef(Config):
    """A key of a ConfigMap or Secret."""

    name: str = Field(min_length=1)
    key: str = Field(min_length=1)
    optional: bool | None = None


class FileKeyRef(Config):
    volume_name: str = Field(min_length=1)
    path: str = Field(min_length=1)
    key: str = Field(min_length=1)
    optional: bool | None = None


class EnvVarSource(Config):
    field_ref: FieldRef | None = None
    resource_field_ref: ResourceFieldRef | None = None
    config_map_key_ref: KeyRef | None = None
    secret_key_ref: KeyRef | None = None
    file_key_ref: FileKeyRef | None = None

    @model_validator(mode="after")
    def _one(self) -> "EnvVarSource":
        if sum(source is not None for _, source in self) != 1:
            raise mistaken(
                "valueFrom must have exactly one source",
                "Keep one of fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef, fileKeyRef",
            )
        return self


class EnvVar(Config):
    """An environment variable, as in a Kubernetes container."""

    name: EnvName
    value: str | None = None
    value_from: EnvVarSource | None = None

    @model_validator(mode="after")
    def _value_or_source(self) -> "EnvVar":
        if self.value and self.value_from:
            raise mistaken(f"variable {self.name} has both value and valueFrom", "Remove one of the two")
        return self

    @property
    def manifest(self) -> dict[str, Any]:
        return self.model_dump(by_alias=True, exclude_none=True)


def _names_once(variables: tuple[EnvVar, ...]) -> tuple[EnvVar, ...]:
    seen: set[str] = set()
    again = []
    for index, variable in enumerate(variables):
        if variable.name in seen:
            what = f"variable {variable.name} is set twice"
            again.append(Mistake(what, "Keep one of the two", (index,)))
        seen.add(variable.name)
    if again:
        raise Mistaken(*again)
    return variables


Env = Annotated[tuple[EnvVar, ...], AfterValidator(_names_once)]
