"""A token of a kubeconfig is sent as a header, and is in no message."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from fake_cluster import kubeconfig

from inferfleet.desired.values import Connection
from inferfleet.reach.connect import Api, NoAnswerError, connect
from inferfleet.reach.kubeconfig import KubeconfigError

EAST = Connection("east", "existing/east", "active")


def _connect(**user: Any) -> Api:
    return connect(EAST, yaml.safe_dump(kubeconfig("https://127.0.0.1:1", **user)), seconds=5)


def _header(api: Api) -> str:
    return str(api._client.configuration.get_api_key_with_prefix("authorization"))


@pytest.mark.parametrize("token", ["hunter2\n", " hunter2 ", "\r\nhunter2\r\n", "hunter2"])
def test_spaces_and_newlines_around_a_token_are_taken_off(tmp_path: Path, token: str) -> None:
    assert _header(_connect(token=token)) == "Bearer hunter2"
    file = tmp_path / "token"
    file.write_bytes(token.encode())
    assert _header(_connect(tokenFile=str(file))) == "Bearer hunter2"
    status = {"apiVersion": "v1", "status": {"token": token}}
    command = {"apiVersion": "v1", "command": "printf", "args": ["%s", json.dumps(status)]}
    assert _header(_connect(exec=command)) == "Bearer hunter2"


@pytest.mark.parametrize("token", ["hunter2\nhunter3", "hunter2\x00", "hunter2 é", "hunter2\u202e"])
def test_a_token_that_no_header_can_carry_is_refused_and_not_shown(token: str) -> None:
    with pytest.raises(KubeconfigError) as refused:
        _connect(token=token)
    assert str(refused.value) == "its token is empty, or has characters that no HTTP header can carry"


def test_an_error_of_the_client_about_a_header_is_not_shown() -> None:
    api = _connect(token="hunter2")
    api._client.set_default_header("X-Other", "hunter2\n")
    with pytest.raises(NoAnswerError) as failed:
        api.get("/version")
    assert "hunter2" not in str(failed.value)
