"""The calls of the Pulumi engine to the plugin `gcp`: each becomes a check, a comparison or an operation."""

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

from inferfleet.cloud.gke.facts.schema import resource
from sandbox.gcp.operations import Cloud
from sandbox.gcp.provider.check import check
from sandbox.gcp.provider.diff import resource_changes
from sandbox.gcp.provider.inputs import imported_inputs, preview_state, refreshed_inputs, with_defaults
from sandbox.gcp.provider.replies import ErrorReporting, check_failures, diff_response
from sandbox.gcp.provider.settings import Settings, check_settings, read_settings, refusal
from sandbox.gcp.provider.wire import plain, struct
from sandbox.gcp.rules.resource_types import RESOURCE_TYPES
from sandbox.gcp.rules.state import next_state
from sandbox.gcp.store import Record
from sandbox.places import StackPlaces
from sandbox.toolchain.parts import GOOGLE_PROVIDER

Context: TypeAlias = grpc.ServicerContext


class Provider(ResourceProviderServicer):
    """Serves one run of the engine. `cloud` is called when the first operation needs the cloud."""

    def __init__(self, places: StackPlaces, cloud: Callable[[], Cloud]) -> None:
        self._places = places
        self._cloud = cloud
        self._settings = Settings()

    def Handshake(self, request: Any, context: Context) -> Any:
        return rpc.ProviderHandshakeResponse()

    def GetPluginInfo(self, request: Any, context: Context) -> Any:
        return plugin_pb2.PluginInfo(version=GOOGLE_PROVIDER)

    def CheckConfig(self, request: Any, context: Context) -> Any:
        failures = check_settings(plain(request.news))
        return rpc.CheckResponse(inputs=request.news, failures=check_failures(failures))

    def DiffConfig(self, request: Any, context: Context) -> Any:
        same = plain(request.olds) == plain(request.news)
        return rpc.DiffResponse(changes=rpc.DiffResponse.DIFF_NONE if same else rpc.DiffResponse.DIFF_SOME)

    def Configure(self, request: Any, context: Context) -> Any:
        reason = refusal(self._places, dict(os.environ))
        if reason:
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, reason)
        self._settings = read_settings(plain(request.args))
        return rpc.ConfigureResponse(supportsPreview=True)

    def Check(self, request: Any, context: Context) -> Any:
        token, inputs = _token(request.urn), plain(request.news)
        if token not in RESOURCE_TYPES:
            reason = f"the simulated cloud has no resources of type {token}"
            context.abort(grpc.StatusCode.UNIMPLEMENTED, reason)
        failures = check(token, inputs)
        if failures:
            return rpc.CheckResponse(inputs=request.news, failures=check_failures(failures))
        return rpc.CheckResponse(inputs=struct(with_defaults(resource(token), inputs)))

    def Diff(self, request: Any, context: Context) -> Any:
        token, old, new = _token(request.urn), plain(request.olds), plain(request.news)
        changes = resource_changes(token, old, new, ignore=request.ignoreChanges)
        return diff_response(changes, same_name=old.get("name") == new.get("name"))

    def Create(self, request: Any, context: Context) -> Any:
        token, inputs = _token(request.urn), plain(request.properties)
        if request.preview:
            state = preview_state(resource(token), inputs)
            return rpc.CreateResponse(properties=struct(state))
        with ErrorReporting(context, self._read, inputs) as reporting:
            completed = self._settings.completed(token, inputs)
            reporting.resource_id = RESOURCE_TYPES[token].id(completed)
            record = self._cloud().create(token, completed, timeout=request.timeout)
            return rpc.CreateResponse(id=record.id, properties=struct(record.state))

    def Read(self, request: Any, context: Context) -> Any:
        token, old = _token(request.urn), plain(request.inputs)
        record = self._read(request.id)
        if record is None or record.token != token:
            return rpc.ReadResponse()
        fields, state = resource(token), record.state
        inputs = refreshed_inputs(fields, old, state) if old else imported_inputs(fields, state)
        return rpc.ReadResponse(id=record.id, properties=struct(state), inputs=struct(inputs))

    def Update(self, request: Any, context: Context) -> Any:
        token, inputs = _token(request.urn), plain(request.news)
        if request.preview:
            state = next_state(resource(token), plain(request.olds), inputs)
            return rpc.UpdateResponse(properties=struct(state))
        with ErrorReporting(context, self._read, inputs, request.id):
            completed = self._settings.completed(token, inputs)
            record = self._cloud().update(token, request.id, completed, timeout=request.timeout)
            return rpc.UpdateResponse(properties=struct(record.state))

    def Delete(self, request: Any, context: Context) -> Any:
        with ErrorReporting(context, self._read):
            self._cloud().delete(request.id, timeout=request.timeout)
            return Empty()

    def Invoke(self, request: Any, context: Context) -> Any:
        context.abort(grpc.StatusCode.UNIMPLEMENTED, f"the simulated cloud has no function {request.tok}")

    def Cancel(self, request: Any, context: Context) -> Any:
        return Empty()

    def _read(self, resource_id: str) -> Record | None:
        return self._cloud().read(resource_id)


def _token(urn: str) -> str:
    """Return the type of the resource itself, without those of its parents."""
    return urn.split("::")[2].rpartition("$")[2]
