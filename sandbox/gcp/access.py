"""Access to everything simulated: one certificate authority, one token, and what Google's own tools expect.

A kubeconfig for GKE names no cluster to its exec plugin, so the one credential must do for all clusters of
the stack: their API servers share certificates (pki/) and a list of tokens. The DNS endpoint of a real
cluster has a certificate that everybody trusts; here SSL_CERT_FILE makes it so, with our root beside the
machine's own.
"""

import json
import secrets
import ssl
from pathlib import Path

from sandbox.cluster.kwok import Access
from sandbox.gcp.pki import GROUP, make_pki, write
from sandbox.places import StackPlaces

PLUGIN = "gke-gcloud-auth-plugin"
# Of the cloud's folder: what goes on the PATH.
PROGRAMS = "path"
# The file with the address of the Container API.
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
    """The certificates and tokens that every API server of the cloud is started with."""
    return Access(places.cloud / "pki", places.cloud / "tokens.csv")


def make_access(places: StackPlaces, api: str) -> None:
    """All files are there: made once, so that a running cluster never loses what it was started with.

    `api` is the address of the Container API, which also answers the login of the application's credentials.
    """
    folder = places.cloud
    if not (folder / "pki" / "admin.crt").exists():
        make_pki(folder / "pki")
    if not (folder / "tokens.csv").exists():
        token = secrets.token_urlsafe(24)
        write(folder / "tokens.csv", f'{token},gke-user,gke-user,"{GROUP}"\n')
    token = (folder / "tokens.csv").read_text().partition(",")[0]
    _write_plugin(folder, token)
    write(folder / "trust.pem", _trust(folder / "pki" / "ca.crt"))
    write(folder / "credentials.json", json.dumps(_credentials(folder, api), indent=1))


def cloud_exists(places: StackPlaces) -> bool:
    """True once the cloud was made; it may be empty."""
    return (places.cloud / ADDRESS).exists()


def cloud_variables(places: StackPlaces) -> dict[str, str]:
    """What the engine and `live` need to find the cloud, besides the PATH; nothing where there is none."""
    if not cloud_exists(places):
        return {}
    address = (places.cloud / ADDRESS).read_text()
    return {
        "SSL_CERT_FILE": str(places.cloud / "trust.pem"),
        "GOOGLE_APPLICATION_CREDENTIALS": str(places.cloud / "credentials.json"),
        # The variables by which gcloud's settings api_endpoint_overrides/* are given.
        "CLOUDSDK_API_ENDPOINT_OVERRIDES_CONTAINER": f"{address}/",
        "CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE": f"{address}/compute/v1/",
        "CLOUDSDK_API_ENDPOINT_OVERRIDES_CLOUDQUOTAS": f"{address}/",
    }


def cloud_programs(places: StackPlaces) -> tuple[Path, ...]:
    """Folders for the PATH: where the stand-in of GKE's login is."""
    return (places.cloud / PROGRAMS,) if cloud_exists(places) else ()


def _write_plugin(folder: Path, token: str) -> None:
    """The executable on the PATH: it prints one credential, for whatever cluster asks."""
    credential = {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "kind": "ExecCredential",
        "status": {"token": token},
    }
    write(folder / "exec-credential.json", json.dumps(credential))
    plugin = folder / PROGRAMS / PLUGIN
    write(plugin, f"#!/bin/sh\nexec cat '{folder / 'exec-credential.json'}'\n")
    plugin.chmod(0o700)


def _credentials(folder: Path, api: str) -> dict[str, str]:
    """Application-default credentials of a service account whose login is answered by `api`."""
    return {
        "type": "service_account",
        "project_id": "sandbox",
        "private_key_id": "sandbox",
        "private_key": (folder / "pki" / "admin.key").read_text(),
        "client_email": _ACCOUNT,
        "client_id": "0",
        "token_uri": f"{api}/token",
    }


def _trust(own: Path) -> str:
    """The machine's roots and ours: whoever reads this file reads no other."""
    usual = (ssl.get_default_verify_paths().openssl_cafile, *_BUNDLES)
    found = next((Path(one) for one in usual if Path(one).is_file()), None)
    return (found.read_text() if found else "") + own.read_text()
