"""A client for one cluster: GET requests, and one that adds an Event. All end by the cluster's deadline.

The `kubernetes` package takes a second to import, so it is imported where it is first used.
"""

import base64
import binascii
import json
import re
import ssl
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import unquote

from pydantic import SecretStr

from inferfleet.desired.values import Connection
from inferfleet.reach.exec_command import credentials, last_line
from inferfleet.reach.kubeconfig import read_token
from inferfleet.reach.kubeconfig_text import Access, KubeconfigError, access, urlsplit_or_none

if TYPE_CHECKING:
    from kubernetes.client import ApiClient

# A server that does not take the connection in this time is not there; reading may last to the deadline.
CONNECT_SECONDS = 10.0
PAGE = 500
_JSON = "application/json"
# What became of an object (ADDED, MODIFIED or DELETED), and the object.
Event = tuple[str, dict[str, Any]]
_METADATA = f"application/json;as=PartialObjectMetadata{{}};g=meta.k8s.io;v=v1,{_JSON}"


class NoAnswerError(Exception):
    """The cluster did not answer; the text is the reason in a few words."""


class RefusedError(Exception):
    """The API server answered with an error status."""

    def __init__(self, status: int, path: str, method: str = "GET") -> None:
        self.status = status
        self.path = path
        self.method = method
        super().__init__(f"{path}: status {status}")


