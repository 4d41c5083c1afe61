"""Values between the Pulumi engine and Python: what is not known yet stays a value of its own."""

from typing import Any

from google.protobuf.struct_pb2 import Struct, Value

# How the engine writes a value that is only known after the update (sdk/go/common/resource/plugin/rpc.go).
UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"


def plain(properties: Struct) -> dict[str, Any]:
    """JSON values; whole numbers are ints, and UNKNOWN stands for unknowns."""
    return {name: _plain(value) for name, value in properties.fields.items()}


def struct(values: dict[str, Any]) -> Struct:
    """For the engine, from JSON values."""
    made = Struct()
    made.update(values)
    return made


def _plain(value: Value) -> Any:
    kind = value.WhichOneof("kind")
    if kind == "struct_value":
        return plain(value.struct_value)
    if kind == "list_value":
        return [_plain(one) for one in value.list_value.values]
    if kind == "number_value":
        number = value.number_value
        return int(number) if number.is_integer() else number
    return None if kind == "null_value" else getattr(value, kind or "string_value")
