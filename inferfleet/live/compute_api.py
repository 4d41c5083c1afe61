"""Google's Compute API and Cloud Quotas API: quotas, reservations, and sizes of groups of machines.

https://cloud.google.com/compute/docs/reference/rest/v1,
https://cloud.google.com/docs/quotas/reference/rest/v1/projects.locations.services.quotaInfos
"""

from collections.abc import Mapping
from typing import Any

from inferfleet.gke.quota_answers import FAMILIES
from inferfleet.live.cloud_refusals import COMPUTE, QUOTAS, Service, refused
from inferfleet.live.google_addresses import Addresses
from inferfleet.live.google_login import GoogleLogin

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
