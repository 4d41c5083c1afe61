"""The HTTP server of one pod's engine: its paths, and its answers at the speed it was given."""

import asyncio
import contextlib
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from aiohttp import web

from inferfleet.serving.adapter_guard import HEADER
from sandbox.engine import answers
from sandbox.engine.completion import BadRequest, Completion, completion
from sandbox.engine.ending import Ending, Left
from sandbox.engine.handover.channel import Resolve, TransferFailed
from sandbox.engine.handover.ways import BelowThreshold, handover_of
from sandbox.engine.load import Load
from sandbox.engine.metrics import metrics
from sandbox.engine.settings import Settings
from sandbox.engine.steering import Steering

# The shortest time between events of a stream. Engines send one per token, which here would only cost time.
EVENT_SECONDS = 0.02
# The headers that name the pod that answers, and another one that has computed the prompt.
POD, PREFILL_POD = "x-inference-pod", "x-inference-prefill-pod"
MAX_BODY = 32 * 2**20
# The shortest limit (seconds): aiohttp takes 0 for no limit.
AT_ONCE = 0.01
# Seconds for what is still to be written of the last answers.
LAST_BYTES = 2.0
# What vLLM says to requests while it ends, and of those that it ends with an error.
REFUSAL = "cannot schedule new futures after shutdown"
DEAD = "EngineCore encountered an issue. See stack trace (above) for the root cause."


_LOAD = "/v1/load_lora_adapter"
_ADAPTERS = (_LOAD, "/v1/unload_lora_adapter")


class _Ended(Exception):  # noqa: N818 (it is no error: the engine ends while it answers)
    """The engine ends before it has said all of an answer."""


