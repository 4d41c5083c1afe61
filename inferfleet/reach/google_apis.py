"""Google's Container, Compute and Cloud Quotas APIs: what they say of clusters, quotas and reservations."""

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from inferfleet.gke.quota.answers import FAMILIES
from inferfleet.gke.values import CloudCluster
from inferfleet.reach.google_login import Addresses, GoogleLogin
from inferfleet.reach.refusals import COMPUTE, CONTAINER, QUOTAS, CloudError, Service, refused


@dataclass(frozen=True)
class ControlPlane:
    """One cluster as Google has it. `status` and `message` are Google's words.

    `host` has no scheme and is None while there is no endpoint of the kind that the document asks for. `ca`
    is base64 of PEM, None for the DNS endpoint. An `inside` host answers in Google's network alone.
    """

    status: str
    message: str
    host: str | None
    ca: str | None
    inside: bool


@dataclass(frozen=True)
class NodePool:
    """One node pool as Google has it, in Google's words."""

    name: str
    status: str
    message: str


class ContainerApi:
    """Asks from any number of threads, with credentials that are loaded once."""

    def __init__(self, address: str, login: GoogleLogin | None = None) -> None:
        self.address = address.rstrip("/")
        self._login = login or GoogleLogin()

    def control_plane(self, plan: CloudCluster, *, seconds: float) -> ControlPlane | None:
        """None where there is no such cluster. Raises CloudError; waits for each answer so many seconds."""
        body = self.cluster(plan, seconds=seconds)
        return _control_plane(body, plan) if body is not None else None

    def node_pools(self, plan: CloudCluster, *, seconds: float) -> tuple[NodePool, ...]:
        """The pools that Google has; none where there is no such cluster. As `control_plane` otherwise."""
        pools = (self.cluster(plan, seconds=seconds) or {}).get("nodePools")
        return tuple(
            NodePool(one["name"], _text(one.get("status")) or "", _text(one.get("statusMessage")) or "")
            for one in (pools if isinstance(pools, list) else ())
            if isinstance(one, dict) and _text(one.get("name"))
        )

    def cluster(self, plan: CloudCluster, *, seconds: float) -> Mapping[str, Any] | None:
        """The whole answer, with all node pools. As `control_plane` otherwise."""
        path = f"projects/{plan.project}/locations/{plan.region}/clusters/{plan.cloud_name}"
        whose = f"the Container API at {self.address}"
        status, body = self._login.get(f"{self.address}/v1/{path}", of=whose, seconds=seconds)
        if status == 404 and "error" in body:
            return None
        if status != 200:
            raise refused(status, body.get("error"), CONTAINER, project=plan.project, address=self.address)
        if not isinstance(body.get("status"), str):
            raise CloudError(
                f"what answers at {self.address} is not the Container API", "Mend the address, or unset it"
            )
        return body


def _control_plane(body: Mapping[str, Any], plan: CloudCluster) -> ControlPlane:
    message = _text(body.get("statusMessage")) or ""
    if plan.endpoint == "DNS":
        dns = _mapping(_mapping(body.get("controlPlaneEndpointsConfig")).get("dnsEndpointConfig"))
        inside = not dns.get("allowExternalTraffic", False)
        return ControlPlane(body["status"], message, _text(dns.get("endpoint")), None, inside)
    host = _text(body.get("endpoint"))
    ca = _text(_mapping(body.get("masterAuth")).get("clusterCaCertificate"))
    return ControlPlane(body["status"], message, host if ca else None, ca, _is_private(host or ""))


def _is_private(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return False


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


Answer = Mapping[str, Any]


class ComputeApi:
    """Asks from any number of threads, each answer awaited so many seconds. Raises CloudError."""

    def __init__(self, google: Addresses, login: GoogleLogin, *, seconds: float) -> None:
        self._google = google
        self._login = login
        self._seconds = seconds

    def project(self, project: str) -> Answer:
        return self._found(COMPUTE, self._google.compute, f"projects/{project}", project)

    def region(self, project: str, region: str) -> Answer:
        return self._found(COMPUTE, self._google.compute, f"projects/{project}/regions/{region}", project)

    def gpu_families(self, project: str) -> Answer:
        return self._found(QUOTAS, self._google.quotas, f"v1/projects/{project}/{FAMILIES}", project)

    def reservation(self, project: str, zone: str, name: str) -> Answer | None:
        """None where there is none of that name."""
        path = f"projects/{project}/zones/{zone}/reservations/{name}"
        return self._get(COMPUTE, self._google.compute, path, project)

    def group_size(self, project: str, zone: str, name: str) -> int | None:
        """The machines that a managed instance group is to have; None where there is no such group."""
        path = f"projects/{project}/zones/{zone}/instanceGroupManagers/{name}"
        found = self._get(COMPUTE, self._google.compute, path, project)
        # A number that is zero may be left out.
        return None if found is None else int(found.get("targetSize") or 0)

    def _found(self, service: Service, address: str, path: str, project: str) -> Answer:
        found = self._get(service, address, path, project)
        if found is None:
            raise refused(
                404, {"message": f"{path} was not found"}, service, project=project, address=address
            )
        return found

    def _get(self, service: Service, address: str, path: str, project: str) -> Answer | None:
        whose = f"{service.called} at {address}"
        status, body = self._login.get(f"{address}/{path}", of=whose, seconds=self._seconds)
        if status == 404 and "error" in body:
            return None
        if status != 200:
            raise refused(status, body.get("error"), service, project=project, address=address)
        return body
