"""The life of one container: started, probed, restarted with back-off, stopped, its end explained."""

import asyncio
import contextlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from sandbox.agent.logs import ContainerLog
from sandbox.agent.probes import Check, until_unhealthy
from sandbox.agent.program import CannotStart, Exit, Program
from sandbox.agent.status import ContainerView, now

# https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#restart-policy
FIRST, LONGEST = 10.0, 300.0
# A container that ran this long begins anew.
FORGIVEN = 600.0


@dataclass
class Backoff:
    """The restarts of one container."""

    _next: float = 0.0

    def after(self, seconds_run: float) -> float:
        """Seconds until the next start: none after the first end, then 10, 20, 40 ... 300."""
        if seconds_run >= FORGIVEN:
            self._next = 0.0
        delay = self._next
        self._next = min(max(FIRST, 2 * delay), LONGEST)
        return delay


LONGEST_LINE = 500
_BAD = re.compile(r"error|invalid|fail|panic|fatal|forbidden|refused|cannot|unknown", re.IGNORECASE)
_ALARMING = ("error", "dpanic", "panic", "fatal")


def telling(words: str) -> str:
    """The last line logged as an error, else the last that reads like one, else the last; "" of none."""
    lines = [line.strip() for line in words.splitlines() if line.strip()]
    read = [_record(line) for line in lines]
    for record in reversed(read):
        if record and record.get("level") in _ALARMING:
            return _said(record)
    plain = [_said(record) if record else line for line, record in zip(lines, read, strict=True)]
    bad = [line for line in plain if _BAD.search(line)]
    return (bad or plain or [""])[-1][:LONGEST_LINE]


def _record(line: str) -> dict[str, object] | None:
    """A line of structured logging, None for another one."""
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _said(record: dict[str, object]) -> str:
    parts = [str(record[key]) for key in ("msg", "error") if record.get(key)]
    return ": ".join(parts)[:LONGEST_LINE]


Object = dict[str, Any]
# Between attempts to start what lacks something.
RETRY = 5.0
# How long a container has to end that its liveness probe gave up, when the probe does not say.
UNHEALTHY_GRACE = 30
FALLBACK = "FallbackToLogsOnError"


class Container:
    """One container of a pod. `changed` is called whenever `view` did."""

    def __init__(
        self,
        spec: Object,
        program: Program,
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
        self.view = view

    async def run(self, policy: str) -> None:
        """Runs it until it is cancelled, or has ended and its pod's restart policy leaves it so."""
        backoff, attempts = Backoff(), 0
        while True:
            begun, started = _time(), now()
            try:
                await self._program.start()
            except CannotStart as why:
                attempts += 1
                # A status that stays the same is told once, and who comes later (Pulumi does) misses it.
                again = f" (attempt {attempts})" if attempts > 1 else ""
                state = _waiting(why.reason, f"{why.message}{again}")
                self._show(state=state, complaint=why.message, ready=False)
                await asyncio.sleep(RETRY)
                continue
            attempts = 0
            self._show(state={"running": {"startedAt": started}}, complaint="")
            ended = self._terminated(await self._live(), started)
            if policy == "Never" or (policy == "OnFailure" and not ended["exitCode"]):
                self._show(state={"terminated": ended}, ready=False, started=False)
                return
            delay = backoff.after(_time() - begun)
            message = f"back-off {delay:g}s restarting failed container={self._spec['name']}"
            words = telling(str(ended.get("message", "")))
            complaint = f"it ended with code {ended['exitCode']}" + (f": {words}" if words else "")
            self._show(
                state=_waiting("CrashLoopBackOff", message) if delay else {"terminated": ended},
                last_state={"terminated": ended},
                ready=False,
                started=False,
                complaint=complaint,
            )
            await asyncio.sleep(delay)
            self._show(restarts=self.view.restarts + 1)

    async def stop(self, grace: float) -> None:
        """Runs preStop and ends the program, within `grace` seconds. `run` must have been cancelled."""
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
        """Ends what runs now without a warning, as a crash would; it is restarted as after one."""
        self._killed.set()

    async def _live(self) -> Exit:
        """How it ended: by itself, killed, or because a probe gave it up."""
        self._killed.clear()
        killed = asyncio.create_task(self._killed.wait())
        ended = asyncio.create_task(self._program.ended())
        unhealthy = asyncio.create_task(
            until_unhealthy(
                self._spec,
                self._check,
                started=lambda: self._show(started=True),
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
            words = self._log.last_words()
            self._show(ready=False, complaint=self._complaint(unhealthy.result()))
            await self._program.stop(UNHEALTHY_GRACE)
            return Exit(137, f"{unhealthy.result()}\n{words}".strip())
        finally:
            for task in (ended, unhealthy, killed):
                task.cancel()

    def _complaint(self, why: str) -> str:
        """The probe's, and what the program said last: a picker that serves nothing says why in its log."""
        if not why:
            return ""
        words = telling(self._log.last_words())
        return f"{why}; it said: {words}" if words else why

    def _terminated(self, ended: Exit, started: str) -> Object:
        state: Object = {
            "exitCode": ended.code,
            "reason": "Completed" if ended.code == 0 else "Error",
            "startedAt": started,
            "finishedAt": now(),
        }
        words = ended.words or self._log.last_words()
        # As in a real cluster, nothing writes the message but the container, or its log if it may.
        if ended.code != 0 and words and self._spec.get("terminationMessagePolicy") == FALLBACK:
            state["message"] = words
        return state

    def _show(self, **changes: Any) -> None:
        view = replace(self.view, **changes)
        if view != self.view:
            self.view = view
            self._changed()


def _waiting(reason: str, message: str) -> Object:
    return {"waiting": {"reason": reason, "message": message}}


def _time() -> float:
    return asyncio.get_running_loop().time()
