"""The product's own requests of `inferfleet doctor`, with its login, against the simulated APIs."""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from aiohttp import web
from fake_google import service_account

from inferfleet.clusters.connections.google import GoogleLogin, ProjectApi, addresses
from sandbox.gcp import faults
from sandbox.gcp.container_api import application
from sandbox.gcp.store import Store


@pytest.fixture
def api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ProjectApi]:
    """The client of a simulated cloud that runs in a thread of its own."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    runner = web.AppRunner(application(Store(tmp_path)))

    async def start() -> str:
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        return f"http://{host}:{port}"

    address = asyncio.run_coroutine_threadsafe(start(), loop).result(10)
    account = service_account(tmp_path / "account.json", f"{address}/token")
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(account))
    overrides = ("SERVICEUSAGE", "CLOUDRESOURCEMANAGER")
    google = addresses({f"CLOUDSDK_API_ENDPOINT_OVERRIDES_{name}": f"{address}/" for name in overrides})
    yield ProjectApi(google, GoogleLogin(), seconds=300)
    asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result(10)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


def test_apis_and_permissions_are_read_as_google_tells_them(api: ProjectApi, tmp_path: Path) -> None:
    faults.change(tmp_path, faults.with_disabled("iam.googleapis.com"))
    faults.change(tmp_path, faults.with_denied("compute.networks.create"))
    apis = ("compute.googleapis.com", "iam.googleapis.com")
    wanted = ("compute.networks.create", "container.pods.list")
    assert (api.enabled("acme", apis), api.permitted("acme", wanted)) == (
        {"compute.googleapis.com"},
        {"container.pods.list"},
    )


def test_who_has_no_permission_at_all_is_told_so(api: ProjectApi, tmp_path: Path) -> None:
    faults.change(tmp_path, faults.with_denied("container.pods.list"))
    assert api.permitted("acme", ["container.pods.list"]) == frozenset()
