"""A stand-in for an endpoint picker: gRPC ext_proc in full-duplex mode, spoken in bare protobuf.

Field numbers: https://www.envoyproxy.io/docs/envoy/latest/api-v3/service/ext_proc/v3/external_processor.proto
"""

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from concurrent import futures
from typing import Any

import grpc  # type: ignore[import-untyped]

Message = dict[int, bytes]
REQUEST_HEADERS, RESPONSE_HEADERS, REQUEST_BODY, RESPONSE_BODY, REQUEST_TRAILERS, RESPONSE_TRAILERS = range(
    2, 8
)


@contextlib.contextmanager
def picker(endpoint: str) -> Iterator[str]:
    """A running picker that sends every request to the endpoint, once it has its whole body; its address.

    In a process of its own: gRPC's threads and the forks of its test do not go together.
    """
    command = [sys.executable, __file__, endpoint]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            yield f"127.0.0.1:{process.stdout.readline().strip()}"
        finally:
            process.kill()


def serve(endpoint: str) -> grpc.Server:
    def process(requests: Iterator[bytes], context: Any) -> Iterator[bytes]:
        headers, chunks = b"", []
        for request in requests:
            kind, content = next(iter(_parse(request).items()))
            if kind == REQUEST_HEADERS:
                headers = _field(1, _field(1, _destination(endpoint) + _flag(5)))
                if 3 in _parse(content):  # end of stream: nothing follows
                    yield headers
            elif kind == REQUEST_BODY:
                chunks.append(content)
                if 2 in _parse(content):
                    yield headers
                    yield from (_field(3, _streamed(chunk)) for chunk in chunks)
            elif kind == RESPONSE_HEADERS:
                yield _field(2, _field(1, b""))
            elif kind == RESPONSE_BODY:
                yield _field(4, _streamed(content))
            else:
                yield _field(5 if kind == REQUEST_TRAILERS else 6, b"")

    server = grpc.server(futures.ThreadPoolExecutor(max_workers=32))
    handler = grpc.stream_stream_rpc_method_handler(process)
    service = "envoy.service.ext_proc.v3.ExternalProcessor"
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, {"Process": handler}),))
    print(server.add_insecure_port("127.0.0.1:0"), flush=True)
    server.start()
    return server


def _destination(endpoint: str) -> bytes:
    header = _field(1, b"x-gateway-destination-endpoint") + _field(3, endpoint.encode())
    return _field(2, _field(1, _field(1, header)))


def _streamed(body: bytes) -> bytes:
    """The body it got, sent on: HttpBody and StreamedBodyResponse have the same first two fields."""
    return _field(1, _field(3, _field(3, body)))


def _field(number: int, content: bytes) -> bytes:
    return bytes([number << 3 | 2]) + _varint(len(content)) + content


def _flag(number: int) -> bytes:
    return bytes([number << 3, 1])


def _varint(value: int) -> bytes:
    low, rest = value & 127, value >> 7
    return bytes([low | 128]) + _varint(rest) if rest else bytes([low])


def _parse(message: bytes) -> Message:
    fields: Message = {}
    while message:
        tag, message = _take_varint(message)
        value, rest = _take_varint(message)
        if tag & 7 == 2:
            fields[tag >> 3], message = rest[:value], rest[value:]
        else:
            fields[tag >> 3], message = bytes([value & 255]), rest
    return fields


def _take_varint(message: bytes) -> tuple[int, bytes]:
    value, shift = 0, 0
    for i, byte in enumerate(message):
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, message[i + 1 :]
    raise ValueError("the message ends within a number")


if __name__ == "__main__":
    serve(sys.argv[1]).wait_for_termination()
