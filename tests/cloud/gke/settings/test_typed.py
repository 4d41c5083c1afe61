"""The settings fit the provider's own classes, which say the same to the engine."""

import asyncio
import inspect
from importlib.metadata import version
from itertools import cycle
from pathlib import Path
from typing import Any

import pulumi
import pytest
import yaml
from any_clouds import MANY
from input_check import mistakes
from pulumi.runtime import mocks
from small_clouds import CLASSES, clouds, cluster, made, pool, resources

from inferfleet.cloud.gke.facts.schema import resource
from inferfleet.cloud.values import CloudResource
from inferfleet.components import cloud
from inferfleet.documents.kinds.inference_class import InferenceClass
from inferfleet.tables.gke import PROVIDER_VERSION

CATALOGUE = Path(__file__).parents[4] / "classes"
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


def test_inputs_that_the_installed_classes_do_not_take_are_named() -> None:
    document = cluster(provider={"cluster": {"enableIntranodeVisibilty": True, "fleet": {"project": "p"}}})
    components = made(clouds(document)).components
    assert [said for one in components for said in cloud.unknown_inputs(one)] == [
        "Cluster east has enableIntranodeVisibilty"
    ]


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


def test_the_providers_own_classes_send_every_input_as_we_wrote_it() -> None:
    engine, found = Engine(), settings()
    # Mocks want a loop, and a test with asyncio.run before this one left the thread without.
    asyncio.set_event_loop(asyncio.new_event_loop())
    pulumi.runtime.set_mocks(engine, project="inferfleet", stack="prod")

    @pulumi.runtime.test
    def program() -> None:
        for one in found.values():
            cloud.resource(one, {}, prefix="", opts=pulumi.ResourceOptions())

    program()
    assert engine.inputs == {key: one.inputs for key, one in found.items()}


@pytest.mark.parametrize("token", sorted(cloud.CLASSES))
def test_every_input_of_the_schema_is_an_argument_of_its_class(token: str) -> None:
    kind = cloud.CLASSES[token]
    arguments = inspect.signature(getattr(kind, "_internal_init")).parameters  # noqa: B009
    inputs = {cloud.argument(name) for name, field in resource(token).items() if not field.output}
    assert inputs - arguments.keys() == set()


def test_the_typed_classes_are_of_the_provider_that_is_pinned() -> None:
    assert version("pulumi-gcp") == PROVIDER_VERSION
