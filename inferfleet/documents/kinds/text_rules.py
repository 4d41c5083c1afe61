"""Rules for the text of single fields that are inferfleet's own: names, images, hosts, labels."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field, GetJsonSchemaHandler
from pydantic_core import CoreSchema

from inferfleet.documents.pods.texts import LABEL_KEY, LABEL_VALUE, SUBDOMAIN_PATTERN, Written
from inferfleet.documents.problems import Mistake
from inferfleet.documents.wording import shown


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


# As of images in pods, which no kubelet pulls otherwise.
IMAGE = Written(r"[!-~]+", "a name of ASCII characters without blanks", 4096, thing="image")
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
            mistakes.append(Mistake(what, f"Use {LABEL_VALUE.words}", (key,)))
    return mistakes
