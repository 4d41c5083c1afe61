"""Which listeners take a route, and under which host names."""

from dataclasses import replace
from ipaddress import IPv4Network
from typing import Any

import pytest
from gateway_objects import gateway, listener, route, rule, snapshot, to_pool

from sandbox.cluster.objects import Object
from sandbox.gateway.attachment import NotAccepted, hostnames
from sandbox.gateway.config import config

NETWORK = IPv4Network("127.4.255.0/24")


@pytest.mark.parametrize(
    ("own", "wanted", "both"),
    [
        (None, None, ("*",)),
        (None, ["a.com"], ("a.com",)),
        ("a.com", None, ("a.com",)),
        ("*.a.com", ["x.a.com", "b.com"], ("x.a.com",)),
        ("x.a.com", ["*.a.com"], ("x.a.com",)),
        ("*.a.com", ["a.com"], ()),
        ("A.com", ["a.com"], ("a.com",)),
    ],
)
def test_host_names_of_listener_and_route_must_meet(
    own: str | None, wanted: Any, both: tuple[str, ...]
) -> None:
    own_listener = listener(hostname=own) if own else listener()
    assert hostnames(own_listener, route("r", **({"hostnames": wanted} if wanted else {}))) == both


@pytest.mark.parametrize(
    ("at", "spec", "refused"),
    [
        (listener(), {}, None),
        (
            listener(allowedRoutes={"namespaces": {"from": "Same"}}),
            {},
            NotAccepted(
                "NotAllowedByListeners",
                "no listener of Gateway infra/edge allows routes of namespace ml. "
                "See allowedRoutes.namespaces there.",
            ),
        ),
        (
            listener(),
            {"parentRefs": [{"name": "edge", "namespace": "infra", "sectionName": "other"}]},
            NotAccepted(
                "NoMatchingParent",
                "Gateway infra/edge has no such listener that works (it has: http on 8080)",
            ),
        ),
        (
            listener(hostname="a.com"),
            {"hostnames": ["b.com"]},
            NotAccepted(
                "NoMatchingListenerHostname", "the host names b.com are none of the listeners' (a.com)"
            ),
        ),
        (
            listener(),
            {"rules": [rule("/x", kind="RegularExpression"), {"retry": {"attempts": 2}}]},
            NotAccepted(
                "UnsupportedValue",
                "the sandbox's gateway does not support "
                "spec.rules[0].matches[0].path.type: RegularExpression, "
                "spec.rules[1].retry. Real gateways may.",
            ),
        ),
        (
            listener(),
            {"rules": [{"filters": [{"requestHeaderModifier": {"remove": ["Host"]}}]}]},
            NotAccepted(
                "UnsupportedValue",
                "the sandbox's gateway does not support "
                "spec.rules[0].filters[0].requestHeaderModifier of Host "
                "(urlRewrite.hostname changes it). Real gateways may.",
            ),
        ),
        (
            listener(),
            {"rules": [{"filters": [{"type": "CORS", "cors": {"maxAge": 5}}]}]},
            NotAccepted(
                "UnsupportedValue",
                "the sandbox's gateway does not support spec.rules[0].filters[0].type: CORS, "
                "spec.rules[0].filters[0].cors. Real gateways may.",
            ),
        ),
    ],
)
def test_a_listener_says_why_it_does_not_take_a_route(
    at: Object, spec: Object, refused: NotAccepted | None
) -> None:
    decided = config(snapshot(gateway(listeners=[at]), route("r", **spec)), NETWORK)
    assert [parent.listeners for attached in decided.routes for parent in attached.parents] == [
        refused or ("http",)
    ]


def _rewrite(**path: str) -> Object:
    return {"filters": [{"type": "URLRewrite", "urlRewrite": {"path": path}}]}


