"""The life of one container: starts, probes, restarts with back-off, and what its status says of them."""

import asyncio
import contextlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from sandbox.agent.logs import ContainerLog
from sandbox.agent.probes import Check, until_unhealthy
from sandbox.agent.program import CannotStart, ContainerProgram, Exit
from sandbox.agent.status import ContainerView
from sandbox.cluster.objects import Object, now

# Seconds between attempts to start a container that lacks something.
RETRY_SECONDS = 5.0
# Seconds a container has to end after its liveness probe failed, when the probe does not say.
UNHEALTHY_GRACE = 30
# Seconds of the shortest and the longest back-off.
# https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#restart-policy
SHORTEST_BACKOFF, LONGEST_BACKOFF = 10.0, 300.0
# After a run of so many seconds the back-off begins anew.
BACKOFF_RESET = 600.0
FALLBACK = "FallbackToLogsOnError"
# The most characters of a log line that a status repeats.
LONGEST_LINE = 500
_ERROR = re.compile(r"error|invalid|fail|panic|fatal|forbidden|refused|cannot|unknown", re.IGNORECASE)
_ERROR_LEVELS = ("error", "dpanic", "panic", "fatal")


class Container:
    """One container of a pod. `changed` is called whenever `view` has changed."""

    def __init__(
        self,
        spec: Object,
        program: ContainerProgram,
        log: ContainerLog,
        check: Check,
        *,
        view: ContainerView,
        changed: Callable[[], None],
    ) -> None:
        self._spec = spec
        self._program = program
        self._log = log
        self._check = check
        self._changed = changed
        self._killed = asyncio.Event()
        self._first_start = asyncio.Event()
        self.view = view

    async def run(self, policy: str) -> None:
        """Run the container until cancelled, or until it has ended and the restart policy leaves it so."""
        backoff, attempts = Backoff(), 0
        while True:
            begun, started = _time(), now()
            try:
                await self._program.start()
            except CannotStart as why:
                attempts += 1
                # The status has to change: a watcher that comes later, such as Pulumi, sees changes only.
                again = f" (attempt {attempts})" if attempts > 1 else ""
                state = _waiting(why.reason, f"{why.message}{again}")
                self._show(state=state, complaint=why.message, ready=False)
                await asyncio.sleep(RETRY_SECONDS)
                continue
            attempts = 0
            self._show(state={"running": {"startedAt": started}}, complaint="")
            ended = self._terminated(await self._until_ended(), started)
            if policy == "Never" or (policy == "OnFailure" and not ended["exitCode"]):
                self._show(state={"terminated": ended}, ready=False, started=False)
                return
            delay = backoff.after(_time() - begun)
            message = f"back-off {delay:g}s restarting failed container={self._spec['name']}"
            error = last_error(str(ended.get("message", "")))
            complaint = f"it ended with code {ended['exitCode']}" + (f": {error}" if error else "")
            self._show(
                state=_waiting("CrashLoopBackOff", message) if delay else {"terminated": ended},
                last_state={"terminated": ended},
                ready=False,
                started=False,
                complaint=complaint,
            )
            await asyncio.sleep(delay)
            self._show(restarts=self.view.restarts + 1)

    async def has_started(self) -> None:
        """Wait until the container has started once: until its startup probe succeeded, if it has one."""
        await self._first_start.wait()

    async def stop(self, grace: float) -> None:
        """Run preStop and end the program, within `grace` seconds. `run` must have been cancelled."""
        until = _time() + grace
        runs = "running" in self.view.state
        pre_stop = self._spec.get("lifecycle", {}).get("preStop", {}) if runs else {}
        seconds = pre_stop.get("sleep", {}).get("seconds", 0)
        await asyncio.sleep(min(seconds, grace))
        if "httpGet" in pre_stop:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._check({**pre_stop, "timeoutSeconds": 600}), grace)
        await self._program.stop(max(0.0, until - _time()))

    def kill(self) -> None:
        """Kill the running program, which is then restarted as after a crash."""
        self._killed.set()

    async def _until_ended(self) -> Exit:
        """Wait until the program has ended by itself, was killed, or failed a probe; return how it ended."""
        self._killed.clear()
        killed = asyncio.create_task(self._killed.wait())
        ended = asyncio.create_task(self._program.ended())
        unhealthy = asyncio.create_task(
            until_unhealthy(
                self._spec,
                self._check,
                started=self._has_started,
                ready=lambda ready, why: self._show(ready=ready, complaint=self._complaint(why)),
            )
        )
        try:
            await asyncio.wait([ended, unhealthy, killed], return_when=asyncio.FIRST_COMPLETED)
            if ended.done():
                return ended.result()
            if killed.done():
                await self._program.stop(0)
                return Exit(137, "killed")
            log = self._log.last_words()
            self._show(ready=False, complaint=self._complaint(unhealthy.result()))
            await self._program.stop(UNHEALTHY_GRACE)
            return Exit(137, f"{unhealthy.result()}\n{log}".strip())
        finally:
            for task in (ended, unhealthy, killed):
                task.cancel()

    def _has_started(self) -> None:
        self._first_start.set()
        self._show(started=True)

    def _complaint(self, why: str) -> str:
        """Add the program's last error to the probe's complaint: a picker only logs why it is not ready."""
        if not why:
            return ""
        error = last_error(self._log.last_words())
        return f"{why}; it said: {error}" if error else why

    def _terminated(self, ended: Exit, started: str) -> Object:
        state: Object = {
            "exitCode": ended.code,
            "reason": "Completed" if ended.code == 0 else "Error",
            "startedAt": started,
            "finishedAt": now(),
        }
        message = ended.message or self._log.last_words()
        # As in a real cluster, the log becomes the message only if the container's policy allows that.
        if ended.code != 0 and message and self._spec.get("terminationMessagePolicy") == FALLBACK:
            state["message"] = message
        return state

    def _show(self, **changes: Any) -> None:
        view = replace(self.view, **changes)
        if view != self.view:
            self.view = view
            self._changed()


@dataclass
class Backoff:
    """The delays before restarts of one container."""

    _next: float = 0.0

    def after(self, seconds_run: float) -> float:
        """Return the seconds until the next start: none after the first end, then 10, 20, 40 ... 300."""
        if seconds_run >= BACKOFF_RESET:
            self._next = 0.0
        delay = self._next
        self._next = min(max(SHORTEST_BACKOFF, 2 * delay), LONGEST_BACKOFF)
        return delay


def last_error(log: str) -> str:
    """Return the last line logged as an error, else the last that reads like one, else the last."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    records = [_record(line) for line in lines]
    for record in reversed(records):
        if record and record.get("level") in _ERROR_LEVELS:
            return _message(record)
    texts = [_message(record) if record else line for line, record in zip(lines, records, strict=True)]
    errors = [text for text in texts if _ERROR.search(text)]
    return (errors or texts or [""])[-1][:LONGEST_LINE]


def _record(line: str) -> dict[str, object] | None:
    """Return the fields of a line of structured logging, or None for any other line."""
    try:
        fields = json.loads(line)
    except ValueError:
        return None
    return fields if isinstance(fields, dict) else None


def _message(record: dict[str, object]) -> str:
    parts = [str(record[key]) for key in ("msg", "error") if record.get(key)]
    return ": ".join(parts)[:LONGEST_LINE]


def _waiting(reason: str, message: str) -> Object:
    return {"waiting": {"reason": reason, "message": message}}


def _time() -> float:
    return asyncio.get_running_loop().time()
