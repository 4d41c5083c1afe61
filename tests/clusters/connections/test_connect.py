"""A token of a kubeconfig is sent as a header, and is in no message."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from certificate import Certificate
from fake_cluster import FakeCluster, kubeconfig
from listener import Listener

from inferfleet.clusters.connections.api import Api, NoAnswerError, RefusedError
from inferfleet.clusters.connections.ask import connect, refusal
from inferfleet.clusters.connections.kubeconfig import KubeconfigError, access
from inferfleet.desired.values import Connection

EAST = Connection("east", "existing/east", "active")


def _connect(**user: Any) -> Api:
    return connect(EAST, yaml.safe_dump(kubeconfig("https://127.0.0.1:1", **user)), seconds=300)


def _header(api: Api) -> str:
    return str(api._client.configuration.get_api_key_with_prefix("authorization"))


@pytest.mark.parametrize("token", ["hunter2\n", " hunter2 ", "\r\nhunter2\r\n", "hunter2"])
def test_spaces_and_newlines_around_a_token_are_taken_off(tmp_path: Path, token: str) -> None:
    assert _header(_connect(token=token)) == "Bearer hunter2"
    file = tmp_path / "token"
    file.write_bytes(token.encode())
    assert _header(_connect(tokenFile=str(file))) == "Bearer hunter2"
    assert _header(_connect(tokenFile=str(file), token="older")) == "Bearer hunter2"
    status = {"apiVersion": "v1", "status": {"token": token}}
    command = {"apiVersion": "v1", "command": "printf", "args": ["%s", json.dumps(status)]}
    assert _header(_connect(exec=command)) == "Bearer hunter2"


@pytest.mark.parametrize("token", ["hunter2\nhunter3", "hunter2\x00", "hunter2 é", "hunter2\u202e"])
def test_a_token_that_no_header_can_carry_is_refused_and_not_shown(token: str) -> None:
    with pytest.raises(KubeconfigError) as refused:
        _connect(token=token)
    assert str(refused.value) == "its token is empty, or has characters that no HTTP header can carry"


def test_a_token_that_is_missing_makes_no_anonymous_request(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("\n")
    with pytest.raises(KubeconfigError, match="its tokenFile has no token"):
        _connect(tokenFile=str(tmp_path / "token"))
    with pytest.raises(KubeconfigError, match="its auth-provider has no token"):
        _connect(**{"auth-provider": {"name": "oidc"}})


def test_an_error_of_the_client_about_a_header_is_not_shown() -> None:
    api = _connect(token="hunter2")
    api._client.set_default_header("X-Other", "hunter2\n")
    with pytest.raises(NoAnswerError) as failed:
        api.get("/version")
    assert "hunter2" not in str(failed.value)


def test_credentials_follow_no_redirect(cluster: Callable[..., FakeCluster], tls: Certificate) -> None:
    """Also not to the same server: it may be one without TLS."""
    elsewhere = cluster()
    fake = cluster(tls=tls.context)
    fake.redirect = f"{elsewhere.address}/api/v1/namespaces/kube-system"
    config = kubeconfig(fake.address, token="hunter2")
    config["clusters"][0]["cluster"]["certificate-authority-data"] = tls.ca
    api = connect(EAST, yaml.safe_dump(config), seconds=300)
    with pytest.raises(RefusedError) as refused:
        api.get("/api/v1/namespaces/kube-system")
    assert (refused.value.status, elsewhere.asked, fake.credentials) == (307, [], {"Bearer hunter2"})
    assert refusal(EAST, refused.value).what == (
        "cluster 'east' refused GET /api/v1/namespaces/kube-system (307): "
        "it sends requests on to another address, and credentials do not follow"
    )


def test_a_cluster_behind_a_proxy_is_asked_through_it(cluster: Callable[..., FakeCluster]) -> None:
    proxy = cluster()
    config = kubeconfig("http://east.example.com")
    config["clusters"][0]["cluster"]["proxy-url"] = f"http://{proxy.host}"
    api = connect(EAST, yaml.safe_dump(config), seconds=300)
    with pytest.raises(RefusedError):
        api.get("/version")
    assert [path for path, _ in proxy.asked] == ["http://east.example.com/version"]
    config["clusters"][0]["cluster"]["proxy-url"] = "socks5://127.0.0.1:1"
    with pytest.raises(KubeconfigError):
        connect(EAST, yaml.safe_dump(config), seconds=300)


def test_the_token_of_an_oidc_provider_is_used_as_it_is_and_never_renewed_here() -> None:
    provider = {"name": "oidc", "config": {"id-token": "hunter2\n", "idp-issuer-url": "http://127.0.0.1:1"}}
    assert _header(_connect(**{"auth-provider": provider})) == "Bearer hunter2"


@pytest.mark.parametrize("key", ["client-certificate-data", "client-key-data"])
def test_data_that_is_not_base64_is_not_shown(key: str) -> None:
    with pytest.raises(KubeconfigError) as refused:
        _connect(**{key: "hunter2!"})
    assert str(refused.value) == "a certificate or key in it is not base64"


def test_a_token_that_is_shown_by_accident_is_not_readable() -> None:
    chosen = access(yaml.safe_dump(kubeconfig("https://east", token="hunter2")), None)
    assert (chosen.user["token"], "hunter2" in repr(chosen)) == ("hunter2", False)


def test_a_server_that_only_hangs_up_is_told_in_our_words() -> None:
    listener = Listener()
    api = connect(EAST, yaml.safe_dump(kubeconfig(f"http://{listener.host}")), seconds=300)
    with pytest.raises(NoAnswerError) as failed:
        api.get("/version")
    listener.close()
    assert str(failed.value) in ("it closed the connection without an answer", "Connection reset by peer")


def test_a_server_that_asks_for_a_later_try_gets_one_in_time(
    cluster: Callable[..., FakeCluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []
    monkeypatch.setattr(time, "sleep", waited.append)
    fake = cluster(busy=2)
    api = connect(EAST, fake.kubeconfig, seconds=300)
    assert api.get("/api/v1/namespaces/kube-system")["metadata"]["uid"] == "uid-1"
    assert waited == [1, 1]
    fake.busy = 20
    with pytest.raises(RefusedError) as refused:
        api.get("/api/v1/namespaces/kube-system")
    assert (refused.value.status, fake.busy, len(waited)) == (429, 9, 12)
    fake.busy = 1
    with pytest.raises(RefusedError):
        connect(EAST, fake.kubeconfig, seconds=0.5).get("/api/v1/namespaces/kube-system")


def test_an_event_that_something_else_took_is_told() -> None:
    api = _connect(token="hunter2")
    api._client.call_api = lambda *_, **__: "welcome"
    with pytest.raises(NoAnswerError, match="what answers there is not a Kubernetes API server"):
        api.add_event("ml", {"metadata": {"name": "it"}})
