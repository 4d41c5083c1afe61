"""What OtterScale's operator makes of a ModelService, but for prefill: otterscale/model-operator, ca17623."""

from typing import Any

Objects = dict[str, dict[str, Any]]
MANAGED = {"app.kubernetes.io/part-of": "otterscale-system", "app.kubernetes.io/managed-by": "model-operator"}
PLAIN = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
POD_SECURITY = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
POOL_GROUP, RBAC = "inference.networking.k8s.io", "rbac.authorization.k8s.io"


def labels(name: str, component: str, **more: str) -> dict[str, str]:
    own = {"app.kubernetes.io/name": name, "app.kubernetes.io/component": component, **MANAGED}
    return own | {"app.kubernetes.io/version": "devel"} | more


def selector(name: str, component: str) -> dict[str, str]:
    return {"app.kubernetes.io/name": name, "app.kubernetes.io/component": component, **MANAGED}


def rule(group: str, resources: list[str], *verbs: str) -> dict[str, Any]:
    return {"apiGroups": [group], "resources": resources, "verbs": list(verbs)}


def made(
    name: str,
    namespace: str,
    *,
    model: str,
    image: str,
    served: str,
    replicas: int,
    tensor: int,
    resources: dict[str, Any],
    pull_secret: str | None,
    gateway: tuple[str, str],
    hostnames: list[str],
    failure_mode: str,
) -> Objects:
    """The objects by what they are of the ModelService."""
    epp = f"{name}-epp"
    serves = {"llm-d.ai/inferenceServing": "true", "llm-d.ai/model": name}
    picker = {"app.kubernetes.io/name": epp, "app.kubernetes.io/component": "epp", **MANAGED}

    def meta(own: str) -> dict[str, Any]:
        return {"name": own, "namespace": namespace, "labels": labels(epp, "epp")}

    sizes = [{"name": size, "value": str(value)} for size, value in _sizes(tensor)]
    docker_env = [{"name": "DOCKER_CONFIG", "value": "/.docker"}] if pull_secret else []
    docker_mount = (
        [{"name": "docker-config", "mountPath": "/.docker", "readOnly": True}] if pull_secret else []
    )
    items = [{"key": ".dockerconfigjson", "path": "config.json"}]
    docker = {"name": "docker-config", "secret": {"secretName": pull_secret, "items": items}}
    pod: dict[str, Any] = {
        "automountServiceAccountToken": False,
        "securityContext": POD_SECURITY,
        **({"imagePullSecrets": [{"name": pull_secret}]} if pull_secret else {}),
        "initContainers": [
            {
                "name": "model-unpack",
                "image": "ghcr.io/kitops-ml/kitops:v1.11.0",
                "command": ["/bin/sh", "-c"],
                "args": ["a script that ends in: kit unpack --plain-http -o -d"],
                "env": [
                    {"name": "OCI_MODEL_IMAGE", "value": model},
                    {"name": "MODEL_MOUNT_PATH", "value": "/models"},
                    {"name": "KITOPS_HOME", "value": "/tmp/model-oci"},
                    *docker_env,
                ],
                "volumeMounts": [
                    {"name": "model-tmp", "mountPath": "/tmp/model-oci"},
                    {"name": "model", "mountPath": "/models"},
                    *docker_mount,
                ],
                "securityContext": PLAIN,
            }
        ],
        "containers": [
            {
                "name": "vllm",
                "image": image,
                "command": ["vllm", "serve"],
                "args": [
                    *("/models", "--port", "8000", "--served-model-name", served),
                    *(("--tensor-parallel-size", str(tensor)) if tensor > 1 else ()),
                ],
                "env": sizes,
                "ports": [{"name": "http", "containerPort": 8000}],
                "volumeMounts": [{"name": "model", "mountPath": "/models", "readOnly": True}],
                "resources": resources,
                "securityContext": PLAIN,
            }
        ],
        "volumes": [
            {"name": "model", "emptyDir": {}},
            {"name": "model-tmp", "emptyDir": {}},
            *([docker] if pull_secret else []),
        ],
    }
    of_pods = selector(name, "model-decode") | serves | {"llm-d.ai/role": "decode"}
    return {
        "Deployment": {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {
                "name": f"{name}-decode",
                "namespace": namespace,
                "labels": labels(name, "model-decode"),
            },
            "spec": {
                "replicas": replicas,
                "selector": {"matchLabels": of_pods},
                "template": {
                    "metadata": {
                        "labels": labels(name, "model-decode", **serves, **{"llm-d.ai/role": "decode"})
                    },
                    "spec": pod,
                },
            },
        },
        "Picker": _picker(name, namespace, meta(epp), picker),
        "ServiceAccount": {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta(epp)},
        "ConfigMap": {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": meta(f"{epp}-config"),
            "data": {"default-plugins.yaml": _config()},
        },
        "Service": {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": meta(epp),
            "spec": {
                "selector": picker,
                "ports": [
                    {"name": "grpc-ext-proc", "protocol": "TCP", "port": 9002, "targetPort": 9002},
                    {"name": "http-metrics", "protocol": "TCP", "port": 9090, "targetPort": 9090},
                ],
            },
        },
        "Role": {
            "apiVersion": f"{RBAC}/v1",
            "kind": "Role",
            "metadata": meta(epp),
            "rules": [
                rule("", ["pods"], "get", "list", "watch"),
                rule(POOL_GROUP, ["inferencepools"], "get", "list", "watch"),
                rule(
                    "inference.networking.x-k8s.io",
                    ["inferenceobjectives", "inferencemodelrewrites"],
                    *("get", "list", "watch"),
                ),
            ],
        },
        "InferencePool": {
            "apiVersion": f"{POOL_GROUP}/v1",
            "kind": "InferencePool",
            "metadata": {"name": name, "namespace": namespace, "labels": labels(name, "epp")},
            "spec": {
                "targetPorts": [{"number": 8000}],
                "selector": {"matchLabels": {"app.kubernetes.io/name": name, **MANAGED, **serves}},
                "endpointPickerRef": {
                    "group": "",
                    "kind": "Service",
                    "name": epp,
                    "port": {"number": 9002},
                    "failureMode": failure_mode,
                },
            },
        },
        "HTTPRoute": {
            "apiVersion": "gateway.networking.k8s.io/v1",
            "kind": "HTTPRoute",
            "metadata": {"name": name, "namespace": namespace, "labels": labels(name, "epp")},
            "spec": {
                "parentRefs": [{"name": gateway[0], "namespace": gateway[1]}],
                **({"hostnames": hostnames} if hostnames else {}),
                "rules": [
                    {
                        "matches": [
                            {
                                "path": {"type": "PathPrefix", "value": "/"},
                                "headers": [
                                    {"type": "Exact", "name": "OtterScale-Model-Name", "value": name}
                                ],
                            }
                        ],
                        "backendRefs": [{"group": POOL_GROUP, "kind": "InferencePool", "name": name}],
                    }
                ],
            },
        },
        "DestinationRule": {
            "apiVersion": "networking.istio.io/v1beta1",
            "kind": "DestinationRule",
            "metadata": meta(epp),
            "spec": {
                "host": f"{epp}.{namespace}.svc.cluster.local",
                "trafficPolicy": {"tls": {"mode": "SIMPLE", "insecureSkipVerify": True}},
            },
        },
        "PodMonitor": {
            "apiVersion": "monitoring.coreos.com/v1",
            "kind": "PodMonitor",
            "metadata": {
                "name": f"{name}-decode",
                "namespace": namespace,
                "labels": labels(name, "model-decode"),
            },
            "spec": {
                "selector": {"matchLabels": of_pods},
                "podMetricsEndpoints": [{"port": "http", "path": "/metrics", "interval": "30s"}],
            },
        },
    }