class EngineServer:
    """The server of one pod at its `address`. Until `ready` is set, it answers all but metrics with 503.

    `say` gets lines for its log, and `resolve` finds the addresses of names.
    """

    def __init__(
        self,
        pod: str,
        settings: Settings,
        steer: Steering,
        *,
        address: str,
        resolve: Resolve,
        say: Callable[[str], None],
    ) -> None:
        self.load = Load(settings.slots)
        self.ready = False
        self.port = settings.port
        self._pod = pod
        self._settings = settings
        self._speed = steer.tokens_per_second
        self._prefill_speed = steer.prefill_per_second
        self._address = address
        self._say = say
        self._headers = {POD: pod}
        self._handover = (
            handover_of(settings.transfer, pod=pod, address=address, resolve=resolve, load=self.load, say=say)
            if settings.transfer and settings.answers == "requests"
            else None
        )
        self._servers: list[tuple[asyncio.Server, web.Server]] = []
        self._in_hand = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._pauses: set[asyncio.Future[None]] = set()
        self._refuses = False
        self._left: Left | None = None

    async def open(self) -> None:
        """Listen on the engine's port, and on its metrics port if that differs.

        Raises OSError, and EngineFailure where it cannot be there for other engines.
        """
        loop = asyncio.get_running_loop()
        for port in dict.fromkeys((self._settings.port, self._settings.metrics_port)):
            # A client that disconnects must free its slot, so its handler is cancelled.
            server = web.Server(
                self._answer,
                request_factory=_request,
                handler_cancellation=True,
                access_log=None,
                keepalive_timeout=75,
            )
            # Kept before it listens: who is cancelled meanwhile has to close it.
            listener = await loop.create_server(server, self._address, port, backlog=512, start_serving=False)
            self._servers.append((listener, server))
            await listener.start_serving()
        if self._handover:
            await self._handover.open()

    async def end(self, ending: Ending, killed: asyncio.Event) -> None:
        """Do with requests what the engine does at SIGTERM, until it ends by itself or is killed."""
        if ending.listens:
            self._refuses = True
        else:
            self._close_door()
        await _either(self._idle, killed, seconds=ending.seconds)
        self._close_door()
        if self._in_hand and not killed.is_set() and ending.left != "cut":
            self._say(f"WARNING SIGTERM finds requests in hand: {self._in_hand} {_BECOME[ending.left]}")
            self._left = ending.left
            for pause in self._pauses:
                _wake(pause)
            await _either(self._idle, killed)
        if not self._in_hand and not killed.is_set():
            await self._shut(LAST_BYTES)

    async def close(self) -> None:
        """Cut off what there is."""
        self._close_door()
        await self._shut(AT_ONCE)
        if self._handover:
            await self._handover.close()

    def _close_door(self) -> None:
        for listener, _ in self._servers:
            listener.close()
        for _, server in self._servers:
            server.pre_shutdown()

    async def _shut(self, seconds: float) -> None:
        for _, server in self._servers:
            await server.shutdown(seconds)

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        path, settings = request.path, self._settings
        if path == settings.metrics_path and self._is_metrics_port(request):
            # As Python's client of Prometheus has it, which engines use.
            kind = {"content-type": "text/plain; version=1.0.0; charset=utf-8"}
            return web.Response(body=metrics(settings, self.load).encode(), headers=kind)
        if not self.ready:
            return self._json({"error": {"message": "The model is being loaded", "code": 503}}, 503)
        if path in settings.health_paths:
            return web.Response(headers=self._headers)
        if settings.answers == "health":
            return self._json({"detail": "Not Found"}, 404)
        if path == "/v1/models":
            return self._json({"object": "list", "data": [self._model(name) for name in settings.names]})
        if path in ("/v1/chat/completions", "/v1/completions"):
            if request.method != "POST":
                return self._json({"detail": "Method Not Allowed"}, 405)
            if self._refuses:
                return self._error(REFUSAL)
            self._in_hand += 1
            self._idle.clear()
            try:
                return await self._complete(request, chat=path == "/v1/chat/completions")
            finally:
                self._in_hand -= 1
                if not self._in_hand:
                    self._idle.set()
        if path == "/version" and settings.engine == "vllm":
            return self._json({"version": settings.version})
        if path in _ADAPTERS and settings.loads_adapters and request.method == "POST":
            if settings.guarded and HEADER.decode() not in request.headers:
                return self._json({"error": {"message": "Forbidden", "code": 403}}, 403)
            return self._change_adapters(path, json.loads(await request.read()))
        body = answers.other(path, settings.engine) if request.method == "POST" else None
        return self._json(body) if body else self._json({"detail": "Not Found"}, 404)

    def _is_metrics_port(self, request: web.BaseRequest) -> bool:
        if self._settings.metrics_port == self._settings.port:
            return True
        local = request.transport.get_extra_info("sockname") if request.transport else None
        return local is not None and local[1] == self._settings.metrics_port

    def _model(self, name: str) -> dict[str, Any]:
        settings = self._settings
        adapter = name in settings.adapters
        owner = "vllm" if settings.engine == "vllm" else "sandbox"
        model: dict[str, Any] = {"id": name, "object": "model", "created": 0, "owned_by": owner}
        model |= {"root": settings.roots.get(name, name), "parent": settings.names[0] if adapter else None}
        return model | {"max_model_len": None if adapter else settings.max_length}

    def _change_adapters(self, path: str, body: dict[str, Any]) -> web.Response:
        """Load an adapter, or forget one, for all requests from now on."""
        settings, name = self._settings, str(body.get("lora_name"))
        loads, known = path == _LOAD, name in settings.adapters
        if loads == known and not (loads and body.get("load_inplace")):
            why = "has already been loaded." if known else "cannot be found."
            kind, code = ("InvalidUserInput", 400) if known else ("NotFoundError", 404)
            error = {"message": f"The lora adapter '{name}' {why}", "type": kind, "param": None, "code": code}
            return self._json({"error": error}, code)
        others = [(one, settings.roots[one]) for one in settings.adapters if one != name]
        roots = dict([*others, (name, str(body.get("lora_path")))] if loads else others)
        models = settings.names[: len(settings.names) - len(settings.adapters)]
        self._settings = replace(
            settings,
            names=(*models, *roots),
            adapters=tuple(roots),
            roots={model: settings.roots[model] for model in models if model in settings.roots} | roots,
        )
        done = "added" if loads else "removed"
        return web.Response(text=f"Success: LoRA adapter '{name}' {done} successfully.")

    async def _complete(self, request: web.BaseRequest, *, chat: bool) -> web.StreamResponse:
        body, told = await request.read(), {}
        try:
            answer = completion(body, chat=chat, pod=self._pod, settings=self._settings)
            if self._handover:
                self._handover.check(answer)
        except BadRequest as refused:
            return self._json(refused.body, refused.code)
        async with self.load.slot(answer.model, tokens=answer.tokens):
            try:
                prefill = await self._prefilled(answer)
                if self._handover and prefill == self._pod and not self._left:
                    told = await self._handover.offer(answer)
            except BelowThreshold:
                prefill, answer = self._pod, replace(answer, words=("",), finish="cache_threshold")
            except TransferFailed as failed:
                return self._failed(failed)
            headers = self._headers
            if prefill != self._pod:
                headers = {**headers, PREFILL_POD: prefill}
                again = completion(body, chat=chat, pod=self._pod, settings=self._settings, prefill=prefill)
                answer = replace(again, id=answer.id, created=answer.created)
            if answer.stream:
                response = await self._stream(request, answer, headers)
            else:
                response = await self._plain(answer, told, headers)
        self.load.prompt_tokens += answer.prompt_tokens
        self.load.generated_tokens += len(answer.words)
        self.load.finished[answer.finish] += 1
        return response

    async def _prefilled(self, answer: Completion) -> str:
        """Return the pod that computed the prompt: another, or this one, which takes its time.

        Raises TransferFailed and BelowThreshold.
        """
        try:
            other = await self._handover.obtain(answer) if self._handover else None
        except TransferFailed as failed:
            if not (self._settings.transfer and self._settings.transfer.recompute):
                raise
            self._failed(failed)
            other = None
        if other is not None:
            self.load.transfers += other != self._pod
            return other
        with contextlib.suppress(_Ended):
            await self._pause(answer.prompt_tokens / self._prefill_speed)
        self.load.prefills += 1
        return self._pod

    def _failed(self, failed: TransferFailed) -> web.Response:
        self.load.refused += 1
        self._say(f"ERROR {failed}")
        return self._error(str(failed))

    async def _pause(self, seconds: float) -> None:
        """Wait for so long, or without end if the engine hangs. Raises _Ended if it ends."""
        pause = asyncio.get_running_loop().create_future()
        timer = asyncio.get_running_loop().call_later(0 if self._left else seconds, _wake, pause)
        self._pauses.add(pause)
        try:
            await pause
        finally:
            timer.cancel()
            self._pauses.discard(pause)
        if self._left == "hang":
            await asyncio.Event().wait()
        if self._left:
            raise _Ended

    async def _plain(self, answer: Completion, told: dict[str, Any], headers: dict[str, str]) -> web.Response:
        loop = asyncio.get_running_loop()
        start = loop.time()
        try:
            await self._pause(len(answer.words) / self._speed)
        except _Ended:
            if self._left == "error":
                return self._error(DEAD)
            said = int((loop.time() - start) * self._speed)
            answer = replace(answer, words=answer.words[:said], finish="abort")
        return self._json(answers.whole(answer) | told, headers=headers)

    async def _stream(
        self, request: web.BaseRequest, answer: Completion, headers: dict[str, str]
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers={**headers, "content-type": "text/event-stream; charset=utf-8"})
        await response.prepare(request)
        loop = asyncio.get_running_loop()
        start, sent, total = loop.time(), 0, len(answer.words)
        first = answers.opening(answer)
        while sent < total:
            try:
                await self._pause(max(EVENT_SECONDS, start + (sent + 1) / self._speed - loop.time()))
            except _Ended:
                aborted = answers.piece(replace(answer, finish="abort"), "", last=True)
                await response.write(first + (answers.error(DEAD) if self._left == "error" else aborted))
                break
            until = min(total, max(sent + 1, int((loop.time() - start) * self._speed)))
            text = "".join(answer.words[sent:until])
            sent = until
            await response.write(first + answers.piece(answer, text, last=sent == total))
            first = b""
        await response.write(answers.closing(answer))
        return response

    def _error(self, message: str) -> web.Response:
        return self._json(answers.failure(message), 500)

    def _json(
        self, body: dict[str, Any], status: int = 200, *, headers: dict[str, str] | None = None
    ) -> web.Response:
        return web.Response(
            body=answers.text(body),
            status=status,
            headers=headers or self._headers,
            content_type="application/json",
        )


# What becomes of requests that are left when the engine ends.
_BECOME = {
    "hang": "hang until something kills the engine",
    "abort": "end with what they have",
    "error": "end with an error",
}


def _wake(pause: asyncio.Future[None]) -> None:
    if not pause.done():
        pause.set_result(None)


async def _either(*events: asyncio.Event, seconds: float | None = None) -> None:
    """Return when one of the events is set, or after so many seconds."""
    waiting = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waiting:
            wait.cancel()


def _request(message: Any, payload: Any, protocol: Any, writer: Any, task: Any) -> web.BaseRequest:
    return web.BaseRequest(
        message, payload, protocol, writer, task, asyncio.get_running_loop(), client_max_size=MAX_BODY
    )
