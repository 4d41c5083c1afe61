"""Programs find the simulated cloud by its announced environment, and its provider serves no other state."""

import contextlib
import json
import os
import ssl
import subprocess
from pathlib import Path

import pytest
from cryptography import x509

from sandbox.gcp.access import cloud_programs, cloud_variables, make_access, shared_access
from sandbox.gcp.provider.settings import check_settings, refusal
from sandbox.places import StackPlaces


def _cloud(folder: Path) -> StackPlaces:
    places = StackPlaces(folder, "dev")
    places.cloud.mkdir(parents=True)
    (places.cloud / "address").write_text("http://127.0.0.1:1234")
    make_access(places, "http://127.0.0.1:1234")
    return places


def test_a_stack_without_a_cloud_has_nothing_of_it_in_its_environment(tmp_path: Path) -> None:
    places = StackPlaces(tmp_path, "dev")
    assert (cloud_variables(places), cloud_programs(places)) == ({}, ())


def test_the_environment_leads_to_files_that_are_there(tmp_path: Path) -> None:
    places = _cloud(tmp_path)
    variables = cloud_variables(places)
    assert variables == {
        "CLOUDSDK_API_ENDPOINT_OVERRIDES_CONTAINER": "http://127.0.0.1:1234/",
        "CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE": "http://127.0.0.1:1234/compute/v1/",
        "CLOUDSDK_API_ENDPOINT_OVERRIDES_CLOUDQUOTAS": "http://127.0.0.1:1234/",
        "CLOUDSDK_API_ENDPOINT_OVERRIDES_SERVICEUSAGE": "http://127.0.0.1:1234/",
        "CLOUDSDK_API_ENDPOINT_OVERRIDES_CLOUDRESOURCEMANAGER": "http://127.0.0.1:1234/",
        "CLOUDSDK_API_ENDPOINT_OVERRIDES_ORGPOLICY": "http://127.0.0.1:1234/",
        "SSL_CERT_FILE": f"{tmp_path}/.sandbox/dev/cloud/trust.pem",
        "GOOGLE_APPLICATION_CREDENTIALS": f"{tmp_path}/.sandbox/dev/cloud/credentials.json",
    }
    credentials = json.loads(Path(variables["GOOGLE_APPLICATION_CREDENTIALS"]).read_text())
    assert (credentials["type"], credentials["token_uri"]) == (
        "service_account",
        "http://127.0.0.1:1234/token",
    )


def test_the_exec_plugin_prints_the_token_that_api_servers_are_started_with(tmp_path: Path) -> None:
    places = _cloud(tmp_path)
    plugin = cloud_programs(places)[0] / "gke-gcloud-auth-plugin"
    printed = json.loads(subprocess.run([str(plugin)], capture_output=True, text=True, check=True).stdout)
    token, _, _, groups = shared_access(places).tokens.read_text().strip().split(",")
    assert printed == {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "kind": "ExecCredential",
        "status": {"token": token},
    }
    assert groups == '"system:masters"'


def test_nobody_else_may_read_keys_and_tokens(tmp_path: Path) -> None:
    places = _cloud(tmp_path)
    secret = [
        places.cloud / name for name in ("tokens.csv", "credentials.json", "pki/ca.key", "pki/admin.key")
    ]
    assert [oct(file.stat().st_mode & 0o777) for file in secret] == ["0o600"] * 4


def test_access_is_made_once(tmp_path: Path) -> None:
    places = _cloud(tmp_path)
    before = {file: file.read_bytes() for file in places.cloud.rglob("*") if file.is_file()}
    make_access(places, "http://127.0.0.1:1234")
    assert {file: file.read_bytes() for file in places.cloud.rglob("*") if file.is_file()} == before


def test_one_authority_signs_for_every_api_server(tmp_path: Path) -> None:
    pki = shared_access(_cloud(tmp_path)).pki
    root, leaf = (
        x509.load_pem_x509_certificate((pki / f"{name}.crt").read_bytes()) for name in ("ca", "admin")
    )
    leaf.verify_directly_issued_by(root)
    names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert "localhost" in names.get_values_for_type(x509.DNSName)
    trust = ssl.create_default_context(cafile=str(pki.parent / "trust.pem"))
    ours = [
        cert for cert in trust.get_ca_certs() if (("commonName", "inferfleet sandbox"),) in cert["subject"]
    ]
    assert len(ours) == 1


def test_a_python_that_holds_certificates_to_their_standard_trusts_the_servers(tmp_path: Path) -> None:
    pki = shared_access(_cloud(tmp_path)).pki
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(pki / "admin.crt", pki / "admin.key")
    trusting = ssl.create_default_context(cafile=str(pki / "ca.crt"))
    # As Python does by default from 3.13 on.
    trusting.verify_flags |= ssl.VERIFY_X509_STRICT
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = serving.wrap_bio(to_server, to_client, server_side=True)
    client = trusting.wrap_bio(to_client, to_server, server_hostname="localhost")
    for end in (client, server):
        with contextlib.suppress(ssl.SSLWantReadError):
            end.do_handshake()
    client.do_handshake()


@pytest.mark.parametrize(
    ("backend", "home", "served"),
    [
        ("file://{0}/state", "{0}/pulumi-home", True),
        ("file://{0}/state", "/home/me/.pulumi", False),
        ("file:///home/me/state", "{0}/pulumi-home", False),
        ("s3://states", "{0}/pulumi-home", False),
        ("https://api.pulumi.com", "{0}/pulumi-home", False),
        ("", "{0}/pulumi-home", False),
    ],
)
def test_the_provider_serves_the_sandbox_s_own_backend_alone(
    tmp_path: Path, backend: str, home: str, served: bool
) -> None:
    places = StackPlaces(tmp_path, "dev")
    folder = os.fspath(places.folder)
    reason = refusal(
        places, {"PULUMI_BACKEND_URL": backend.format(folder), "PULUMI_HOME": home.format(folder)}
    )
    assert (reason == "") is served


def test_settings_that_the_provider_does_not_have_are_refused() -> None:
    failures = check_settings({"project": "p", "regoin": "r", "version": "10.2.0"})
    assert [failure.path for failure in failures] == ["regoin"]
