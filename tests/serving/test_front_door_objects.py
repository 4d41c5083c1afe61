"""The objects of InferenceGateways: each as Envoy Gateway was found to serve it without a lost request."""

from dataclasses import replace
from typing import Any

import yaml

from inferfleet.documents.kinds.inference_gateway import InferenceGateway
from inferfleet.documents.kinds.model_service import Timeouts
from inferfleet.fleet.front_door import Door, DoorBackend, DoorRoute
from inferfleet.fleet.traffic import Requests
from inferfleet.serving.front_door import FrontDoor

CHAT = DoorRoute(
    "ml/chat",
    ("chat", "qwen"),
    Requests("/ml/chat", ("/v1",)),
    (DoorBackend("us", 4), DoorBackend("eu", 1, fallback=True)),
    ("team-a", "team-a.2"),
)
LABELS = {
    "app.kubernetes.io/managed-by": "inferfleet",
    "inferfleet.dev/stack": "prod",
    "inferfleet.dev/gateway": "main",
}


def made(*routes: DoorRoute, **spec: Any) -> FrontDoor:
    callers = [
        {
            "name": "team-a",
            "keys": [
                {"secretRef": {"name": "keys", "key": "team-a"}},
                {"secretRef": {"name": "later", "key": "team-a.2"}},
            ],
            "requestsPerMinute": 600,
        }
    ]
    who = {} if "open" in spec else {"callers": callers}
    listeners, limits = {"http": {}}, {"redis": {"address": "redis.example.com:6379"}}
    given = {"clusters": ["hub"], "listeners": listeners, "limits": limits, **who, **spec}
    gateway = InferenceGateway.model_validate({"metadata": {"name": "main"}, "spec": given})
    return FrontDoor(gateway, Door("main", "hub", routes or (CHAT,)), stack="prod")


def specs(*manifests: dict[str, Any] | None) -> list[Any]:
    """Kind, name and spec of each, once its metadata are those of the gateway."""
    found = []
    for manifest in manifests:
        assert manifest is not None
        assert manifest["metadata"]["namespace"] == "inferfleet-system"
        assert manifest["metadata"]["labels"] == LABELS
        found.append({f"{manifest['kind']} {manifest['metadata']['name']}": manifest["spec"]})
    return found


def test_keys_are_asked_for_by_one_policy_of_the_gateway() -> None:
    """Those of a route are never asked for a request whose model is known only later."""
    assert specs(made().keys()) == yaml.safe_load("""
        - SecurityPolicy front-main:
            targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: front-main}]
            apiKeyAuth:
              credentialRefs: [{name: front-main.confirming}, {name: keys}, {name: later}]
              extractFrom: [{headers: [Authorization, x-api-key]}]
              forwardClientIDHeader: x-client-id
              sanitize: true
        """)


def test_a_gateway_that_is_open_asks_nobody() -> None:
    open_door = made(open=True)
    assert open_door.keys() is None
    assert open_door.steady() == ()
    assert [policy["kind"] for policy in open_door.service_policies(CHAT, Timeouts())] == [
        "BackendTrafficPolicy"
    ]


def test_what_callers_say_of_model_and_caller_is_removed_and_bodies_fit_the_router() -> None:
    assert specs(made().clients()) == yaml.safe_load("""
        - ClientTrafficPolicy front-main:
            targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: front-main}]
            connection: {bufferLimit: "4000000"}
            headers: {earlyRequestHeaders: {remove: [X-Gateway-Model-Name, x-client-id]}}
        """)


def test_a_cluster_that_fails_is_left_out_and_a_caller_has_one_budget() -> None:
    door = made(failover={"ejectAfter": 3, "ejectFor": "5s", "retries": 4})
    assert specs(door.traffic()) == yaml.safe_load(r"""
        - BackendTrafficPolicy front-main:
            targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: front-main}]
            timeout: {http: {requestTimeout: 0s}}
            retry:
              numRetries: 4
              numAttemptsPerPriority: 1
              retryOn:
                httpStatusCodes: [429, 502, 503, 504]
                triggers: [connect-failure, refused-stream, reset, retriable-status-codes]
              perRetry: {backOff: {baseInterval: 25ms, maxInterval: 250ms}}
            healthCheck:
              panicThreshold: 1
              passive:
                interval: 1s
                consecutive5XxErrors: 3
                consecutiveGatewayErrors: 3
                baseEjectionTime: 5s
                maxEjectionPercent: 100
            rateLimit:
              type: Global
              global:
                rules:
                  - clientSelectors:
                      - headers:
                          - {type: RegularExpression, name: x-client-id, value: '^team-a(\.[0-9]+)?$'}
                    limit: {requests: 600, unit: Minute}
                    shared: true
        """)


