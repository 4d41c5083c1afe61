"""istio shown on whole pods, and what contradicts itself."""

import copy
from typing import Any

import pytest
from pydantic import ValidationError

from inferfleet.plugins.api import Edited, PluginError, Request
from inferfleet.plugins.builtin.istio import Config, edit


def test_a_pod_without_a_proxy_has_the_label(generated: dict[str, Any], pod_request: Request) -> None:
    expected = copy.deepcopy(generated)
    expected["metadata"]["labels"]["sidecar.istio.io/inject"] = "false"
    assert edit(generated, pod_request, Config(inject=False)) == Edited(expected)


def test_a_native_sidecar_leaves_ports_alone_besides_those_of_the_template(
    generated: dict[str, Any], pod_request: Request
) -> None:
    generated["metadata"]["annotations"] = {"traffic.sidecar.istio.io/excludeInboundPorts": "22, 5600"}
    expected = copy.deepcopy(generated)
    expected["metadata"]["labels"]["sidecar.istio.io/inject"] = "true"
    expected["metadata"]["annotations"] = {
        "traffic.sidecar.istio.io/excludeInboundPorts": "22,5600,29500",
        "traffic.sidecar.istio.io/excludeOutboundPorts": "5600",
        "sidecar.istio.io/nativeSidecar": "true",
        "sidecar.istio.io/proxyCPU": "100m",
        "sidecar.istio.io/proxyMemory": "128Mi",
        "sidecar.istio.io/proxyCPULimit": "2000m",
        "sidecar.istio.io/proxyMemoryLimit": "1024Mi",
    }
    config = Config.model_validate(
        {
            "inject": True,
            "nativeSidecar": True,
            "excludeInboundPorts": [5600, 29500],
            "excludeOutboundPorts": [5600],
        }
    )
    injected = {"istio-proxy": {"cpu": "100m", "memory": "128Mi"}}
    assert edit(generated, pod_request, config) == Edited(expected, injected=injected)


def test_what_the_proxy_requests_is_written_and_counted(
    generated: dict[str, Any], pod_request: Request
) -> None:
    proxy = {"cpu": "1", "memory": "1Gi", "memoryLimit": "2Gi"}
    edited = edit(generated, pod_request, Config.model_validate({"inject": True, "proxy": proxy}))
    assert edited.template["metadata"]["annotations"] == {
        "sidecar.istio.io/proxyCPU": "1",
        "sidecar.istio.io/proxyMemory": "1Gi",
        "sidecar.istio.io/proxyCPULimit": "2000m",
        "sidecar.istio.io/proxyMemoryLimit": "2Gi",
    }
    assert edited.injected == {"istio-proxy": {"cpu": "1", "memory": "1Gi"}}


def test_a_template_that_asks_for_another_proxy_is_refused(
    generated: dict[str, Any], pod_request: Request
) -> None:
    generated["metadata"]["annotations"] = {"sidecar.istio.io/proxyCPU": "4"}
    with pytest.raises(PluginError, match=r"proxyCPU 100m contradicts the template, which has 4"):
        edit(generated, pod_request, Config(inject=True))


@pytest.mark.parametrize(
    ("kind", "key", "config"),
    [
        ("labels", "sidecar.istio.io/inject", Config(inject=False)),
        ("annotations", "sidecar.istio.io/nativeSidecar", Config(native_sidecar=False)),
    ],
)
def test_what_the_template_says_otherwise_is_refused(
    generated: dict[str, Any], pod_request: Request, kind: str, key: str, config: Config
) -> None:
    generated["metadata"].setdefault(kind, {})[key] = "true"
    with pytest.raises(PluginError, match=f"{key} false contradicts the template, which has true"):
        edit(generated, pod_request, config)


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({}, "the config says nothing"),
        (
            {"inject": False, "nativeSidecar": True},
            "inject is false, so there is no proxy that nativeSidecar",
        ),
        ({"inject": False, "excludeInboundPorts": [1]}, "no proxy that excludeInboundPorts could be about"),
        ({"excludeInboundPorts": [0]}, "greater than or equal to 1"),
        ({"proxy": {"cpu": "1"}}, "the config says nothing"),
        ({"inject": False, "proxy": {"cpu": "1"}}, "no proxy that proxy could be about"),
        ({"inject": True, "proxy": {"cpu": "3"}}, "cpu requested is 3, which is more than cpuLimit 2000m"),
        ({"inject": True, "proxy": {"memory": "0"}}, "0 must be more than 0"),
        ({"inject": True, "proxy": {"memory": "much"}}, "'much' is not a Kubernetes quantity"),
    ],
)
def test_a_config_that_contradicts_itself_is_refused(config: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        Config.model_validate(config)


def test_the_deprecated_annotation_with_another_value_is_refused(
    generated: dict[str, Any], pod_request: Request
) -> None:
    generated["metadata"]["annotations"] = {"sidecar.istio.io/inject": "true"}
    with pytest.raises(PluginError, match="inject false contradicts the template's annotation"):
        edit(generated, pod_request, Config(inject=False))
