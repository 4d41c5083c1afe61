"""What istiod makes the pods of Gateways from: the files that Istio's chart gives it as a ConfigMap.

Source: templates/istiod-injector-configmap.yaml of the chart istio-discovery.
"""

import json
from typing import Any

import yaml

# Images of Istio's releases, and the one of its proxies.
HUB, TAG, PROXY_IMAGE = "docker.io/istio", "1.31.1", "proxyv2"
# The template that Gateways of class `istio` are made from.
_TEMPLATE = "kube-gateway"


def values(chart: str) -> str:
    """Return the values for templates as JSON, from the text of the chart's values.yaml."""
    defaults: dict[str, Any] = yaml.safe_load(chart)["_internal_defaults_do_not_set"]
    picked = {name: defaults[name] for name in ("global", "sidecarInjectorWebhook", "revision")}
    picked["global"] |= {"hub": HUB, "tag": TAG}
    picked["pilot"] = {name: defaults[name] for name in ("cni", "env")}
    picked["gateways"] = {name: defaults["gateways"][name] for name in ("securityContext", "seccompProfile")}
    return json.dumps(picked, indent=1)


def config(template: str) -> str:
    """Return the configuration with the text of the template for Gateways, and none for sidecars."""
    return yaml.safe_dump(
        {
            "policy": "disabled",
            "defaultTemplates": [],
            "alwaysInjectSelector": [],
            "neverInjectSelector": [],
            "injectedAnnotations": {},
            "template": "",
            "templates": {_TEMPLATE: template},
        }
    )
