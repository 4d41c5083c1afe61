"""Runs the network of one cluster's pods: `python -m sandbox.network <stack folder> <cluster>`.

Its child holds the network namespace. Inside of it the API server is where it is outside, and reaches what
is inside. The addresses of Gateways lead into it, and those of Services of type LoadBalancer, which it gives
them.
"""

import asyncio
import socket
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from sandbox.child import spawn
from sandbox.cluster import podnet
from sandbox.cluster.companions import cluster_of, python_link
from sandbox.cluster.kwok import KwokCluster
from sandbox.cluster.objects import Object, now
from sandbox.cluster.watching import UNREACHABLE, Api, ApiError, Copies, follow
from sandbox.front_door import installation
from sandbox.network import egress, namespace, sockets
from sandbox.network.doors import doors
from sandbox.network.load_balancers import Place, addresses, events, places, statuses
from sandbox.network.open_doors import OpenDoors, told
from sandbox.network.pod_network import HOLDER
from sandbox.network.relay import dialled, relay

_GATEWAYS = "/apis/gateway.networking.k8s.io/v1/gateways"
_SERVICES = "/api/v1/services"
_SLICES = "/apis/discovery.k8s.io/v1/endpointslices"
# Seconds until the next attempt when an address could not be written.
_RETRY_SECONDS = 0.5


async def main(stack_folder: str, name: str) -> None:
    """Run until killed, or until the namespace has ended."""
    cluster = cluster_of(stack_folder, name)
    holder = await spawn(
        python_link(cluster.folder, HOLDER),
        *("-I", "-S", str(Path(namespace.__file__)), str(cluster.folder)),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
    )
    assert holder.stdout is not None  # it is a pipe
    if (await holder.stdout.readline()).decode().strip() != namespace.READY:
        sys.exit("there is no network namespace")
    works = (
        holder.wait(),
        _serve_api(cluster),
        _serve_egress(cluster),
        _serve_doors(cluster),
        _serve_ways(cluster),
    )
    tasks = [asyncio.create_task(work) for work in works]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks[1:]:
        if task.done():
            task.result()
    sys.exit("the network namespace has ended")


async def _serve_api(cluster: KwokCluster) -> None:
    """Make the API server answer inside at the address that it has outside."""
    host, _, port = cluster.server.removeprefix("https://").partition(":")
    inside = await asyncio.to_thread(sockets.listen, cluster.folder, host, int(port))
    server = await relay(inside, partial(dialled, host, int(port)))
    await server.serve_forever()


async def _serve_egress(cluster: KwokCluster) -> None:
    """Let the API server reach the addresses of the network."""
    server = await egress.serve(cluster.folder, podnet.network(cluster.folder).reachable)
    await server.serve_forever()


async def _serve_ways(cluster: KwokCluster) -> None:
    """Let the pods of an InferenceGateway reach the gateways of other clusters, at addresses inside."""
    servers = []
    for way in installation.ways(cluster.folder):
        inside = await asyncio.to_thread(sockets.listen, cluster.folder, way.inside, way.port)
        servers.append(await relay(inside, partial(_dialled_gateway, way)))
    await asyncio.Event().wait()


async def _dialled_gateway(way: installation.Way) -> socket.socket:
    """Return a connection to another cluster's gateway, which is wherever that cluster has a door for it."""
    for (host, port), why in told(Path(way.cluster_folder)).items():
        if port == way.port and not why:
            return await dialled(host, port)
    raise ConnectionRefusedError(f"{way.host} is not reached")


async def _serve_doors(cluster: KwokCluster) -> None:
    """Keep a listening socket outside for every address of a Gateway or LoadBalancer."""
    gateways, services, slices = Copies(_GATEWAYS), Copies(_SERVICES), Copies(_SLICES)
    changed = asyncio.Event()
    network = podnet.network(cluster.folder).of_gateways
    doors_outside = OpenDoors(cluster.folder)
    known: Mapping[Place, str] = {}
    async with Api(cluster.server, cluster.folder / "pki") as api, asyncio.TaskGroup() as tasks:
        for copies in (gateways, services, slices):
            tasks.create_task(follow(api, copies, lambda _: changed.set()))
        while True:
            await changed.wait()
            changed.clear()
            if not (services.complete and slices.complete):
                continue
            given = addresses(services.objects.values(), network)
            refused = await doors_outside.lead(
                {
                    **doors(gateways.objects.values(), network),
                    **places(services.objects.values(), slices.objects.values(), given),
                }
            )
            # An address that cannot be reached is not given: its Gateway would be Programmed.
            said = statuses(services.objects.values(), given, refused, now=now())
            if not await _write(api, said) or refused:
                asyncio.get_running_loop().call_later(_RETRY_SECONDS, changed.set)
            new = {place: why for place, why in refused.items() if known.get(place) != why}
            for event in events(services.objects.values(), gateways.objects.values(), given, new, now=now()):
                await _add(api, event)
            known = refused


async def _add(api: Api, event: Object) -> None:
    """Add an Event; one that cannot be is printed, as the status says the same."""
    try:
        await api.call("POST", f"/api/v1/namespaces/{event['metadata']['namespace']}/events", body=event)
    except (ApiError, *UNREACHABLE) as error:
        print(f"{event['message']}: {error}", flush=True)


async def _write(api: Api, changes: Mapping[str, Object]) -> bool:
    """Write the statuses by their paths. Return False when one could not be written."""
    complete = True
    for path, status in changes.items():
        try:
            await api.patch(path, {"status": status})
        except ApiError as error:
            print(f"{path}: {error}", flush=True)
            complete = complete and error.status == 404  # the object was deleted meanwhile
        except UNREACHABLE:
            complete = False
    return complete


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:3]))
