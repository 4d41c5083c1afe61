"""Tells an Envoy which endpoints its upstreams have: over one stream, however many upstreams there are.

From files Envoy would read them by a watch for each upstream, and each of its watches is an inotify instance,
of which a user has 128 by default for all programs together.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

# The socket at which an Envoy asks, in its folder, where it is started.
SOCKET = "endpoints.sock"
_ENDPOINTS = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"
_SERVICE = "envoy.service.discovery.v3.AggregatedDiscoveryService"
# The fields, with their numbers, that are used here of Envoy's messages: api/envoy/service/discovery/v3 and
# api/envoy/config of its repository. A type with * is that of a repeated field. The package with all of them
# (xds-protos) is not installed: it calls itself `envoy`, as the one does that brings the program.
_MESSAGES = {
    "Any": {"type_url": (1, "string"), "value": (2, "bytes")},
    "DeltaDiscoveryRequest": {
        "type_url": (2, "string"),
        "resource_names_subscribe": (3, "string*"),
        "resource_names_unsubscribe": (4, "string*"),
    },
    "DeltaDiscoveryResponse": {
        "resources": (2, "Resource*"),
        "type_url": (4, "string"),
        "nonce": (5, "string"),
    },
    "Resource": {"version": (1, "string"), "resource": (2, "Any"), "name": (3, "string")},
    "ClusterLoadAssignment": {"cluster_name": (1, "string"), "endpoints": (2, "LocalityLbEndpoints*")},
    "LocalityLbEndpoints": {"lb_endpoints": (2, "LbEndpoint*")},
    "LbEndpoint": {"endpoint": (1, "Endpoint")},
    "Endpoint": {"address": (1, "Address")},
    "Address": {"socket_address": (1, "SocketAddress")},
    "SocketAddress": {"address": (2, "string"), "port_value": (3, "uint32")},
}


class EndpointDiscovery:
    """Envoy's service of aggregated discovery, as far as an Envoy asks it for endpoints alone.

    What is gone from the endpoints is not told: the Envoy that has it is about to let go of that upstream.
    """

    def __init__(self) -> None:
        self._endpoints: Mapping[str, tuple[str, ...]] = {}
        self._streams: set[asyncio.Event] = set()
        self._server: grpc.aio.Server | None = None
        self._folder = -1

    def tell(self, endpoints: Mapping[str, tuple[str, ...]]) -> None:
        """Let the Envoy know `address:port` of each endpoint, by the names under which it asks for them."""
        self._endpoints = dict(endpoints)
        for changed in self._streams:
            changed.set()

    async def start(self, folder: Path) -> None:
        """Listen in the folder."""
        # By way of its descriptor, because the address of a Unix socket has at most 107 characters. It stays
        # open because gRPC removes the socket by that path in the end.
        self._folder = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        self._server = grpc.aio.server()
        method = grpc.stream_stream_rpc_method_handler(
            self._stream,
            request_deserializer=_TYPES["DeltaDiscoveryRequest"].FromString,
            response_serializer=_TYPES["DeltaDiscoveryResponse"].SerializeToString,
        )
        service = grpc.method_handlers_generic_handler(_SERVICE, {"DeltaAggregatedResources": method})
        self._server.add_generic_rpc_handlers((service,))
        self._server.add_insecure_port(f"unix:/proc/self/fd/{self._folder}/{SOCKET}")
        await self._server.start()

    async def stop(self) -> None:
        """End all streams, and listen no more."""
        if self._server is not None:
            await self._server.stop(None)
            os.close(self._folder)

    async def _stream(self, requests: AsyncIterator[Any], context: Any) -> None:
        """Send what is asked for, and again what has changed since, until the Envoy goes."""
        asked: set[str] = set()
        sent: dict[str, tuple[str, ...]] = {}
        changed = asyncio.Event()

        async def send() -> None:
            count = 0
            while True:
                await changed.wait()
                changed.clear()
                known = self._endpoints
                new = {name: known[name] for name in asked & known.keys() if sent.get(name) != known[name]}
                if new:
                    count += 1
                    sent.update(new)
                    await context.write(_response(new, str(count)))

        self._streams.add(changed)
        sending = asyncio.create_task(send())
        try:
            async for request in requests:
                for name in (*request.resource_names_subscribe, *request.resource_names_unsubscribe):
                    sent.pop(name, None)  # who asks again is answered again
                asked |= set(request.resource_names_subscribe)
                asked -= set(request.resource_names_unsubscribe)
                changed.set()
        finally:
            self._streams.remove(changed)
            sending.cancel()


def _response(endpoints: Mapping[str, tuple[str, ...]], version: str) -> Any:
    resources = []
    for name, addresses in sorted(endpoints.items()):
        split = [address.rpartition(":") for address in addresses]
        hosts = [
            {"endpoint": {"address": {"socket_address": {"address": host, "port_value": int(port)}}}}
            for host, _, port in split
        ]
        assignment = _TYPES["ClusterLoadAssignment"](
            cluster_name=name, endpoints=[{"lb_endpoints": hosts}] if hosts else []
        )
        packed = {"type_url": _ENDPOINTS, "value": assignment.SerializeToString()}
        resources.append({"name": name, "version": version, "resource": packed})
    return _TYPES["DeltaDiscoveryResponse"](type_url=_ENDPOINTS, nonce=version, resources=resources)


def _types() -> dict[str, Any]:
    """Return the classes of the messages. Only numbers are sent, so their package may have any name."""
    file = descriptor_pb2.FileDescriptorProto(name="discovery.proto", package="envoy", syntax="proto3")
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, (number, kind) in fields.items():
            one = message.field.add(name=field, number=number)
            one.label = one.LABEL_REPEATED if kind.endswith("*") else one.LABEL_OPTIONAL
            kind = kind.rstrip("*")
            if kind in _MESSAGES:
                one.type, one.type_name = one.TYPE_MESSAGE, f".envoy.{kind}"
            else:
                one.type = one.Type.Value(f"TYPE_{kind.upper()}")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"envoy.{name}"))
        for name in _MESSAGES
    }


_TYPES = _types()
