"""What InferenceGateways need of Envoy Gateway's configuration."""

from typing import Any

import pytest

from inferfleet.documents.kinds.inference_gateway import InferenceGateway
from inferfleet.serving.envoy_gateway import configuration


def gateway(**spec: Any) -> InferenceGateway:
    given = {"clusters": ["hub"], "listeners": {"http": {}}, "open": True, **spec}
    return InferenceGateway.model_validate({"metadata": {"name": "main"}, "spec": given})


@pytest.mark.parametrize(("when_gone", "closed"), [("Pass", False), ("Refuse", True)])
def test_requests_are_counted_in_the_redis_of_a_gateway(when_gone: str, closed: bool) -> None:
    limits = {"redis": {"address": "redis.example.com:6379"}, "whenGone": when_gone}
    assert configuration([gateway(), gateway(limits=limits)]) == {
        "extensionApis": {"enableBackend": True},
        "rateLimit": {
            "backend": {"type": "Redis", "redis": {"url": "redis.example.com:6379"}},
            "timeout": "500ms",
            "failClosed": closed,
        },
    }


def test_without_limits_nothing_counts() -> None:
    assert configuration([gateway()]) == {"extensionApis": {"enableBackend": True}}


def test_the_password_of_redis_is_that_of_a_secret() -> None:
    redis = {"address": "redis:6379", "secretRef": {"name": "redis", "key": "password"}}
    made = configuration([gateway(limits={"redis": redis})])
    assert made["provider"]["kubernetes"]["rateLimitDeployment"]["container"] == {
        "env": [
            {
                "name": "REDIS_AUTH",
                "valueFrom": {"secretKeyRef": {"name": "redis", "key": "password"}},
            }
        ]
    }
