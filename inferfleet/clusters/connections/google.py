"""Google's APIs: requests that change nothing, with which credentials, and what their errors mean.

Errors are of the form of https://cloud.google.com/apis/design/errors: code, status, message, details.
"""

import importlib
import ipaddress
import json
import logging
import re
import threading
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

from inferfleet.cloud.gke.gateways import PURPOSE
from inferfleet.cloud.gke.quotas import FAMILIES
from inferfleet.cloud.values import CloudCluster
from inferfleet.clusters.connections.api import reason

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
_DISABLED = ("SERVICE_DISABLED", "accessNotConfigured")
# Parts of messages, for answers without details: "has not been used in project 1 before or it is disabled"
# and "is not enabled for this project".
_DISABLED_WORDS = ("it is disabled", "is not enabled")
Answer = Mapping[str, Any]
_GROUP = re.compile(r".*/projects/([^/]+)/zones/([^/]+)/instanceGroupManagers/([^/]+)")
_PAGE = 500


@dataclass(frozen=True)
class Addresses:
    """The addresses of Google's APIs, without a slash at the end."""

    container: str = "https://container.googleapis.com"
    compute: str = "https://compute.googleapis.com/compute/v1"
    quotas: str = "https://cloudquotas.googleapis.com"
    services: str = "https://serviceusage.googleapis.com"
    projects: str = "https://cloudresourcemanager.googleapis.com"
    policies: str = "https://orgpolicy.googleapis.com"


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
        address("ORGPOLICY", GOOGLE.policies),
    )


