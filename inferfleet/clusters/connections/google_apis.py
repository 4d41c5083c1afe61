"""What Google's Container, Compute and Cloud Quotas APIs say of clusters, quotas and reservations."""

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from inferfleet.cloud.gke.quota.answers import FAMILIES
from inferfleet.cloud.gke.quota.proxies import PURPOSE
from inferfleet.cloud.gke.values import CloudCluster
from inferfleet.clusters.connections.google_login import Addresses, GoogleLogin
from inferfleet.clusters.connections.refusals import COMPUTE, CONTAINER, QUOTAS, CloudError, Service, refused

Answer = Mapping[str, Any]
_GROUP = re.compile(r".*/projects/([^/]+)/zones/([^/]+)/instanceGroupManagers/([^/]+)")


@dataclass(frozen=True)
class ControlPlane:
    """The control plane of one cluster. `status` and `message` are Google's words.

    `host` has no scheme, and is None while there is no endpoint of the kind that the document asks for. `ca`
    is base64 of PEM, None for the DNS endpoint. A `private` host answers only inside the cluster's network.
    """

    status: str
    message: str
    host: str | None
    ca: str | None
    private: bool


@dataclass(frozen=True)
class NodePool:
    """One node pool, in Google's words."""

    name: str
    status: str
    message: str


class ContainerApi:
    """Requests to the Container API, from any number of threads, with credentials that are loaded once.

    Every method waits up to `seconds` for each answer, and raises CloudError.
    """

    def __init__(self, address: str, login: GoogleLogin | None = None) -> None:
        self.address = address.rstrip("/")
        self._login = login or GoogleLogin()

    def control_plane(self, plan: CloudCluster, *, seconds: float) -> ControlPlane | None:
        """Return the control plane of a cluster, None where there is no such cluster."""
        cluster = self.cluster(plan, seconds=seconds)
        return _control_plane(cluster, plan) if cluster is not None else None

    def node_pools(self, plan: CloudCluster, *, seconds: float) -> tuple[NodePool, ...]:
        """Return the node pools of a cluster, none where there is no such cluster."""
        pools = (self.cluster(plan, seconds=seconds) or {}).get("nodePools")
        return tuple(
            NodePool(pool["name"], _text(pool.get("status")) or "", _text(pool.get("statusMessage")) or "")
            for pool in (pools if isinstance(pools, list) else ())
            if isinstance(pool, dict) and _text(pool.get("name"))
        )

    def cluster(self, plan: CloudCluster, *, seconds: float) -> Answer | None:
        """Return the answer of clusters.get, with all node pools; None where there is no such cluster."""
        path = f"projects/{plan.project}/locations/{plan.region}/clusters/{plan.cloud_name}"
        api = f"the Container API at {self.address}"
        status, body = self._login.get(f"{self.address}/v1/{path}", of=api, seconds=seconds)
        if status == 404 and "error" in body:
            return None
        if status != 200:
            raise refused(status, body.get("error"), CONTAINER, project=plan.project, address=self.address)
        if not isinstance(body.get("status"), str):
            raise CloudError(
                f"what answers at {self.address} is not the Container API", "Fix the address, or unset it"
            )
        return body

    def versions(self, plan: CloudCluster, channel: str, *, seconds: float) -> tuple[str, ...]:
        """Return the versions that a cluster of a release channel may begin with in the region, newest first.

        https://docs.cloud.google.com/kubernetes-engine/docs/reference/rest/v1/projects.locations/getServerConfig
        """
        path = f"projects/{plan.project}/locations/{plan.region}/serverConfig"
        api = f"the Container API at {self.address}"
        status, body = self._login.get(f"{self.address}/v1/{path}", of=api, seconds=seconds)
        if status != 200:
            raise refused(status, body.get("error"), CONTAINER, project=plan.project, address=self.address)
        channels = body.get("channels")
        return tuple(
            version
            for known in (channels if isinstance(channels, list) else ())
            if isinstance(known, dict) and known.get("channel") == channel
            for version in known.get("validVersions") or ()
            if _text(version)
        )


