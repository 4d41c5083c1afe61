"""The certificate of a cluster's webhooks: made once, for the loopback address, and signed by itself."""

import datetime
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from sandbox.lws.controller import CERTIFICATE, KEY
from sandbox.private import write_file

_DAYS = 3650


def ensure_certificate(folder: Path, address: str) -> None:
    """Write a certificate for the IP address and its key, unless the folder has them already."""
    if (folder / CERTIFICATE).exists():
        return
    certificate, key = self_signed(address, name="inferfleet sandbox webhooks")
    write_file(folder / KEY, key)
    write_file(folder / CERTIFICATE, certificate)


def self_signed(address: str, *, name: str) -> tuple[str, str]:
    """Return a certificate for the IP address and its key, both as PEM.

    The certificate is its own authority, so that a client can be given it as the one to trust.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=_DAYS))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address))]), critical=False
        )
        # RFC 5280 asks it of an authority, and Python from 3.13 on holds certificates to that.
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    return (
        certificate.public_bytes(pem).decode(),
        key.private_bytes(pem, form, serialization.NoEncryption()).decode(),
    )
