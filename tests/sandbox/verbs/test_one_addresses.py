"""Where a service answers at one address: by Gateways and HTTPRoutes, with a key that settings show."""

from typing import Any

import pytest

from inferfleet.documents.kinds.inference_gateway import InferenceGateway
from sandbox.verbs.one_address import OneAddress, addresses

GATEWAY = {
    "kind": "Gateway",
    "metadata": {"name": "front-main"},
    "spec": {"listeners": [{"protocol": "HTTP", "port": 8000}]},
    "status": {"addresses": [{"value": "127.1.3.1"}]},
}
HEADER = {"type": "Exact", "name": "X-Gateway-Model-Name", "value": "qwen"}
ROUTE = {
    "kind": "HTTPRoute",
    "metadata": {"name": "front-main.ml.chat"},
    "spec": {"rules": [{"matches": [{"path": {"value": "/v1"}, "headers": [HEADER]}]}]},
}
SECRETS = {"inferfleet-system/keys": {"team-b": "sk-b", "team-c": {"secure": "v1:..."}}}


def gateway(**spec: Any) -> InferenceGateway:
    given = {"clusters": ["hub"], "listeners": {"http": {"port": 8000}}, **spec}
    return InferenceGateway.model_validate({"metadata": {"name": "main"}, "spec": given})


def caller(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "keys": [{"secretRef": {"name": "keys", "key": name}}], **more}


@pytest.mark.parametrize(
    ("spec", "objects", "headers"),
    [
        (
            {"callers": [caller("team-a", services=["ml/other"]), caller("team-c"), caller("team-b")]},
            [GATEWAY, ROUTE],
            (("authorization", "Bearer sk-b"),),
        ),
        ({"open": True}, [GATEWAY, ROUTE], ()),
        ({"callers": [caller("team-c")]}, [GATEWAY, ROUTE], None),
        ({"open": True}, [GATEWAY], None),
        ({"open": True}, [ROUTE], None),
    ],
)
def test_a_service_answers_to_a_caller_whose_key_can_be_read(
    spec: dict[str, Any], objects: list[Any], headers: Any
) -> None:
    found = list(addresses(gateway(**spec), "hub", "ml/chat", objects, SECRETS))
    address = OneAddress("main", "hub", "http://127.1.3.1:8000", "qwen", headers=headers or ())
    assert found == ([] if headers is None else [address])
