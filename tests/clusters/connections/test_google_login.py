"""Asking Google where the packages for that are an extra."""

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from fake_google import PATH, FakeGoogle

from inferfleet.clusters.connections.google import CloudError, GoogleLogin, preload


def test_a_thread_asks_over_the_connection_that_it_has(
    google: FakeGoogle,
) -> None:
    login = GoogleLogin()

    def ask(_: int = 0) -> int:
        return login.get(f"{google.address}{PATH}", of="the Container API", seconds=300)[0]

    assert ([ask(), ask(), ask()], google.connections) == ([404] * 3, 1)
    with ThreadPoolExecutor(1) as other:
        assert (list(other.map(ask, range(3))), google.connections) == ([404] * 3, 2)


def test_without_google_auth_a_question_to_google_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("google.auth", "google.auth.exceptions", "google.auth.transport.requests"):
        monkeypatch.setitem(sys.modules, name, None)
    preload()
    with pytest.raises(CloudError) as raised:
        GoogleLogin().get("https://container.googleapis.com/v1", of="the Container API", seconds=1)
    assert (raised.value.what, raised.value.next_step) == (
        "the Container API is asked with the package google-auth, which is missing",
        "Install it where inferfleet is: pip install 'inferfleet[gke]'",
    )


def test_credentials_that_are_a_folder_are_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path))
    with pytest.raises(CloudError) as raised:
        GoogleLogin().get("https://container.googleapis.com/v1", of="the Container API", seconds=1)
    assert raised.value.what == f"there are no Google credentials: {tmp_path}: Is a directory"
