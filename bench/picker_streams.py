"""Asks an endpoint picker as a gateway does: one stream of Envoy's external processing for each request.

The few messages are written here field by field, since no package of ours has Envoy's definitions:
api/envoy/service/ext_proc/v3/external_processor.proto of envoyproxy/envoy.
"""

import asyncio
import json
import random
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

import grpc
import grpc.aio

_METHOD = "/envoy.service.ext_proc.v3.ExternalProcessor/Process"
# Fields of ProcessingRequest.
_REQUEST_HEADERS, _RESPONSE_HEADERS, _REQUEST_BODY, _RESPONSE_BODY = 2, 3, 4, 5
# Envoy hands bodies on in pieces.
_PIECE = 64 * 1024
_CHUNK = (
    b'data: {"id":"1","object":"chat.completion.chunk","created":1,"model":"model","choices":[{"index":0,'
    b'"delta":{"content":"token"},"finish_reason":null}]}\n\n'
)
_WORDS = [f"{word:04x}" for word in range(4096)]


@dataclass(frozen=True)
class Load:
    """Requests per second, and the length of each prompt and answer in tokens of about four characters."""

    rate: int
    prompt: int
    answer: int


@dataclass
class Answered:
    """How many requests got a pod, and how many did not."""

    good: int = 0
    bad: int = 0


async def ask(port: int, load: Load, seconds: int) -> Answered:
    """Send the load to the picker on a port, whether earlier requests are answered or not."""
    answered, rng, loop = Answered(), random.Random(1), asyncio.get_running_loop()
    # Half of each prompt is one of a few system prompts, which the picker finds in its cache of prefixes.
    systems = [" ".join(rng.choices(_WORDS, k=max(1, load.prompt // 2))) for _ in range(20)]
    options = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}", options=options) as channel:
        method = channel.stream_stream(_METHOD)
        start, tasks = loop.time(), set()
        for number in range(load.rate * seconds):
            await asyncio.sleep(max(0.0, start + number / load.rate - loop.time()))
            question = " ".join(rng.choices(_WORDS, k=max(1, load.prompt // 2)))
            body = _body(systems[number % len(systems)], question)
            tasks.add(loop.create_task(_one(method, body, load.answer, answered)))
        await asyncio.wait(tasks)
    return answered


def _body(system: str, question: str) -> bytes:
    messages = [{"role": "system", "content": system}, {"role": "user", "content": question}]
    return json.dumps({"model": "model", "stream": True, "messages": messages}).encode()


async def _one(
    method: grpc.aio.StreamStreamMultiCallable, body: bytes, answer: int, answered: Answered
) -> None:
    picked = asyncio.Event()

    async def sent() -> AsyncIterator[bytes]:
        yield header_message(_REQUEST_HEADERS, {":method": "POST", ":path": "/v1/chat/completions"})
        for piece, last in _pieces(body):
            yield body_message(_REQUEST_BODY, piece, last)
        await picked.wait()
        yield header_message(_RESPONSE_HEADERS, {":status": "200", "content-type": "text/event-stream"})
        for _ in range(answer):
            yield body_message(_RESPONSE_BODY, _CHUNK, False)
        yield body_message(_RESPONSE_BODY, b"data: [DONE]\n\n", True)

    found = False
    try:
        async with asyncio.timeout(60):
            async for message in method(sent()):
                if b"x-gateway-destination-endpoint" in message:
                    found = True
                picked.set()
    except (grpc.aio.AioRpcError, TimeoutError):
        found = False
    finally:
        picked.set()
    if found:
        answered.good += 1
    else:
        answered.bad += 1


def _pieces(body: bytes) -> Iterator[tuple[bytes, bool]]:
    for start in range(0, len(body), _PIECE):
        yield body[start : start + _PIECE], start + _PIECE >= len(body)


def header_message(field: int, headers: dict[str, str]) -> bytes:
    """HttpHeaders: headers = 1 (HeaderMap of HeaderValue: key = 1, raw_value = 3)."""
    values = b"".join(
        _text(1, _text(1, key.encode()) + _text(3, value.encode())) for key, value in headers.items()
    )
    return _text(field, _text(1, values))


def body_message(field: int, body: bytes, last: bool) -> bytes:
    """HttpBody: body = 1, end_of_stream = 2."""
    return _text(field, _text(1, body) + (b"\x10\x01" if last else b""))


def _text(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _varint(number: int) -> bytes:
    written = bytearray()
    while number > 0x7F:
        written.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*written, number])
