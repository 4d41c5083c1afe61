"""What Google says of a cluster, asked over HTTP with a service account's file."""

import json
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fake_google import PATH, PLAN, FakeGoogle, error, running

from inferfleet.clusters.connections.google import CloudError, ContainerApi, ControlPlane, PoolStatus

LOGIN = (
    "Run `gcloud auth application-default login`, or name a service account's file in "
    "GOOGLE_APPLICATION_CREDENTIALS"
)


def ask(google: FakeGoogle, **plan: Any) -> ControlPlane | None:
    return ContainerApi(f"{google.address}/").control_plane(replace(PLAN, **plan), seconds=300)


def refusal(address: str, seconds: float = 300) -> tuple[str, str]:
    with pytest.raises(CloudError) as raised:
        ContainerApi(address).control_plane(PLAN, seconds=seconds)
    return raised.value.what, raised.value.next_step


def test_the_ip_endpoint_comes_with_its_certificate_authority(google: FakeGoogle) -> None:
    google.clusters[PATH] = 200, running("34.1.2.3", ca="Q0E=", dns="gke-1.gke.goog")
    assert ask(google) == ControlPlane("RUNNING", "", "34.1.2.3", "Q0E=", private=False)
    assert google.asked == [(PATH, "Bearer google-1")]


def test_googles_credentials_leave_this_machine_encrypted_only(google: FakeGoogle) -> None:
    assert refusal("http://east.example.com") == (
        "the Container API at http://east.example.com is asked without TLS, "
        "and credentials are never sent so",
        "Give CLOUDSDK_API_ENDPOINT_OVERRIDES_... an https:// address, or one of this machine",
    )
    assert google.tokens == 0


def test_a_private_address_answers_inside_its_network_alone(google: FakeGoogle) -> None:
    google.clusters[PATH] = 200, running("10.0.0.2", ca="Q0E=")
    assert ask(google) == ControlPlane("RUNNING", "", "10.0.0.2", "Q0E=", private=True)


def test_of_two_addresses_the_private_one_is_asked_where_that_is_said(google: FakeGoogle) -> None:
    both = {"privateEndpoint": "10.0.0.2", "publicEndpoint": "34.1.2.3"}
    google.clusters[PATH] = 200, running("34.1.2.3", ca="Q0E=", privateClusterConfig=both)
    assert ask(google, endpoint="private IP") == ControlPlane("RUNNING", "", "10.0.0.2", "Q0E=", private=True)
    assert ask(google, endpoint="IP") == ControlPlane("RUNNING", "", "34.1.2.3", "Q0E=", private=False)


@pytest.mark.parametrize("outside", [True, False])
def test_the_dns_endpoint_needs_no_certificate_authority(google: FakeGoogle, outside: bool) -> None:
    answer = running("34.1.2.3", ca="Q0E=", dns="gke-1.gke.goog")
    answer["controlPlaneEndpointsConfig"]["dnsEndpointConfig"]["allowExternalTraffic"] = outside
    google.clusters[PATH] = 200, answer
    assert ask(google, endpoint="DNS") == ControlPlane("RUNNING", "", "gke-1.gke.goog", None, not outside)


@pytest.mark.parametrize("endpoint", ["DNS", "IP"])
def test_a_cluster_that_is_being_made_has_no_endpoint(google: FakeGoogle, endpoint: Any) -> None:
    google.clusters[PATH] = 200, {"status": "PROVISIONING", "statusMessage": "wait"}
    answer = ask(google, endpoint=endpoint)
    assert answer is not None
    assert (answer.status, answer.message, answer.host, answer.ca) == ("PROVISIONING", "wait", None, None)


def test_there_is_no_such_cluster(google: FakeGoogle) -> None:
    assert ask(google) is None


