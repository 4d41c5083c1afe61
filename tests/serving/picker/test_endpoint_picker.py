"""All objects of an endpoint picker, and what moves when replicas, engine, tracing or metrics auth change."""

from collections.abc import Callable
from typing import Any

import yaml

from inferfleet.documents.kinds.inference_cluster import Serving
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.serving import picker as endpoint_picker
from inferfleet.tables.devices import ACCELERATED_NODE_LABELS
from inferfleet.tables.pickers import profile

Make = Callable[..., ModelDeployment]
Serve = Callable[..., Serving]

GIE = profile("gie-1.5")
OURS = {
    "app.kubernetes.io/managed-by": "inferfleet",
    "inferfleet.dev/stack": "prod",
    "inferfleet.dev/deployment": "qwen",
}
HERE = {"name": "qwen-epp", "namespace": "ml", "labels": OURS}
CLUSTER = {"name": "inferfleet:ml:qwen:epp", "labels": OURS}
RBAC = "rbac.authorization.k8s.io"
ACCOUNT = [{"kind": "ServiceAccount", "name": "qwen-epp", "namespace": "ml"}]
READ = ["get", "list", "watch"]
CONFIG = {
    "apiVersion": "inference.networking.x-k8s.io/v1alpha1",
    "kind": "EndpointPickerConfig",
    "plugins": [
        {"type": "queue-scorer"},
        {"type": "kv-cache-utilization-scorer"},
        {"type": "prefix-cache-scorer"},
        {"type": "core-metrics-extractor", "parameters": {"engineLabelKey": "llm-d.ai/engine-type"}},
    ],
    "schedulingProfiles": [
        {
            "name": "default",
            "plugins": [
                {"pluginRef": "queue-scorer", "weight": 2},
                {"pluginRef": "kv-cache-utilization-scorer", "weight": 2},
                {"pluginRef": "prefix-cache-scorer", "weight": 3},
            ],
        }
    ],
}


AWAY = {
    "nodeAffinity": {
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {
                "weight": 100,
                "preference": {
                    "matchExpressions": [
                        {"key": label, "operator": "DoesNotExist"} for label in ACCELERATED_NODE_LABELS
                    ]
                },
            }
        ]
    }
}


def _objects(document: ModelDeployment, serving: Serving) -> dict[str, dict[str, Any]]:
    picker = endpoint_picker.objects(
        endpoint_picker.Picker(
            deployment=document, serving=serving, profile=GIE, stack="prod", replicas=1, drain=130
        )
    )
    made = [*picker.rights, picker.deployment, picker.service]
    assert len({one["kind"] for one in made}) == len(made)
    return {one["kind"]: one for one in made}


def _for_20_seconds(lost: str) -> dict[str, Any]:
    taint = {"key": f"node.kubernetes.io/{lost}", "operator": "Exists", "effect": "NoExecute"}
    return {**taint, "tolerationSeconds": 20}


def _container(made: dict[str, dict[str, Any]]) -> Any:
    return made["Deployment"]["spec"]["template"]["spec"]["containers"][0]


