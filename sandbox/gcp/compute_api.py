"""The Compute API and the Cloud Quotas API: quotas, reservations, subnetworks and instance groups.

They are answered from what exists in the cloud and the faults in force. Every project and every named
reservation exists, because nothing here makes them, and every zone has machines of every type.

docs.cloud.google.com/compute/docs/reference/rest/v1 (projects, regions, machineTypes, reservations,
subnetworks, instanceGroupManagers), docs.cloud.google.com/docs/quotas/reference/rest/v1 (quotaInfos)
"""

from dataclasses import dataclass
from typing import Any

from aiohttp import web

from sandbox.gcp import faults
from sandbox.gcp.rules import regions
from sandbox.gcp.rules.machines import machine_of
from sandbox.gcp.rules.names import cluster_path, relative
from sandbox.gcp.rules.networking import FIREWALL, NETWORK, SUBNETWORK
from sandbox.gcp.rules.node_pool import gpu_counts
from sandbox.gcp.store import POOL, Records, Store

# The limit of a quota that no fault lowers.
_PLENTY = 10_000
# Balanced and SSD disks of the region, in GB.
_SSD_GB = "SSD_TOTAL_GB"
# Accelerators that Google limits by a metric of the region.
_METRICS = {
    "nvidia-a100-80gb": "NVIDIA_A100_80GB",
    "nvidia-l4": "NVIDIA_L4",
    "nvidia-tesla-a100": "NVIDIA_A100",
    "nvidia-tesla-p100": "NVIDIA_P100",
    "nvidia-tesla-p4": "NVIDIA_P4",
    "nvidia-tesla-t4": "NVIDIA_T4",
    "nvidia-tesla-v100": "NVIDIA_V100",
}
# Newer accelerators, which Google limits by a quota per GPU family.
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
    """Add the paths of both APIs to the router."""
    api = _Compute(store)
    compute = "/compute/v1/projects/{project}"
    router.add_get(compute, api.project)
    router.add_get(f"{compute}/regions/{{region}}", api.region)
    router.add_get(f"{compute}/regions/{{region}}/subnetworks", api.subnetworks)
    router.add_get(f"{compute}/regions/{{region}}/subnetworks/{{name}}", api.subnetwork)
    router.add_get(f"{compute}/global/networks/{{name}}", api.network)
    router.add_get(f"{compute}/global/networks/{{name}}/getEffectiveFirewalls", api.firewalls)
    router.add_get(f"{compute}/zones/{{zone}}/machineTypes/{{name}}", api.machine_type)
    router.add_get(f"{compute}/zones/{{zone}}/reservations/{{name}}", api.reservation)
    router.add_get(f"{compute}/zones/{{zone}}/instanceGroupManagers/{{name}}", api.group)
    router.add_get(f"/v1/projects/{{project}}/locations/global/{_FAMILY_QUOTA}", api.families)


