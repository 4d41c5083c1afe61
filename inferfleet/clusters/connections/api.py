"""Requests to the API server of one cluster, and which kinds it serves, at which paths.

Requests read, but for one that adds an Event, one that goes on to a pod or Service, one that asks what the
credentials may do, and one that shows an object; of the last two the server keeps nothing.
"""

import json
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from inferfleet.clusters.connections.exec_command import last_line

if TYPE_CHECKING:
    from kubernetes.client import ApiClient

# A server that does not take the connection in this time is not there; reading may last to the deadline.
CONNECT_SECONDS = 10.0
PAGE = 500
# As often as client-go tries again (rest/with_retry.go) where a server says after how long.
_LATER_TRIES = 10
_JSON = "application/json"
_APPLY = "application/apply-patch+yaml"
# What became of an object (ADDED, MODIFIED or DELETED), and the object.
Event = tuple[str, dict[str, Any]]
_METADATA = f"application/json;as=PartialObjectMetadata{{}};g=meta.k8s.io;v=v1,{_JSON}"
# The form in which Pulumi's provider asks for it: each is built by itself.
_SCHEMA = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
ApiKind = tuple[str, str]  # (apiVersion, kind)
# Up to this many namespaces are listed one by one, more of them in one list over the whole cluster.
FEW_NAMESPACES = 4


@dataclass(frozen=True)
class Answered:
    """What a server answered to a request, whatever its HTTP status."""

    status: int
    text: str


class NoAnswerError(Exception):
    """The cluster did not answer; the text is the reason in a few words."""


class RefusedError(Exception):
    """The API server answered with an error status."""

    def __init__(self, status: int, path: str, method: str = "GET", body: str = "") -> None:
        self.status = status
        self.body = body
        self.path = path
        self.method = method
        super().__init__(f"{path}: status {status}")