def test_a_picker_is_seven_objects_in_the_order_they_need_each_other(
    deployment: Make, serving: Serve
) -> None:
    made = _objects(deployment(), serving())
    flag, _, text = _container(made)["args"].pop(3).partition("=")
    assert (flag, yaml.safe_load(text)) == ("--config-text", CONFIG)
    assert list(made.values()) == [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": HERE},
        {
            "apiVersion": f"{RBAC}/v1",
            "kind": "Role",
            "metadata": HERE,
            "rules": [
                {"apiGroups": [""], "resources": ["pods"], "verbs": READ},
                {
                    "apiGroups": ["inference.networking.k8s.io"],
                    "resources": ["inferencepools"],
                    "resourceNames": ["qwen"],
                    "verbs": READ,
                },
                {
                    "apiGroups": ["inference.networking.x-k8s.io"],
                    "resources": ["inferenceobjectives", "inferencemodelrewrites"],
                    "verbs": READ,
                },
            ],
        },
        {
            "apiVersion": f"{RBAC}/v1",
            "kind": "RoleBinding",
            "metadata": HERE,
            "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": "qwen-epp"},
            "subjects": ACCOUNT,
        },
        {
            "apiVersion": f"{RBAC}/v1",
            "kind": "ClusterRole",
            "metadata": CLUSTER,
            "rules": [
                {"apiGroups": ["authentication.k8s.io"], "resources": ["tokenreviews"], "verbs": ["create"]},
                {
                    "apiGroups": ["authorization.k8s.io"],
                    "resources": ["subjectaccessreviews"],
                    "verbs": ["create"],
                },
            ],
        },
        {
            "apiVersion": f"{RBAC}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": CLUSTER,
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "inferfleet:ml:qwen:epp"},
            "subjects": ACCOUNT,
        },
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": HERE,
            "spec": {
                "replicas": 1,
                "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
                "revisionHistoryLimit": 2,
                "selector": {"matchLabels": {"app.kubernetes.io/name": "qwen-epp"}},
                "template": {
                    "metadata": {
                        "labels": {
                            "app.kubernetes.io/name": "qwen-epp",
                            "app.kubernetes.io/managed-by": "inferfleet",
                        },
                    },
                    "spec": {
                        "affinity": AWAY,
                        "tolerations": [_for_20_seconds("not-ready"), _for_20_seconds("unreachable")],
                        "serviceAccountName": "qwen-epp",
                        "terminationGracePeriodSeconds": 130,
                        "enableServiceLinks": False,
                        "securityContext": {
                            "runAsNonRoot": True,
                            "seccompProfile": {"type": "RuntimeDefault"},
                        },
                        "containers": [
                            {
                                "name": "epp",
                                "image": "registry.k8s.io/gateway-api-inference-extension/epp:v1.5.0",
                                "imagePullPolicy": "IfNotPresent",
                                "args": [
                                    "--pool-name=qwen",
                                    "--pool-namespace=ml",
                                    "--pool-group=inference.networking.k8s.io",
                                    "--grpc-port=9002",
                                    "--tracing=false",
                                    "--metrics-endpoint-auth=true",
                                    "--refresh-metrics-interval=150ms",
                                    "--zap-encoder=json",
                                ],
                                "env": [
                                    _field("NAMESPACE", "metadata.namespace"),
                                    _field("POD_NAME", "metadata.name"),
                                ],
                                "ports": [
                                    {"name": "grpc-ext-proc", "containerPort": 9002},
                                    {"name": "grpc-health", "containerPort": 9003},
                                    {"name": "http-metrics", "containerPort": 9090},
                                ],
                                "startupProbe": {
                                    "tcpSocket": {"port": 9002},
                                    "periodSeconds": 1,
                                    "failureThreshold": 60,
                                },
                                "livenessProbe": {
                                    "grpc": {"port": 9003, "service": "inference-extension"},
                                    "initialDelaySeconds": 5,
                                    "periodSeconds": 10,
                                },
                                "readinessProbe": {
                                    "grpc": {"port": 9003, "service": "inference-extension"},
                                    "periodSeconds": 2,
                                },
                                "resources": {
                                    "requests": {"cpu": "500m", "memory": "512Mi"},
                                    "limits": {"memory": "16Gi"},
                                },
                                "securityContext": {
                                    "allowPrivilegeEscalation": False,
                                    "capabilities": {"drop": ["ALL"]},
                                    "readOnlyRootFilesystem": True,
                                },
                                "terminationMessagePolicy": "FallbackToLogsOnError",
                                "lifecycle": {"preStop": {"sleep": {"seconds": 95}}},
                            }
                        ],
                    },
                },
            },
        },
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {**HERE, "annotations": {"pulumi.com/skipAwait": "true"}},
            "spec": {
                "type": "ClusterIP",
                "selector": {"app.kubernetes.io/name": "qwen-epp"},
                "ports": [
                    {
                        "name": "grpc-ext-proc",
                        "protocol": "TCP",
                        "port": 9002,
                        "targetPort": "grpc-ext-proc",
                        "appProtocol": "kubernetes.io/h2c",
                    },
                    {
                        "name": "http-metrics",
                        "protocol": "TCP",
                        "port": 9090,
                        "targetPort": "http-metrics",
                    },
                ],
            },
        },
    ]


