"""The certificate authority of a simulated cloud, and the one certificate that all its servers share."""

import datetime
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

from sandbox.private import write_file

# Kubernetes gives this group every right.
ADMIN_GROUP = "system:masters"

# RFC 5280 asks for the use of an authority's key, and in every certificate for the identifiers of its own key
# and its authority's. Python from 3.13 on refuses certificates without them.
_SIGNS = x509.KeyUsage(
    key_cert_sign=True,
    crl_sign=True,
    digital_signature=False,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    encipher_only=False,
    decipher_only=False,
)


def make_pki(folder: Path) -> None:
    """Write ca.* and admin.*: the authority, and its certificate for all servers and the administrator."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    authority, key = (rsa.generate_private_key(public_exponent=65537, key_size=2048) for _ in range(2))
    issuer = _name("inferfleet sandbox")
    root = (
        _certificate(issuer, issuer, authority, authority)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(_SIGNS, critical=True)
    )
    subject = _name("kubernetes-admin", ADMIN_GROUP)
    names = ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"]
    addresses = [ipaddress.ip_address(text) for text in ("127.0.0.1", "::1")]
    leaf = _certificate(subject, issuer, key, authority).add_extension(
        x509.SubjectAlternativeName(
            [*(x509.DNSName(name) for name in names), *(x509.IPAddress(address) for address in addresses)]
        ),
        critical=False,
    )
    for name, builder, own_key in (("ca", root, authority), ("admin", leaf, key)):
        signed = builder.sign(authority, hashes.SHA256())
        write_file(folder / f"{name}.key", _pem(own_key))
        write_file(folder / f"{name}.crt", signed.public_bytes(serialization.Encoding.PEM).decode())


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
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.public_key()), critical=False
        )
    )


def _pem(key: rsa.RSAPrivateKey) -> str:
    # In PKCS #1, which Kubernetes reads for service accounts and Google's libraries for logins.
    form = serialization.PrivateFormat.TraditionalOpenSSL
    return key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()).decode()
