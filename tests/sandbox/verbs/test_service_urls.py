"""The URL of a service is read from Gateways and HTTPRoutes as they are on a cluster."""

from typing import Any

import pytest

from sandbox.problem import SandboxProblem
from sandbox.verbs.service_urls import ServiceUrl, choose, refuse_without_route, service_urls


def gateway(**status: Any) -> dict[str, Any]:
    return {
        "kind": "Gateway",
        "metadata": {"namespace": "inferfleet-system", "name": "inferfleet"},
        "spec": {"listeners": [{"protocol": "HTTP", "port": 8080}]},
        "status": status,
    }


ADDRESSED = gateway(addresses=[{"type": "IPAddress", "value": "127.1.3.1"}])


def route(
    service: str = "chat", *, conditions: list[dict[str, str]] | None = None, **spec: Any
) -> dict[str, Any]:
    return {
        "kind": "HTTPRoute",
        "metadata": {
            "namespace": "ml",
            "name": f"{service}-svc",
            "labels": {"inferfleet.dev/service": service},
        },
        "spec": {
            "parentRefs": [{"namespace": "inferfleet-system", "name": "inferfleet"}],
            "rules": [
                {
                    "matches": [{"path": {"type": "PathPrefix", "value": f"/ml/{service}/v1"}}],
                    "filters": [
                        {
                            "type": "URLRewrite",
                            "urlRewrite": {
                                "path": {"type": "ReplacePrefixMatch", "replacePrefixMatch": "/v1"}
                            },
                        }
                    ],
                    "backendRefs": [{"kind": "InferencePool", "name": "qwen", "weight": 1}],
                }
            ],
            **spec,
        },
        "status": {"parents": [{"conditions": conditions or []}]},
    }


AT_THE_ROOT = {
    "matches": [
        {
            "path": {"type": "PathPrefix", "value": "/v1"},
            "headers": [{"type": "Exact", "name": "X-Gateway-Model-Name", "value": "qwen"}],
        }
    ],
    "backendRefs": [{"kind": "InferencePool", "name": "qwen", "weight": 1}],
}
REFUSED = [{"type": "Accepted", "status": "False", "reason": "UnsupportedValue", "message": "no mirrors"}]
DEPLOYMENT_ROUTE = {"kind": "HTTPRoute", "metadata": {"namespace": "ml", "name": "qwen"}, "spec": {}}


INSIDE = gateway(
    addresses=[{"type": "Hostname", "value": "inferfleet-istio.inferfleet-system.svc.cluster.local"}]
)


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        (
            [INSIDE, route()],
            ServiceUrl(
                "ml/chat",
                "east",
                None,
                problem="Gateway inferfleet-system/inferfleet is reached at "
                "inferfleet-istio.inferfleet-system.svc.cluster.local from inside of the cluster alone. "
                "Its cluster says `serviceType: LoadBalancer` in serving.gateway to give it an address here.",
            ),
        ),
        (
            [ADDRESSED, route(), DEPLOYMENT_ROUTE],
            ServiceUrl("ml/chat", "east", "http://127.1.3.1:8080/ml/chat", deployments=("qwen",)),
        ),
        (
            [ADDRESSED, route(hostnames=["chat.example.com"])],
            ServiceUrl(
                "ml/chat", "east", "http://127.1.3.1:8080/ml/chat", "chat.example.com", deployments=("qwen",)
            ),
        ),
        (
            [ADDRESSED, route(rules=[AT_THE_ROOT])],
            ServiceUrl(
                "ml/chat",
                "east",
                "http://127.1.3.1:8080",
                deployments=("qwen",),
                headers=(("X-Gateway-Model-Name", "qwen"),),
            ),
        ),
        (
            [gateway(), route()],
            ServiceUrl(
                "ml/chat",
                "east",
                None,
                problem="Gateway inferfleet-system/inferfleet has no address yet. "
                "`inferfleet sandbox status` says whether its controller runs.",
            ),
        ),
        (
            [ADDRESSED, route(conditions=REFUSED)],
            ServiceUrl(
                "ml/chat",
                "east",
                None,
                problem="HTTPRoute ml/chat-svc is not accepted: UnsupportedValue: no mirrors",
            ),
        ),
    ],
)
def test_a_service_has_a_url_or_a_reason_why_not(objects: list[dict[str, Any]], expected: ServiceUrl) -> None:
    assert service_urls(objects, cluster="east") == (expected,)


EAST = ServiceUrl("ml/chat", "east", None, problem="Gateway a/b has no address yet.")
WEST = ServiceUrl("ml/chat", "west", "http://127.2.3.1:8080/ml/chat")
OTHER = ServiceUrl("qa/chat", "west", "http://127.2.3.1:8080/qa/chat")


def test_the_first_cluster_with_a_url_is_asked() -> None:
    assert choose((EAST, WEST), "chat") == WEST
    assert choose((EAST, WEST, OTHER), "qa/chat", cluster="west") == OTHER


@pytest.mark.parametrize(
    ("services", "service", "cluster", "says"),
    [
        ((WEST,), "chatt", None, "There is: ml/chat on west."),
        ((WEST,), "chat", "east", "no service chat on cluster east"),
        ((WEST, OTHER), "chat", None, "chat may be ml/chat or qa/chat"),
        ((EAST, WEST), "chat", "east", "ml/chat on east: Gateway a/b has no address yet."),
        ((), "chat", None, "There is: none."),
    ],
)
def test_what_cannot_be_asked_says_what_there_is(
    services: tuple[ServiceUrl, ...], service: str, cluster: str | None, says: str
) -> None:
    with pytest.raises(SandboxProblem) as problem:
        choose(services, service, cluster=cluster)
    assert says in str(problem.value)


@pytest.mark.parametrize(
    ("name", "has"),
    [
        ("chat", "service ml/chat has no HTTPRoute"),
        ("ml/talk", "service ml/talk has no HTTPRoute"),
        (None, "services ml/chat, ml/talk have no HTTPRoute"),
    ],
)
def test_a_service_of_the_documents_without_a_route_is_told(name: str | None, has: str) -> None:
    with pytest.raises(SandboxProblem) as refused:
        refuse_without_route(["ml/talk", "ml/chat"], name, stack="local")
    assert str(refused.value) == (
        f"{has} on the clusters that run: no update made it yet, or somebody deleted it. "
        "Run `pulumi up --refresh`; `inferfleet status --stack local` says what else is missing."
    )


def test_a_service_that_no_document_has_is_none_of_theirs() -> None:
    refuse_without_route(["ml/chat"], "talk", stack="local")
