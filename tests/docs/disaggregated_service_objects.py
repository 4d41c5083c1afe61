"""What OtterScale's operator makes of a ModelService with prefill: otterscale/model-operator, ca17623.

The objects of both roles and of the picker; those of one role alone are as of a ModelService without prefill.
"""

import json
from typing import Any

from model_service_objects import MANAGED, PLAIN, RBAC, Objects, labels, made, rule, selector

TRANSFER = '{"kv_connector":"NixlConnector","kv_role":"kv_both"}'
SIDE_CHANNEL = "VLLM_NIXL_SIDE_CHANNEL_PORT"


def disaggregated(
    name: str,
    namespace: str,
    *,
    decode: dict[str, Any],
    prefill: dict[str, Any],
    proxy_image: str,
    **service: Any,
) -> Objects:
    """The objects by what they are. `decode` and `prefill`: what `made` takes of a role, and of its pods."""
    found = _role(name, namespace, "decode", decode, service)
    other = _role(name, namespace, "prefill", prefill, service)
    pod = found["Deployment"]["spec"]["template"]["spec"]
    pod["initContainers"].append(_proxy(proxy_image))
    (engine,) = pod["containers"]
    engine["args"][engine["args"].index("8000")] = "8200"
    engine["ports"][0]["containerPort"] = 8200
    config = found["ConfigMap"] | {"data": {"pd-config.yaml": _config()}}
    picker = json.loads(
        json.dumps(found["Picker"]).replace("/config/default-plugins.yaml", "/config/pd-config.yaml")
    )
    return (
        found
        | {"ConfigMap": config, "Picker": picker}
        | {f"{kind} of prefill": other[kind] for kind in ("Deployment", "PodMonitor")}
        | _access(name, namespace)
        | _metrics(name, namespace)
    )


def _role(name: str, namespace: str, role: str, of: dict[str, Any], service: dict[str, Any]) -> Objects:
    own = {key: of.get(key) for key in ("nodeSelector", "tolerations") if of.get(key)}
    sizes = {key: of[key] for key in ("replicas", "tensor", "resources")}
    objects: Objects = json.loads(
        json.dumps(made(name, namespace, **sizes, **service)).replace("decode", role)
    )
    template = objects["Deployment"]["spec"]["template"]
    template["metadata"] |= {"annotations": of["annotations"]}
    template["spec"] |= own
    (engine,) = template["spec"]["containers"]
    engine["args"] += ["--kv-transfer-config", TRANSFER]
    engine["env"].append({"name": SIDE_CHANNEL, "value": "5600"})
    engine["ports"].append({"name": "nixl-side", "containerPort": 5600})
    return objects


def _proxy(image: str) -> dict[str, Any]:
    return {
        "name": "routing-proxy",
        "image": image,
        "restartPolicy": "Always",
        "args": [
            *("--port", "8000", "--vllm-port", "8200", "--connector", "nixlv2"),
            *("--zap-encoder", "json", "--zap-log-level", "info", "--secure-proxy=false"),
        ],
        "ports": [{"name": "proxy", "containerPort": 8000}],
        "securityContext": PLAIN,
    }


def _config() -> dict[str, Any]:
    weights = {"prefix-cache-scorer": 2, "queue-scorer": 1}
    scored = [{"pluginRef": name, "weight": weight} for name, weight in weights.items()]
    decider = "prefix-based-pd-decider"
    sizes = {"maxPrefixBlocksToMatch": 256, "lruCapacityPerServer": 31250}
    return {
        "apiVersion": "inference.networking.x-k8s.io/v1alpha1",
        "kind": "EndpointPickerConfig",
        "featureGates": ["prepareDataPlugins"],
        "plugins": [
            {"type": "prefill-header-handler"},
            {"type": "prefix-cache-scorer", "parameters": sizes},
            *({"type": name} for name in ("queue-scorer", "prefill-filter", "decode-filter")),
            {"type": "max-score-picker"},
            {"type": decider, "parameters": {"nonCachedTokens": 16}},
            {"type": "pd-profile-handler", "parameters": {"primaryPort": 0, "deciderPluginName": decider}},
        ],
        "schedulingProfiles": [
            {
                "name": role,
                "plugins": [{"pluginRef": f"{role}-filter"}, {"pluginRef": "max-score-picker"}, *scored],
            }
            for role in ("prefill", "decode")
        ],
    }


def _access(name: str, namespace: str) -> Objects:
    epp, everywhere = f"{name}-epp", f"{namespace}-{name}-epp"
    subjects = [{"kind": "ServiceAccount", "name": epp, "namespace": namespace}]
    roles = {"Role": epp, "ClusterRole": everywhere}
    bindings: Objects = {
        f"{kind}Binding": {
            "apiVersion": f"{RBAC}/v1",
            "kind": f"{kind}Binding",
            "metadata": {"name": role, "labels": labels(epp, "epp")},
            "roleRef": {"apiGroup": RBAC, "kind": kind, "name": role},
            "subjects": subjects,
        }
        for kind, role in roles.items()
    }
    bindings["RoleBinding"]["metadata"]["namespace"] = namespace
    return bindings | {
        "ClusterRole": {
            "apiVersion": f"{RBAC}/v1",
            "kind": "ClusterRole",
            "metadata": {"name": everywhere, "labels": labels(epp, "epp")},
            "rules": [
                rule("authentication.k8s.io", ["tokenreviews"], "create"),
                rule("authorization.k8s.io", ["subjectaccessreviews"], "create"),
                {"nonResourceURLs": ["/metrics"], "verbs": ["get"]},
            ],
        }
    }


def _metrics(name: str, namespace: str) -> Objects:
    epp = f"{name}-epp"
    secret = f"{epp}-sa-metrics-reader-secret"
    meta = {"namespace": namespace, "labels": labels(epp, "epp")}
    credentials = {"name": secret, "key": "token"}
    endpoint = {"port": "http-metrics", "interval": "30s", "authorization": {"credentials": credentials}}
    return {
        "ServiceMonitor": {
            "apiVersion": "monitoring.coreos.com/v1",
            "kind": "ServiceMonitor",
            "metadata": {"name": epp, **meta},
            "spec": {"selector": {"matchLabels": selector(epp, "epp") | MANAGED}, "endpoints": [endpoint]},
        },
        "Secret": {
            "apiVersion": "v1",
            "kind": "Secret",
            "type": "kubernetes.io/service-account-token",
            "metadata": {
                "name": secret,
                "annotations": {"kubernetes.io/service-account.name": epp},
                **meta,
            },
        },
    }
