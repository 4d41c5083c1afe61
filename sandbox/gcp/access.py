"""Access to everything simulated: one certificate authority, one token, and what Google's own tools expect.

A kubeconfig for GKE names no cluster to its exec plugin, so one credential must do for all clusters of the
stack: their API servers share certificates (pki/) and a list of tokens. The DNS endpoint of a real cluster
has a certificate that everybody trusts; here SSL_CERT_FILE names a bundle of our root and the machine's own
ones.
"""

import json
import secrets
import ssl
from pathlib import Path

from sandbox.cluster.kwok import Access
from sandbox.gcp.pki import ADMIN_GROUP, make_pki
from sandbox.places import StackPlaces
from sandbox.private import write_file

_EXEC_PLUGIN = "gke-gcloud-auth-plugin"
# The folder inside the cloud's folder that goes on the PATH.
_PROGRAMS = "path"
# The file inside the cloud's folder with the address of the Container API.
ADDRESS = "address"
# Where Linux distributions keep their bundle, as Go looks for it (crypto/x509/root_linux.go).
_BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/cert.pem",
)
_ACCOUNT = "somebody@sandbox.iam.gserviceaccount.com"


def shared_access(places: StackPlaces) -> Access:
    """Return the certificates and tokens that every API server of the cloud is started with."""
    return Access(places.cloud / "pki", places.cloud / "tokens.csv")


def make_access(places: StackPlaces, api: str) -> None:
    """Write all files of the access to the cloud whose Container API is at the address `api`.

    Certificates and the token are made once, so that a running cluster keeps what it was started with. The
    Container API also answers the login with the application-default credentials.
    """
    folder = places.cloud
    if not (folder / "pki" / "admin.crt").exists():
        make_pki(folder / "pki")
    if not (folder / "tokens.csv").exists():
        token = secrets.token_urlsafe(24)
        write_file(folder / "tokens.csv", f'{token},gke-user,gke-user,"{ADMIN_GROUP}"\n')
    token = (folder / "tokens.csv").read_text().partition(",")[0]
    _write_exec_plugin(folder, token)
    write_file(folder / "trust.pem", _bundle(folder / "pki" / "ca.crt"))
    write_file(folder / "credentials.json", json.dumps(_credentials(folder, api), indent=1))


def cloud_exists(places: StackPlaces) -> bool:
    """Return True when the stack has a simulated cloud; nothing need exist in it."""
    return (places.cloud / ADDRESS).exists()


def cloud_variables(places: StackPlaces) -> dict[str, str]:
    """Return the environment variables by which programs find the cloud; none when the stack has no cloud."""
    if not cloud_exists(places):
        return {}
    address = (places.cloud / ADDRESS).read_text()
    return {
        "SSL_CERT_FILE": str(places.cloud / "trust.pem"),
        "GOOGLE_APPLICATION_CREDENTIALS": str(places.cloud / "credentials.json"),
        # These set gcloud's properties api_endpoint_overrides/*.
        "CLOUDSDK_API_ENDPOINT_OVERRIDES_CONTAINER": f"{address}/",
        "CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE": f"{address}/compute/v1/",
        "CLOUDSDK_API_ENDPOINT_OVERRIDES_CLOUDQUOTAS": f"{address}/",
        "CLOUDSDK_API_ENDPOINT_OVERRIDES_SERVICEUSAGE": f"{address}/",
        "CLOUDSDK_API_ENDPOINT_OVERRIDES_CLOUDRESOURCEMANAGER": f"{address}/",
        "CLOUDSDK_API_ENDPOINT_OVERRIDES_ORGPOLICY": f"{address}/",
    }


def cloud_programs(places: StackPlaces) -> tuple[Path, ...]:
    """Return the folders for the PATH: the one with the stand-in for GKE's exec plugin."""
    return (places.cloud / _PROGRAMS,) if cloud_exists(places) else ()


def _write_exec_plugin(folder: Path, token: str) -> None:
    """Write the exec plugin: it prints the same credential for every cluster."""
    credential = {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "kind": "ExecCredential",
        "status": {"token": token},
    }
    write_file(folder / "exec-credential.json", json.dumps(credential))
    script = f"#!/bin/sh\nexec cat '{folder / 'exec-credential.json'}'\n"
    write_file(folder / _PROGRAMS / _EXEC_PLUGIN, script, mode=0o700)


def _credentials(folder: Path, api: str) -> dict[str, str]:
    """Return application-default credentials of a service account whose login is answered by `api`."""
    return {
        "type": "service_account",
        "project_id": "sandbox",
        "private_key_id": "sandbox",
        "private_key": (folder / "pki" / "admin.key").read_text(),
        "client_email": _ACCOUNT,
        "client_id": "0",
        "token_uri": f"{api}/token",
    }


def _bundle(root: Path) -> str:
    """Return the machine's roots and ours: a program that is given this bundle reads no other one."""
    usual = (Path(ssl.get_default_verify_paths().openssl_cafile), *map(Path, _BUNDLES))
    machines = next((bundle for bundle in usual if bundle.is_file()), None)
    return (machines.read_text() if machines else "") + root.read_text()
