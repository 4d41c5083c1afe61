"""The Service Usage, Cloud Resource Manager and Organization Policy APIs: enabled APIs, permissions on a
project, and the policies in force for it.

Every project exists, has enabled every API and grants every permission, but for the faults in force.

docs.cloud.google.com/service-usage/docs/reference/rest/v1/services/batchGet,
docs.cloud.google.com/resource-manager/reference/rest/v1/projects/testIamPermissions,
cloud.google.com/resource-manager/docs/reference/orgpolicy/rest/v2/projects.policies/getEffectivePolicy
"""

from aiohttp import web

from sandbox.gcp import faults
from sandbox.gcp.compute_api import error_response
from sandbox.gcp.rules.policies import effective_policy
from sandbox.gcp.store import Store

# A single request can get so many services (BatchGetServicesRequest).
_MOST = 30
_API, _PERMISSION = "orgpolicy.googleapis.com", "orgpolicy.policy.get"


def add_projects(router: web.UrlDispatcher, store: Store) -> None:
    """Add the paths of these APIs to the router."""

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

    async def policy(request: web.Request) -> web.Response:
        project, constraint = request.match_info["project"], request.match_info["constraint"]
        in_force = faults.read(store.folder)
        if _API in in_force.disabled:
            message = (
                f"Organization Policy API has not been used in project {project} before or it is disabled."
            )
            return error_response(403, "PERMISSION_DENIED", message)
        if _PERMISSION in in_force.denied:
            thing = f"//{_API}/projects/{project}/policies/{constraint}"
            message = f"Permission '{_PERMISSION}' denied on resource '{thing}' (or it may not exist)."
            return error_response(403, "PERMISSION_DENIED", message)
        found = effective_policy(in_force.policies, project, constraint)
        if found is None:
            return error_response(404, "NOT_FOUND", f"Constraint constraints/{constraint} was not found.")
        return web.json_response(found)

    router.add_get("/v2/projects/{project}/policies/{constraint}:getEffectivePolicy", policy)
    router.add_get("/v1/projects/{project}/services:batchGet", services)
    router.add_post("/v1/projects/{project}:testIamPermissions", permissions)
