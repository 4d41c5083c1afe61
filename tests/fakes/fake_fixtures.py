"""Fixtures of fake clusters and a fake Google Cloud, for all rooms that ask them."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from certificate import Certificate, certificate
from fake_cluster import FakeCluster
from fake_google import PATH, FakeGoogle, running, service_account
from own_cluster import gives


@pytest.fixture
def cluster() -> Iterator[Callable[..., FakeCluster]]:
    """Starts fake API servers and stops them after the test."""
    running: list[FakeCluster] = []

    def start(**settings: Any) -> FakeCluster:
        running.append(FakeCluster(**settings))
        return running[-1]

    yield start
    for one in running:
        one.close()


@pytest.fixture
def google(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeGoogle]:
    """Google Cloud, and the application-default credentials of an account it knows."""
    fake = FakeGoogle()
    file = service_account(tmp_path / "account.json", f"{fake.address}/token")
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(file))
    yield fake
    fake.close()


@pytest.fixture(scope="session")
def tls(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return certificate(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Puts a credential plugin of Google's name on the PATH, with this body; it notes what it is told."""

    def install(body: str) -> Path:
        folder = tmp_path / "bin"
        folder.mkdir()
        file = folder / "gke-gcloud-auth-plugin"
        file.write_text(f'#!/bin/sh\nprintf "%s" "$KUBERNETES_EXEC_INFO" > {tmp_path}/told\n{body}\n')
        file.chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
        return tmp_path / "told"

    return install


@pytest.fixture
def standing(
    google: FakeGoogle, cluster: Callable[..., FakeCluster], tls: Certificate, plugin: Callable[[str], Path]
) -> Callable[..., FakeCluster]:
    """Starts an API server that Google knows, and a plugin that gives a token."""

    def start(**settings: Any) -> FakeCluster:
        fake = cluster(tls=tls.context, **settings)
        google.clusters[PATH] = 200, running(fake.host, ca=tls.ca)
        plugin(gives("from-plugin"))
        return fake

    return start
