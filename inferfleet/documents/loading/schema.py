"""The JSON Schema of all documents, for editors that complete and check while a person writes."""

import ast
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from inspect import getsource
from itertools import pairwise
from typing import Any

from pydantic import BaseModel, TypeAdapter
from pydantic.errors import PydanticInvalidForJsonSchema
from pydantic.json_schema import GenerateJsonSchema, models_json_schema
from pydantic_core import core_schema

from inferfleet.documents.kinds.base import PluginSpec
from inferfleet.documents.kinds.settings import Settings
from inferfleet.documents.loading.load import KINDS

# Where published schemas are found by name, for editors and catalogues such as SchemaStore.
ADDRESS = "https://inferfleet.dev/schemas"


def json_schema(plugins: Mapping[str, type[BaseModel]] | None = None) -> dict[str, Any]:
    """Return one schema: a document is one of the kinds.

    Editors complete the config of a link by the plugin's name: `plugins` has the model of each.
    """
    models = list(KINDS.values())
    names, schema = models_json_schema(
        [(model, "validation") for model in models], by_alias=True, schema_generator=_Described
    )
    definitions = schema["$defs"]
    for kind, model in KINDS.items():
        # The models fill in both, because they are optional in Python; in a document they are required.
        definition = definitions[names[(model, "validation")]["$ref"].rpartition("/")[2]]
        definition["required"] = ["apiVersion", "kind", *definition["required"]]
        definition["title"] = kind
    if plugins:
        link = definitions[PluginSpec.__name__]
        link["properties"]["name"]["examples"] = sorted(plugins)
        link["allOf"] = []
        for name, config_model in sorted(plugins.items()):
            config = _moved(config_schema(config_model), name)
            definitions |= {f"{name}.{key}": value for key, value in config.pop("$defs").items()}
            definitions[f"{name}.config"] = config
            link["allOf"].append(
                {
                    "if": {"properties": {"name": {"const": name}}, "required": ["name"]},
                    "then": {"properties": {"config": {"$ref": f"#/$defs/{name}.config"}}},
                }
            )
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"{ADDRESS}/v1alpha1.json",
        "title": "A document of inferfleet",
        "oneOf": [names[(model, "validation")] for model in models],
        "$defs": definitions,
    }


def config_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Return the schema of a plugin's config, whose fields have the descriptions that their author gave them.

    It is an empty one for a model with types that JSON Schema cannot describe.
    """
    try:
        return {"$defs": {}, **model.model_json_schema(schema_generator=_OfPlugin)}
    except PydanticInvalidForJsonSchema:
        return {"$defs": {}, "type": "object", "properties": {}}


def _moved(schema: Any, plugin: str) -> Any:
    """The schema with references to definitions under the plugin's name."""
    if isinstance(schema, list):
        return [_moved(entry, plugin) for entry in schema]
    if not isinstance(schema, dict):
        return schema
    moved = {key: _moved(value, plugin) for key, value in schema.items()}
    if isinstance(moved.get("$ref"), str):
        moved["$ref"] = moved["$ref"].replace("#/$defs/", f"#/$defs/{plugin}.")
    return moved


def settings_schema() -> dict[str, Any]:
    """Return the schema of a stack's settings, with keys without the prefix `inferfleet:`."""
    schema = Settings.model_json_schema(schema_generator=_Described)
    # The stack's name is not a setting.
    del schema["properties"]["stack"], schema["required"]
    return schema


def value_schema(described: type, title: str, name: str) -> dict[str, Any]:
    """Return the schema of a dataclass as JSON, with the texts of its fields and of those that it holds.

    `name` is that of the schema among the published ones.
    """
    schema = TypeAdapter(described).json_schema(schema_generator=_Described, mode="serialization")
    head = {"$schema": GenerateJsonSchema.schema_dialect, "$id": f"{ADDRESS}/{name}.json"}
    return {**head, **schema, "title": title}


def descriptions(described: type) -> dict[str, str]:
    """Return the text under each field of a class or of its bases, on one line, by field.

    Pydantic would take these texts as descriptions itself (`use_attribute_docstrings`), but it parses the
    source of every model whenever the program starts, which made `inferfleet plan` 0.09 s (7 %) slower.
    """
    package = described.__module__.partition(".")[0]
    texts: dict[str, str] = {}
    for base in reversed(described.__mro__):
        if base.__module__.partition(".")[0] == package:
            texts |= _texts_of_module(base.__module__).get(base.__name__, {})
    return texts


@cache
def _texts_of_module(module: str) -> dict[str, dict[str, str]]:
    """Return the texts under fields by class and field."""
    return {
        statement.name: dict(_texts_below_fields(statement))
        for statement in ast.parse(getsource(sys.modules[module])).body
        if isinstance(statement, ast.ClassDef)
    }


def _texts_below_fields(definition: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for statements in pairwise(definition.body):
        match statements:
            case (ast.AnnAssign(target=ast.Name(id=field)), ast.Expr(ast.Constant(str(text)))):
                yield field, " ".join(text.split())


class _Described(GenerateJsonSchema):
    def model_schema(self, schema: core_schema.ModelSchema) -> dict[str, Any]:
        json_schema = super().model_schema(schema)
        model: type[BaseModel] = schema["cls"]
        texts = descriptions(model)
        json_schema["description"] = " ".join((model.__doc__ or "").split())
        for name, field in model.model_fields.items():
            json_schema["properties"][field.alias or name]["description"] = texts[name]
        for property_ in json_schema["properties"].values():
            property_.pop("title", None)  # the field's name, misspelt: "Apiversion"
        return json_schema

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> dict[str, Any]:
        json_schema = super().dataclass_schema(schema)
        described: type = schema["cls"]
        texts = descriptions(described)
        json_schema["description"] = " ".join((described.__doc__ or "").split())
        for name, property_ in json_schema["properties"].items():
            property_["description"] = texts[name]
            property_.pop("title", None)
        json_schema["required"] = list(json_schema["properties"])
        return json_schema


class _OfPlugin(GenerateJsonSchema):
    def model_schema(self, schema: core_schema.ModelSchema) -> dict[str, Any]:
        json_schema = super().model_schema(schema)
        model: type[BaseModel] = schema["cls"]
        try:
            texts = descriptions(model)
        except (OSError, SyntaxError, TypeError):  # code of others may be in no file that can be read
            texts = {}
        for name, field in model.model_fields.items():
            if property_ := json_schema.get("properties", {}).get(field.alias or name):
                property_.pop("title", None)
                if name in texts:
                    property_["description"] = texts[name]
        return json_schema