@dataclass(frozen=True)
class _Compute:
    """What both APIs answer about the clouds of a store."""

    store: Store

    async def project(self, request: web.Request) -> web.Response:
        name = request.match_info["project"]
        records = self.store.read()
        used = sum(_used_gpus(records, name).values())
        # Every project has the network `default`, which is not in the store.
        networks = 1 + sum(
            record.token == NETWORK and record.state["project"] == name for record in records.values()
        )
        quotas = [
            _quota("GPUS_ALL_REGIONS", _PLENTY, used),
            _quota("CPUS_ALL_REGIONS", _PLENTY, 0),
            _quota("NETWORKS", _PLENTY, networks),
        ]
        return web.json_response({"name": name, "quotas": quotas})

    async def region(self, request: web.Request) -> web.Response:
        name = request.match_info["region"]
        if name not in regions.ZONES:
            return error_response(404, "NOT_FOUND", f"The resource '{name}' was not found")
        project = request.match_info["project"]
        used = _used_gpus(self.store.read(), project, region=name)
        in_force = faults.read(self.store.folder)
        quotas = [_quota(metric, _PLENTY, 0) for metric in ("CPUS", "N2_CPUS", "A2_CPUS")]
        disks = in_force.quotas.get(f"{name} {_SSD_GB}", _PLENTY)
        quotas.append(_quota(_SSD_GB, disks, _used_ssd_gb(self.store.read(), project, name)))
        for accelerator, metric in (_METRICS | _FAMILIES).items():
            limit = in_force.quotas.get(f"{name} {accelerator}", _PLENTY)
            prefixes = ("PREEMPTIBLE_", "") if accelerator in _METRICS else ("PREEMPTIBLE_",)
            quotas += [
                _quota(f"{prefix}{metric}_GPUS", limit, used.get(accelerator, 0)) for prefix in prefixes
            ]
        url = "https://www.googleapis.com/compute/v1/projects/{project}/zones".format(**request.match_info)
        zones = [f"{url}/{zone}" for zone in regions.ZONES[name]]
        return web.json_response({"name": name, "quotas": quotas, "zones": zones})

    async def machine_type(self, request: web.Request) -> web.Response:
        zone, name = request.match_info["zone"], request.match_info["name"]
        machine = machine_of(name)
        if machine is None or zone not in regions.ZONES.get(regions.region_of(zone), ()):
            wanted = "projects/{project}/zones/{zone}/machineTypes/{name}".format(**request.match_info)
            return error_response(404, "NOT_FOUND", f"The resource '{wanted}' was not found")
        return web.json_response(
            {"name": name, "zone": zone, "guestCpus": machine.vcpu, "memoryMb": int(machine.memory * 1024)}
        )

    async def families(self, request: web.Request) -> web.Response:
        in_force = faults.read(self.store.folder)
        values = [
            {
                "dimensions": {"gpu_family": family, "region": region},
                "details": {"value": str(in_force.quotas.get(f"{region} {accelerator}", _PLENTY))},
                "applicableLocations": [region],
            }
            for accelerator, family in _FAMILIES.items()
            for region in regions.ZONES
        ]
        return web.json_response({"dimensions": ["gpu_family", "region"], "dimensionsInfos": values})

    async def reservation(self, request: web.Request) -> web.Response:
        count = {"count": str(_PLENTY), "inUseCount": "0"}
        return web.json_response(
            {"name": request.match_info["name"], "status": "READY", "specificReservation": count}
        )

    async def subnetworks(self, request: web.Request) -> web.Response:
        within = "projects/{project}/regions/{region}/subnetworks/".format(**request.match_info)
        purpose = request.query.get("filter", "").removeprefix("purpose=")
        found = [
            {name: record.state.get(name) for name in ("name", "network", "purpose", "role", "ipCidrRange")}
            for record in self.store.read().values()
            if record.token == SUBNETWORK
            and record.id.startswith(within)
            and purpose in ("", record.state.get("purpose"))
        ]
        return web.json_response({"kind": "compute#subnetworkList", "items": found})

    async def subnetwork(self, request: web.Request) -> web.Response:
        path = "projects/{project}/regions/{region}/subnetworks/{name}".format(**request.match_info)
        if (refused := self._denied("compute.subnetworks.get", path)) is not None:
            return refused
        record = self.store.read().get(path)
        if record is None or record.token != SUBNETWORK:
            return error_response(404, "NOT_FOUND", f"The resource '{path}' was not found")
        shown = ("name", "network", "purpose", "ipCidrRange", "privateIpGoogleAccess", "secondaryIpRanges")
        return web.json_response({name: record.state.get(name) for name in shown})

    async def network(self, request: web.Request) -> web.Response:
        path = "projects/{project}/global/networks/{name}".format(**request.match_info)
        if (refused := self._denied("compute.networks.get", path)) is not None:
            return refused
        record = self.store.read().get(path)
        if record is None or record.token != NETWORK:
            return error_response(404, "NOT_FOUND", f"The resource '{path}' was not found")
        return web.json_response({name: record.state.get(name) for name in ("name", "mtu", "networkProfile")})

    async def firewalls(self, request: web.Request) -> web.Response:
        path = "projects/{project}/global/networks/{name}".format(**request.match_info)
        if (refused := self._denied("compute.networks.getEffectiveFirewalls", path)) is not None:
            return refused
        records = self.store.read()
        if path not in records:
            return error_response(404, "NOT_FOUND", f"The resource '{path}' was not found")
        found = [
            _firewall(record.state)
            for record in records.values()
            if record.token == FIREWALL and relative(record.state["network"]) == path
        ]
        return web.json_response({"firewalls": found, "firewallPolicys": []})

    def _denied(self, permission: str, path: str) -> web.Response | None:
        if permission not in faults.read(self.store.folder).denied:
            return None
        message = f"Required '{permission}' permission for '{path}'"
        return error_response(403, "PERMISSION_DENIED", message)

    async def group(self, request: web.Request) -> web.Response:
        zone = request.match_info["zone"]
        group_id = "projects/{project}/zones/{zone}/instanceGroupManagers/{name}".format(**request.match_info)
        for record in self.store.read().values():
            if any(url.endswith(f"/{group_id}") for url in record.state.get("instanceGroupUrls") or ()):
                return web.json_response({"targetSize": record.zones.get(zone, 0)})
        return error_response(404, "NOT_FOUND", f"The resource '{group_id}' was not found")


def error_response(code: int, status: str, message: str) -> web.Response:
    """Return an error in the form that all of Google's APIs have."""
    return web.json_response({"error": {"code": code, "message": message, "status": status}}, status=code)


def _firewall(state: dict[str, Any]) -> dict[str, Any]:
    """Return a firewall rule as the API has it: what it allows and denies has other names in the provider."""
    layers = {
        name: [{"IPProtocol": layer["protocol"], "ports": layer.get("ports") or []} for layer in state[of]]
        for name, of in (("allowed", "allows"), ("denied", "denies"))
        if state.get(of)
    }
    kept = ("name", "network", "direction", "priority", "sourceRanges", "targetTags", "disabled")
    return {name: state[name] for name in kept if name in state} | layers


def _used_gpus(records: Records, project: str, *, region: str | None = None) -> dict[str, int]:
    """Return how many accelerators of each type the project uses, in the region or in all of them."""
    used: dict[str, int] = {}
    for record in records.values():
        if record.token != POOL:
            continue
        pool = cluster_path(record.id)
        if pool.project == project and region in (None, regions.region_of(pool.location)):
            for gpu, count in gpu_counts(record).items():
                used[gpu] = used.get(gpu, 0) + count
    return used


def _used_ssd_gb(records: Records, project: str, region: str) -> int:
    """Return the GB of boot disks of nodes in the region that are not standard ones, nor Hyperdisks."""
    used = 0
    for record in records.values():
        if record.token != POOL:
            continue
        pool = cluster_path(record.id)
        disk = (record.state.get("nodeConfig") or {}).get("bootDisk") or {}
        ssd = disk.get("diskType", "pd-balanced") in ("pd-balanced", "pd-ssd")
        if ssd and pool.project == project and regions.region_of(pool.location) == region:
            used += int(disk.get("sizeGb", 100)) * sum(record.zones.values())
    return used


def _quota(metric: str, limit: int, usage: int) -> dict[str, Any]:
    return {"metric": metric, "limit": float(limit), "usage": float(usage)}