class ComputeApi:
    """Requests to the Compute and the Cloud Quotas API, from any number of threads.

    Every method waits up to `seconds` for its answer, and raises CloudError.
    """

    def __init__(self, google: Addresses, login: GoogleLogin, *, seconds: float) -> None:
        self._google = google
        self._login = login
        self._seconds = seconds

    def project(self, project: str) -> Answer:
        """Return the answer of projects.get."""
        return self._existing(COMPUTE, self._google.compute, f"projects/{project}", project)

    def region(self, project: str, region: str) -> Answer:
        """Return the answer of regions.get."""
        path = f"projects/{project}/regions/{region}"
        return self._existing(COMPUTE, self._google.compute, path, project)

    def zones(self, project: str, region: str) -> tuple[str, ...]:
        """Return the zones of a region, of which Google names one at least."""
        urls = self.region(project, region).get("zones")
        names = sorted(str(url).rpartition("/")[2] for url in (urls if isinstance(urls, list) else ()))
        if not names:
            what = f"{COMPUTE.called} at {self._google.compute} names no zones of {region}"
            raise CloudError(what, "Try again, and look at the region in its document")
        return tuple(names)

    def has_machine_type(self, project: str, zone: str, machine_type: str) -> bool:
        """Return whether machineTypes.get knows the machine type in the zone."""
        path = f"projects/{project}/zones/{zone}/machineTypes/{machine_type}"
        return self._get(COMPUTE, self._google.compute, path, project) is not None

    def gpu_families(self, project: str) -> Answer:
        """Return the quotas of a project by GPU family."""
        return self._existing(QUOTAS, self._google.quotas, f"v1/projects/{project}/{FAMILIES}", project)

    def reservation(self, project: str, zone: str, name: str) -> Answer | None:
        """Return the answer of reservations.get, None where there is no reservation of that name."""
        path = f"projects/{project}/zones/{zone}/reservations/{name}"
        return self._get(COMPUTE, self._google.compute, path, project)

    def proxy_subnetworks(self, project: str, region: str) -> Answer:
        """Return the answer of subnetworks.list, with those for proxies of load balancers alone."""
        query = urlencode({"filter": f"purpose={PURPOSE}"})
        path = f"projects/{project}/regions/{region}/subnetworks?{query}"
        return self._existing(COMPUTE, self._google.compute, path, project)

    def group_size(self, project: str, zone: str, name: str) -> int | None:
        """Return the target size of a managed instance group, None where there is no such group."""
        path = f"projects/{project}/zones/{zone}/instanceGroupManagers/{name}"
        group = self._get(COMPUTE, self._google.compute, path, project)
        # Google may leave out a number that is zero.
        return None if group is None else int(group.get("targetSize") or 0)

    def pool_size(self, pool: Answer) -> int | None:
        """Return how many machines the groups of a node pool, as clusters.get has it, are to have; None where
        it names none, or one that is not there.
        """
        groups = [_GROUP.fullmatch(str(url)) for url in pool.get("instanceGroupUrls") or ()]
        sizes = [self.group_size(*group.groups()) for group in groups if group]
        return sum(size or 0 for size in sizes) if sizes and None not in sizes else None

    def _existing(self, service: Service, address: str, path: str, project: str) -> Answer:
        answer = self._get(service, address, path, project)
        if answer is None:
            error = {"message": f"{path} was not found"}
            raise refused(404, error, service, project=project, address=address)
        return answer

    def _get(self, service: Service, address: str, path: str, project: str) -> Answer | None:
        api = f"{service.called} at {address}"
        status, body = self._login.get(f"{address}/{path}", of=api, seconds=self._seconds)
        if status == 404 and "error" in body:
            return None
        if status != 200:
            raise refused(status, body.get("error"), service, project=project, address=address)
        return body


def _control_plane(cluster: Answer, plan: CloudCluster) -> ControlPlane:
    message = _text(cluster.get("statusMessage")) or ""
    if plan.endpoint == "DNS":
        dns = _mapping(_mapping(cluster.get("controlPlaneEndpointsConfig")).get("dnsEndpointConfig"))
        private = not dns.get("allowExternalTraffic", False)
        return ControlPlane(cluster["status"], message, _text(dns.get("endpoint")), None, private)
    host = _text(cluster.get("endpoint"))
    ca = _text(_mapping(cluster.get("masterAuth")).get("clusterCaCertificate"))
    return ControlPlane(cluster["status"], message, host if ca else None, ca, _is_private(host or ""))


def _is_private(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return False


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
