"""Ask one question of a target, by the way that leads there from here.

There are two. The gateway at its own address is the way of users; it is taken where something takes
connections there. The API server of the cluster is reached wherever `kubectl` is, and hands a request on: to
the Service of a gateway that has no address outside of the cluster, which is the users' way from there on, or
to a pod. Gateways of Google are no Services inside the cluster, so a pod is asked there, past gateway, picker
and route. The API server reaches pods of GKE by agents inside the cluster (Konnectivity:
https://github.com/tigera/operator/pull/5212, 2026-08-18); in clusters of 2018 with VPC peering it did not
(https://github.com/linkerd/linkerd2/issues/1981).
"""

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import SecretStr

from inferfleet.clusters.chat.answers import (
    COMPLETIONS,
    MODELS,
    NotAnsweredError,
    Reply,
    first_model,
    question,
    reply,
)
from inferfleet.clusters.chat.targets import Pods, Target
from inferfleet.clusters.connections.api import Answered, Api, NoAnswerError
from inferfleet.clusters.connections.gateway import Gateway, unreached
from inferfleet.clusters.connections.resources import readable
from inferfleet.clusters.status.pods import is_ready
from inferfleet.desired.values import DesiredCluster
from inferfleet.documents.problems import Problem
from inferfleet.fleet import names
from inferfleet.serving.gateway import Address, address_of

Via = Literal["gateway", "api-server"]
_ROUTES = "/apis/gateway.networking.k8s.io/v1/namespaces"
# A name that is resolved inside of a cluster alone is that of a Service:
# https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/
_SERVICE = re.compile(r"([a-z0-9-]+)\.([a-z0-9-]+)\.svc(\..+)?")
_UP = "Run `pulumi up`, and look at `inferfleet status`"
_LONGER = "Ask again with a longer --timeout, or look at its pods"
Send = Callable[[str, Mapping[str, Any] | None], Answered]


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
class _Way:
    """A way to the target, in words, and how a request goes there."""

    words: str
    send: Send


def ask(api: Api, cluster: DesiredCluster, target: Target, asked: Question, *, seconds: float) -> Reply:
    """Return the answer. Raises NotAnsweredError, and what `api` raises where the cluster does not answer."""
    until = time.monotonic() + seconds
    if target.requests is not None:
        _deployed(api, target)
    address = _address(api, cluster)
    way = _gateway(address, target, asked, until) if asked.via != "api-server" else None
    way = way or _through_api_server(api, address, target)
    model = asked.model or target.model or first_model(_sent(way, target, MODELS, None), target, way.words)
    return reply(_sent(way, target, COMPLETIONS, question(model, asked.text)), target, way.words)


def _sent(way: _Way, target: Target, path: str, body: Mapping[str, Any] | None) -> Answered:
    try:
        return way.send(path, body)
    except NoAnswerError as error:
        what = f"{way.words} gives no answer for {target}: {error}"
        raise NotAnsweredError(Problem(what, _LONGER)) from None


def _deployed(api: Api, target: Target) -> None:
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
        of = ", ".join(pods.deployment for pods in target.pods)
        raise NotAnsweredError(Problem(f"no pod of {of} on cluster {target.cluster} is ready", _UP))
    behind = f"/api/v1/namespaces/{target.namespace}/pods/{pod}:{port}/proxy"
    words = f"pod {target.namespace}/{pod}, by the API server, past gateway and picker"
    return _Way(words, lambda path, body: api.proxied(f"{behind}{path}", body))


def _ready(api: Api, namespace: str, pods: Pods) -> str:
    """Return the name of the first pod that serves, "" where there is none."""
    query = {"labelSelector": ",".join(f"{key}={value}" for key, value in pods.labels)}
    there = api.items(f"/api/v1/namespaces/{namespace}/pods", query=query)
    return next(iter(sorted(pod["metadata"]["name"] for pod in there if is_ready(pod))), "")