def _field(name: str, path: str) -> dict[str, Any]:
    return {"name": name, "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}}


def test_without_metrics_auth_nothing_cluster_scoped_is_needed(deployment: Make, serving: Serve) -> None:
    made = _objects(deployment(), serving(metricsAuth=False))
    assert {"ClusterRole", "ClusterRoleBinding"}.isdisjoint(made)
    assert "--metrics-endpoint-auth=false" in _container(made)["args"]


def test_several_replicas_elect_a_leader_who_alone_is_ready(deployment: Make, serving: Serve) -> None:
    made = _objects(deployment(endpointPicker={"replicas": 2}), serving())
    container = _container(made)
    assert "--ha-enable-leader-election=true" in container["args"]
    services = [container[probe]["grpc"]["service"] for probe in ("livenessProbe", "readinessProbe")]
    assert services == ["liveness", "readiness"]
    assert made["Deployment"]["spec"]["strategy"] == {"type": "Recreate"}
    assert made["Deployment"]["metadata"]["annotations"] == {
        "pulumi.com/waitFor": "jsonpath={.status.readyReplicas}"
    }
    assert made["Deployment"]["spec"]["template"]["spec"]["topologySpreadConstraints"] == [
        {
            "maxSkew": 1,
            "topologyKey": "kubernetes.io/hostname",
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": {"app.kubernetes.io/name": "qwen-epp"}},
        }
    ]


def test_tracing_names_the_collector_and_the_pod(deployment: Make, serving: Serve) -> None:
    container = _container(_objects(deployment(), serving(tracing={"endpoint": "http://otel:4317"})))
    assert "--tracing=true" in container["args"]
    assert container["env"][2:] == [
        _field("NODE_NAME", "spec.nodeName"),
        {"name": "OTEL_SERVICE_NAME", "value": "endpoint-picker"},
        {"name": "OTEL_EXPORTER_OTLP_ENDPOINT", "value": "http://otel:4317"},
        {"name": "OTEL_TRACES_EXPORTER", "value": "otlp"},
        {"name": "OTEL_TRACES_SAMPLER", "value": "parentbased_traceidratio"},
        {"name": "OTEL_TRACES_SAMPLER_ARG", "value": "0.01"},
        {
            "name": "OTEL_RESOURCE_ATTRIBUTES",
            "value": "k8s.namespace.name=$(NAMESPACE),k8s.node.name=$(NODE_NAME),k8s.pod.name=$(POD_NAME)",
        },
    ]


def test_ports_resources_and_image_follow_what_was_written(deployment: Make, serving: Serve) -> None:
    own = {
        "port": 7002,
        "resources": {"requests": {"cpu": "1"}},
        "flags": {"grpc-health-port": 7003, "metrics-port": "7090"},
    }
    made = _objects(deployment(endpointPicker=own), serving(images={"epp": "mirror/epp:1"}))
    container = _container(made)
    assert [one["containerPort"] for one in container["ports"]] == [7002, 7003, 7090]
    assert container["startupProbe"]["tcpSocket"]["port"] == 7002
    assert container["readinessProbe"]["grpc"]["port"] == 7003
    assert [one["port"] for one in made["Service"]["spec"]["ports"]] == [7002, 7090]
    assert (container["image"], container["resources"]) == ("mirror/epp:1", {"requests": {"cpu": "1"}})
    image = _container(
        _objects(deployment(endpointPicker={"image": "own:1"}), serving(images={"epp": "m:1"}))
    )
    assert image["image"] == "own:1"
