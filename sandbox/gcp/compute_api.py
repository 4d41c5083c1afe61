"""Quotas, reservations and groups of machines, answered from what exists in the cloud and its faults.

docs.cloud.google.com/compute/docs/reference/rest/v1 (projects, regions, reservations,
instanceGroupManagers), docs.cloud.google.com/docs/quotas/reference/rest/v1 (quotaInfos)
"""

from typing import Any

from aiohttp import web

from sandbox.gcp import faults
from sandbox.gcp.rules import regions
from sandbox.gcp.store import POOL, Records, Store

# Where no fault says less.
_PLENTY = 10_000
# Those that Google counts by regional metrics, and those with a quota per family.
_METRICS = {
    "nvidia-a100-80gb": "NVIDIA_A100_80GB",
    "nvidia-l4": "NVIDIA_L4",
    "nvidia-tesla-a100": "NVIDIA_A100",
    "nvidia-tesla-p100": "NVIDIA_P100",
    "nvidia-tesla-p4": "NVIDIA_P4",
    "nvidia-tesla-t4": "NVIDIA_T4",
    "nvidia-tesla-v100": "NVIDIA_V100",
}
_FAMILIES = {
    "nvidia-b200": "NVIDIA_B200",
    "nvidia-gb200": "NVIDIA_GB200",
    "nvidia-gb300": "NVIDIA_GB300",
    "nvidia-h100-80gb": "NVIDIA_H100",
    "nvidia-h100-mega-80gb": "NVIDIA_H100_MEGA",
    "nvidia-h200-141gb": "NVIDIA_H200",
    "nvidia-rtx-pro-6000": "NVIDIA_RTX_PRO_6000",
}
_FAMILY_QUOTA = "services/compute.googleapis.com/quotaInfos/GPUS-PER-GPU-FAMILY-per-project-region"


def add_compute(router: web.UrlDispatcher, store: Store) -> None:
    """The paths of both APIs. Every project and every named reservation is there: nobody here makes them."""

    async def project(request: web.Request) -> web.Response:
        name = request.match_info["project"]
        used = sum(_gpus(store.read(), name, region=None).values())
        return web.json_response(
            {
                "name": name,
                "quotas": [_quota("GPUS_ALL_REGIONS", _PLENTY, used), _quota("CPUS_ALL_REGIONS", _PLENTY, 0)],
            }
        )

    async def region(request: web.Request) -> web.Response:
        name = request.match_info["region"]
        if name not in regions.ZONES:
            return refused(404, "NOT_FOUND", f"The resource '{name}' was not found")
        used, now = _gpus(store.read(), request.match_info["project"], region=name), faults.read(store.folder)
        listed = [_quota(metric, _PLENTY, 0) for metric in ("CPUS", "N2_CPUS", "A2_CPUS")]
        for accelerator, metric in (_METRICS | _FAMILIES).items():
            limit = now.quotas.get(f"{name} {accelerator}", _PLENTY)
            kinds = ("PREEMPTIBLE_", "") if accelerator in _METRICS else ("PREEMPTIBLE_",)
            listed += [_quota(f"{kind}{metric}_GPUS", limit, used.get(accelerator, 0)) for kind in kinds]
        return web.json_response({"name": name, "quotas": listed})

    async def families(request: web.Request) -> web.Response:
        now = faults.read(store.folder)
        values = [
            {
                "dimensions": {"gpu_family": family, "region": region},
                "details": {"value": str(now.quotas.get(f"{region} {accelerator}", _PLENTY))},
                "applicableLocations": [region],
            }
            for accelerator, family in _FAMILIES.items()
            for region in regions.ZONES
        ]
        return web.json_response({"dimensions": ["gpu_family", "region"], "dimensionsInfos": values})

    async def reservation(request: web.Request) -> web.Response:
        count = {"count": str(_PLENTY), "inUseCount": "0"}
        return web.json_response(
            {"name": request.match_info["name"], "status": "READY", "specificReservation": count}
        )

    async def group(request: web.Request) -> web.Response:
        zone = request.match_info["zone"]
        end = "/projects/{project}/zones/{zone}/instanceGroupManagers/{name}".format(**request.match_info)
        for one in store.read().values():
            if any(url.endswith(end) for url in one.state.get("instanceGroupUrls") or ()):
                return web.json_response({"targetSize": one.zones.get(zone, 0)})
        return refused(404, "NOT_FOUND", f"The resource '{end[1:]}' was not found")

    here = "/compute/v1/projects/{project}"
    router.add_get(here, project)
    router.add_get(f"{here}/regions/{{region}}", region)
    router.add_get(f"{here}/zones/{{zone}}/reservations/{{name}}", reservation)
    router.add_get(f"{here}/zones/{{zone}}/instanceGroupManagers/{{name}}", group)
    router.add_get(f"/v1/projects/{{project}}/locations/global/{_FAMILY_QUOTA}", families)


def refused(code: int, status: str, message: str) -> web.Response:
    """An error answer of any of Google's APIs."""
    return web.json_response({"error": {"code": code, "message": message, "status": status}}, status=code)


def _gpus(records: Records, project: str, *, region: str | None) -> dict[str, int]:
    """By accelerator; of all regions where none is named."""
    found: dict[str, int] = {}
    for record in records.values():
        parts = record.id.split("/")
        here = record.token == POOL and parts[1] == project
        if not here or region not in (None, regions.region_of(parts[3])):
            continue
        for one in record.state["nodeConfig"].get("guestAccelerators") or ():
            found[one["type"]] = found.get(one["type"], 0) + one["count"] * sum(record.zones.values())
    return found


def _quota(metric: str, limit: int, usage: int) -> dict[str, Any]:
    return {"metric": metric, "limit": float(limit), "usage": float(usage)}
