"""The startup, readiness and liveness probes of a container, run the way the kubelet runs them."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from sandbox.cluster.objects import Object

# Tries a probe once and returns why it failed, or "".
Check = Callable[[dict[str, Any]], Awaitable[str]]

# A kubelet notices a started container within a second. Without this pause the first probe would always fail.
SETTLE_SECONDS = 0.5


async def until_unhealthy(
    container: Object,
    check: Check,
    *,
    started: Callable[[], None],
    ready: Callable[[bool, str], None],
) -> str:
    """Probe the running container until it must be restarted, and return why.

    `started` is called once when the startup probe succeeds; `ready` gets the readiness and the probe's
    complaint.
    """
    await asyncio.sleep(SETTLE_SECONDS)
    startup = container.get("startupProbe")
    if startup and (why := await _until_started(startup, check, ready)):
        return f"startup probe failed: {why}"
    started()
    readiness = asyncio.create_task(_follow(container.get("readinessProbe"), check, ready))
    try:
        why = await _until_dead(container.get("livenessProbe"), check)
    finally:
        readiness.cancel()
    return f"liveness probe failed: {why}"


async def _until_started(probe: dict[str, Any], check: Check, ready: Callable[[bool, str], None]) -> str:
    await asyncio.sleep(probe.get("initialDelaySeconds", 0))
    failures = 0
    while why := await check(probe):
        failures += 1
        if failures >= _number(probe, "failureThreshold"):
            return why
        ready(False, f"startup probe: {why}")
        await asyncio.sleep(_number(probe, "periodSeconds"))
    return ""


async def _until_dead(probe: dict[str, Any] | None, check: Check) -> str:
    if probe is None:
        await asyncio.Event().wait()
        return ""
    await asyncio.sleep(probe.get("initialDelaySeconds", 0))
    failures = 0
    while True:
        why = await check(probe)
        failures = failures + 1 if why else 0
        if failures >= _number(probe, "failureThreshold"):
            return why
        await asyncio.sleep(_number(probe, "periodSeconds"))


async def _follow(probe: dict[str, Any] | None, check: Check, ready: Callable[[bool, str], None]) -> None:
    if probe is None:
        ready(True, "")
        return
    await asyncio.sleep(probe.get("initialDelaySeconds", 0))
    is_ready = False
    successes = failures = 0
    while True:
        why = await check(probe)
        successes, failures = (0, failures + 1) if why else (successes + 1, 0)
        if is_ready and failures >= _number(probe, "failureThreshold"):
            is_ready = False
        elif not is_ready and successes >= _number(probe, "successThreshold"):
            is_ready = True
        if is_ready or failures:
            ready(is_ready, "" if is_ready else f"readiness probe: {why}")
        await asyncio.sleep(_number(probe, "periodSeconds"))


_DEFAULTS = {"periodSeconds": 10, "timeoutSeconds": 1, "successThreshold": 1, "failureThreshold": 3}


def _number(probe: dict[str, Any], field: str) -> int:
    return int(probe.get(field) or _DEFAULTS[field])


def timeout_of(probe: dict[str, Any]) -> int:
    """Return the seconds that one check of the probe may take."""
    return _number(probe, "timeoutSeconds")
