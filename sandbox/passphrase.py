"""The passphrase of a stack's sandbox: random, made once, and kept out of version control.

Pulumi encrypts secrets in settings and state with a key made of a passphrase and the `encryptionsalt` of the
stack (https://www.pulumi.com/docs/iac/concepts/secrets).
"""

import base64
import hashlib
import re
import secrets
import shutil
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from sandbox.places import StackPlaces
from sandbox.private import write_file
from sandbox.problem import SandboxProblem
from sandbox.with_salt import salt_in

# From pulumi's sdk/go/common/resource/config/crypt.go and pkg/secrets/passphrase/manager.go.
_ROUNDS, _KEY_BYTES, _KNOWN = 1_000_000, 32, b"pulumi"
_SALT = re.compile(r"v1:([A-Za-z0-9+/=]+):v1:([A-Za-z0-9+/=]+):([A-Za-z0-9+/=]+)")


def make_passphrase(places: StackPlaces, state_salt: str) -> None:
    """Make the stack's passphrase where there is none.

    `state_salt` is the salt of the stack's state, or "". Raises SandboxProblem when the salt in the settings
    belongs to a passphrase that nobody here knows.
    """
    own, kept, written = _read(places.passphrase), _read(places.salt), salt_in(places.settings)
    salt = written or kept or state_salt
    if own and salt in ("", kept):
        return
    if salt and not (own and fits(own, salt)):
        raise SandboxProblem(
            f"the encryptionsalt of stack {places.stack} belongs to a passphrase that this sandbox does not "
            f"have. Remove the line encryptionsalt from {places.settings}, and set the values under secure: "
            "there again."
        )
    if salt:
        write_file(places.salt, salt + "\n")
    write_file(places.passphrase, (own or secrets.token_urlsafe(32)) + "\n")


def forget(places: StackPlaces) -> bool:
    """Remove passphrase and salt, unless settings hold secrets. Return whether they are removed."""
    text = places.settings.read_text(errors="replace") if places.settings.is_file() else ""
    if re.search(r"^\s+.*\bsecure:", text, re.MULTILINE) and places.passphrase.exists():
        return False
    shutil.rmtree(places.secrets, ignore_errors=True)
    return True


def fits(passphrase: str, salt: str) -> bool:
    """Return whether the salt was made for the passphrase. It takes half a second of computing."""
    parts = _SALT.fullmatch(salt)
    if parts is None:
        return False
    try:
        random, nonce, sealed = (base64.b64decode(part, validate=True) for part in parts.groups())
        key = hashlib.pbkdf2_hmac("sha256", passphrase.encode(), random, _ROUNDS, _KEY_BYTES)
        return AESGCM(key).decrypt(nonce, sealed, None) == _KNOWN
    except (ValueError, InvalidTag):
        return False


def _read(file: Path) -> str:
    return file.read_text().strip() if file.exists() else ""
