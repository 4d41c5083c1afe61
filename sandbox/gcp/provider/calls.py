"""The plugin `gcp` as the Pulumi engine calls it: every call becomes a check, a diff or an operation."""

# The names of the calls are the engine's.
# ruff: noqa: N802

import os
from collections.abc import Callable
from typing import Any, TypeAlias

import grpc
from google.protobuf.empty_pb2 import Empty
from pulumi.runtime.proto import plugin_pb2
from pulumi.runtime.proto import provider_pb2 as rpc
from pulumi.runtime.proto.provider_pb2_grpc import ResourceProviderServicer

from inferfleet.gke.facts.schema import resource
from sandbox.gcp.operations import Cloud
from sandbox.gcp.provider.check import check
from sandbox.gcp.provider.diff import adjusted, diff
from sandbox.gcp.provider.merge import inputs_of, preview_state, seen_inputs, with_defaults
from sandbox.gcp.provider.replies import ErrorReporting, difference, failures
from sandbox.gcp.provider.settings import Settings, check_settings, read_settings, refusal
from sandbox.gcp.provider.wire import plain, struct
from sandbox.gcp.rules.resource_types import RESOURCE_TYPES
from sandbox.gcp.rules.state import next_state
from sandbox.gcp.store import Record
from sandbox.places import StackPlaces
from sandbox.toolchain.parts import GOOGLE_PROVIDER

Context: TypeAlias = grpc.ServicerContext


class Provider(ResourceProviderServicer):
    """Serves one engine run. `cloud` is made when the first operation needs it."""

    def __init__(self, places: StackPlaces, cloud: Callable[[], Cloud]) -> None:
        self._places = places
        self._cloud = cloud
        self._settings = Settings()

    def Handshake(self, request: Any, context: Context) -> Any:
        return rpc.ProviderHandshakeResponse()

    def GetPluginInfo(self, request: Any, context: Context) -> Any:
        return plugin_pb2.PluginInfo(version=GOOGLE_PROVIDER)

    def CheckConfig(self, request: Any, context: Context) -> Any:
        return rpc.CheckResponse(inputs=request.news, failures=failures(check_settings(plain(request.news))))

    def DiffConfig(self, request: Any, context: Context) -> Any:
        same = plain(request.olds) == plain(request.news)
        return rpc.DiffResponse(changes=rpc.DiffResponse.DIFF_NONE if same else rpc.DiffResponse.DIFF_SOME)

    def Configure(self, request: Any, context: Context) -> Any:
        refused = refusal(self._places, dict(os.environ))
        if refused:
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, refused)
        self._settings = read_settings(plain(request.args))
        return rpc.ConfigureResponse(supportsPreview=True)

    def Check(self, request: Any, context: Context) -> Any:
        token, inputs = _token(request.urn), plain(request.news)
        if token not in RESOURCE_TYPES:
            why = f"the simulated cloud has no resources of type {token}"
            context.abort(grpc.StatusCode.UNIMPLEMENTED, why)
        wrong = check(token, inputs)
        if wrong:
            return rpc.CheckResponse(inputs=request.news, failures=failures(wrong))
        return rpc.CheckResponse(inputs=struct(with_defaults(resource(token), inputs)))

    def Diff(self, request: Any, context: Context) -> Any:
        token, old, new = _token(request.urn), plain(request.olds), plain(request.news)
        changes = diff(resource(token), old, new, ignore=request.ignoreChanges)
        if old.get("ignoreNodeCountChanges") or new.get("ignoreNodeCountChanges"):
            changes = tuple(one for one in changes if one.path != "nodeCount")
        return difference(adjusted(token, changes, old, new), same_name=old.get("name") == new.get("name"))

    def Create(self, request: Any, context: Context) -> Any:
        token, inputs = _token(request.urn), plain(request.properties)
        if request.preview:
            state = preview_state(resource(token), inputs)
            return rpc.CreateResponse(properties=struct(state))
        with ErrorReporting(context, self._read, inputs) as told:
            completed = self._settings.completed(token, inputs)
            told.id = RESOURCE_TYPES[token].id(completed)
            done = self._cloud().create(token, completed, timeout=request.timeout)
            return rpc.CreateResponse(id=done.id, properties=struct(done.state))

    def Read(self, request: Any, context: Context) -> Any:
        token, old = _token(request.urn), plain(request.inputs)
        record = self._read(request.id)
        if record is None or record.token != token:
            return rpc.ReadResponse()
        fields = resource(token)
        inputs = seen_inputs(fields, old, record.state) if old else inputs_of(fields, record.state)
        return rpc.ReadResponse(id=record.id, properties=struct(record.state), inputs=struct(inputs))

    def Update(self, request: Any, context: Context) -> Any:
        token, inputs = _token(request.urn), plain(request.news)
        if request.preview:
            return rpc.UpdateResponse(
                properties=struct(next_state(resource(token), plain(request.olds), inputs))
            )
        with ErrorReporting(context, self._read, inputs, request.id):
            completed = self._settings.completed(token, inputs)
            done = self._cloud().update(token, request.id, completed, timeout=request.timeout)
            return rpc.UpdateResponse(properties=struct(done.state))

    def Delete(self, request: Any, context: Context) -> Any:
        with ErrorReporting(context, self._read):
            self._cloud().delete(request.id, timeout=request.timeout)
            return Empty()

    def Invoke(self, request: Any, context: Context) -> Any:
        context.abort(grpc.StatusCode.UNIMPLEMENTED, f"the simulated cloud has no function {request.tok}")

    def Cancel(self, request: Any, context: Context) -> Any:
        return Empty()

    def _read(self, record_id: str) -> Record | None:
        return self._cloud().read(record_id)


def _token(urn: str) -> str:
    """The type of the resource itself, without those of its parents."""
    return urn.split("::")[2].rpartition("$")[2]
