"""What an InferenceGateway is made of on one of its clusters, for Envoy Gateway 1.9 and a body-based router.

Keys are checked once for all routes, by a policy of the Gateway: Envoy Gateway never asks those of a route
for a request whose model is known only later. Requests below `/v1` first meet the catch-all route, whose
router writes the model of the body into a header; then they are matched again, to the route of that model or,
if there is none, to the answer that OpenAI gives. Who may use a service is checked on its own routes, after
that. Requests below `/<namespace>/<service>/` do without the router. What the header says when a request
comes in is removed before anything is matched.

A listener repeats the keys of the route that sorts first, and drains its connections when they change. So a
route sorts first that nobody uses, with a key that never changes.

Sources: api/v1alpha1 of github.com/envoyproxy/gateway 1.9.1; config/charts/body-based-routing of
gateway-api-inference-extension 1.5.0.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from inferfleet.documents.kinds.inference_gateway import Caller, InferenceGateway
from inferfleet.documents.kinds.model_service import Timeouts
from inferfleet.fleet import names
from inferfleet.fleet.front_door import Door, DoorBackend, DoorRoute
from inferfleet.serving.metadata import WAIT_FOR, metadata
from inferfleet.tables.body_based_router import IMAGE, LONGEST_BODY

Manifest = dict[str, Any]
_ENVOY_GROUP = "gateway.envoyproxy.io"
_ENVOY = f"{_ENVOY_GROUP}/v1alpha1"
_GATEWAY_GROUP = "gateway.networking.k8s.io"
_GATEWAY = f"{_GATEWAY_GROUP}/v1"
_OPENAI = "/v1"
# Who a request is from, as the policy of keys writes it; and which model it is for, as the router does.
CALLER, MODEL = "x-client-id", "X-Gateway-Model-Name"
# By which entry of a Secret the stack itself enters, at the end of updates. No caller has a dot in his name.
CONFIRMING = "inferfleet.confirming"
# A path that no other route matches so exactly. Its key opens nothing else.
_STEADY_PATH = "/inferfleet/steady/keys/of/the/listener/do/not/remove"
_GRPC, _HEALTH, _METRICS = 9004, 9005, 9090
_ROUTER_REPLICAS = 2
# So many values a principal's header may have.
_PRINCIPALS = 256
# Characters of the value of a header in a match (HTTPHeaderMatch of Gateway API).
_LONGEST_VALUE = 4096
_RETRIED = ["connect-failure", "refused-stream", "reset", "retriable-status-codes"]


def _waits(*paths: str) -> dict[str, str]:
    """Return the annotation by which Pulumi waits until the conditions at these paths are true."""
    conditions = [f"jsonpath={{.status.{path}.status}}=True" for path in paths]
    return {WAIT_FOR: json.dumps(conditions)}


_ACCEPTED_POLICY = _waits('ancestors[0].conditions[?(@.type=="Accepted")]')
_ACCEPTED_ROUTE = _waits(
    'parents[0].conditions[?(@.type=="Accepted")]', 'parents[0].conditions[?(@.type=="ResolvedRefs")]'
)


class FrontDoor:
    """The objects of a gateway on one of its clusters."""

    def __init__(self, gateway: InferenceGateway, door: Door, *, stack: str) -> None:
        self._gateway = gateway
        self._door = door
        self._stack = stack
        self.name = names.front_door(gateway.metadata.name)

    def _metadata(self, name: str, annotations: dict[str, str] | None = None) -> Manifest:
        return metadata(
            name,
            stack=self._stack,
            namespace=names.SYSTEM_NAMESPACE,
            labels={names.FRONT_DOOR: self._gateway.metadata.name},
            annotations=annotations,
        )

    def _of_gateway(self, *parts: str) -> str:
        return names.of_front_door(self._gateway.metadata.name, *parts)

    def _envoys(
        self, kind: str, name: str, spec: Manifest, annotations: dict[str, str] | None = None
    ) -> Manifest:
        return {
            "apiVersion": _ENVOY,
            "kind": kind,
            "metadata": self._metadata(name, annotations),
            "spec": spec,
        }

    @property
    def _target(self) -> list[Manifest]:
        return [{"group": _GATEWAY_GROUP, "kind": "Gateway", "name": self.name}]

    def proxy(self) -> Manifest:
        """Return how Envoy Gateway makes the proxies: their Service, and what they log of requests."""
        spec = self._gateway.spec
        service: Manifest = {"type": "LoadBalancer" if spec.service_type == "Internal" else spec.service_type}
        if spec.service_annotations:
            service["annotations"] = dict(spec.service_annotations)
        log = {
            "start": "%START_TIME%",
            "caller": "%REQ(X-CLIENT-ID)%",
            "model": "%REQ(X-GATEWAY-MODEL-NAME)%",
            "route": "%ROUTE_NAME%",
            "cluster": "%UPSTREAM_HOST%",
            "method": "%REQ(:METHOD)%",
            "path": "%REQ(X-ENVOY-ORIGINAL-PATH?:PATH)%",
            "status": "%RESPONSE_CODE%",
            "flags": "%RESPONSE_FLAGS%",
            "milliseconds": "%DURATION%",
            "bytesReceived": "%BYTES_RECEIVED%",
            "bytesSent": "%BYTES_SENT%",
        }
        return self._envoys(
            "EnvoyProxy",
            self.name,
            {
                "provider": {
                    "type": "Kubernetes",
                    "kubernetes": {"envoyDeployment": {"replicas": 2}, "envoyService": service},
                },
                "telemetry": {
                    "accessLog": {
                        "settings": [
                            {
                                "format": {"type": "JSON", "json": log},
                                "sinks": [{"type": "File", "file": {"path": "/dev/stdout"}}],
                            }
                        ]
                    }
                },
            },
        )

    def gateway(self) -> Manifest:
        """Return the Gateway. It is true once each of its listeners is: one with a broken certificate is not,
        and the Gateway says nothing of that.
        """
        spec = self._gateway.spec
        listeners: list[Manifest] = []
        shared: Manifest = {"allowedRoutes": {"namespaces": {"from": "Same"}}}
        if spec.hostname:
            shared["hostname"] = spec.hostname
        if https := spec.listeners.https:
            certificate = {"kind": "Secret", "name": https.certificate.secret_ref}
            tls = {"mode": "Terminate", "certificateRefs": [certificate]}
            listeners.append({"name": "https", "protocol": "HTTPS", "port": https.port, "tls": tls, **shared})
        if http := spec.listeners.http:
            listeners.append({"name": "http", "protocol": "HTTP", "port": http.port, **shared})
        programmed = 'conditions[?(@.type=="Programmed")]'
        waits = _waits(programmed, *(f"listeners[{index}].{programmed}" for index in range(len(listeners))))
        parameters = {"group": _ENVOY_GROUP, "kind": "EnvoyProxy", "name": self.name}
        return {
            "apiVersion": _GATEWAY,
            "kind": "Gateway",
            "metadata": self._metadata(self.name, waits),
            "spec": {
                "gatewayClassName": spec.class_name,
                "infrastructure": {"parametersRef": parameters},
                "listeners": listeners,
            },
        }

    def keys(self) -> Manifest | None:
        """Return the policy that asks for keys on every route of the Gateway; None where it is open."""
        callers = self._gateway.spec.callers
        if not callers:
            return None
        secrets = {key.secret_ref.name for caller in callers for key in caller.keys}
        spec = {
            "targetRefs": self._target,
            "apiKeyAuth": _api_keys(sorted({*secrets, self._of_gateway("confirming")})),
        }
        return self._envoys("SecurityPolicy", self.name, spec, _ACCEPTED_POLICY)

    def confirming(self) -> Manifest | None:
        """Return the Secret of the stack's own key, which no service lets in, without its value; None where
        the gateway asks nobody for a key.
        """
        if not self._gateway.spec.callers:
            return None
        return {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": self._metadata(self._of_gateway("confirming")),
            "type": "Opaque",
        }

    def clients(self) -> Manifest:
        """Return how the Gateway takes requests: bodies as large as the router takes them, and without
        headers that only the Gateway itself may write.
        """
        return self._envoys(
            "ClientTrafficPolicy",
            self.name,
            {
                "targetRefs": self._target,
                "connection": {"bufferLimit": LONGEST_BODY},
                "headers": {"earlyRequestHeaders": {"remove": [MODEL, CALLER]}},
            },
            _ACCEPTED_POLICY,
        )

    def traffic(self) -> Manifest:
        """Return what the Gateway does when a cluster fails, and how many requests callers may send."""
        failover = self._gateway.spec.failover
        spec: Manifest = {
            "targetRefs": self._target,
            # Envoy Gateway ends requests after 15 s unless it is told otherwise.
            "timeout": {"http": {"requestTimeout": "0s"}},
            "retry": {
                "numRetries": failover.retries,
                "numAttemptsPerPriority": 1,
                "retryOn": {"httpStatusCodes": [429, 502, 503, 504], "triggers": _RETRIED},
                "perRetry": {"backOff": {"baseInterval": "25ms", "maxInterval": "250ms"}},
            },
            "healthCheck": {
                # Below this share of healthy clusters all would be asked again.
                "panicThreshold": 1,
                "passive": {
                    "interval": "1s",
                    "consecutive5XxErrors": failover.eject_after,
                    "consecutiveGatewayErrors": failover.eject_after,
                    "baseEjectionTime": f"{failover.eject_for}s",
                    "maxEjectionPercent": 100,
                },
            },
        }
        if limited := [caller for caller in self._gateway.spec.callers if caller.requests_per_minute]:
            spec["rateLimit"] = {
                "type": "Global",
                "global": {"rules": [_limit(caller) for caller in limited]},
            }
        return self._envoys("BackendTrafficPolicy", self.name, spec, _ACCEPTED_POLICY)

    def steady(self) -> tuple[Manifest, ...]:
        """Return the route that sorts first, with its key; nothing where no route asks for keys."""
        if not self._gateway.spec.callers:
            return ()
        name = self._of_gateway("steady")
        secret = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": self._metadata(name),
            "type": "Opaque",
            # It opens a path that answers 404.
            "stringData": {"steady": "opens-nothing"},
        }
        policy = {"targetRefs": [_route_target(name)], "apiKeyAuth": _api_keys([name])}
        match = {"path": {"type": "Exact", "value": _STEADY_PATH}}
        return (
            secret,
            self._envoys("SecurityPolicy", name, policy),
            self._route(name, [{"matches": [match], "filters": [self._answer("unknown")]}]),
        )

    def answers(self) -> tuple[Manifest, ...]:
        """Return what the Gateway answers itself: to unknown models, without clusters, the list of models."""
        models = [
            {"id": model, "object": "model", "created": 0, "owned_by": service.partition("/")[0]}
            for model, service in self._door.models
        ]
        return (
            self._direct("unknown", 404, _error("The model does not exist", "model_not_found")),
            self._direct("nowhere", 503, _error("No cluster serves this model now", "model_unavailable")),
            self._direct("models", 200, {"object": "list", "data": models}),
        )

    def _direct(self, name: str, status: int, body: Manifest) -> Manifest:
        response = {
            "contentType": "application/json",
            "statusCode": status,
            "body": {"type": "Inline", "inline": json.dumps(body, separators=(",", ":"))},
        }
        return self._envoys("HTTPRouteFilter", self._of_gateway(name), {"directResponse": response})

    def _answer(self, name: str) -> Manifest:
        reference = {"group": _ENVOY_GROUP, "kind": "HTTPRouteFilter", "name": self._of_gateway(name)}
        return {"type": "ExtensionRef", "extensionRef": reference}

    def list_route(self) -> Manifest:
        """Return the route of the list of models."""
        match = {"path": {"type": "Exact", "value": f"{_OPENAI}/models"}, "method": "GET"}
        rule = {"matches": [match], "filters": [self._answer("models")]}
        return self._route(self._of_gateway("models"), [rule])

    def catch_all(self) -> Manifest:
        """Return the route that all requests meet whose model is not known yet, or unknown."""
        match = {"path": {"type": "PathPrefix", "value": _OPENAI}}
        rule = {"matches": [match], "filters": [self._answer("unknown")]}
        return self._route(self._of_gateway("catch-all"), [rule])

    def router(self) -> tuple[Manifest, ...]:
        """Return the body-based router: account, Service, budget and Deployment, in this order.

        There are two, because requests that meet none are answered with 503.
        """
        name = names.front_door_router(self._gateway.metadata.name)
        selector = {names.PICKER: name}
        described = self._metadata(name)
        fields = json.dumps({"fieldName": "model", "headerName": MODEL}, separators=(",", ":"))
        flags = (
            f"--grpc-port={_GRPC}",
            f"--grpc-health-port={_HEALTH}",
            f"--metrics-port={_METRICS}",
            "--secure-serving=false",
            "--metrics-endpoint-auth=false",
            "--tracing=false",
            "--enable-pprof=false",
            f"--plugin=body-field-to-header:model:{fields}",
        )
        probe = {"grpc": {"port": _HEALTH}, "periodSeconds": 2}
        container = {
            "name": "bbr",
            "image": IMAGE,
            "args": list(flags),
            "env": [{"name": "NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}}],
            "ports": [
                {"name": "grpc", "containerPort": _GRPC},
                {"name": "metrics", "containerPort": _METRICS},
            ],
            "readinessProbe": probe,
            "livenessProbe": {**probe, "periodSeconds": 10, "failureThreshold": 3},
            "resources": {"requests": {"cpu": "500m", "memory": "256Mi"}, "limits": {"memory": "1Gi"}},
            "securityContext": {
                "allowPrivilegeEscalation": False,
                "capabilities": {"drop": ["ALL"]},
                "readOnlyRootFilesystem": True,
                "runAsNonRoot": True,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
        }
        spread = {
            "maxSkew": 1,
            "topologyKey": "kubernetes.io/hostname",
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": selector},
        }
        return (
            {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": described},
            {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": described,
                "spec": {
                    "selector": selector,
                    "ports": [
                        {
                            "name": "grpc",
                            "port": _GRPC,
                            "targetPort": _GRPC,
                            "appProtocol": "kubernetes.io/h2c",
                        }
                    ],
                },
            },
            {
                "apiVersion": "policy/v1",
                "kind": "PodDisruptionBudget",
                "metadata": described,
                "spec": {"maxUnavailable": 1, "selector": {"matchLabels": selector}},
            },
            {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "metadata": described,
                "spec": {
                    "replicas": _ROUTER_REPLICAS,
                    "strategy": {
                        "type": "RollingUpdate",
                        "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0},
                    },
                    "selector": {"matchLabels": selector},
                    "template": {
                        "metadata": {"labels": {**selector, names.MANAGED_BY: names.MANAGER}},
                        "spec": {
                            "serviceAccountName": name,
                            "containers": [container],
                            "topologySpreadConstraints": [spread],
                        },
                    },
                },
            },
        )

    def reads_models(self) -> Manifest:
        """Return the policy that has the router asked, on the catch-all route alone."""
        router = names.front_door_router(self._gateway.metadata.name)
        return self._envoys(
            "EnvoyExtensionPolicy",
            self._of_gateway("router"),
            {
                "targetRefs": [_route_target(self._of_gateway("catch-all"))],
                "extProc": [
                    {
                        "backendRefs": [{"name": router, "port": _GRPC}],
                        "processingMode": {"request": {"body": "Buffered"}},
                        "messageTimeout": "5s",
                        "failOpen": False,
                        "statusOnError": 503,
                        "backendSettings": {
                            "retry": {
                                "numRetries": 2,
                                "retryOn": {
                                    "triggers": [
                                        "connect-failure",
                                        "refused-stream",
                                        "reset",
                                        "unavailable",
                                        "cancelled",
                                    ]
                                },
                            },
                            "healthCheck": {
                                "panicThreshold": 1,
                                "passive": {
                                    "interval": "1s",
                                    "consecutive5XxErrors": 2,
                                    "consecutiveGatewayErrors": 2,
                                    "baseEjectionTime": "5s",
                                    "maxEjectionPercent": 100,
                                },
                            },
                        },
                    }
                ],
            },
            _ACCEPTED_POLICY,
        )

    def service_of(self, cluster: str, address: str | None) -> tuple[Manifest, Manifest]:
        """Return the Service by whose name proxies ask for a cluster's gateway, and its EndpointSlice,
        without the address where none is declared.
        """
        name = names.front_door_cluster(self._gateway.metadata.name, cluster)
        described = self._metadata(name)
        port = {"name": "http", "port": 80}
        endpoint_slice = {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {
                **described,
                "labels": {
                    **described["labels"],
                    "kubernetes.io/service-name": name,
                    "endpointslice.kubernetes.io/managed-by": names.MANAGER,
                },
            },
            "addressType": "IPv4",
            "endpoints": [endpoint(address)] if address else [],
            "ports": [port],
        }
        service = {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": described,
            "spec": {"clusterIP": "None", "ports": [port]},
        }
        return service, endpoint_slice

    def backend(self, cluster: str, *, host: str | None, port: int, fallback: bool) -> Manifest:
        """Return the Backend of a cluster's gateway, at a host name or by the name of its Service.

        Nobody waits for it: Envoy Gateway says nothing of one that no route has, and of one that has a fault
        the route does.
        """
        service = names.front_door_cluster(self._gateway.metadata.name, cluster)
        hostname = host or f"{service}.{names.SYSTEM_NAMESPACE}.svc.cluster.local"
        return self._envoys(
            "Backend",
            self._backend_name(cluster, fallback),
            {
                **({"fallback": True} if fallback else {}),
                "endpoints": [{"fqdn": {"hostname": hostname, "port": port}}],
            },
        )

    def _backend_name(self, cluster: str, fallback: bool) -> str:
        return self._of_gateway(cluster, *(["fallback"] if fallback else []))

    def service_policies(self, route: DoorRoute, timeouts: Timeouts) -> tuple[Manifest, ...]:
        """Return the policies of a service's routes: who may use it, and how long it may take.

        They come before the routes, which are closed from their first moment.
        """
        name = self._of_gateway(*route.service.split("/"))
        targets = [_route_target(name) for name in self._route_names(route)]
        limits = {"requestTimeout": f"{timeouts.request}s", "streamIdleTimeout": f"{timeouts.idle}s"}
        traffic = self._envoys(
            "BackendTrafficPolicy",
            name,
            {"targetRefs": targets, "mergeType": "StrategicMerge", "timeout": {"http": limits}},
        )
        if not self._gateway.spec.callers:
            return (traffic,)
        rules = [
            {
                "name": f"callers-{index}",
                "action": "Allow",
                "principal": {"headers": [{"name": CALLER, "values": list(part)}]},
            }
            for index, part in enumerate(_parts(route.entries, _PRINCIPALS))
        ]
        security = self._envoys(
            "SecurityPolicy",
            name,
            {
                "targetRefs": targets,
                "mergeType": "StrategicMerge",
                "authorization": {"defaultAction": "Deny", **({"rules": rules} if rules else {})},
            },
        )
        return (traffic, security)

    def _route_names(self, route: DoorRoute) -> list[str]:
        name = self._of_gateway(*route.service.split("/"))
        return [*([name] if route.models else []), f"{name}.path"]

    def service_routes(self, route: DoorRoute) -> tuple[Manifest, ...]:
        """Return the routes of a service: one for its names, if it has any, and one for its path."""
        name = self._of_gateway(*route.service.split("/"))
        prefix = names.service_path(route.service).rstrip("/")
        # A rule that replaces a prefix may have one match.
        by_path = [
            self._service_rule(route, {"path": _prefix(f"{prefix}{_below(path)}")}, path)
            for path in route.requests.paths
        ]
        routes = [self._route(f"{name}.path", by_path)]
        if route.models:
            by_name = [
                self._service_rule(
                    route, {"path": _prefix(_OPENAI), "headers": [{**match, "name": MODEL}]}, _OPENAI
                )
                for match in _matches(route.models)
            ]
            routes.insert(0, self._route(name, by_name))
        return tuple(routes)

    def _service_rule(self, route: DoorRoute, match: Manifest, path: str) -> Manifest:
        """Return a rule that sends requests to the clusters, as their gateways take them for the service."""
        if not route.backends:
            return {"matches": [match], "filters": [self._answer("nowhere")]}
        wanted = route.requests
        filters: list[Manifest] = []
        rewrite: Manifest = {}
        replaced = f"{wanted.prefix}{_below(path)}" or "/"
        if match["path"]["value"] != replaced:
            rewrite["path"] = {"type": "ReplacePrefixMatch", "replacePrefixMatch": replaced}
        if hostname := next((name for name in wanted.hostnames if not name.startswith("*")), None):
            rewrite["hostname"] = hostname
        if rewrite:
            filters.append({"type": "URLRewrite", "urlRewrite": rewrite})
        if wanted.headers:
            headers = [{"name": name, "value": value} for name, value in wanted.headers]
            filters.append({"type": "RequestHeaderModifier", "requestHeaderModifier": {"set": headers}})
        return {
            "matches": [match],
            **({"filters": filters} if filters else {}),
            "backendRefs": [self._backend_ref(backend) for backend in route.backends],
        }

    def _backend_ref(self, backend: DoorBackend) -> Manifest:
        return {
            "group": _ENVOY_GROUP,
            "kind": "Backend",
            "name": self._backend_name(backend.cluster, backend.fallback),
            "weight": backend.weight,
        }

    def _route(self, name: str, rules: list[Manifest]) -> Manifest:
        return {
            "apiVersion": _GATEWAY,
            "kind": "HTTPRoute",
            "metadata": self._metadata(name, _ACCEPTED_ROUTE),
            "spec": {"parentRefs": [{**self._target[0]}], "rules": rules},
        }


def _matches(models: Sequence[str]) -> Iterator[Manifest]:
    """Yield what is compared with the name of a model: as few values as there may be, for each is a rule.

    A rule that replaces a prefix has one match, and a route 16 rules.
    """
    parts: list[list[str]] = []
    for model in models:
        escaped = re.escape(model)
        if not parts or len("|".join([*parts[-1], escaped])) > _LONGEST_VALUE:
            parts.append([])
        parts[-1].append(escaped)
    if len(models) == 1:
        yield {"type": "Exact", "value": models[0]}
        return
    # Envoy compares the whole value.
    yield from ({"type": "RegularExpression", "value": "|".join(part)} for part in parts)


def endpoint(address: str) -> Manifest:
    """Return the endpoint of an EndpointSlice at an address."""
    return {"addresses": [address], "conditions": {"ready": True}}


def _api_keys(secrets: Iterable[str]) -> Manifest:
    return {
        "credentialRefs": [{"name": name} for name in secrets],
        "extractFrom": [{"headers": ["Authorization", "x-api-key"]}],
        "forwardClientIDHeader": CALLER,
        "sanitize": True,
    }


def _limit(caller: Caller) -> Manifest:
    """Return the rule for one caller: one budget over all of his keys and all routes."""
    header = {
        "type": "RegularExpression",
        "name": CALLER,
        # Names of callers have no character that means something else there.
        "value": rf"^{caller.name}(\.[0-9]+)?$",
    }
    return {
        "clientSelectors": [{"headers": [header]}],
        "limit": {"requests": caller.requests_per_minute, "unit": "Minute"},
        "shared": True,
    }


def _error(message: str, code: str) -> Manifest:
    kind = "invalid_request_error" if code == "model_not_found" else "server_error"
    return {"error": {"message": message, "type": kind, "param": "model", "code": code}}


def _route_target(name: str) -> Manifest:
    return {"group": _GATEWAY_GROUP, "kind": "HTTPRoute", "name": name}


def _prefix(path: str) -> Manifest:
    return {"type": "PathPrefix", "value": path}


def _below(path: str) -> str:
    return "" if path == "/" else path


def _parts(entries: tuple[str, ...], size: int) -> list[tuple[str, ...]]:
    return [entries[start : start + size] for start in range(0, len(entries), size)]
