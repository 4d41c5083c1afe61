"""The passphrase of a stack's sandbox: random, made once, and kept out of version control.

Pulumi encrypts secrets in settings and state with a key made of a passphrase and the `encryptionsalt` of the
stack (https://www.pulumi.com/docs/iac/concepts/secrets). Earlier versions of the sandbox had an empty one for
all stacks, so that everybody could read a secret who could read the settings.
"""

import base64
import hashlib
import os
import re
import secrets
import shutil
import subprocess
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from sandbox.places import StackPlaces
from sandbox.private import write_file
from sandbox.problem import SandboxProblem
from sandbox.with_salt import salt_in, salted

# From pulumi's sdk/go/common/resource/config/crypt.go and pkg/secrets/passphrase/manager.go.
_ROUNDS, _KEY_BYTES, _KNOWN = 1_000_000, 32, b"pulumi"
_SALT = re.compile(r"v1:([A-Za-z0-9+/=]+):v1:([A-Za-z0-9+/=]+):([A-Za-z0-9+/=]+)")
_EMPTY = ""


def make_passphrase(places: StackPlaces, state_salt: str) -> bool:
    """Make the stack's passphrase where there is none. Return whether its secrets still have the empty one.

    `state_salt` is the salt of the stack's state, or "". Raises SandboxProblem when the salt in the settings
    belongs to a passphrase that nobody here knows.
    """
    own, kept, written = _read(places.passphrase), _read(places.salt), salt_in(places.settings)
    salt = written or kept or state_salt
    if own and salt in ("", kept):
        return False
    if not own:
        own = _read(_next(places)) or secrets.token_urlsafe(32)
        # It counts only when nothing needs the old one any more; after a crash it is looked at again.
        write_file(_next(places), own + "\n")
    if salt and not fits(own, salt):
        if fits(_EMPTY, salt):
            write_file(places.salt, salt + "\n")
            return True
        raise SandboxProblem(
            f"the encryptionsalt of stack {places.stack} belongs to a passphrase that this sandbox does not "
            f"have. Remove the line encryptionsalt from {places.settings}, and set the values under secure: "
            "there again."
        )
    if salt:
        write_file(places.salt, salt + "\n")
    keep(places, own)
    return False


def re_encrypt(places: StackPlaces, pulumi: Path, variables: dict[str, str]) -> None:
    """Encrypt settings and state, which have the empty passphrase, with that of the stack."""
    own = _read(_next(places)) or _read(places.passphrase)
    with salted(places.settings, places.salt):
        done = subprocess.run(
            [str(pulumi), "stack", "change-secrets-provider", "passphrase", "--stack", places.stack],
            cwd=places.root,
            env={**os.environ, **variables, "PULUMI_CONFIG_PASSPHRASE": _EMPTY},
            input=own + "\n",
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode != 0:
        down = f"`inferfleet sandbox down --stack {places.stack}`"
        raise SandboxProblem(
            f"the secrets of stack {places.stack} have an empty passphrase, and pulumi cannot give them one "
            f"of their own: {done.stderr.strip()}. Run {down}, which removes clusters and state, and `up`."
        )
    keep(places, own)


def keep(places: StackPlaces, passphrase: str) -> None:
    """Make this the passphrase of the stack from now on."""
    write_file(places.passphrase, passphrase + "\n")
    _next(places).unlink(missing_ok=True)


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


def _next(places: StackPlaces) -> Path:
    return places.secrets / "next"


def _read(file: Path) -> str:
    return file.read_text().strip() if file.exists() else ""
