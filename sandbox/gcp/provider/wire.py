"""Values between the Pulumi engine and Python; a value that is not known yet is UNKNOWN."""

from typing import Any

from google.protobuf.struct_pb2 import Struct, Value

# How the engine writes a value that is only known after the update (sdk/go/common/resource/plugin/rpc.go).
UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"


def plain(properties: Struct) -> dict[str, Any]:
    """Return the engine's properties as JSON values; whole numbers become ints."""
    return {name: _plain_value(value) for name, value in properties.fields.items()}


def struct(values: dict[str, Any]) -> Struct:
    """Return JSON values as the engine's properties."""
    properties = Struct()
    properties.update(values)
    return properties


def _plain_value(value: Value) -> Any:
    kind = value.WhichOneof("kind")
    if kind == "struct_value":
        return plain(value.struct_value)
    if kind == "list_value":
        return [_plain_value(item) for item in value.list_value.values]
    if kind == "number_value":
        number = value.number_value
        return int(number) if number.is_integer() else number
    return None if kind == "null_value" else getattr(value, kind or "string_value")
