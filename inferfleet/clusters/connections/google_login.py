"""Requests that change nothing to Google's APIs: at which addresses, with which credentials."""

import importlib
import ipaddress
import json
import logging
import threading
import time
import warnings
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from inferfleet.clusters.connections.api import reason
from inferfleet.clusters.connections.refusals import CloudError

if TYPE_CHECKING:
    from google.auth.credentials import Credentials
    from google.auth.transport.requests import Request

# gcloud's settings api_endpoint_overrides/* as variables; each takes the place of the whole address:
# https://cloud.google.com/sdk/gcloud/reference/topic/configurations
_OVERRIDE = "CLOUDSDK_API_ENDPOINT_OVERRIDES_"
_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
_LOG_IN = (
    "Run `gcloud auth application-default login`, or name a service account's file in "
    "GOOGLE_APPLICATION_CREDENTIALS"
)
_INSTALL = "Install it where inferfleet is: pip install 'inferfleet[gke]'"
_CONNECT = "Fix the connection to Google Cloud, then try again"


@dataclass(frozen=True)
class Addresses:
    """The addresses of Google's APIs, without a slash at the end."""

    container: str = "https://container.googleapis.com"
    compute: str = "https://compute.googleapis.com/compute/v1"
    quotas: str = "https://cloudquotas.googleapis.com"
    services: str = "https://serviceusage.googleapis.com"
    projects: str = "https://cloudresourcemanager.googleapis.com"


GOOGLE = Addresses()


def addresses(environment: Mapping[str, str]) -> Addresses:
    """Return Google's own addresses, but for those that the environment overrides."""

    def address(name: str, default: str) -> str:
        return (environment.get(f"{_OVERRIDE}{name}") or default).rstrip("/")

    return Addresses(
        address("CONTAINER", GOOGLE.container),
        address("COMPUTE", GOOGLE.compute),
        address("CLOUDQUOTAS", GOOGLE.quotas),
        address("SERVICEUSAGE", GOOGLE.services),
        address("CLOUDRESOURCEMANAGER", GOOGLE.projects),
    )


class GoogleLogin:
    """Requests from any number of threads, with credentials that are loaded once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loaded: Credentials | CloudError | None = None
        self._of_thread = threading.local()

    def get(self, url: str, *, of: str, seconds: float) -> tuple[int, Mapping[str, Any]]:
        """Return HTTP status and JSON object of the answer; the object is empty for any other answer.

        `of` names the API in messages. Raises CloudError, also when no answer comes within `seconds`.
        """
        return self._ask("GET", url, None, of=of, seconds=seconds)

    def post(
        self, url: str, question: Mapping[str, Any], *, of: str, seconds: float
    ) -> tuple[int, Mapping[str, Any]]:
        """Return the same of a question that has a body, for methods that read and are POST all the same."""
        return self._ask("POST", url, json.dumps(question).encode(), of=of, seconds=seconds)

    def _ask(
        self, method: str, url: str, body: bytes | None, *, of: str, seconds: float
    ) -> tuple[int, Mapping[str, Any]]:
        try:
            from google.auth.exceptions import TransportError
        except ModuleNotFoundError as missing:
            raise CloudError(
                f"{of} is asked with the package google-auth, which is missing", _INSTALL
            ) from missing

        if not _protected(url):
            what = f"{of} is asked without TLS, and credentials are never sent so"
            raise CloudError(what, f"Give {_OVERRIDE}... an https:// address, or one of this machine")
        deadline = time.monotonic() + seconds
        headers = self._headers(url, seconds)
        if body is not None:
            headers["Content-Type"] = "application/json"
        left = max(deadline - time.monotonic(), 0.1)
        try:
            answer = self._request()(
                url, method=method, body=body, headers=headers, timeout=left, allow_redirects=False
            )
        except TransportError as error:
            if isinstance(error.__context__, ValueError):
                # Of a header that cannot be sent; its text is the header, and so the token.
                raise CloudError("the Google credentials cannot be sent in a header", _LOG_IN) from None
            raise CloudError(f"{of} does not answer: {reason(error)}", _CONNECT) from error
        return answer.status, _json_object(answer.data)

    def _headers(self, url: str, seconds: float) -> dict[str, str]:
        from google.auth.exceptions import GoogleAuthError, TransportError

        headers: dict[str, str] = {}
        with self._lock:
            if self._loaded is None:
                self._loaded = _credentials()
            if isinstance(self._loaded, CloudError):
                raise self._loaded
            try:
                request = partial(self._request(), timeout=seconds)
                self._loaded.before_request(request, "GET", url, headers)  # type: ignore[no-untyped-call]
            except TransportError as error:
                what = f"the server of Google credentials does not answer: {reason(error)}"
                raise CloudError(what, _CONNECT) from error
            except (GoogleAuthError, ValueError) as error:
                what = f"the Google credentials do not work: {_first_line(error)}"
                raise CloudError(what, _LOG_IN) from error
        return headers

    def _request(self) -> "Request":
        """Return this thread's own, which keeps its connections: `requests` promises nothing of threads."""
        from google.auth.transport.requests import Request

        if not hasattr(self._of_thread, "request"):
            self._of_thread.request = Request()
        request: Request = self._of_thread.request
        return request


def preload() -> None:
    """Import `google.auth`, which takes half a second or more, so that no request loses this time."""
    # Where it is not installed, the first request says so.
    with suppress(ModuleNotFoundError):
        importlib.import_module("google.auth.transport.requests")


def _credentials() -> "Credentials | CloudError":
    """Load the credentials. A failure is kept too: looking for a metadata server takes seconds, and must not
    be repeated for each cluster.
    """
    import google.auth
    from google.auth.exceptions import GoogleAuthError

    # It logs advice about projects and quotas, which every request names.
    logging.getLogger("google.auth").addHandler(logging.NullHandler())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            credentials, _ = google.auth.default(scopes=[_SCOPE])
    except (GoogleAuthError, OSError, ValueError) as error:
        return CloudError(f"there are no Google credentials: {_first_line(error)}", _LOG_IN)
    return credentials


def _protected(url: str) -> bool:
    """Return whether what is sent there is encrypted, or does not leave this machine."""
    parts = urlsplit(url)
    try:
        local = parts.hostname == "localhost" or ipaddress.ip_address(parts.hostname or "").is_loopback
    except ValueError:
        local = False
    return parts.scheme == "https" or local


def _json_object(text: bytes) -> Mapping[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _first_line(error: Exception) -> str:
    """Return the first line of a message; some errors of Google's library carry a whole answer behind it."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    lines = str(error.args[0] if error.args else error).strip().splitlines()
    return lines[0].rstrip(".")[:300] if lines else type(error).__name__