def test_credentials_are_fetched_once_for_all_clusters(google: FakeGoogle) -> None:
    google.clusters[PATH] = 200, running("34.1.2.3", ca="Q0E=")
    api = ContainerApi(google.address)
    threads = [
        threading.Thread(target=api.control_plane, args=(PLAN,), kwargs={"seconds": 5}) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert google.asked == [(PATH, "Bearer google-1")] * 4


@pytest.mark.parametrize(
    ("status", "body", "what", "step"),
    [
        pytest.param(
            403,
            error(
                403,
                "PERMISSION_DENIED",
                "Kubernetes Engine API has not been used in project acme before or it is disabled. "
                "Enable it by visiting a page.\nMore.",
                reason="SERVICE_DISABLED",
            ),
            "(403): Kubernetes Engine API has not been used in project acme before or it is disabled. "
            "Enable it by visiting a page",
            "Run `gcloud services enable container.googleapis.com --project acme`",
            id="the API is off",
        ),
        pytest.param(
            403,
            error(403, "PERMISSION_DENIED", "Kubernetes Engine API is not enabled for this project."),
            "(403): Kubernetes Engine API is not enabled for this project",
            "Run `gcloud services enable container.googleapis.com --project acme`",
            id="the API is off, without details",
        ),
        pytest.param(
            403,
            error(403, "PERMISSION_DENIED", 'Required "container.clusters.get" permission(s) for "east".'),
            '(403): Required "container.clusters.get" permission(s) for "east"',
            "Give whoever runs this the role roles/container.clusterViewer in project acme",
            id="no role",
        ),
        pytest.param(
            403,
            error(403, "PERMISSION_DENIED", "Caller may not use project old.", reason="USER_PROJECT_DENIED"),
            "(403): Caller may not use project old",
            "Run `gcloud auth application-default set-quota-project acme`",
            id="another project's quota",
        ),
        pytest.param(
            401,
            error(401, "UNAUTHENTICATED", "Request had invalid authentication credentials."),
            "(401): Request had invalid authentication credentials",
            "Run `gcloud auth application-default login`",
            id="not signed in",
        ),
        pytest.param(
            503, "<html>", "(503): no reason given", "Try again in a minute", id="Google is not well"
        ),
        pytest.param(
            400,
            error(400, "INVALID_ARGUMENT", "Location us-east5 does not exist."),
            "(400): Location us-east5 does not exist",
            "Look at project and region in its document",
            id="a mistake in the document",
        ),
    ],
)
def test_a_refusal_says_what_to_do(google: FakeGoogle, status: int, body: Any, what: str, step: str) -> None:
    google.clusters[PATH] = status, body
    assert refusal(google.address) == (f"the Container API at {google.address} refuses {what}", step)


@pytest.mark.parametrize(("status", "body"), [(200, "hello"), (200, []), (200, {"status": 3}), (404, "gone")])
def test_something_else_at_the_address_is_told_from_the_container_api(
    google: FakeGoogle, status: int, body: Any
) -> None:
    google.clusters[PATH] = status, body
    what, _ = refusal(google.address)
    assert what.startswith(
        f"what answers at {google.address} is not" if status == 200 else "the Container API"
    )


def test_nobody_at_the_address(google: FakeGoogle) -> None:
    assert refusal("http://127.0.0.1:1") == (
        "the Container API at http://127.0.0.1:1 does not answer: Connection refused",
        "Fix the connection to Google Cloud, then try again",
    )


def test_an_address_that_takes_the_connection_and_says_nothing(google: FakeGoogle) -> None:
    google.hang = True
    what, _ = refusal(google.address, seconds=0.3)
    assert what == f"the Container API at {google.address} does not answer: no answer in time"


def test_without_credentials_the_way_to_get_some_is_told(
    google: FakeGoogle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS")
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path))
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    what, step = refusal(google.address)
    assert (what.partition(": ")[0], step) == ("there are no Google credentials", LOGIN)


def test_a_file_of_credentials_that_is_missing_is_named(
    google: FakeGoogle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "gone.json"))
    assert refusal(google.address) == (
        f"there are no Google credentials: File {tmp_path}/gone.json was not found",
        LOGIN,
    )


def test_credentials_that_google_does_not_take_are_told(google: FakeGoogle) -> None:
    google.token_status = 400
    assert refusal(google.address) == (
        "the Google credentials do not work: invalid_grant: Invalid JWT Signature",
        LOGIN,
    )


def test_a_server_of_credentials_that_is_gone_is_told(
    google: FakeGoogle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    account = json.loads((tmp_path / "account.json").read_text())
    (tmp_path / "account.json").write_text(json.dumps(account | {"token_uri": "http://127.0.0.1:1/token"}))
    what, _ = refusal(google.address)
    assert what == "the server of Google credentials does not answer: Connection refused"


def test_node_pools_come_with_googles_words(google: FakeGoogle) -> None:
    pools = [{"name": "l4", "status": "ERROR", "statusMessage": "stock-out"}, {"name": "system"}, {}, "?"]
    google.clusters[PATH] = 200, running("34.1.2.3", ca="Q0E=", nodePools=pools)
    pools = ContainerApi(google.address).node_pools(PLAN, seconds=300)
    assert pools == (PoolStatus("l4", "ERROR", "stock-out"), PoolStatus("system", "", ""))


def test_a_cluster_that_is_not_there_has_no_node_pools(google: FakeGoogle) -> None:
    assert ContainerApi(google.address).node_pools(PLAN, seconds=300) == ()