def _sizes(tensor: int) -> list[tuple[str, int]]:
    return [("TP_SIZE", tensor), ("DP_SIZE", 1), ("DP_SIZE_LOCAL", 1)]


def _config() -> dict[str, Any]:
    weights = {"queue-scorer": 2, "kv-cache-utilization-scorer": 2, "prefix-cache-scorer": 3}
    scored = [{"pluginRef": name, "weight": weight} for name, weight in weights.items()]
    return {
        "apiVersion": "inference.networking.x-k8s.io/v1alpha1",
        "kind": "EndpointPickerConfig",
        "plugins": [{"type": name} for name in weights],
        "schedulingProfiles": [{"name": "default", "plugins": scored}],
    }


def _picker(name: str, namespace: str, metadata: dict[str, Any], picker: dict[str, str]) -> dict[str, Any]:
    epp = f"{name}-epp"
    probe = {"grpc": {"port": 9003, "service": "inference-extension"}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata,
        "spec": {
            "replicas": 1,
            "strategy": {"type": "Recreate"},
            "selector": {"matchLabels": picker | {"inferencepool": epp}},
            "template": {
                "metadata": {
                    "labels": labels(epp, "epp", inferencepool=epp),
                    "annotations": {"checksum/config": "a hash"},
                },
                "spec": {
                    "serviceAccountName": epp,
                    "terminationGracePeriodSeconds": 130,
                    "securityContext": POD_SECURITY,
                    "containers": [
                        {
                            "name": "epp",
                            "image": "ghcr.io/llm-d/llm-d-inference-scheduler:v0.6.0",
                            "imagePullPolicy": "IfNotPresent",
                            "args": [
                                f"--pool-name={name}",
                                f"--pool-namespace={namespace}",
                                f"--pool-group={POOL_GROUP}",
                                "--config-file=/config/default-plugins.yaml",
                                "--grpc-port=9002",
                                "--zap-encoder=json",
                                "--tracing=false",
                            ],
                            "env": [
                                _field("NAMESPACE", "metadata.namespace"),
                                _field("POD_NAME", "metadata.name"),
                            ],
                            "resources": {
                                "requests": {"cpu": "4", "memory": "8Gi"},
                                "limits": {"memory": "16Gi"},
                            },
                            "ports": [
                                {"name": "grpc-ext-proc", "containerPort": 9002},
                                {"name": "grpc-health", "containerPort": 9003},
                                {"name": "http-metrics", "containerPort": 9090},
                            ],
                            "readinessProbe": {**probe, "periodSeconds": 2},
                            "livenessProbe": {**probe, "initialDelaySeconds": 5, "periodSeconds": 10},
                            "volumeMounts": [
                                {"name": "epp-config", "mountPath": "/config", "readOnly": True}
                            ],
                            "securityContext": PLAIN,
                        }
                    ],
                    "volumes": [
                        {"name": "epp-config", "configMap": {"name": f"{epp}-config", "optional": True}}
                    ],
                },
            },
        },
    }


def _field(name: str, path: str) -> dict[str, Any]:
    return {"name": name, "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}}
