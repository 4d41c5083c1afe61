"""One question to a model of the stack: whom it goes to, which way, and what an answer means.

There are two ways. The gateway at its own address is the way of users; it is taken where something takes
connections there. The API server of the cluster is reached wherever `kubectl` is, and hands a request on: to
the Service of a gateway that has no address outside of the cluster, which is the users' way from there on, or
to a pod. Gateways of Google are no Services inside the cluster, so a pod is asked there, past gateway, picker
and route. The API server reaches pods of GKE by agents inside the cluster (Konnectivity:
https://github.com/tigera/operator/pull/5212, 2026-08-18); in clusters of 2018 with VPC peering it did not
(https://github.com/linkerd/linkerd2/issues/1981).

Questions and answers are in the form of OpenAI's API, which engines share. Nothing is written.
"""

import json
import re
import ssl
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import SecretStr

from inferfleet.clusters.connections.api import Answered, Api, NoAnswerError, RefusedError, readable, reason
from inferfleet.clusters.status.pods import is_ready
from inferfleet.desired.values import DesiredCluster
from inferfleet.documents.documents import Documents
from inferfleet.documents.problems import InvalidDocuments, Problem
from inferfleet.documents.wording import listing, shown
from inferfleet.fleet import names
from inferfleet.fleet.decisions import Plan
from inferfleet.fleet.roles import target_ports
from inferfleet.fleet.traffic import Requests, of_deployment, of_service
from inferfleet.serving.gateway import Address, address_of, url
from inferfleet.serving.weights import GATE

Kind = Literal["service", "deployment"]
MODELS, COMPLETIONS = "/v1/models", "/v1/chat/completions"
TEXT = "Say hello in one short sentence."
# Characters of what somebody else says, in a message.
_WORDS = 300
_LOOK = "`inferfleet status` says which pods, pickers and routes are not ready"
Via = Literal["gateway", "api-server"]
_ROUTES = "/apis/gateway.networking.k8s.io/v1/namespaces"
# A name that is resolved inside of a cluster alone is that of a Service:
# https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/
_SERVICE = re.compile(r"([a-z0-9-]+)\.([a-z0-9-]+)\.svc(\..+)?")
_UP = "Run `pulumi up`, and look at `inferfleet status`"
_LONGER = "Ask again with a longer --timeout, or look at its pods"
# A gateway that does not take the connection in this time is not reached from here.
CONNECT_SECONDS = 3.0


@dataclass(frozen=True)
class Pods:
    """The pods that answer for a deployment on the cluster: the labels that they have, and their port."""

    deployment: str
    labels: tuple[tuple[str, str], ...]
    port: int


@dataclass(frozen=True)
class Target:
    """A service or deployment (namespace/name) on a cluster.

    `requests` are those that its gateway hands to it, None for a deployment without a route of its own.
    `pods` are those of every deployment behind it, the largest share first.
    """

    kind: Kind
    key: str
    cluster: str
    requests: Requests | None
    pods: tuple[Pods, ...]

    def __str__(self) -> str:
        return f"{self.kind} {self.key} on cluster {self.cluster}"

    @property
    def namespace(self) -> str:
        return self.key.partition("/")[0]

    @property
    def route(self) -> str:
        """Return the name of its HTTPRoute."""
        return names.service_route(self.key) if self.kind == "service" else names.endpoint(self.key)


