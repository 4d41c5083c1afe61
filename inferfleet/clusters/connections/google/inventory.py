"""Everything of one kind that a project of Google Cloud has, of all places."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

from inferfleet.clusters.connections.google_apis import Answer
from inferfleet.clusters.connections.google_login import Addresses, GoogleLogin
from inferfleet.clusters.connections.refusals import COMPUTE, CONTAINER, Service, refused

_PAGE = 500


class Inventory:
    """Lists of the Compute and the Container API, page by page. Each raises CloudError.

    docs.cloud.google.com/compute/docs/reference/rest/v1/forwardingRules/aggregatedList (the same for others)
    and docs.cloud.google.com/kubernetes-engine/docs/reference/rest/v1/projects.locations.clusters/list, where
    the location `-` is all of them; 2026-11-24. `returnPartialSuccess` is not asked for: a list that lacks a
    region would be taken for a complete one.
    """

    def __init__(self, google: Addresses, login: GoogleLogin, *, seconds: float) -> None:
        self._google = google
        self._login = login
        self._seconds = seconds

    def aggregated(self, project: str, collection: str) -> Iterator[tuple[str, Answer]]:
        """Yield the resources of a collection with their scope, such as `zones/us-central1-a` or `global`."""
        for page in self._pages(project, f"projects/{project}/aggregated/{collection}"):
            scopes = page.get("items") or {}
            for scope, listed in sorted(scopes.items()):
                yield from ((scope, resource) for resource in (listed or {}).get(collection) or ())

    def of_no_place(self, project: str, collection: str) -> Iterator[Answer]:
        """Yield the resources of a collection that has no regions: networks, firewalls."""
        for page in self._pages(project, f"projects/{project}/global/{collection}"):
            yield from page.get("items") or ()

    def clusters(self, project: str) -> tuple[Answer, ...]:
        """Return the clusters of all locations. Those of places that did not answer are missing from it, so
        such an answer raises CloudError.
        """
        address = self._google.container
        url = f"{address}/v1/projects/{project}/locations/-/clusters"
        body = self._get(CONTAINER, address, url, project)
        if missing := body.get("missingZones"):
            error = {"message": f"it does not say which clusters there are in {', '.join(map(str, missing))}"}
            raise refused(503, error, CONTAINER, project=project, address=address)
        return tuple(body.get("clusters") or ())

    def _pages(self, project: str, path: str) -> Iterator[Answer]:
        token: str | None = ""
        while token is not None:
            query = urlencode({"maxResults": _PAGE} | ({"pageToken": token} if token else {}))
            page = self._get(COMPUTE, self._google.compute, f"{self._google.compute}/{path}?{query}", project)
            yield page
            token = page.get("nextPageToken") or None

    def _get(self, service: Service, address: str, url: str, project: str) -> dict[str, Any]:
        status, body = self._login.get(url, of=f"{service.called} at {address}", seconds=self._seconds)
        if status != 200:
            raise refused(status, body.get("error"), service, project=project, address=address)
        return dict(body)