def test_a_route_that_nobody_uses_sorts_first_with_a_key_that_never_changes() -> None:
    secret, policy, route = made().steady()
    assert secret["stringData"] == {"steady": "opens-nothing"}
    assert specs(policy, route) == yaml.safe_load("""
        - SecurityPolicy front-main.steady:
            targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: front-main.steady}]
            apiKeyAuth:
              credentialRefs: [{name: front-main.steady}]
              extractFrom: [{headers: [Authorization, x-api-key]}]
              forwardClientIDHeader: x-client-id
              sanitize: true
        - HTTPRoute front-main.steady:
            parentRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: front-main}]
            rules:
              - matches:
                  - path:
                      {type: Exact, value: /inferfleet/steady/keys/of/the/listener/do/not/remove}
                filters:
                  - type: ExtensionRef
                    extensionRef:
                      {group: gateway.envoyproxy.io, kind: HTTPRouteFilter, name: front-main.unknown}
        """)


def test_a_service_is_reached_by_its_names_and_by_its_path() -> None:
    door = made()
    assert specs(*door.service_policies(CHAT, Timeouts()), *door.service_routes(CHAT)) == yaml.safe_load("""
        - BackendTrafficPolicy front-main.ml.chat:
            targetRefs: &routes
              - {group: gateway.networking.k8s.io, kind: HTTPRoute, name: front-main.ml.chat}
              - {group: gateway.networking.k8s.io, kind: HTTPRoute, name: front-main.ml.chat.path}
            mergeType: StrategicMerge
            timeout: {http: {requestTimeout: 3600s, streamIdleTimeout: 600s}}
        - SecurityPolicy front-main.ml.chat:
            targetRefs: *routes
            mergeType: StrategicMerge
            authorization:
              defaultAction: Deny
              rules:
                - name: callers-0
                  action: Allow
                  principal: {headers: [{name: x-client-id, values: [team-a, team-a.2]}]}
        - HTTPRoute front-main.ml.chat:
            parentRefs: &gateway [{group: gateway.networking.k8s.io, kind: Gateway, name: front-main}]
            rules:
              - matches:
                  - path: {type: PathPrefix, value: /v1}
                    headers: [{type: RegularExpression, name: X-Gateway-Model-Name, value: chat|qwen}]
                filters:
                  - type: URLRewrite
                    urlRewrite: {path: {type: ReplacePrefixMatch, replacePrefixMatch: /ml/chat/v1}}
                backendRefs: &clusters
                  - {group: gateway.envoyproxy.io, kind: Backend, name: front-main.us, weight: 4}
                  - {group: gateway.envoyproxy.io, kind: Backend, name: front-main.eu.fallback, weight: 1}
        - HTTPRoute front-main.ml.chat.path:
            parentRefs: *gateway
            rules:
              - matches: [{path: {type: PathPrefix, value: /ml/chat/v1}}]
                backendRefs: *clusters
        """)


def test_forty_adapters_need_no_more_rules_than_one() -> None:
    models = ("chat", *(f"chat:adapter.{number}" for number in range(40)))
    by_name, _ = made().service_routes(replace(CHAT, models=models))
    [rule] = by_name["spec"]["rules"]
    value = "|".join(("chat", *(rf"chat:adapter\.{number}" for number in range(40))))
    assert rule["matches"] == [
        {
            "path": {"type": "PathPrefix", "value": "/v1"},
            "headers": [{"type": "RegularExpression", "value": value, "name": "X-Gateway-Model-Name"}],
        }
    ]


def test_a_rule_has_as_many_names_as_a_value_has_characters_for() -> None:
    models = tuple(f"chat:{number:04}{'x' * 50}" for number in range(256))
    by_name, _ = made().service_routes(replace(CHAT, models=models))
    values = [rule["matches"][0]["headers"][0]["value"] for rule in by_name["spec"]["rules"]]
    assert "|".join(values).split("|") == list(models)
    assert [len(value) <= 4096 for value in values] == [True] * 4


def test_requests_reach_a_service_as_its_clusters_take_them() -> None:
    at_root = Requests("", ("/", "/v1"), ("*.acme.com", "models.acme.com"), (("x-model", "chat"),))
    route = DoorRoute("ml/chat", (), at_root, (DoorBackend("us", 1),), ("team-a",))
    [by_path] = made(route).service_routes(route)
    assert by_path["spec"]["rules"] == yaml.safe_load("""
        - matches: [{path: {type: PathPrefix, value: /ml/chat}}]
          filters:
            - type: URLRewrite
              urlRewrite:
                path: {type: ReplacePrefixMatch, replacePrefixMatch: /}
                hostname: models.acme.com
            - &headers
              type: RequestHeaderModifier
              requestHeaderModifier: {set: [{name: x-model, value: chat}]}
          backendRefs: &clusters
            - {group: gateway.envoyproxy.io, kind: Backend, name: front-main.us, weight: 1}
        - matches: [{path: {type: PathPrefix, value: /ml/chat/v1}}]
          filters:
            - type: URLRewrite
              urlRewrite:
                path: {type: ReplacePrefixMatch, replacePrefixMatch: /v1}
                hostname: models.acme.com
            - *headers
          backendRefs: *clusters
        """)


