"""A certificate authority for everything simulated, made once per cloud."""

import datetime
import ipaddress
import os
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

# Kubernetes gives the group every right.
GROUP = "system:masters"


def make_pki(folder: Path) -> None:
    """A certificate authority, and one certificate of it for all servers and the administrator."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    authority, key = (rsa.generate_private_key(public_exponent=65537, key_size=2048) for _ in range(2))
    issuer = _name("inferfleet sandbox")
    root = _certificate(issuer, issuer, authority, authority).add_extension(
        x509.BasicConstraints(ca=True, path_length=None), critical=True
    )
    subject = _name("kubernetes-admin", GROUP)
    names = ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"]
    addresses = [ipaddress.ip_address(one) for one in ("127.0.0.1", "::1")]
    leaf = _certificate(subject, issuer, key, authority).add_extension(
        x509.SubjectAlternativeName(
            [*(x509.DNSName(one) for one in names), *(x509.IPAddress(one) for one in addresses)]
        ),
        critical=False,
    )
    for name, made, private in (("ca", root, authority), ("admin", leaf, key)):
        signed = made.sign(authority, hashes.SHA256())
        write(folder / f"{name}.key", _pem(private))
        write(folder / f"{name}.crt", signed.public_bytes(serialization.Encoding.PEM).decode())


def _name(common: str, organisation: str = "") -> x509.Name:
    parts = [x509.NameAttribute(NameOID.COMMON_NAME, common)]
    if organisation:
        parts.append(x509.NameAttribute(NameOID.ORGANIZATION_NAME, organisation))
    return x509.Name(parts)


def _certificate(
    subject: x509.Name, issuer: x509.Name, key: rsa.RSAPrivateKey, authority: rsa.RSAPrivateKey
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=3650))
    )


def _pem(key: rsa.RSAPrivateKey) -> str:
    # PKCS #1, which Kubernetes reads for service accounts and Google's libraries for logins.
    form = serialization.PrivateFormat.TraditionalOpenSSL
    return key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()).decode()


def write(path: Path, text: str) -> None:
    """Whole or not at all, readable by its owner only."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(descriptor, "w") as file:
        file.write(text)
    temporary.replace(path)
