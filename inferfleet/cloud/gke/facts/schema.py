"""The fields of Google Cloud's resource types as the Pulumi provider has them: types, and what a change does.

The table is data (schema.json, with its source and date); this reads it into frozen values.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

# Type tokens of the two resources whose settings placement.lock records, and of the others that are made.
CLUSTER = "gcp:container/cluster:Cluster"
NODE_POOL = "gcp:container/nodePool:NodePool"
NETWORK = "gcp:compute/network:Network"
SUBNETWORK = "gcp:compute/subnetwork:Subnetwork"
FIREWALL = "gcp:compute/firewall:Firewall"
ROUTER = "gcp:compute/router:Router"
ROUTER_NAT = "gcp:compute/routerNat:RouterNat"
RESOURCE_POLICY = "gcp:compute/resourcePolicy:ResourcePolicy"
ACCOUNT = "gcp:serviceaccount/account:Account"
MEMBER = "gcp:projects/iAMMember:IAMMember"
BUCKET = "gcp:storage/bucket:Bucket"
BUCKET_MEMBER = "gcp:storage/bucketIAMMember:BucketIAMMember"
Type = Literal["String", "Int", "Float", "Bool", "List", "Set", "Map"]
_FILE = Path(__file__).parent / "schema.json"


@dataclass(frozen=True)
class Field:
    """One field, under its name on the wire (camelCase).

    `computed`: Google fills it in when it is absent. `output`: it is never an input. `element` is the type of
    the items of a list, set or map without fields of their own; `fields` are those of an item. Paths in
    `conflicts` and `exactly_one` count from the resource: "ipAllocationPolicy.clusterIpv4CidrBlock".
    """

    type: Type
    required: bool = False
    force_new: bool = False
    computed: bool = False
    output: bool = False
    default: str | int | float | bool | None = None
    min_items: int = 0
    max_items: int | None = None
    element: Type | None = None
    conflicts: tuple[str, ...] = ()
    exactly_one: tuple[str, ...] = ()
    fields: Mapping[str, "Field"] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def single(self) -> bool:
        """Return True for a list of at most one item, which on the wire is that item and no list."""
        return self.type in ("List", "Set") and self.max_items == 1


Fields = Mapping[str, Field]


@cache
def resource(token: str) -> Fields:
    """Return the fields of a resource type such as NODE_POOL. Raises KeyError for one the table lacks."""
    return _fields(_table()[token])


def at(token: str, path: str) -> Field | None:
    """Return the field at a path such as "nodeConfig.taints[0].key"; None if the type has no such field.

    Keys of a map lead to the map itself.
    """
    return lookup(resource(token), path)


def lookup(fields: Fields, path: str) -> Field | None:
    """Return the field at a path in the fields of a resource, as `at` does for a type token."""
    reached: Field | None = None
    for name in (part.partition("[")[0] for part in path.split(".")):
        if reached is not None and reached.type == "Map":
            return reached
        reached = fields.get(name)
        if reached is None:
            return None
        fields = reached.fields
    return reached


def replacing(token: str) -> tuple[str, ...]:
    """Return the paths whose change replaces a resource of the type, in the order of the table."""
    return tuple(path for path, leaf in walk(resource(token)) if leaf.force_new)


def walk(fields: Fields, before: str = "") -> Iterator[tuple[str, Field]]:
    """Yield every field with its path, outer ones first: ("nodeConfig", ...), ("nodeConfig.spot", ...)."""
    for name, inner in fields.items():
        path = f"{before}{name}"
        yield path, inner
        yield from walk(inner.fields, f"{path}.")


@cache
def _table() -> Mapping[str, Any]:
    table: dict[str, Any] = json.loads(_FILE.read_text(encoding="utf-8"))["resources"]
    return table


def _fields(table: Mapping[str, Any]) -> Fields:
    return MappingProxyType({name: _field(entry) for name, entry in table.items()})


def _field(entry: str | Mapping[str, Any]) -> Field:
    """Return the field that an entry of the table describes.

    An entry is a text such as "String required forceNew", or an object with that text under `is` and more.
    """
    field_entry: Mapping[str, Any] = {"is": entry} if isinstance(entry, str) else entry
    text: str = field_entry["is"]
    kind, _, rest = text.partition(" of ")
    if rest:
        element, *words = rest.split()
    else:
        kind, *words = text.split()
        element = None
    numbers = {name: int(value) for name, _, value in (word.partition("=") for word in words) if value}
    inner = field_entry.get("fields", {})
    if isinstance(inner, str):  # "<token> <field>": the same as there
        token, _, name = inner.partition(" ")
        fields: Fields = resource(token)[name].fields
    else:
        fields = _fields(inner)
    return Field(
        type=kind,  # type: ignore[arg-type]  # held by a test over the whole table
        required="required" in words,
        force_new="forceNew" in words,
        computed="computed" in words,
        output="output" in words,
        default=field_entry.get("default"),
        min_items=numbers.get("min", 0),
        max_items=numbers.get("max"),
        element=element,  # type: ignore[arg-type]
        conflicts=tuple(field_entry.get("conflicts", ())),
        exactly_one=tuple(field_entry.get("exactlyOne", ())),
        fields=fields,
    )