def target(documents: Documents, plan: Plan, name: str | None, cluster: str | None) -> Target:
    """Return who is meant by `name` or `namespace/name`, a service before a deployment of the same name.

    Without a name it is the only service, or else the only deployment. Raises InvalidDocuments.
    """
    every = [*_service_targets(documents, plan), *_deployment_targets(documents, plan)]
    if not every:
        what = f"stack {plan.lock.stack} has no replicas with a place, so there is nobody to ask"
        raise InvalidDocuments([Problem(what, "Write a ModelDeployment, and look at `inferfleet plan`")])
    on_all_clusters = _targets_of(every, name)
    targets = [target for target in on_all_clusters if cluster in (None, target.cluster)]
    if not targets:
        first = on_all_clusters[0]
        what = f"{first.kind} {first.key} is not on cluster {shown(cluster or '')}"
        next_step = f"It is on {listing([target.cluster for target in on_all_clusters])}"
        raise InvalidDocuments([Problem(what, next_step)])
    if len(targets) > 1:
        what = f"{targets[0].kind} {targets[0].key} is on {listing([target.cluster for target in targets])}"
        raise InvalidDocuments([Problem(what, f"Name one of them: --cluster {targets[0].cluster}")])
    return targets[0]


def _targets_of(every: list[Target], name: str | None) -> list[Target]:
    """Return the one that a name means, on each of its clusters. Raises InvalidDocuments where none is meant,
    or several.
    """
    services = [target for target in every if target.kind == "service"]
    if name is None:
        candidates = services or every
    else:
        fitting = [target for target in every if name in (target.key, target.key.partition("/")[2])]
        candidates = [target for target in fitting if target.kind == "service"] or fitting
    keys = sorted({target.key for target in candidates})
    if len(keys) == 1:
        return candidates
    if keys:
        what = f"there are several {candidates[0].kind}s" if name is None else f"{shown(name)} is not clear"
        raise InvalidDocuments([Problem(f"{what}: {listing(keys)}", "Name one of them")])
    known_targets = sorted({f"{target.kind} {target.key}" for target in every})
    what = f"there is no service or deployment {shown(name or '')} with replicas that have a place"
    raise InvalidDocuments([Problem(what, f"There is {listing(known_targets)}")])


def _service_targets(documents: Documents, plan: Plan) -> Iterator[Target]:
    for route in plan.services:
        backends = sorted(route.backends, key=lambda backend: -backend.weight)
        yield Target(
            kind="service",
            key=route.service,
            cluster=route.cluster,
            requests=of_service(documents, route),
            pods=tuple(_pods(documents, ((backend.deployment, backend.revision) for backend in backends))),
        )


def _deployment_targets(documents: Documents, plan: Plan) -> Iterator[Target]:
    for endpoint in plan.endpoints:
        deployment = documents.deployments[endpoint.deployment]
        yield Target(
            kind="deployment",
            key=endpoint.deployment,
            cluster=endpoint.cluster,
            requests=of_deployment(deployment) if deployment.spec.route.enabled else None,
            pods=tuple(_pods(documents, [(endpoint.deployment, endpoint.revision)])),
        )


def _pods(documents: Documents, revisions: Iterable[tuple[str, str]]) -> Iterator[Pods]:
    for key, revision in revisions:
        labels = tuple(sorted(names.pool_selector(key, revision).items()))
        yield Pods(key, labels, target_ports(documents.deployments[key])[0])


@dataclass(frozen=True)
class Question:
    """A text for a model, None for the first that is served, and which way it goes (None: either).

    A `key` of the engines is sent to the gateway alone.
    """

    text: str
    model: str | None = None
    via: Via | None = None
    key: SecretStr | None = None


@dataclass(frozen=True)
class Reply:
    """An answer: its text, the model that it names, and who gave it, in words."""

    text: str
    model: str
    by: str


