"""The JSON Schema of all documents, for editors that complete and check while a person writes."""

from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, models_json_schema
from pydantic_core import core_schema

from inferfleet.api.kinds.base import is_offered
from inferfleet.api.loading.load import KINDS


def json_schema() -> dict[str, Any]:
    """One schema: a document is one of the kinds. Fields and values not yet offered are absent."""
    models = list(KINDS.values())
    names, schema = models_json_schema(
        [(model, "validation") for model in models], by_alias=True, schema_generator=_Offered
    )
    definitions = schema["$defs"]
    for kind, model in KINDS.items():
        # The models fill in both, because in Python they go without saying; in a document they must stand.
        definition = definitions[names[(model, "validation")]["$ref"].rpartition("/")[2]]
        definition["required"] = ["apiVersion", "kind", *definition["required"]]
        definition["title"] = kind
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A document of inferfleet",
        "oneOf": [names[(model, "validation")] for model in models],
        "$defs": definitions,
    }


class _Offered(GenerateJsonSchema):
    def model_schema(self, schema: core_schema.ModelSchema) -> dict[str, Any]:
        written = super().model_schema(schema)
        model: type[BaseModel] = schema["cls"]
        for name, field in model.model_fields.items():
            if not is_offered(field):
                del written["properties"][field.alias or name]
        for property_ in written["properties"].values():
            property_.pop("title", None)  # the field's name again, and misspelt: "Apiversion"
        return written
