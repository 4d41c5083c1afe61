"""The simulated Service Usage and Cloud Resource Manager APIs answer as Google's do."""

import asyncio
from pathlib import Path
from typing import Any

from aiohttp.test_utils import TestClient, TestServer

from sandbox.gcp import faults
from sandbox.gcp.container_api import TOKEN, application
from sandbox.gcp.store import Store

HEADERS = {"Authorization": f"Bearer {TOKEN}"}
SERVICES = "/v1/projects/acme/services:batchGet"
PERMISSIONS = "/v1/projects/acme:testIamPermissions"


def answered(folder: Path, path: str, **sent: Any) -> tuple[int, Any]:
    async def ask() -> tuple[int, Any]:
        async with TestClient(TestServer(application(Store(folder)))) as client:
            method = "POST" if "json" in sent else "GET"
            answer = await client.request(method, path, headers=HEADERS, **sent)
            return answer.status, await answer.json()

    return asyncio.run(ask())


def names(*apis: str) -> list[tuple[str, str]]:
    return [("names", f"projects/acme/services/{api}") for api in apis]


def test_apis_are_enabled_but_for_those_that_a_fault_names(tmp_path: Path) -> None:
    faults.change(tmp_path, faults.with_disabled("iam.googleapis.com"))
    status, body = answered(tmp_path, SERVICES, params=names("iam.googleapis.com", "compute.googleapis.com"))
    assert (status, [service["state"] for service in body["services"]]) == (200, ["DISABLED", "ENABLED"])


def test_more_apis_than_google_answers_at_once_are_refused(tmp_path: Path) -> None:
    status, body = answered(tmp_path, SERVICES, params=names(*[f"{n}.googleapis.com" for n in range(31)]))
    assert (status, body["error"]["status"]) == (400, "INVALID_ARGUMENT")


def test_permissions_are_granted_but_for_those_that_a_fault_names(tmp_path: Path) -> None:
    faults.change(tmp_path, faults.with_denied("compute.networks.create"))
    wanted = {"permissions": ["compute.networks.create", "container.pods.list"]}
    assert answered(tmp_path, PERMISSIONS, json=wanted) == (200, {"permissions": ["container.pods.list"]})


def test_who_has_none_of_the_permissions_gets_an_empty_answer(tmp_path: Path) -> None:
    faults.change(tmp_path, faults.with_denied("compute.networks.create"))
    wanted = {"permissions": ["compute.networks.create"]}
    assert answered(tmp_path, PERMISSIONS, json=wanted) == (200, {})


def test_wildcards_are_refused(tmp_path: Path) -> None:
    assert answered(tmp_path, PERMISSIONS, json={"permissions": ["compute.*"]})[0] == 400