class CloudError(Exception):
    """Google Cloud could not be asked: what is wrong, and what to do."""

    def __init__(self, what: str, next_step: str) -> None:
        self.what = what
        self.next_step = next_step
        super().__init__(what)


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
        """Return status and body of Google's answer. Raises CloudError where none comes."""
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
        seconds_left = max(deadline - time.monotonic(), 0.1)
        try:
            answer = self._request()(
                url, method=method, body=body, headers=headers, timeout=seconds_left, allow_redirects=False
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


@dataclass(frozen=True)
class Service:
    """One of Google's APIs: what it is called, the name that enables it, and the role that may read it."""

    called: str
    name: str
    role: str


CONTAINER = Service("the Container API", "container.googleapis.com", "roles/container.clusterViewer")
COMPUTE = Service("the Compute API", "compute.googleapis.com", "roles/compute.viewer")
QUOTAS = Service("the Cloud Quotas API", "cloudquotas.googleapis.com", "roles/cloudquotas.viewer")
SERVICES = Service(
    "the Service Usage API", "serviceusage.googleapis.com", "roles/serviceusage.serviceUsageViewer"
)
PROJECTS = Service("the Cloud Resource Manager API", "cloudresourcemanager.googleapis.com", "roles/browser")
POLICIES = Service("the Organization Policy API", "orgpolicy.googleapis.com", "roles/orgpolicy.policyViewer")


def error_of(status: int, error: Any, service: Service, *, project: str, address: str) -> CloudError:
    """Return what an error answer means, from its HTTP status and its member `error`, if it has one."""
    body: dict[str, Any] = error if isinstance(error, dict) else {}
    message = str(body.get("message") or "").strip()
    words = message.splitlines()[0].rstrip(".")[:300] if message else "no reason given"
    reasons = _reasons(body)
    if status == 401:
        step = "Run `gcloud auth application-default login`"
    elif status == 403 and (reasons & set(_DISABLED) or any(phrase in message for phrase in _DISABLED_WORDS)):
        step = f"Run `gcloud services enable {service.name} --project {project}`"
    elif status == 403 and "USER_PROJECT_DENIED" in reasons:
        step = f"Run `gcloud auth application-default set-quota-project {project}`"
    elif status == 403:
        step = f"Give whoever runs this the role {service.role} in project {project}"
    elif status == 429 or status >= 500:
        step = "Try again in a minute"
    else:
        step = "Look at project and region in its document"
    return CloudError(f"{service.called} at {address} refuses ({status}): {words}", step)


def _reasons(body: dict[str, Any]) -> set[str]:
    """Return the reasons for machines, from the new form of errors (`details`) and the old one (`errors`)."""
    details = [*_list(body.get("details")), *_list(body.get("errors"))]
    return {str(detail["reason"]) for detail in details if isinstance(detail, dict) and "reason" in detail}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


@dataclass(frozen=True)
class ControlPlane:
    """The control plane of one cluster. `status` and `message` are Google's words.

    `host` has no scheme, and is None while there is no endpoint of the kind that the document asks for. `ca`
    is base64 of PEM, None for the DNS endpoint. A `private` host answers only inside the cluster's network.
    """

    status: str
    message: str
    host: str | None
    ca: str | None
    private: bool


@dataclass(frozen=True)
class PoolStatus:
    """One node pool, in Google's words."""

    name: str
    status: str
    message: str


class ContainerApi:
    """Requests to the Container API, from any number of threads, with credentials that are loaded once.

    Every method waits up to `seconds` for each answer, and raises CloudError.
    """

    def __init__(self, address: str, login: GoogleLogin | None = None) -> None:
        self.address = address.rstrip("/")
        self._login = login or GoogleLogin()

    def control_plane(self, plan: CloudCluster, *, seconds: float) -> ControlPlane | None:
        """Return the control plane of a cluster, None where there is no such cluster."""
        cluster = self.cluster(plan, seconds=seconds)
        return _control_plane(cluster, plan) if cluster is not None else None

    def node_pools(self, plan: CloudCluster, *, seconds: float) -> tuple[PoolStatus, ...]:
        """Return the node pools of a cluster, none where there is no such cluster."""
        pools = (self.cluster(plan, seconds=seconds) or {}).get("nodePools")
        return tuple(
            PoolStatus(pool["name"], _text(pool.get("status")) or "", _text(pool.get("statusMessage")) or "")
            for pool in (pools if isinstance(pools, list) else ())
            if isinstance(pool, dict) and _text(pool.get("name"))
        )

    def cluster(self, plan: CloudCluster, *, seconds: float) -> Answer | None:
        """Return the answer of clusters.get, with all node pools; None where there is no such cluster."""
        path = f"projects/{plan.project}/locations/{plan.region}/clusters/{plan.cloud_name}"
        api = f"the Container API at {self.address}"
        status, body = self._login.get(f"{self.address}/v1/{path}", of=api, seconds=seconds)
        if status == 404 and "error" in body:
            return None
        if status != 200:
            raise error_of(status, body.get("error"), CONTAINER, project=plan.project, address=self.address)
        if not isinstance(body.get("status"), str):
            raise CloudError(
                f"what answers at {self.address} is not the Container API", "Fix the address, or unset it"
            )
        return body

    def versions(self, plan: CloudCluster, channel: str, *, seconds: float) -> tuple[str, ...]:
        """Return the versions that a cluster of a release channel may begin with in the region, newest first.

        https://docs.cloud.google.com/kubernetes-engine/docs/reference/rest/v1/projects.locations/getServerConfig
        """
        path = f"projects/{plan.project}/locations/{plan.region}/serverConfig"
        api = f"the Container API at {self.address}"
        status, body = self._login.get(f"{self.address}/v1/{path}", of=api, seconds=seconds)
        if status != 200:
            raise error_of(status, body.get("error"), CONTAINER, project=plan.project, address=self.address)
        channels = body.get("channels")
        return tuple(
            version
            for channel_entry in (channels if isinstance(channels, list) else ())
            if isinstance(channel_entry, dict) and channel_entry.get("channel") == channel
            for version in channel_entry.get("validVersions") or ()
            if _text(version)
        )


def _control_plane(cluster: Answer, plan: CloudCluster) -> ControlPlane:
    message = _text(cluster.get("statusMessage")) or ""
    if plan.endpoint == "DNS":
        dns = _mapping(_mapping(cluster.get("controlPlaneEndpointsConfig")).get("dnsEndpointConfig"))
        private = not dns.get("allowExternalTraffic", False)
        return ControlPlane(cluster["status"], message, _text(dns.get("endpoint")), None, private)
    # With the public one disabled, `endpoint` is the private one too.
    host = _text(_mapping(cluster.get("privateClusterConfig")).get("privateEndpoint"))
    if plan.endpoint == "IP":
        host = _text(cluster.get("endpoint"))
    ca = _text(_mapping(cluster.get("masterAuth")).get("clusterCaCertificate"))
    return ControlPlane(cluster["status"], message, host if ca else None, ca, _is_private(host or ""))


def _is_private(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return False


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


class ComputeApi:
    """Requests to the Compute and the Cloud Quotas API, from any number of threads.

    Every method waits up to `seconds` for its answer, and raises CloudError.
    """

    def __init__(self, google: Addresses, login: GoogleLogin, *, seconds: float) -> None:
        self._google = google
        self._login = login
        self._seconds = seconds

    def project(self, project: str) -> Answer:
        """Return the answer of projects.get."""
        return self._existing(COMPUTE, self._google.compute, f"projects/{project}", project)

    def region(self, project: str, region: str) -> Answer:
        """Return the answer of regions.get."""
        path = f"projects/{project}/regions/{region}"
        return self._existing(COMPUTE, self._google.compute, path, project)

    def zones(self, project: str, region: str) -> tuple[str, ...]:
        """Return the zones of a region, of which Google names one at least."""
        urls = self.region(project, region).get("zones")
        names = sorted(str(url).rpartition("/")[2] for url in (urls if isinstance(urls, list) else ()))
        if not names:
            what = f"{COMPUTE.called} at {self._google.compute} names no zones of {region}"
            raise CloudError(what, "Try again, and look at the region in its document")
        return tuple(names)

    def has_machine_type(self, project: str, zone: str, machine_type: str) -> bool:
        """Return whether machineTypes.get knows the machine type in the zone."""
        path = f"projects/{project}/zones/{zone}/machineTypes/{machine_type}"
        return self._get(COMPUTE, self._google.compute, path, project) is not None

    def gpu_families(self, project: str) -> Answer:
        """Return the quotas of a project by GPU family."""
        return self._existing(QUOTAS, self._google.quotas, f"v1/projects/{project}/{FAMILIES}", project)

    def reservation(self, project: str, zone: str, name: str) -> Answer | None:
        """Return the answer of reservations.get, None where there is no reservation of that name."""
        path = f"projects/{project}/zones/{zone}/reservations/{name}"
        return self._get(COMPUTE, self._google.compute, path, project)

    def subnetwork(self, project: str, region: str, name: str) -> Answer | None:
        """Return the answer of subnetworks.get, None where there is no subnetwork of that name."""
        path = f"projects/{project}/regions/{region}/subnetworks/{name}"
        return self._get(COMPUTE, self._google.compute, path, project)

    def network(self, project: str, name: str) -> Answer | None:
        """Return the answer of networks.get, None where there is no network of that name."""
        return self._get(COMPUTE, self._google.compute, f"projects/{project}/global/networks/{name}", project)

    def effective_firewalls(self, project: str, name: str) -> Answer | None:
        """Return the answer of networks.getEffectiveFirewalls, None where there is no such network."""
        path = f"projects/{project}/global/networks/{name}/getEffectiveFirewalls"
        return self._get(COMPUTE, self._google.compute, path, project)

    def proxy_subnetworks(self, project: str, region: str) -> Answer:
        """Return the answer of subnetworks.list, with those for proxies of load balancers alone."""
        query = urlencode({"filter": f"purpose={PURPOSE}"})
        path = f"projects/{project}/regions/{region}/subnetworks?{query}"
        return self._existing(COMPUTE, self._google.compute, path, project)

    def group_size(self, project: str, zone: str, name: str) -> int | None:
        """Return the target size of a managed instance group, None where there is no such group."""
        path = f"projects/{project}/zones/{zone}/instanceGroupManagers/{name}"
        group = self._get(COMPUTE, self._google.compute, path, project)
        # Google may leave out a number that is zero.
        return None if group is None else int(group.get("targetSize") or 0)

    def pool_size(self, pool: Answer) -> int | None:
        """Return how many machines the groups of a node pool, as clusters.get has it, are to have; None where
        it names none, or one that is not there.
        """
        groups = [_GROUP.fullmatch(str(url)) for url in pool.get("instanceGroupUrls") or ()]
        sizes = [self.group_size(*group.groups()) for group in groups if group]
        return sum(size or 0 for size in sizes) if sizes and None not in sizes else None

    def _existing(self, service: Service, address: str, path: str, project: str) -> Answer:
        """Return the answer. Raises CloudError where the thing does not exist, as for any other refusal."""
        answer = self._get(service, address, path, project)
        if answer is None:
            error = {"message": f"{path} was not found"}
            raise error_of(404, error, service, project=project, address=address)
        return answer

    def _get(self, service: Service, address: str, path: str, project: str) -> Answer | None:
        api = f"{service.called} at {address}"
        status, body = self._login.get(f"{address}/{path}", of=api, seconds=self._seconds)
        if status == 404 and "error" in body:
            return None
        if status != 200:
            raise error_of(status, body.get("error"), service, project=project, address=address)
        return body


class Inventory:
    """Lists of the Compute and the Container API, page by page. Each raises CloudError.

    docs.cloud.google.com/compute/docs/reference/rest/v1/forwardingRules/aggregatedList (the same for others)
    and docs.cloud.google.com/kubernetes-engine/docs/reference/rest/v1/projects.locations.clusters/list, where
    the location `-` is all of them; 2026-11-24. `returnPartialSuccess` is not asked for: a list that lacks a
    region would be taken for a complete one.
    """

    def __init__(self, google: Addresses, login: GoogleLogin, *, seconds: float) -> None:
        self._google = google
        self._login = login
        self._seconds = seconds

    def aggregated(self, project: str, collection: str) -> Iterator[tuple[str, Answer]]:
        """Yield the resources of a collection with their scope, such as `zones/us-central1-a` or `global`."""
        for page in self._pages(project, f"projects/{project}/aggregated/{collection}"):
            scopes = page.get("items") or {}
            for scope, listed in sorted(scopes.items()):
                yield from ((scope, resource) for resource in (listed or {}).get(collection) or ())

    def of_no_place(self, project: str, collection: str) -> Iterator[Answer]:
        """Yield the resources of a collection that has no regions: networks, firewalls."""
        for page in self._pages(project, f"projects/{project}/global/{collection}"):
            yield from page.get("items") or ()

    def clusters(self, project: str) -> tuple[Answer, ...]:
        """Return the clusters of all locations. Those of places that did not answer are missing from it, so
        such an answer raises CloudError.
        """
        address = self._google.container
        url = f"{address}/v1/projects/{project}/locations/-/clusters"
        body = self._get(CONTAINER, address, url, project)
        if missing := body.get("missingZones"):
            error = {"message": f"it does not say which clusters there are in {', '.join(map(str, missing))}"}
            raise error_of(503, error, CONTAINER, project=project, address=address)
        return tuple(body.get("clusters") or ())

    def _pages(self, project: str, path: str) -> Iterator[Answer]:
        token: str | None = ""
        while token is not None:
            query = urlencode({"maxResults": _PAGE} | ({"pageToken": token} if token else {}))
            page = self._get(COMPUTE, self._google.compute, f"{self._google.compute}/{path}?{query}", project)
            yield page
            token = page.get("nextPageToken") or None

    def _get(self, service: Service, address: str, url: str, project: str) -> dict[str, Any]:
        status, body = self._login.get(url, of=f"{service.called} at {address}", seconds=self._seconds)
        if status != 200:
            raise error_of(status, body.get("error"), service, project=project, address=address)
        return dict(body)


class ProjectApi:
    """Requests to the Service Usage, the Cloud Resource Manager and the Organization Policy API. Each raises
    CloudError.
    """

    def __init__(self, google: Addresses, login: GoogleLogin, *, seconds: float) -> None:
        self._google = google
        self._login = login
        self._seconds = seconds

    def enabled(self, project: str, apis: Iterable[str]) -> frozenset[str]:
        """Return those of the APIs that are enabled. There may be 30.

        docs.cloud.google.com/service-usage/docs/reference/rest/v1/services/batchGet (read on 2026-11-24)
        """
        names = [("names", f"projects/{project}/services/{api}") for api in apis]
        url = f"{self._google.services}/v1/projects/{project}/services:batchGet?{urlencode(names)}"
        of = f"{SERVICES.called} at {self._google.services}"
        status, body = self._login.get(url, of=of, seconds=self._seconds)
        if status != 200:
            raise error_of(
                status, body.get("error"), SERVICES, project=project, address=self._google.services
            )
        return frozenset(
            str(service.get("name", "")).rpartition("/")[2]
            for service in body.get("services") or ()
            if service.get("state") == "ENABLED"
        )

    def permitted(self, project: str, permissions: Iterable[str]) -> frozenset[str]:
        """Return those of the permissions on the project that the credentials have.

        docs.cloud.google.com/resource-manager/reference/rest/v1/projects/testIamPermissions, 2026-11-24
        """
        url = f"{self._google.projects}/v1/projects/{project}:testIamPermissions"
        of = f"{PROJECTS.called} at {self._google.projects}"
        question = {"permissions": list(permissions)}
        status, body = self._login.post(url, question, of=of, seconds=self._seconds)
        if status != 200:
            raise error_of(
                status, body.get("error"), PROJECTS, project=project, address=self._google.projects
            )
        return frozenset(map(str, body.get("permissions") or ()))

    def effective_policy(self, project: str, constraint: str) -> Answer:
        """Return the policy of a constraint that is in force for the project, whoever set it.

        cloud.google.com/resource-manager/docs/reference/orgpolicy/rest/v2/projects.policies/getEffectivePolicy
        """
        path = f"projects/{project}/policies/{constraint}:getEffectivePolicy"
        of = f"{POLICIES.called} at {self._google.policies}"
        status, body = self._login.get(f"{self._google.policies}/v2/{path}", of=of, seconds=self._seconds)
        if status != 200:
            raise error_of(
                status, body.get("error"), POLICIES, project=project, address=self._google.policies
            )
        return body