class Api:
    """Requests to the API server of one cluster. Each raises NoAnswerError or RefusedError.

    They are GET requests but for `add_event`: everything else on a cluster is written by Pulumi.
    """

    def __init__(self, client: "ApiClient", server: str, deadline: float) -> None:
        self.server = server
        self._client = client
        self._deadline = deadline

    def get(
        self, path: str, *, metadata_only: bool = False, query: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Return the object at a path, or of it only the metadata."""
        return self._get(path, _METADATA.format("") if metadata_only else _JSON, query or {})

    def items(
        self, path: str, *, metadata_only: bool = False, query: Mapping[str, Any] | None = None
    ) -> Iterator[dict[str, Any]]:
        """Yield every item of a list, which is read page by page."""
        accept = _METADATA.format("List") if metadata_only else _JSON
        token: str | None = None
        while token is None or token:
            page = self._get(path, accept, {"limit": PAGE, **(query or {}), "continue": token})
            yield from page.get("items") or ()
            token = (page.get("metadata") or {}).get("continue") or ""

    def follow(self, path: str, *, query: Mapping[str, Any], seconds: int) -> Iterator[tuple[Event, ...]]:
        """Yield the items of a list as added, and then again and again what became of them in so many
        seconds, as events of a watch. It ends when the API server no longer knows where it was.
        """
        page = self.get(path, query=query)
        yield tuple(("ADDED", item) for item in page.get("items") or ())
        version = (page.get("metadata") or {}).get("resourceVersion")
        while version:
            asked = {**query, "watch": 1, "timeoutSeconds": seconds, "resourceVersion": version}
            events = _events(self._send("GET", path, _JSON, asked, as_text=True))
            yield tuple(event for event in events if event[0] in ("ADDED", "MODIFIED", "DELETED"))
            if any(kind == "ERROR" for kind, _ in events):
                return
            if events:
                version = events[-1][1]["metadata"]["resourceVersion"]

    def add_event(self, namespace: str, event: Mapping[str, Any]) -> None:
        """Add an Event of `events.k8s.io/v1` to a namespace."""
        self._send("POST", f"/apis/events.k8s.io/v1/namespaces/{namespace}/events", _JSON, {}, event)

    def _get(self, path: str, accept: str, query: Mapping[str, Any]) -> dict[str, Any]:
        return _object(self._send("GET", path, accept, query))

    def _send(
        self,
        method: Literal["GET", "POST"],
        path: str,
        accept: str,
        query: Mapping[str, Any],
        body: Mapping[str, Any] | None = None,
        *,
        as_text: bool = False,
    ) -> Any:
        """Return what is answered: as bytes where it is wanted `as_text`, else as read from JSON."""
        from kubernetes.client.exceptions import ApiException
        from urllib3.exceptions import HTTPError

        left = self._deadline - time.monotonic()
        if left <= 0:
            raise NoAnswerError("its answers take too long")
        try:
            answer = self._client.call_api(
                path,
                method,
                query_params=[(key, value) for key, value in query.items() if value is not None],
                header_params={"Accept": accept} | ({"Content-Type": _JSON} if body else {}),
                body=body,
                auth_settings=["BearerToken"],
                response_type="object",
                _return_http_data_only=True,
                _preload_content=not as_text,
                _request_timeout=(min(left, CONNECT_SECONDS), left),
            )
            return answer.data if as_text else answer
        except ApiException as error:
            if not error.status:
                raise NoAnswerError(last_line(str(error.reason))) from error
            raise RefusedError(error.status, path, method) from error
        except (HTTPError, OSError) as error:
            raise NoAnswerError(reason(error)) from error
        except ValueError:
            # Its text may be a header, and so a credential.
            raise NoAnswerError("a request cannot be sent to its address with its credentials") from None


def _object(answer: Any) -> dict[str, Any]:
    if not isinstance(answer, dict):
        raise NoAnswerError("what answers there is not a Kubernetes API server")
    return answer


def _events(answer: bytes) -> list[Event]:
    """Return the events of a watch, of which each line has one."""
    try:
        lines = [json.loads(line) for line in answer.splitlines()]
        return [(line["type"], line["object"]) for line in lines]
    except (ValueError, TypeError, KeyError):
        raise NoAnswerError("what answers there is not a Kubernetes API server") from None


def connect(connection: Connection, text: str, *, seconds: float) -> Api:
    """Return a client for the cluster of a kubeconfig's text, whose requests all end within `seconds`.

    Raises KubeconfigError, NoAnswerError, or CommandError when its credential command fails.
    """
    from kubernetes.client import ApiClient, Configuration
    from kubernetes.config import ConfigException
    from kubernetes.config.kube_config import KubeConfigLoader

    deadline = time.monotonic() + seconds
    chosen = access(text, connection.context)
    configuration = Configuration()
    # urllib3 tries three times by default; a cluster that is gone would take three times as long to report.
    # It also keeps requests, and the credentials in them, from following a redirect.
    configuration.retries = False
    try:
        loader = KubeConfigLoader(_only(chosen, _user(chosen, seconds)), config_base_path="")
        loader.load_and_set(configuration)
        _trim_token(loader, configuration)
        # As kubectl does; the client would use certificates of its own, and not those this machine trusts.
        configuration.ssl_ca_cert = configuration.ssl_ca_cert or ssl.get_default_verify_paths().cafile
        _set_proxy(chosen, configuration)
        client = ApiClient(configuration)
    except binascii.Error:
        raise KubeconfigError("a certificate or key in it is not base64") from None
    except (ConfigException, OSError, ValueError, TypeError, KeyError) as error:
        # Its text may quote what it could not read.
        raise KubeconfigError(f"its credentials cannot be loaded ({type(error).__name__})") from None
    return Api(client, chosen.server, deadline)


def _trim_token(loader: Any, configuration: Any) -> None:
    """Take spaces and newlines off the ends of a token, as kubectl does with those of a file.

    Raises KubeconfigError for a token that no header can carry; the client would quote it in its error.
    """
    header = getattr(loader, "token", None)
    if header is None:
        return
    scheme, _, token = header.partition(" ")
    if not re.fullmatch(r"[\x21-\x7e]+", token.strip()):
        raise KubeconfigError("its token is empty, or has characters that no HTTP header can carry")
    # The loader hands it to the configuration again before each request.
    loader.token = configuration.api_key["authorization"] = f"{scheme} {token.strip()}"


def _set_proxy(chosen: Access, configuration: Any) -> None:
    """Ask through the proxy that the kubeconfig names, which the client overlooks."""
    from urllib3.util import make_headers

    address = chosen.cluster.get("proxy-url")
    if not address:
        return
    url = urlsplit_or_none(address, ("http", "https"))
    if url is None:
        raise KubeconfigError("its proxy-url is of a kind that only the engine can use, and not these checks")
    configuration.proxy = f"{url.scheme}://{url.netloc.rpartition('@')[2]}"
    configuration.no_proxy = None
    if url.username:
        name = f"{unquote(url.username)}:{unquote(url.password or '')}"
        configuration.proxy_headers = make_headers(proxy_basic_auth=name)


def _user(chosen: Access, seconds: float) -> dict[str, Any]:
    """Return the user with its credentials as text: the client itself would read any file, wait for any
    command and only log its failure, and refresh tokens over connections that it does not check.
    """
    user = dict(chosen.user)
    command, file = user.pop("exec", None), user.pop("tokenFile", None)
    provider = user.pop("auth-provider", None) or {}
    # Of a token and a file of one, client-go uses what is in the file.
    if user.get("token") and not file:
        return user
    if file or provider:
        config = provider.get("config") or {}
        token = read_token(file).get_secret_value() if file else str(config.get("id-token") or "")
        if not token:
            # Without it the request would be an anonymous one.
            raise KubeconfigError(f"its {'tokenFile' if file else 'auth-provider'} has no token")
        return user | {"token": token}
    if command is None:
        return user
    given = credentials(command, chosen.cluster, seconds=seconds)
    if given.token:
        user["token"] = given.token.get_secret_value()
    if given.certificate and given.key:
        user["client-certificate-data"] = _base64(given.certificate)
        user["client-key-data"] = _base64(given.key)
    return user


def _base64(text: SecretStr) -> str:
    return base64.b64encode(text.get_secret_value().encode()).decode()


def _only(chosen: Access, user: dict[str, Any]) -> dict[str, Any]:
    return {
        "current-context": "it",
        "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
        "clusters": [{"name": "it", "cluster": dict(chosen.cluster)}],
        "users": [{"name": "it", "user": user}],
    }


def reason(error: BaseException) -> str:
    """Return why a request failed, in a few words, from the innermost error that says it."""
    from urllib3 import exceptions

    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, exceptions.NameResolutionError):
            return "its name cannot be resolved"
        # A refused connection is an error of the timeout family in urllib3.
        if isinstance(cause, exceptions.TimeoutError) and not isinstance(
            cause, exceptions.NewConnectionError
        ):
            return "no answer in time"
        if isinstance(cause, OSError) and cause.strerror:
            return cause.strerror
        if isinstance(cause, ConnectionError):
            return "it closed the connection without an answer"
        cause = cause.__cause__ or cause.__context__
    return last_line(str(error)) or type(error).__name__
