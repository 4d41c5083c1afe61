"""The provider as the engine calls it, over its own protocol, with no API server behind."""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest
from cloud_double import IDS, empty_cloud, with_cluster
from google.rpc.status_pb2 import Status
from pulumi.runtime.proto import provider_pb2 as rpc
from pulumi.runtime.proto.provider_pb2_grpc import (
    ResourceProviderStub,
    add_ResourceProviderServicer_to_server,
)
from small_cloud import CLUSTER, POOL, cluster, network, pool

from sandbox.gcp import faults
from sandbox.gcp.operations import Cloud
from sandbox.gcp.provider.calls import Provider
from sandbox.gcp.provider.wire import UNKNOWN, plain, struct
from sandbox.places import StackPlaces


class Engine:
    """A client of one provider, which is configured as the sandbox configures it."""

    def __init__(self, places: StackPlaces, cloud: Cloud) -> None:
        self._server = grpc.server(ThreadPoolExecutor(max_workers=2))
        add_ResourceProviderServicer_to_server(Provider(places, lambda: cloud), self._server)
        port = self._server.add_insecure_port("127.0.0.1:0")
        self._server.start()
        self._channel = grpc.insecure_channel(f"127.0.0.1:{port}")
        self.stub = ResourceProviderStub(self._channel)

    def close(self) -> None:
        self._channel.close()
        self._server.stop(None)


def _urn(token: str, name: str) -> str:
    return f"urn:pulumi:dev::p::inferfleet:components:GkeCluster${token}::{name}"


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StackPlaces:
    places = StackPlaces(tmp_path, "dev")
    monkeypatch.setenv("PULUMI_BACKEND_URL", f"file://{places.state}")
    monkeypatch.setenv("PULUMI_HOME", os.fspath(places.pulumi_home))
    return places


@pytest.fixture
def engine(places: StackPlaces) -> Iterator[Engine]:
    cloud, _ = with_cluster(places.cloud)
    engine = Engine(places, cloud)
    engine.stub.Configure(rpc.ConfigureRequest(args=struct({"project": "acme", "region": "us-east5"})))
    yield engine
    engine.close()


def test_it_will_not_be_configured_outside_its_sandbox(
    places: StackPlaces, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PULUMI_BACKEND_URL", "https://api.pulumi.com")
    engine = Engine(places, empty_cloud(places.cloud)[0])
    try:
        with pytest.raises(grpc.RpcError, match="serves the sandbox of stack dev alone"):
            engine.stub.Configure(rpc.ConfigureRequest())
    finally:
        engine.close()


def test_a_check_fills_in_defaults_or_names_what_is_wrong(engine: Engine) -> None:
    def checked(inputs: dict[str, Any]) -> Any:
        return engine.stub.Check(rpc.CheckRequest(urn=_urn(CLUSTER, "c"), news=struct(inputs)))

    assert plain(checked({"name": "c", "network": None}).inputs) == {
        "name": "c",
        "network": "default",
        "deletionProtection": True,
        "enableShieldedNodes": True,
    }
    failures = checked({"name": "c", "nodes": 3}).failures
    assert [(failure.property, failure.reason) for failure in failures] == [
        ("nodes", "An argument named 'nodes' is not expected here")
    ]


def test_a_type_that_is_not_simulated_is_named(engine: Engine) -> None:
    with pytest.raises(
        grpc.RpcError, match="has no resources of type gcp:sql/databaseInstance:DatabaseInstance"
    ):
        engine.stub.Check(rpc.CheckRequest(urn=_urn("gcp:sql/databaseInstance:DatabaseInstance", "b")))


def test_a_preview_makes_nothing_and_knows_no_addresses(engine: Engine) -> None:
    west = cluster(name="west")["inputs"]
    request = rpc.CreateRequest(urn=_urn(CLUSTER, "west"), properties=struct(west), preview=True)
    state = plain(engine.stub.Create(request).properties)
    assert (state["name"], state["endpoint"], state["masterAuth"]) == ("west", UNKNOWN, UNKNOWN)
    missing = engine.stub.Read(rpc.ReadRequest(id=IDS["east"].replace("east5", "x"), urn=_urn(CLUSTER, "w")))
    assert missing.id == ""


def test_what_the_cloud_refuses_is_reported_in_its_words(engine: Engine) -> None:
    inputs = pool("p", {"machineType": "z9"})["inputs"]
    with pytest.raises(grpc.RpcError) as refused:
        engine.stub.Create(rpc.CreateRequest(urn=_urn(POOL, "p"), properties=struct(inputs)))
    words = 'googleapi: Error 400: Machine type with name "z9" does not exist in zone us-east5-a, badRequest'
    assert refused.value.details() == words


def test_a_half_made_pool_is_handed_to_the_engine_with_the_reason(
    engine: Engine, places: StackPlaces
) -> None:
    faults.change(places.cloud, faults.with_stockout("us-east5-a", "e2-standard-4"))
    inputs = pool("p", nodeCount=1)["inputs"]
    with pytest.raises(grpc.RpcError) as failed:
        engine.stub.Create(rpc.CreateRequest(urn=_urn(POOL, "p"), properties=struct(inputs)))
    trailing = dict(failed.value.trailing_metadata())
    detail = rpc.ErrorResourceInitFailed()
    assert Status.FromString(trailing["grpc-status-details-bin"]).details[0].Unpack(detail)
    assert detail.id == f"{IDS['east']}/nodePools/p"
    assert plain(detail.properties)["nodeConfig"]["machineType"] == "e2-standard-4"
    assert ["ZONE_RESOURCE_POOL_EXHAUSTED" in reason for reason in detail.reasons] == [True]


def test_an_import_reads_inputs_and_a_resource_of_another_type_is_not_there(engine: Engine) -> None:
    name = network()[0]["token"]
    read = engine.stub.Read(rpc.ReadRequest(id=IDS["net"], urn=_urn(name, "net")))
    assert plain(read.inputs) == {"name": "net", "autoCreateSubnetworks": False}
    assert engine.stub.Read(rpc.ReadRequest(id=IDS["net"], urn=_urn(CLUSTER, "net"))).id == ""
