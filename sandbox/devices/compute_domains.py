"""The controller of ComputeDomains: writes the claim template that each of them names.

The real one also runs a daemon on each node that pods of the domain come to; here nothing needs one.
"""

import asyncio
from pathlib import Path

from inferfleet.tables.devices import CHANNEL_CLASS, CHANNEL_DRIVER, COMPUTE_DOMAIN_API, RESOURCE_API
from sandbox.cluster.objects import Object
from sandbox.cluster.watching import UNREACHABLE, Api, ApiError, Copies, follow

CRD = Path(__file__).parent / "compute_domains.yaml"
# Seconds between looks whether the cluster has the kind, and between attempts to write a template.
LOOK_SECONDS = 5.0


async def serve_compute_domains(api: Api) -> None:
    """Write the templates of all ComputeDomains of the cluster until cancelled."""
    while not await _has_the_kind(api):
        await asyncio.sleep(LOOK_SECONDS)
    domains = Copies(f"/apis/{COMPUTE_DOMAIN_API}/computedomains")
    changed: asyncio.Queue[str] = asyncio.Queue()
    async with asyncio.TaskGroup() as group:
        group.create_task(follow(api, domains, changed.put_nowait))
        while True:
            name = await changed.get()
            domain = domains.objects.get(name)
            if domain is not None and not await _written(api, template(domain)):
                await asyncio.sleep(LOOK_SECONDS)
                changed.put_nowait(name)


def template(domain: Object) -> Object:
    """Return the claim template of a ComputeDomain, which ends with it."""
    metadata = domain["metadata"]
    channel = domain["spec"]["channel"]
    owner = {
        "apiVersion": COMPUTE_DOMAIN_API,
        "kind": domain["kind"],
        "name": metadata["name"],
        "uid": metadata["uid"],
    }
    parameters = {
        "apiVersion": COMPUTE_DOMAIN_API,
        "kind": "ComputeDomainChannelConfig",
        "domainID": metadata["uid"],
        "allocationMode": channel.get("allocationMode", "Single"),
    }
    config = {"requests": ["channel"], "opaque": {"driver": CHANNEL_DRIVER, "parameters": parameters}}
    request = {"name": "channel", "exactly": {"deviceClassName": CHANNEL_CLASS}}
    return {
        "apiVersion": RESOURCE_API,
        "kind": "ResourceClaimTemplate",
        "metadata": {
            "name": channel["resourceClaimTemplate"]["name"],
            "namespace": metadata["namespace"],
            "ownerReferences": [owner],
        },
        "spec": {"spec": {"devices": {"requests": [request], "config": [config]}}},
    }


async def _has_the_kind(api: Api) -> bool:
    try:
        await api.call("GET", f"/apis/{COMPUTE_DOMAIN_API}")
    except (*UNREACHABLE, ApiError):
        return False
    return True


async def _written(api: Api, wanted: Object) -> bool:
    """Create the template, and return whether it is there. One that is there already stays as it is."""
    namespace = wanted["metadata"]["namespace"]
    path = f"/apis/{RESOURCE_API}/namespaces/{namespace}/resourceclaimtemplates"
    try:
        await api.call("POST", path, body=wanted)
    except UNREACHABLE:
        return False
    except ApiError as error:
        return error.status in (404, 409)  # the namespace is gone, or the template stands
    return True