class Api:
    """Requests to the API server of one cluster. Each raises NoAnswerError or RefusedError.

    They are GET requests but for `add_event`, and for `may`, `dry_run` and `proxied`, which store nothing:
    everything else on a cluster is written by Pulumi.
    """

    def __init__(self, client: "ApiClient", server: str, deadline: float) -> None:
        self.server = server
        self.deadline = deadline
        self._client = client

    def get(
        self, path: str, *, metadata_only: bool = False, query: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Return the object at a path, or of it only the metadata."""
        return self._get(path, _METADATA.format("") if metadata_only else _JSON, query or {})

    def last_line(self, path: str, *, query: Mapping[str, Any]) -> str:
        """Return the last line of a log, "" for an empty one."""
        lines = _text(self._send("GET", path, "*/*", {**query, "tailLines": 1}, as_text=True)).splitlines()
        return lines[-1] if lines else ""

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
            watch_query = {**query, "watch": 1, "timeoutSeconds": seconds, "resourceVersion": version}
            events = _events(self._send("GET", path, _JSON, watch_query, as_text=True))
            yield tuple(event for event in events if event[0] in ("ADDED", "MODIFIED", "DELETED"))
            if any(kind == "ERROR" for kind, _ in events):
                return
            if events:
                version = events[-1][1]["metadata"]["resourceVersion"]

    def add_event(self, namespace: str, event: Mapping[str, Any]) -> None:
        """Add an Event of `events.k8s.io/v1` to a namespace."""
        path = f"/apis/events.k8s.io/v1/namespaces/{namespace}/events"
        _object(self._send("POST", path, _JSON, {}, event))

    def may(self, verb: str, group: str, plural: str, namespace: str) -> bool:
        """Return whether the credentials may do this to objects of a kind; a namespace "" means all of them.

        https://kubernetes.io/docs/reference/access-authn-authz/authorization/#checking-api-access
        """
        attributes = {"verb": verb, "group": group, "resource": plural, "namespace": namespace}
        api = "authorization.k8s.io/v1"
        review = {
            "apiVersion": api,
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": attributes},
        }
        answer = self._send("POST", f"/apis/{api}/selfsubjectaccessreviews", _JSON, {}, review)
        return bool((_object(answer).get("status") or {}).get("allowed"))

    def dry_run(self, path: str, manifest: Mapping[str, Any], *, manager: str, force: bool) -> None:
        """Have the API server judge the object at a path as if server-side apply wrote it, and keep nothing.

        https://kubernetes.io/docs/reference/using-api/api-concepts/#dry-run
        """
        query = {"dryRun": "All", "fieldManager": manager, "force": "true" if force else "false"}
        self._send("PATCH", path, _METADATA.format(""), query, manifest, content=_APPLY)

    def schema(self) -> bytes:
        """Return the schema of all kinds, which the API server builds when it is asked for it."""
        schema: bytes = self._send("GET", "/openapi/v2", _SCHEMA, {}, as_text=True)
        return schema

    def proxied(self, path: str, body: Mapping[str, Any] | None = None) -> Answered:
        """Return what is answered at a path behind the subresource `proxy` of a pod or Service, by it or by
        the API server itself; asked with POST where there is a body.

        The API server takes the header Authorization for itself and does not hand it on
        (k8s.io/apiserver 0.36, pkg/endpoints/filters/authentication.go), so nothing there gets a key of its
        own, and our credentials stay here.
        """
        try:
            answer = self._send_once("POST" if body else "GET", path, _JSON, {}, body, as_text=True)
        except RefusedError as refused:
            return Answered(refused.status, refused.body)
        return Answered(200, _text(answer))

    def _get(self, path: str, accept: str, query: Mapping[str, Any]) -> dict[str, Any]:
        return _object(self._send("GET", path, accept, query))

    def _send(
        self,
        method: Literal["GET", "POST", "PATCH"],
        path: str,
        accept: str,
        query: Mapping[str, Any],
        body: Mapping[str, Any] | None = None,
        *,
        as_text: bool = False,
        content: str = _JSON,
    ) -> Any:
        """Return what is answered: as bytes where it is wanted `as_text`, else as read from JSON.

        A server that asks for a later try, as it does while it begins to store a new kind, gets one.
        """
        tries = 0
        while True:
            try:
                return self._send_once(method, path, accept, query, body, as_text=as_text, content=content)
            except _LaterError as error:
                tries += 1
                if tries > _LATER_TRIES or time.monotonic() + error.seconds >= self.deadline:
                    raise
                time.sleep(error.seconds)

    def _send_once(
        self,
        method: Literal["GET", "POST", "PATCH"],
        path: str,
        accept: str,
        query: Mapping[str, Any],
        body: Mapping[str, Any] | None,
        *,
        as_text: bool,
        content: str = _JSON,
    ) -> Any:
        """Return the answer to one request. Raises NoAnswerError without one, RefusedError where the server
        refuses, and _LaterError where it says when to ask again.
        """
        from kubernetes.client.exceptions import ApiException
        from urllib3.exceptions import HTTPError

        seconds_left = self.deadline - time.monotonic()
        if seconds_left <= 0:
            raise NoAnswerError("its answers take too long")
        try:
            answer = self._client.call_api(
                path,
                method,
                query_params=[(key, value) for key, value in query.items() if value is not None],
                header_params={"Accept": accept} | ({"Content-Type": content} if body else {}),
                body=body,
                auth_settings=["BearerToken"],
                response_type="object",
                _return_http_data_only=True,
                _preload_content=not as_text,
                _request_timeout=(min(seconds_left, CONNECT_SECONDS), seconds_left),
            )
            return answer.data if as_text else answer
        except ApiException as error:
            if not error.status:
                raise NoAnswerError(last_line(str(error.reason))) from error
            later = str((error.headers or {}).get("Retry-After", ""))
            if later.isdecimal() and (error.status == 429 or error.status >= 500):
                raise _LaterError(
                    error.status, path, method, _text(error.body), seconds=int(later)
                ) from error
            raise RefusedError(error.status, path, method, _text(error.body)) from error
        except (HTTPError, OSError) as error:
            raise NoAnswerError(reason(error)) from error
        except ValueError:
            # Its text may be a header, and so a credential.
            raise NoAnswerError("a request cannot be sent to its address with its credentials") from None


class _LaterError(RefusedError):
    """The API server wants to be asked again after so many seconds."""

    def __init__(self, status: int, path: str, method: str, body: str, *, seconds: int) -> None:
        self.seconds = seconds
        super().__init__(status, path, method, body)


def _text(body: bytes | str | None) -> str:
    return body.decode(errors="replace") if isinstance(body, bytes) else body or ""


def _object(answer: Any) -> dict[str, Any]:
    """Return the answer. Raises NoAnswerError where it is no object, so no API server answered."""
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


@dataclass(frozen=True)
class ApiResource:
    """A kind as the API server serves it; `root` is the path of its group and version."""

    root: str
    plural: str
    namespaced: bool

    def path(self, namespace: str | None = None, name: str | None = None) -> str:
        """Return the path of an object, or of the list of all, in one namespace or in the whole cluster."""
        within = f"/namespaces/{namespace}" if namespace and self.namespaced else ""
        return f"{self.root}{within}/{self.plural}" + (f"/{name}" if name else "")


def served_kinds(api: Api, kinds: Iterable[ApiKind]) -> dict[ApiKind, ApiResource]:
    """Return where the given kinds are listed, without those that the API server does not serve."""
    wanted = set(kinds)
    resources: dict[ApiKind, ApiResource] = {}
    for version in sorted({version for version, _ in wanted}):
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        try:
            offered = api.get(root).get("resources") or []
        except RefusedError as refused:
            if refused.status != 404:
                raise
            continue
        for entry in offered:
            kind = (version, str(entry.get("kind")))
            if kind in wanted and "/" not in entry["name"]:  # deployments, but not deployments/scale
                resources[kind] = ApiResource(root, entry["name"], bool(entry.get("namespaced")))
    return resources


def served_versions(api: Api, group: str) -> tuple[str, ...]:
    """Return the versions of an API group that the server serves; none when it does not know the group."""
    try:
        versions = api.get(f"/apis/{group}").get("versions") or []
    except RefusedError as refused:
        if refused.status != 404:
            raise
        return ()
    return tuple(str(version.get("version")) for version in versions)


def newest(api: Api, group: str, kind: str) -> ApiResource | None:
    """Return where a kind is listed in the version of its group that the server names first of those with it.

    That is the newest stable version, or the newest of the others.
    """
    for version in served_versions(api, group):
        wanted = (f"{group}/{version}", kind)
        if resource := served_kinds(api, [wanted]).get(wanted):
            return resource
    return None


def lists(resource: ApiResource, namespaces: set[str]) -> list[str]:
    """Return the paths of a few lists that have all objects of a kind in these namespaces."""
    few = resource.namespaced and len(namespaces) <= FEW_NAMESPACES
    return [resource.path(namespace) for namespace in sorted(namespaces)] if few else [resource.path()]


def exists(api: Api, path: str) -> bool:
    """Return whether there is an object at this path."""
    try:
        api.get(path, metadata_only=True)
    except RefusedError as refused:
        if refused.status != 404:
            raise
        return False
    return True


def readable(api: Api, path: str) -> dict[str, Any] | None:
    """Return an object or list, None where there is none, or where the credentials may not read it."""
    try:
        return api.get(path)
    except RefusedError as refused:
        if refused.status not in (403, 404):
            raise
        return None