class NotAnsweredError(Exception):
    """There is no answer; `problem` says why, and what to do."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        super().__init__(str(problem))


Send = Callable[[str, Mapping[str, Any] | None], Answered]


@dataclass(frozen=True)
class _Way:
    """A way to the target, in words, and how a request goes there."""

    words: str
    send: Send


def ask(api: Api, cluster: DesiredCluster, target: Target, asked: Question, *, seconds: float) -> Reply:
    """Return the answer. Raises NotAnsweredError, and what `api` raises where the cluster does not answer."""
    try:
        return _reply(api, cluster, target, asked, until=time.monotonic() + seconds)
    except NotAnsweredError as error:
        if words := _words_of_weights(api, target):
            what = f"{error.problem.what}. Pods of it wait for their weights: {words}"
            raise NotAnsweredError(Problem(what, "Ask again once all of them are there")) from None
        raise


def _words_of_weights(api: Api, target: Target) -> str:
    """Return how far the weights are that the first pod waits for which does so, "" where none does."""
    for pods in target.pods:
        for pod in _pods_of(api, target.namespace, pods):
            statuses = (pod.get("status") or {}).get("initContainerStatuses") or ()
            if any(each["name"] == GATE and "running" in (each.get("state") or {}) for each in statuses):
                path = f"/api/v1/namespaces/{target.namespace}/pods/{pod['metadata']['name']}/log"
                try:
                    words = api.last_line(path, query={"container": GATE})
                except RefusedError:
                    words = ""
                return shown(words, _WORDS) or "nobody may read how far they are"
    return ""


def _reply(api: Api, cluster: DesiredCluster, target: Target, asked: Question, *, until: float) -> Reply:
    if target.requests is not None:
        _deployed(api, target)
    address = _address(api, cluster)
    way = _gateway(address, target, asked, until) if asked.via != "api-server" else None
    way = way or _through_api_server(api, address, target)
    model = asked.model or first_model(_sent(way, target, MODELS, None), target, way.words)
    return reply(_sent(way, target, COMPLETIONS, question(model, asked.text)), target, way.words)


def _sent(way: _Way, target: Target, path: str, body: Mapping[str, Any] | None) -> Answered:
    """Return what is answered. Raises NotAnsweredError where nothing answers in time."""
    try:
        return way.send(path, body)
    except NoAnswerError as error:
        what = f"{way.words} gives no answer for {target}: {error}"
        raise NotAnsweredError(Problem(what, _LONGER)) from None


def _deployed(api: Api, target: Target) -> None:
    """Raise NotAnsweredError where the HTTPRoute of the target is not there, or may not be read."""
    if readable(api, f"{_ROUTES}/{target.namespace}/httproutes/{target.route}") is None:
        what = f"there is no HTTPRoute {target.namespace}/{target.route}, or it may not be read: {target}"
        raise NotAnsweredError(Problem(f"{what} is not deployed", _UP))


def _gateway(address: Address | None, target: Target, asked: Question, until: float) -> _Way | None:
    """Return the way through the gateway; None where it is not reached from here and nobody insists on it."""
    if target.requests is None:
        why = "it has no route (`route.enabled: false`)"
    elif address is None:
        why = f"the gateway of cluster {target.cluster} has no address yet"
    elif _SERVICE.fullmatch(address.host):
        why = f"the gateway is at {address.host}, a name inside of the cluster"
    else:
        why = unreached(address)
        why = why and f"the gateway at {address.host}:{address.port} is not reached from here: {why}"
    if target.requests is not None and address is not None and not why:
        requests = target.requests
        gateway = Gateway(address, _host(requests.hostnames), dict(requests.headers), asked.key)

        def send(path: str, body: Mapping[str, Any] | None) -> Answered:
            return gateway.ask(f"{requests.prefix}{path}", body, until=until)

        return _Way(f"the gateway at {address.host}:{address.port}", send)
    if asked.via == "gateway":
        step = "Ask from inside of its network, or through the API server: --via api-server"
        raise NotAnsweredError(Problem(f"{target} cannot be asked through its gateway: {why}", step))
    return None


def _host(hostnames: tuple[str, ...]) -> str:
    """Return a host name that a route takes, "" where it takes any."""
    whole = [name for name in hostnames if not name.startswith("*")]
    return next(iter([*whole, *(f"any{name[1:]}" for name in hostnames)]), "")


def _address(api: Api, cluster: DesiredCluster) -> Address | None:
    namespace, name = cluster.gateway_ref or (names.SYSTEM_NAMESPACE, names.GATEWAY)
    return address_of(readable(api, f"{_ROUTES}/{namespace}/gateways/{name}") or {})


def _through_api_server(api: Api, address: Address | None, target: Target) -> _Way:
    """Return the way by the API server: to the gateway's Service where a route takes it so, else to a pod.

    Raises NotAnsweredError where no pod is ready.
    """
    service = _SERVICE.fullmatch(address.host) if address else None
    requests = target.requests
    # The API server hands on the Host of the request to itself, so no route by host name takes it
    # (UseLocationHost in k8s.io/apimachinery 0.36, pkg/util/proxy/upgradeaware.go).
    if service and address and requests and not (requests.hostnames or requests.headers):
        name, namespace = service.group(1, 2)
        scheme = "https:" if address.secure else ""
        root = f"/api/v1/namespaces/{namespace}/services/{scheme}{name}:{address.port}/proxy"
        prefix = requests.prefix
        words = f"the gateway, by the API server and Service {namespace}/{name}"
        return _Way(words, lambda path, body: api.proxied(f"{root}{prefix}{path}", body))
    serving = ((_ready(api, target.namespace, pods), pods.port) for pods in target.pods)
    pod, port = next(((name, port) for name, port in serving if name), ("", 0))
    if not pod:
        deployments = ", ".join(pods.deployment for pods in target.pods)
        raise NotAnsweredError(Problem(f"no pod of {deployments} on cluster {target.cluster} is ready", _UP))
    behind = f"/api/v1/namespaces/{target.namespace}/pods/{pod}:{port}/proxy"
    words = f"pod {target.namespace}/{pod}, by the API server, past gateway and picker"
    return _Way(words, lambda path, body: api.proxied(f"{behind}{path}", body))


def _ready(api: Api, namespace: str, pods: Pods) -> str:
    """Return the name of the first pod that serves, "" where there is none."""
    found = _pods_of(api, namespace, pods)
    return next(iter(sorted(pod["metadata"]["name"] for pod in found if is_ready(pod))), "")


def _pods_of(api: Api, namespace: str, pods: Pods) -> Iterator[dict[str, Any]]:
    query = {"labelSelector": ",".join(f"{key}={value}" for key, value in pods.labels)}
    return api.items(f"/api/v1/namespaces/{namespace}/pods", query=query)


def unreached(address: Address) -> str:
    """Return why nothing takes connections at the address, "" where something does."""
    from urllib3.exceptions import HTTPError
    from urllib3.util.connection import create_connection

    try:
        create_connection((address.host, address.port), timeout=CONNECT_SECONDS).close()
    except TimeoutError:
        return f"nothing took the connection in {CONNECT_SECONDS:.0f} s"
    except (HTTPError, OSError) as error:
        return reason(error)
    return ""


@dataclass(frozen=True)
class Gateway:
    """A gateway at its address, and what requests carry: a host name, headers, and a key of the engines."""

    address: Address
    host: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    key: SecretStr | None = None

    def ask(self, path: str, body: Mapping[str, Any] | None, *, until: float) -> Answered:
        """Return what is answered at the path, asked with POST where there is a body.

        It ends by `until`, a moment of the monotonic clock. Raises NoAnswerError. Redirects are not followed,
        because a key would follow them, and a proxy of the environment is not used.
        """
        from urllib3 import PoolManager, Timeout
        from urllib3.exceptions import HTTPError

        headers = {"Accept": "application/json", **self.headers}
        if self.host:
            headers["Host"] = self.host
        if body is not None:
            headers["Content-Type"] = "application/json"
        if self.key:
            headers["Authorization"] = f"Bearer {self.key.get_secret_value()}"
        seconds_left = max(until - time.monotonic(), 0.1)
        tls: dict[str, Any] = {}
        if self.address.secure:
            tls = {"ssl_context": ssl.create_default_context()}
            tls |= {"server_hostname": self.host, "assert_hostname": self.host} if self.host else {}
        try:
            answer = PoolManager(retries=False, **tls).request(
                "GET" if body is None else "POST",
                url(self.address, path) or "",
                body=None if body is None else json.dumps(body).encode(),
                headers=headers,
                timeout=Timeout(connect=min(seconds_left, CONNECT_SECONDS), read=seconds_left),
                redirect=False,
            )
        except (HTTPError, OSError) as error:
            raise NoAnswerError(reason(error)) from error
        except ValueError:
            # Its text may be a header, and so a key.
            raise NoAnswerError("a request cannot be sent with these headers or this key") from None
        return Answered(answer.status, answer.data.decode(errors="replace"))


def question(model: str, text: str, *, stream: bool = False) -> dict[str, Any]:
    """Return the body of a chat request."""
    body: dict[str, Any] = {"model": model, "messages": [{"role": "user", "content": text}]}
    return body | ({"stream": True} if stream else {})


def content(completion: Any) -> tuple[str, str]:
    """Return text and model of an answer that is not streamed. Raises ValueError, LookupError or TypeError.

    Where a model has thought and said nothing yet, the text is what it thought.
    """
    message = completion["choices"][0]["message"]
    return str(message["content"] or message.get("reasoning_content") or ""), str(completion["model"])


def first_model(answered: Answered, target: Target, way: str) -> str:
    """Return the first model of a list of models. Raises NotAnsweredError."""
    return str(_read(answered, target, way, "names no model", lambda body: body["data"][0]["id"]))


def reply(answered: Answered, target: Target, way: str) -> Reply:
    """Return the answer to a question. Raises NotAnsweredError."""
    text, model = _read(answered, target, way, "is no completion", content)
    return Reply(text, model, way)


def _read(answered: Answered, target: Target, way: str, otherwise: str, read: Any) -> Any:
    """Return what `read` takes from the body. Raises NotAnsweredError for another status or another form."""
    if answered.status != 200:
        raise NotAnsweredError(_refused(answered, target, way))
    try:
        return read(json.loads(answered.text))
    except (ValueError, LookupError, TypeError):
        what = f"what {way} answers for {target} {otherwise}: {shown(answered.text, _WORDS)}"
        step = "See what listens there, with its log"
        raise NotAnsweredError(Problem(what, step)) from None


def _refused(answered: Answered, target: Target, way: str) -> Problem:
    body = _json(answered.text)
    # Engines answer in the form of OpenAI's API, API servers with a Status, gateways in plain text.
    error = body.get("error", body)
    said = error if isinstance(error, str) else error.get("message") if isinstance(error, dict) else ""
    words = shown(" ".join(str(said or answered.text).split()), _WORDS).rstrip(".")
    what = f"{way} answers {answered.status} for {target}{f': {words}' if words else ''}"
    if (body.get("kind"), body.get("apiVersion")) == ("Status", "v1"):
        return Problem(what, _by_api_server(answered.status, target))
    return Problem(what, _step(answered.status, way, by_engine=bool(body)))


def _by_api_server(status: int, target: Target) -> str:
    if status == 403:
        return (
            "Have an administrator allow `get` and `create` of pods/proxy and services/proxy in namespace "
            f"{target.namespace} (in Google Cloud roles/container.admin has both)"
        )
    return (
        "See whether a network policy or firewall keeps the API server from pods (`networkPolicy` in the "
        "cluster's document does), and ask its gateway from where it is reached: --via gateway"
    )


def _step(status: int, way: str, *, by_engine: bool) -> str:
    if status in (401, 403):
        return (
            "Where engines want a key, ask with it in INFERFLEET_API_KEY and --via gateway (the API server "
            "hands none on)"
        )
    if status == 404 and by_engine:
        return "Name a model that the engine serves: --model"
    if status == 404 and way.startswith("the gateway at"):
        return (
            "No route of the gateway has this path; or, where the address is private, something else of this "
            "network has it: --via api-server"
        )
    return _LOOK


def _json(text: str) -> dict[str, Any]:
    try:
        body = json.loads(text)
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}
