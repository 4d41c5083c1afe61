"""A certificate of a server at 127.0.0.1 that vouches for itself."""

import base64
import ssl
from dataclasses import dataclass
from pathlib import Path

from sandbox.lws.certificate import self_signed


@dataclass(frozen=True)
class Certificate:
    """`ca` is base64 of PEM, as kubeconfigs and Google have it; `file` holds the same."""

    file: Path
    context: ssl.SSLContext
    ca: str


def certificate(folder: Path) -> Certificate:
    pem, key = self_signed("127.0.0.1", name="east")
    file = folder / "tls.pem"
    file.write_text(pem + key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return Certificate(file, context, base64.b64encode(pem.encode()).decode())