_SAID = 'Error GWCER104: HTTPRoute "ml/r" is misconfigured, err: '
_FILTER = "spec.rules[0].filters[0].urlRewrite.path"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"timeouts": {"request": "60s"}}, "Timeouts are not supported."),
        (
            _rewrite(type="ReplacePrefixMatch", replacePrefixMatch="/"),
            f"{_FILTER}.replacePrefixMatch: / is not supported.",
        ),
        (
            _rewrite(type="ReplacePrefixMatch", replacePrefixMatch=""),
            f"{_FILTER}.replacePrefixMatch: (empty) is not supported.",
        ),
        (
            _rewrite(type="ReplaceFullPath", replaceFullPath="/one"),
            f"{_FILTER}.type: ReplaceFullPath, {_FILTER}.replaceFullPath is not supported.",
        ),
        (_rewrite(type="ReplacePrefixMatch", replacePrefixMatch="/v1"), None),
        ({}, None),
    ],
)
def test_under_googles_classes_a_route_is_refused_in_googles_words(more: Object, said: str | None) -> None:
    limited = route("r", rule("/x", to_pool("qwen"), **more))
    edge = gateway(gatewayClassName="gke-l7-rilb")
    seen = snapshot(edge, limited)
    (attached,) = config(replace(seen, classes={"gke-l7-rilb": seen.classes["ours"]}), NETWORK).routes
    accepting = NotAccepted("Invalid", f"{_SAID}{said}") if said else ("http",)
    assert [parent.listeners for parent in attached.parents] == [accepting]


@pytest.mark.parametrize(
    "more", [{"timeouts": {"request": "60s"}}, _rewrite(type="ReplacePrefixMatch", replacePrefixMatch="/")]
)
def test_other_classes_take_what_googles_refuse(more: Object) -> None:
    (attached,) = config(snapshot(gateway(), route("r", rule("/x", to_pool("qwen"), **more))), NETWORK).routes
    assert [parent.listeners for parent in attached.parents] == [("http",)]


@pytest.mark.parametrize(
    ("of_class", "accepting"),
    [
        ("gke-l7-rilb", ("http",)),
        ("gke-l7-regional-external-managed", ("http",)),
        (
            "gke-l7-global-external-managed",
            NotAccepted(
                "NotSupportedByParent",
                'Bind of InferencePool "ml/qwen" to GatewayRef "infra/edge" failed: Unsupported gateway: '
                "gatewayclass gke-l7-global-external-managed does not support inference pools",
            ),
        ),
    ],
)
def test_of_googles_classes_only_the_regional_ones_take_pools(of_class: str, accepting: Any) -> None:
    seen = snapshot(gateway(gatewayClassName=of_class), route("r", rule("/x", to_pool("qwen"))))
    (attached,) = config(replace(seen, classes={of_class: seen.classes["ours"]}), NETWORK).routes
    assert [parent.listeners for parent in attached.parents] == [accepting]


@pytest.mark.parametrize(
    ("selector", "accepted"),
    [
        ({"matchLabels": {"inferfleet.dev/stack": "prod"}}, True),
        ({"matchLabels": {"inferfleet.dev/stack": "test"}}, False),
        ({"matchLabels": {"inferfleet.dev/stack": "prod", "tier": "gold"}}, False),
        ({"matchExpressions": [{"key": "tier", "operator": "In", "values": ["silver", "gold"]}]}, False),
        ({"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["gold"]}]}, True),
        ({"matchExpressions": [{"key": "inferfleet.dev/stack", "operator": "Exists"}]}, True),
        ({"matchExpressions": [{"key": "inferfleet.dev/stack", "operator": "DoesNotExist"}]}, False),
        ({}, True),
        (None, False),
    ],
)
@pytest.mark.parametrize("infra", ["infra", "ml"])
def test_a_selector_takes_routes_of_namespaces_with_the_labels_and_of_no_others(
    selector: Object | None, accepted: bool, infra: str
) -> None:
    allowed = {"from": "Selector", **({} if selector is None else {"selector": selector})}
    edge = gateway(listeners=[listener(allowedRoutes={"namespaces": allowed})])
    edge["metadata"]["namespace"] = infra  # that a route is in the Gateway's own namespace is no reason
    parents = [{"name": "edge", "namespace": infra}]
    seen = snapshot(edge, route("r", parentRefs=parents), namespaces={"ml": {"inferfleet.dev/stack": "prod"}})
    (attached,) = config(seen, NETWORK).routes
    (parent,) = attached.parents
    assert (parent.listeners == ("http",)) is accepted
    if not accepted:
        assert parent.listeners == NotAccepted(
            "NotAllowedByListeners",
            f"no listener of Gateway {infra}/edge allows routes of namespace ml. "
            "See allowedRoutes.namespaces there.",
        )
