"""Mistakes that people make in pod templates every day, with what is said of each.

`engine` has fields of the container engine, `pod` of the spec, `metadata` of the template. `path` counts from
the template. The API server refuses every one of them.
"""

from dataclasses import dataclass, field
from typing import Any

IMAGE = "registry.example.com/vllm:v0.11.0"
_ENGINE = "spec.containers[0]"
_ENDS = "with a letter or digit at both ends"


@dataclass(frozen=True)
class Everyday:
    """One mistake: what was written, where it is, what is said of it, and the next step."""

    path: str
    what: str
    next_step: str
    engine: dict[str, Any] = field(default_factory=dict)
    pod: dict[str, Any] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)

    @property
    def template(self) -> dict[str, Any]:
        """The whole template, of which only this is wrong."""
        containers = [{"name": "engine", "image": IMAGE, **self.engine}]
        return {"metadata": self.metadata, "spec": {"containers": containers, **self.pod}}


def _engine(path: str, what: str, next_step: str, **engine: Any) -> Everyday:
    return Everyday(f"{_ENGINE}.{path}", f"container engine: {what}", next_step, engine=engine)


def _pod(path: str, what: str, next_step: str, **pod: Any) -> Everyday:
    return Everyday(f"spec.{path}", what, next_step, pod=pod)


EVERYDAY: tuple[Everyday, ...] = (
    _engine(
        "env",
        "{field} must be a list, not a map",
        "Write a list",
        env={"HF_HOME": "/models"},
    ),
    _engine(
        "env[0].value", "{field} must be a string, not 4", "Quote it", env=[{"name": "WORKERS", "value": 4}]
    ),
    _engine(
        "env[0].value",
        "{field} must be a string, not true",
        "Quote it",
        env=[{"name": "DEBUG", "value": True}],
    ),
    _engine(
        "env[0].name",
        "{field} 'A=1' must be printable ASCII characters other than '='",
        "Change it",
        env=[{"name": "A=1", "value": "1"}],
    ),
    _engine(
        "env[1].name",
        "a second entry of env has the name 'A'",
        "Change or remove one of the two",
        env=[{"name": "A", "value": "1"}, {"name": "A", "value": "2"}],
    ),
    _engine(
        "env[0].valueFrom.secretRef",
        "Kubernetes 1.36 has no field 'secretRef' here",
        "Did you mean secretKeyRef?",
        env=[{"name": "TOKEN", "valueFrom": {"secretRef": {"name": "hf"}}}],
    ),
    _engine(
        "command",
        "{field} must be a list, not 'vllm serve'",
        "Write a list",
        command="vllm serve",
    ),
    _engine("args[1]", "{field} must be a string, not 8000", "Quote it", args=["--port", 8000]),
    _engine(
        "ports[0].containerPort",
        "{field} must be an integer, not '8000'",
        "Write it without quotes",
        ports=[{"containerPort": "8000"}],
    ),
    _engine("ports[0]", "{field} must be a map, not 8000", "Write a map", ports=[8000]),
    _engine(
        "ports[0].name",
        "{field} 'Metrics_Port' must be at most 15 lowercase letters, digits and '-', "
        "with at least one letter",
        "Change it",
        ports=[{"containerPort": 9000, "name": "Metrics_Port"}],
    ),
    _engine(
        "ports[0].protocol",
        "{field} 'tcp' is not one of SCTP, TCP, UDP",
        "Did you mean TCP?",
        ports=[{"containerPort": 9000, "protocol": "tcp"}],
    ),
    _engine(
        "volumeMounts[0].name",
        "the pod has no volume 'models'",
        "Add it to the volumes of the pod",
        volumeMounts=[{"name": "models", "mountPath": "/models"}],
    ),
    _engine(
        "resources.limits.memory",
        "{field} '16GB' is not a Kubernetes quantity",
        "Write 16Gi, or 16G for powers of ten",
        resources={"limits": {"memory": "16GB"}},
    ),
    _engine(
        "resources.request",
        "Kubernetes 1.36 has no field 'request' here",
        "Did you mean requests?",
        resources={"request": {"cpu": "1"}},
    ),
    _engine(
        "resources.limits.cpu",
        "{field} '-1' must be a quantity from 0 to 2^63 - 1",
        "Change it",
        resources={"limits": {"cpu": "-1"}},
    ),
    _engine(
        "livenessProbe.httpget",
        "Kubernetes 1.36 has no field 'httpget' here",
        "Did you mean httpGet?",
        livenessProbe={"httpget": {"path": "/health", "port": 8000}},
    ),
    _engine(
        "imagePullPolicy",
        "{field} 'always' is not one of Always, IfNotPresent, Never",
        "Did you mean Always?",
        imagePullPolicy="always",
    ),
    _engine(
        "securityContext.runAsNonroot",
        "Kubernetes 1.36 has no field 'runAsNonroot' here",
        "Did you mean runAsNonRoot?",
        securityContext={"runAsNonroot": True},
    ),
    _engine(
        "tolerations",
        "Kubernetes 1.36 has no field 'tolerations' here",
        "It is a field of the spec of the pod: move it there",
        tolerations=[],
    ),
    _pod(
        "tolerations[0].effect",
        "{field} 'noSchedule' is not one of NoExecute, NoSchedule, PreferNoSchedule",
        "Did you mean NoSchedule?",
        tolerations=[{"key": "dedicated", "operator": "Exists", "effect": "noSchedule"}],
    ),
    _pod("nodeSelector.zone", "{field} must be a string, not 1", "Quote it", nodeSelector={"zone": 1}),
    _pod(
        "volumes[0].name",
        f"{{field}} 'Model_Cache' must be at most 63 lowercase letters, digits and '-', {_ENDS}",
        "Change it",
        volumes=[{"name": "Model_Cache", "emptyDir": {}}],
    ),
    _pod(
        "imagePullSecrets[0]",
        "{field} must be a map, not 'registry'",
        "Write a map",
        imagePullSecrets=["registry"],
    ),
    _pod(
        "terminationGracePeriodSeconds",
        "{field} must be an integer, not '2m'",
        "Write an integer",
        terminationGracePeriodSeconds="2m",
    ),
    _pod(
        "serviceAccountName",
        f"{{field}} 'My_Account' must be at most 253 lowercase letters, digits, '-' and '.', {_ENDS}",
        "Change it",
        serviceAccountName="My_Account",
    ),
    _pod(
        "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].operator",
        "{field} 'in' is not one of DoesNotExist, Exists, Gt, In, Lt, NotIn",
        "Did you mean In?",
        affinity={
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [
                        {"matchExpressions": [{"key": "zone", "operator": "in", "values": ["a"]}]}
                    ]
                }
            }
        },
    ),
    Everyday(
        "metadata.labels.team",
        f"{{field}} 'my team' must be at most 63 letters, digits, '-', '_' and '.', {_ENDS}",
        "Change it",
        metadata={"labels": {"team": "my team"}},
    ),
    _pod(
        "volumes[0].persistentVolumeClaim.name",
        "volume cache: Kubernetes 1.36 has no field 'name' here",
        "Did you mean claimName?",
        volumes=[{"name": "cache", "persistentVolumeClaim": {"name": "models"}}],
    ),
)
