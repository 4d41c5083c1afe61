"""Rules for the text of single fields: patterns, names, labels."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

from inferfleet.api.pods import texts
from inferfleet.api.pods.texts import SUBDOMAIN_PATTERN
from inferfleet.api.problems import Mistake, mistaken
from inferfleet.api.wording import shown


@dataclass(frozen=True)
class Written:
    """Metadata of a text field whose whole value must match the pattern.

    Messages quote the rule: "name 'X' must be <rule>", with the name of the field, or with `thing`.
    """

    pattern: str
    rule: str
    limit: int = 253
    suggest: bool = False  # a value of lowercase letters, digits and '-' is likely what is meant
    thing: str = "{field}"  # what the value is, where fields are named after what it is for

    def allows(self, value: str) -> bool:
        """Return whether the value matches and is not longer than the limit."""
        return len(value) <= self.limit and re.fullmatch(self.pattern, value) is not None

    def check(self, value: str) -> str:
        """Return the value. Raises Mistaken when it does not match or is longer than the limit."""
        if not self.allows(value):
            close = re.sub(r"[^a-z0-9]+", "-", value[:300].lower()).strip("-")
            named = self.suggest and len(close) <= self.limit and re.fullmatch(self.pattern, close)
            next_step = f"Write it like {close}" if named else "Change it"
            raise mistaken(f"{self.thing} {shown(value)!r} must be {self.rule}", next_step)
        return value

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {**handler(schema), "pattern": f"^({self.pattern})$", "maxLength": self.limit}


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


def Dns1035(limit: int) -> Written:  # noqa: N802 (metadata of a type, like pydantic's Field)
    """Metadata of a text field that becomes (part of) a Kubernetes name."""
    return Written(
        r"[a-z]([-a-z0-9]*[a-z0-9])?",
        "lowercase letters, digits and '-', start with a letter, not end with '-', "
        f"at most {limit} characters",
        limit,
        suggest=True,
    )


LABEL_KEY = Written(texts.LABEL_KEY.pattern, "a key such as tier or example.com/tier", 317)
LABEL_VALUE = Written(
    texts.LABEL_VALUE.pattern, "letters, digits, '-', '_', '.', with a letter or digit at both ends", 63
)
# As of images in pods, which no kubelet pulls otherwise.
IMAGE = Written(r"[!-~]+", "a name of ASCII characters without blanks", 4096, thing="image")
SUBDOMAIN = Written(SUBDOMAIN_PATTERN, "a name of lowercase letters, digits, '-' and '.'")
HOSTNAME = Written(rf"(\*\.)?{SUBDOMAIN_PATTERN}", "a host name such as models.example.com or *.example.com")


def label_mistakes(labels: Mapping[str, str], reserved: tuple[str, ...] = ()) -> list[Mistake]:
    """Return what is wrong with labels that a person wrote; keys under `reserved` are set by inferfleet."""
    mistakes = []
    for key, text in labels.items():
        if not LABEL_KEY.allows(key):
            what = f"{shown(key)!r} is not a Kubernetes label key"
            mistakes.append(Mistake(what, "Write it like tier or example.com/tier", (key,)))
        elif key.startswith(reserved):
            what = f"labels under {key.partition('/')[0]}/ are reserved for inferfleet"
            mistakes.append(Mistake(what, "Use a prefix of your own", (key,)))
        if not LABEL_VALUE.allows(text):
            what = f"{shown(text)!r} is not a Kubernetes label value"
            next_step = (
                "Use at most 63 letters, digits, '-', '_' and '.', with a letter or digit at both ends"
            )
            mistakes.append(Mistake(what, next_step, (key,)))
    return mistakes
