"""What random pod templates are made of: right ones, and right, nearly right and odd values of fields."""

from typing import Any

Template = dict[str, Any]

ENGINE = {"name": "engine", "image": "registry.example.com/vllm:v0.11.0"}
BASES: tuple[Template, ...] = (
    {"spec": {"containers": [ENGINE]}},
    {
        "metadata": {"labels": {"tier": "gold"}, "annotations": {"example.com/owner": "a team"}},
        "spec": {
            "containers": [
                {
                    **ENGINE,
                    "args": ["serve"],
                    "env": [
                        {"name": "HF_HOME", "value": "/models"},
                        {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "hf", "key": "token"}}},
                        {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
                    ],
                    "envFrom": [{"configMapRef": {"name": "settings"}}],
                    "ports": [{"containerPort": 9000, "name": "metrics"}],
                    "resources": {"requests": {"cpu": "4", "memory": "16Gi"}, "limits": {"memory": "32Gi"}},
                    "volumeMounts": [{"name": "cache", "mountPath": "/models"}],
                    "securityContext": {"runAsNonRoot": True, "runAsUser": 1000},
                    "lifecycle": {"preStop": {"exec": {"command": ["sleep", "5"]}}},
                },
                {
                    "name": "logs",
                    "image": "fluent-bit:3",
                    "livenessProbe": {"httpGet": {"path": "/", "port": 2020}, "periodSeconds": 5},
                    "volumeMounts": [{"name": "settings", "mountPath": "/etc/logs", "readOnly": True}],
                },
            ],
            "initContainers": [
                {"name": "fetch", "image": "fetch:1", "volumeMounts": [{"name": "cache", "mountPath": "/m"}]},
                {"name": "side", "image": "side:1", "restartPolicy": "Always"},
            ],
            "volumes": [
                {"name": "cache", "persistentVolumeClaim": {"claimName": "models"}},
                {"name": "settings", "configMap": {"name": "logs", "items": [{"key": "a", "path": "a"}]}},
                {"name": "all", "projected": {"sources": [{"secret": {"name": "s"}}]}},
            ],
            "tolerations": [{"key": "example.com/team", "operator": "Exists", "effect": "NoSchedule"}],
            "topologySpreadConstraints": [
                {
                    "maxSkew": 1,
                    "topologyKey": "kubernetes.io/hostname",
                    "whenUnsatisfiable": "ScheduleAnyway",
                    "labelSelector": {"matchLabels": {"tier": "gold"}},
                }
            ],
            "affinity": {
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [
                            {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
                        ]
                    }
                }
            },
            "serviceAccountName": "engine",
        },
    },
)

NUMBERS = (1, 2, 5, 30, 80, 100, 600, 0, 8080, 1000, 3600, 511, 65_535)
ODD_NUMBERS = (-1, 101, 512, 65_536, 70_000, 2**31, 2**63, 30.0, 1.5, "80")
TEXTS = ("a", "cache", "engine", "settings", "x-1", "example.com/a", "zone", "1")
ODD_TEXTS = (
    "",
    " ",
    "A_b",
    "-a",
    "x" * 64,
    "x" * 254,
    "a b",
    "é",
    "/a",
    "../a",
    "a/b/c",
    "a..b",
    "0x1",
    "a\n",
)
QUANTITIES = ("1", "500m", "1Gi", "2Mi", "4", "0", 2, 1.5, "1e3", "4Mi", "100M")
ODD_QUANTITIES = (
    "16GB",
    "-1",
    "",
    "1.5Gi",
    "0.5",
    "1n",
    "100E",
    "512m",
    "1 Gi",
    "1gi",
    "one",
    "+1",
    ".5",
    "1e",
)
RESOURCES = ("cpu", "memory", "ephemeral-storage", "example.com/device", "hugepages-2Mi")
ODD_RESOURCES = (
    "CPU",
    "storage",
    "hugepages-3x",
    "pods",
    "device",
    "requests.example.com/a",
    "kubernetes.io/a",
    "a/b/c",
)
OTHERS = (None, True, 1, 1.5, "x", [], {}, [None], ["x"], [{}], {"x": None}, {"x": {}})
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
# Values of fields whose name says what they are: the first half right in most places, then less so.
BY_NAME: dict[str, tuple[Any, ...]] = {
    "command": (["sleep", "1"], ["sh", "-c", "true"], []),
    "configMap": ({"name": "logs"}, {"name": ""}, {}),
    "image": ("nginx:1", "a/b@sha256:00", "nginx", "", " a"),
    "key": ("zone", "example.com/team", "a", "a b", "..a", "", "A/B/c", "metadata.name"),
    "matchLabelKeys": (["zone"], ["zone", "zone"], ["a b"], []),
    "metadata": ({"labels": {"a": "b"}}, {"annotations": {"a": "b"}}, {"name": "x"}, {}),
    "operator": ("In", "Exists", "NotIn", "DoesNotExist", "Equal", "Gt", "Lt", "exists", ""),
    "port": (8000, "http", "metrics", 0, 70_000, "8000", "-a", "a--b", "x" * 16, "HTTP", 65_535),
    "spec": (CLAIM, {"accessModes": ["ReadWriteOnce"]}, CLAIM | {"volumeMode": "Block"}, {}),
    "topologyKey": ("kubernetes.io/hostname", "zone", "", "a b"),
    "value": ("a", "", "gold", "a b", "x" * 64, "/models"),
    "values": (["a"], ["a", "b"], [], ["1"], ["a b"]),
    "volumeName": ("cache", "scratch", "A", ""),
}

# Where the product refuses what the API server takes: the rule, and a pattern of its mistakes with path.
STRICTER: tuple[tuple[str, str], ...] = (
    ("one container is the engine", r"a template has exactly one container named engine"),
    (
        "what a cluster drops because of a feature gate must be right all the same",
        r"\b(clusterTrustBundle|podCertificate|schedulingGroup|stopSignal)\b",
    ),
    ("no amount is more than 2^63", r"must be a quantity from 0 to"),
    ("nobody means thousandths of a byte", r"is thousandths of a byte$"),
    ("a Secret that is named could exist", r"(imagePullSecrets\[\d+\]|[sS]ecretRef)\.name: "),
)
