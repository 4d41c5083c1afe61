"""The API server is given the controller's webhooks where it listens here, and a certificate that holds."""

import socket
import ssl
import threading
from pathlib import Path

import yaml

from sandbox.https import HOST
from sandbox.lws.certificate import ensure_certificate
from sandbox.lws.controller import CERTIFICATE, KEY
from sandbox.lws.webhooks import configurations, paths


def hook(name: str, path: str, **more: object) -> dict[str, object]:
    service = {"name": "webhook-service", "namespace": "system", "path": path}
    return {"name": name, "clientConfig": {"service": service}, **more}


def module(folder: Path) -> Path:
    """The files as a module has them: the patches narrow what is asked of pods."""
    kinds = {"mutating": "MutatingWebhookConfiguration", "validating": "ValidatingWebhookConfiguration"}
    documents = []
    for verb, kind in kinds.items():
        webhooks = [hook(f"{verb}-sets", f"/{verb}-sets"), hook(f"{verb}-pods", f"/{verb}-pods")]
        metadata = {"name": f"{verb}-webhook-configuration"}
        documents.append({"kind": kind, "metadata": metadata, "webhooks": webhooks})
        value = hook(f"{verb}-pods", f"/{verb}-pods", objectSelector={"matchLabels": {"of": "a-set"}})
        patch = [{"op": "replace", "path": "/webhooks/1", "value": value}]
        (folder / f"{verb}-patch.yaml").write_text(yaml.safe_dump(patch))
    (folder / "manifests.yaml").write_text(yaml.safe_dump_all(documents))
    return folder


def test_webhooks_have_urls_and_what_an_installation_patches(tmp_path: Path) -> None:
    made = configurations(module(tmp_path), server="https://127.0.0.1:20006", certificate=b"pem")

    def called(path: str) -> dict[str, str]:
        return {"url": f"https://127.0.0.1:20006{path}", "caBundle": "cGVt"}

    assert made == [
        {
            "kind": kind,
            "metadata": {"name": f"lws-{verb}-webhook-configuration"},
            "webhooks": [
                {"name": f"{verb}-sets", "clientConfig": called(f"/{verb}-sets")},
                {
                    "name": f"{verb}-pods",
                    "clientConfig": called(f"/{verb}-pods"),
                    "objectSelector": {"matchLabels": {"of": "a-set"}},
                },
            ],
        }
        for verb, kind in (
            ("mutating", "MutatingWebhookConfiguration"),
            ("validating", "ValidatingWebhookConfiguration"),
        )
    ]
    assert list(paths(tmp_path)) == [
        "/mutating-sets",
        "/mutating-pods",
        "/validating-sets",
        "/validating-pods",
    ]


def test_the_certificate_is_its_own_authority_and_kept(tmp_path: Path) -> None:
    ensure_certificate(tmp_path, HOST)
    before = (tmp_path / CERTIFICATE).read_bytes()
    ensure_certificate(tmp_path, HOST)
    assert (tmp_path / CERTIFICATE).read_bytes() == before
    assert {(tmp_path / name).stat().st_mode & 0o777 for name in (CERTIFICATE, KEY)} == {0o600}
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(tmp_path / CERTIFICATE, tmp_path / KEY)
    trusting = ssl.create_default_context(cafile=str(tmp_path / CERTIFICATE))
    # As Python does by default from 3.13 on.
    trusting.verify_flags |= ssl.VERIFY_X509_STRICT
    server, client = socket.socketpair()
    answering = threading.Thread(target=lambda: serving.wrap_socket(server, server_side=True).close())
    answering.start()
    trusting.wrap_socket(client, server_hostname=HOST).close()
    answering.join()
