"""The Service Usage API and the Cloud Resource Manager API: enabled APIs, and permissions on a project.

Every project exists, has enabled every API and grants every permission, but for the faults in force.

docs.cloud.google.com/service-usage/docs/reference/rest/v1/services/batchGet,
docs.cloud.google.com/resource-manager/reference/rest/v1/projects/testIamPermissions
"""

from aiohttp import web

from sandbox.gcp import faults
from sandbox.gcp.compute_api import error_response
from sandbox.gcp.store import Store

# A single request can get so many services (BatchGetServicesRequest).
_MOST = 30


def add_projects(router: web.UrlDispatcher, store: Store) -> None:
    """Add the paths of both APIs to the router."""

    async def services(request: web.Request) -> web.Response:
        parent = "projects/{project}".format(**request.match_info)
        names = request.query.getall("names", [])
        if len(names) > _MOST or any(not name.startswith(f"{parent}/services/") for name in names):
            return error_response(400, "INVALID_ARGUMENT", "Request contains an invalid argument.")
        disabled = faults.read(store.folder).disabled
        states = [
            {
                "name": name,
                "parent": parent,
                "state": "DISABLED" if name.rpartition("/")[2] in disabled else "ENABLED",
            }
            for name in names
        ]
        return web.json_response({"services": states})

    async def permissions(request: web.Request) -> web.Response:
        wanted = (await request.json()).get("permissions") or []
        if any("*" in permission for permission in wanted):
            return error_response(400, "INVALID_ARGUMENT", "Wildcards are not allowed in permissions.")
        denied = faults.read(store.folder).denied
        permitted = [permission for permission in wanted if permission not in denied]
        return web.json_response({"permissions": permitted} if permitted else {})

    router.add_get("/v1/projects/{project}/services:batchGet", services)
    router.add_post("/v1/projects/{project}:testIamPermissions", permissions)
