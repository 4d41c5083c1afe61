"""The product's own requests of `inferfleet doctor`, with its login, against the simulated APIs."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from cloud_double import empty_cloud, served
from fake_google import service_account

from inferfleet.clusters.connections.google import GoogleLogin, ProjectApi, addresses
from sandbox.gcp import faults


@pytest.fixture
def api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ProjectApi]:
    """The client of a simulated cloud that runs in a thread of its own."""
    with served(empty_cloud(tmp_path)[0]) as address:
        account = service_account(tmp_path / "account.json", f"{address}/token")
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(account))
        overrides = ("SERVICEUSAGE", "CLOUDRESOURCEMANAGER")
        google = addresses({f"CLOUDSDK_API_ENDPOINT_OVERRIDES_{name}": f"{address}/" for name in overrides})
        yield ProjectApi(google, GoogleLogin(), seconds=300)


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
