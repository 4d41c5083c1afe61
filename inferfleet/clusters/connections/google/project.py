"""What Google says of a project: which APIs are enabled, and which permissions the credentials have."""

from collections.abc import Iterable
from urllib.parse import urlencode

from inferfleet.clusters.connections.google_login import Addresses, GoogleLogin
from inferfleet.clusters.connections.refusals import PROJECTS, SERVICES, refused


class ProjectApi:
    """Requests to the Service Usage and the Cloud Resource Manager API. Each raises CloudError."""

    def __init__(self, google: Addresses, login: GoogleLogin, *, seconds: float) -> None:
        self._google = google
        self._login = login
        self._seconds = seconds

    def enabled(self, project: str, apis: Iterable[str]) -> frozenset[str]:
        """Return those of the APIs that are enabled. There may be 30.

        docs.cloud.google.com/service-usage/docs/reference/rest/v1/services/batchGet (read on 2026-11-24)
        """
        names = [("names", f"projects/{project}/services/{api}") for api in apis]
        url = f"{self._google.services}/v1/projects/{project}/services:batchGet?{urlencode(names)}"
        of = f"{SERVICES.called} at {self._google.services}"
        status, body = self._login.get(url, of=of, seconds=self._seconds)
        if status != 200:
            raise refused(status, body.get("error"), SERVICES, project=project, address=self._google.services)
        return frozenset(
            str(service.get("name", "")).rpartition("/")[2]
            for service in body.get("services") or ()
            if service.get("state") == "ENABLED"
        )

    def permitted(self, project: str, permissions: Iterable[str]) -> frozenset[str]:
        """Return those of the permissions on the project that the credentials have.

        docs.cloud.google.com/resource-manager/reference/rest/v1/projects/testIamPermissions, 2026-11-24
        """
        url = f"{self._google.projects}/v1/projects/{project}:testIamPermissions"
        of = f"{PROJECTS.called} at {self._google.projects}"
        question = {"permissions": list(permissions)}
        status, body = self._login.post(url, question, of=of, seconds=self._seconds)
        if status != 200:
            raise refused(status, body.get("error"), PROJECTS, project=project, address=self._google.projects)
        return frozenset(map(str, body.get("permissions") or ()))
