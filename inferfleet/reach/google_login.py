"""Where Google's APIs are, and GET requests to them with the application-default credentials."""

import importlib
import json
import logging
import threading
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from inferfleet.reach.connect import reason
from inferfleet.reach.refusals import CloudError

# gcloud's settings api_endpoint_overrides/* as variables; each takes the place of the whole address:
# https://cloud.google.com/sdk/gcloud/reference/topic/configurations
_OVERRIDE = "CLOUDSDK_API_ENDPOINT_OVERRIDES_"


@dataclass(frozen=True)
class Addresses:
    """Without slashes at their ends."""

    container: str = "https://container.googleapis.com"
    compute: str = "https://compute.googleapis.com/compute/v1"
    quotas: str = "https://cloudquotas.googleapis.com"


GOOGLE = Addresses()


def addresses(environment: Mapping[str, str]) -> Addresses:
    """Google's own, where the environment names no others."""

    def of(name: str, default: str) -> str:
        return (environment.get(f"{_OVERRIDE}{name}") or default).rstrip("/")

    return Addresses(
        of("CONTAINER", GOOGLE.container), of("COMPUTE", GOOGLE.compute), of("CLOUDQUOTAS", GOOGLE.quotas)
    )


if TYPE_CHECKING:
    from google.auth.credentials import Credentials

_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
_LOGIN = (
    "Run `gcloud auth application-default login`, or name a service account's file in "
    "GOOGLE_APPLICATION_CREDENTIALS"
)
_MEND = "Mend the connection to Google Cloud, then try again"


def ready() -> None:
    """`google.auth` is imported: that takes half a second, more on a busy machine, and no answer should have
    less time for it.
    """
    importlib.import_module("google.auth.transport.requests")


class GoogleLogin:
    """Asks from any number of threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loaded: Credentials | CloudError | None = None

    def get(self, url: str, *, of: str, seconds: float) -> tuple[int, Mapping[str, Any]]:
        """HTTP status and JSON object (empty for anything else) of what stands at the URL.

        `of` says whose URL it is. Raises CloudError; waits for each answer so many seconds.
        """
        from google.auth.exceptions import TransportError
        from google.auth.transport.requests import Request

        deadline = time.monotonic() + seconds
        headers = self._headers(url, seconds)
        try:
            answer = Request()(url, headers=headers, timeout=max(deadline - time.monotonic(), 0.1))
        except TransportError as error:
            raise CloudError(f"{of} does not answer: {reason(error)}", _MEND) from error
        return answer.status, _body(answer.data)

    def _headers(self, url: str, seconds: float) -> dict[str, str]:
        from google.auth.exceptions import GoogleAuthError, TransportError
        from google.auth.transport.requests import Request

        headers: dict[str, str] = {}
        with self._lock:
            if self._loaded is None:
                self._loaded = _credentials()
            if isinstance(self._loaded, CloudError):
                raise self._loaded
            try:
                request = partial(Request(), timeout=seconds)
                self._loaded.before_request(request, "GET", url, headers)  # type: ignore[no-untyped-call]
            except TransportError as error:
                what = f"the server of Google credentials does not answer: {reason(error)}"
                raise CloudError(what, _MEND) from error
            except (GoogleAuthError, ValueError) as error:
                what = f"the Google credentials do not work: {_first_line(error)}"
                raise CloudError(what, _LOGIN) from error
        return headers


def _credentials() -> "Credentials | CloudError":
    """Loaded, or why not: looking for a metadata server takes seconds, and is not done for each cluster."""
    import google.auth
    from google.auth.exceptions import GoogleAuthError

    # Advice about projects and quotas, which are named in each request.
    logging.getLogger("google.auth").addHandler(logging.NullHandler())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found, _ = google.auth.default(scopes=[_SCOPE])
    except (GoogleAuthError, OSError, ValueError) as error:
        return CloudError(f"there are no Google credentials: {_first_line(error)}", _LOGIN)
    return found


def _body(data: bytes) -> Mapping[str, Any]:
    try:
        found = json.loads(data)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _first_line(error: Exception) -> str:
    """Of what Google's own library says; some of its errors carry a whole answer as second part."""
    lines = str(error.args[0] if error.args else error).strip().splitlines()
    return lines[0].rstrip(".")[:300] if lines else type(error).__name__
