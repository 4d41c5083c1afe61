"""The settings fit the provider's own typed classes, which then say the same to the engine."""

import asyncio
import importlib
import typing
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from itertools import cycle
from pathlib import Path
from typing import Any

import pulumi
import pytest
import yaml
from any_clouds import MANY
from input_check import mistakes
from pulumi import _types
from pulumi.runtime import mocks
from small_clouds import CLASSES, clouds, cluster, made, pool, resources

from inferfleet.cloud.gke.values import CloudResource
from inferfleet.documents.kinds.inference_class import InferenceClass
from inferfleet.tables.gke import PROVIDER_VERSION

CATALOGUE = Path(__file__).parents[3] / "classes"
CAPACITIES: tuple[dict[str, Any], ...] = (
    {"model": "OnDemand"},
    {"model": "Spot"},
    {"model": "FlexStart", "maxRunDuration": "12h"},
    {"model": "Queued"},
    {"model": "Reservation", "reservation": {"name": "ml"}},
)


class Engine(mocks.Mocks):
    """Remembers what it is asked to register."""

    def __init__(self) -> None:
        self.inputs: dict[str, dict[str, Any]] = {}

    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str, dict[str, Any]]:
        self.inputs[f"{args.typ} {args.name}"] = args.inputs
        return f"{args.name}-id", args.inputs

    def call(self, args: mocks.MockCallArgs) -> dict[str, Any]:
        raise AssertionError(args.token)


def settings() -> dict[str, CloudResource]:
    """Return the settings of a cluster with a pool for each GKE class of the catalogue and for odd ones."""
    texts = [file.read_text() for file in sorted(CATALOGUE.glob("*.yaml"))]
    catalogue = [InferenceClass.model_validate(one) for text in texts for one in yaml.safe_load_all(text)]
    recipes = [one for one in (*catalogue, *CLASSES, MANY) if one.spec.provisioning]
    capacities = cycle(CAPACITIES)
    pools = [
        pool(f"p{place}", one.metadata.name, zones=["us-east5-a"], capacity=next(capacities))
        for place, one in enumerate(recipes)
    ]
    taint = {"key": "team", "value": "ml", "effect": "NoExecute"}
    main = cluster("main", *pools, pool("fixed", nodeCount=2, zones=["us-east5-a"], taints=[taint]))
    odd = cluster(
        "odd",
        controlPlaneEndpoint="IP",
        authorizedNetworks=["10.0.0.0/16"],
        minVersion="1.34",
        zones=["us-east5-a"],
        labels={"cost": "ml"},
    )
    return {
        key: one
        for each in (main, odd)
        for key, one in resources(made(clouds(each, classes=tuple(recipes)))).items()
    }


def test_the_field_table_has_every_input_of_the_catalogue() -> None:
    assert [said for one in settings().values() for said in mistakes(one)] == []


@pytest.mark.filterwarnings("ignore:gcp:DeprecationWarning")
def test_the_typed_classes_take_every_input_and_send_what_we_send() -> None:
    engine, found = Engine(), settings()
    # Mocks want a loop, and a test with asyncio.run before this one left the thread without.
    asyncio.set_event_loop(asyncio.new_event_loop())
    pulumi.runtime.set_mocks(engine, project="inferfleet", stack="prod")

    @pulumi.runtime.test
    def program() -> None:
        for one in found.values():
            _, place, kind = one.token.split(":")
            module = importlib.import_module(f"pulumi_gcp.{place.partition('/')[0]}")
            getattr(module, kind)(one.name, typed(getattr(module, f"{kind}Args"), one.inputs))

    program()
    assert engine.inputs == {key: one.inputs for key, one in found.items()}


def test_the_typed_classes_are_of_the_provider_that_is_pinned() -> None:
    assert version("pulumi-gcp") == PROVIDER_VERSION


def typed(kind: type, inputs: dict[str, Any]) -> Any:
    """The inputs as an instance of an `...Args` class. Raises KeyError for names it does not have."""
    python = {wire: name for name, wire in _types.input_type_py_to_pulumi_names(kind).items()}
    kinds = _types.input_type_types(kind)
    return kind(**{python[wire]: _value(kinds[wire], value) for wire, value in inputs.items()})


def _value(kind: Any, value: Any) -> Any:
    origin = typing.get_origin(kind)
    if origin is Sequence and isinstance(value, list):
        return [_value(_inner(kind, 0), one) for one in value]
    if origin is Mapping and isinstance(value, dict):
        return {key: _value(_inner(kind, 1), one) for key, one in value.items()}
    if isinstance(kind, type) and _types.is_input_type(kind):
        return typed(kind, value)
    assert type(value) is kind, f"{value!r} is no {kind}"
    return value


def _inner(kind: Any, place: int) -> Any:
    """The X of Sequence[Input[X]]."""
    inner = typing.get_args(kind)[place]
    return typing.get_args(inner)[0] if typing.get_origin(inner) is typing.Union else inner