def test_a_service_without_clusters_answers_why() -> None:
    nowhere = DoorRoute("ml/chat", ("chat",), CHAT.requests, (), ("team-a",))
    door = made(nowhere)
    answers = {one["metadata"]["name"]: one["spec"]["directResponse"] for one in door.answers()}
    assert answers["front-main.nowhere"]["statusCode"] == 503
    for route in door.service_routes(nowhere):
        [rule] = route["spec"]["rules"]
        assert "backendRefs" not in rule
        assert rule["filters"][0]["extensionRef"]["name"] == "front-main.nowhere"


def test_models_are_listed_and_unknown_ones_answered_as_openai_does() -> None:
    answers = {one["metadata"]["name"]: one["spec"]["directResponse"] for one in made().answers()}
    assert {name: yaml.safe_load(answer["body"]["inline"]) for name, answer in answers.items()} == {
        "front-main.models": {
            "object": "list",
            "data": [
                {"id": "chat", "object": "model", "created": 0, "owned_by": "ml"},
                {"id": "qwen", "object": "model", "created": 0, "owned_by": "ml"},
            ],
        },
        "front-main.unknown": {
            "error": {
                "message": "The model does not exist",
                "type": "invalid_request_error",
                "param": "model",
                "code": "model_not_found",
            }
        },
        "front-main.nowhere": {
            "error": {
                "message": "No cluster serves this model now",
                "type": "server_error",
                "param": "model",
                "code": "model_unavailable",
            }
        },
    }


def test_the_router_is_asked_on_the_catch_all_route_alone_and_again_when_one_is_gone() -> None:
    assert specs(made().reads_models()) == yaml.safe_load("""
        - EnvoyExtensionPolicy front-main.router:
            targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: front-main.catch-all}]
            extProc:
              - backendRefs: [{name: front-main-router, port: 9004}]
                processingMode: {request: {body: Buffered}}
                messageTimeout: 5s
                failOpen: false
                statusOnError: 503
                backendSettings:
                  retry:
                    numRetries: 2
                    retryOn:
                      triggers: [connect-failure, refused-stream, reset, unavailable, cancelled]
                  healthCheck:
                    panicThreshold: 1
                    passive:
                      interval: 1s
                      consecutive5XxErrors: 2
                      consecutiveGatewayErrors: 2
                      baseEjectionTime: 5s
                      maxEjectionPercent: 100
        """)
    deployment = made().router()[-1]
    assert deployment["kind"] == "Deployment"
    assert deployment["spec"]["replicas"] == 2


def test_a_listener_for_https_is_awaited_by_itself() -> None:
    """A Gateway says that it is programmed while a certificate is broken."""
    door = made(
        hostname="ai.acme.com",
        listeners={"https": {"certificate": {"secretRef": "gateway-cert"}}, "http": {}},
    )
    gateway = door.gateway()
    assert gateway["spec"]["listeners"] == yaml.safe_load("""
        - name: https
          protocol: HTTPS
          port: 443
          tls: {mode: Terminate, certificateRefs: [{kind: Secret, name: gateway-cert}]}
          allowedRoutes: {namespaces: {from: Same}}
          hostname: ai.acme.com
        - name: http
          protocol: HTTP
          port: 80
          allowedRoutes: {namespaces: {from: Same}}
          hostname: ai.acme.com
        """)
    assert yaml.safe_load(gateway["metadata"]["annotations"]["pulumi.com/waitFor"]) == [
        'jsonpath={.status.conditions[?(@.type=="Programmed")].status}=True',
        'jsonpath={.status.listeners[0].conditions[?(@.type=="Programmed")].status}=True',
        'jsonpath={.status.listeners[1].conditions[?(@.type=="Programmed")].status}=True',
    ]


def test_clusters_are_found_by_name_wherever_they_are() -> None:
    """Envoy Gateway does not fail over between names and addresses."""
    door = made()
    backends = (
        door.backend("us", host="us.acme.com", port=8080, fallback=False),
        door.backend("eu", host=None, port=80, fallback=True),
    )
    # Envoy Gateway says nothing of a Backend before a route has it, so an update would wait for ever.
    assert ["annotations" in backend["metadata"] for backend in backends] == [False, False]
    assert specs(*backends) == yaml.safe_load("""
        - Backend front-main.us:
            endpoints: [{fqdn: {hostname: us.acme.com, port: 8080}}]
        - Backend front-main.eu.fallback:
            fallback: true
            endpoints:
              - fqdn:
                  {hostname: front-main-eu-9b0d9d.inferfleet-system.svc.cluster.local, port: 80}
        """)
