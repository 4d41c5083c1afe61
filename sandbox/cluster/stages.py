"""What kwok does to nodes and pods of a simulated cluster, and what it leaves to the agent.

Most pods are Running and Ready at once, and gone when deleted. Pods with a container the agent can run get no
more from kwok than their address.
"""

from typing import Any

from inferfleet.api.kinds.containers import ENGINE

Stage = dict[str, Any]

# As the manifests of endpoint pickers call it.
PICKER = "epp"
# Names of containers that really run.
PLAYED = (ENGINE, PICKER)
# An annotation: each new text kills the containers of its pod once.
KILL = "sandbox.inferfleet.dev/kill"

_CONTAINERS = ".spec.containers.[].name"
_NOT_DELETED = {"key": ".metadata.deletionTimestamp", "operator": "DoesNotExist"}


def stages() -> tuple[Stage, ...]:
    """All stages: a configuration with any of its own gets none of kwok's defaults."""
    return (
        _stage("node-initialize", "Node", [_not_in(_condition("Ready"), "True")], status=_NODE),
        _heartbeat(),
        _stage("pod-address", "Pod", [_NOT_DELETED, _in(_CONTAINERS, *PLAYED), _NO_ADDRESS], status=_ADDRESS),
        _stage(
            "pod-address-kept", "Pod", [_NOT_DELETED, _in(_CONTAINERS, *PLAYED), _ADDRESS_THERE], status=_KEPT
        ),
        _stage(
            "pod-ready",
            "Pod",
            [
                _NOT_DELETED,
                _not_in(_CONTAINERS, *PLAYED),
                _in(".status.phase", "Pending"),
                _not_in(_condition("Ready"), "True"),
            ],
            status=_READY + _ADDRESS,
        ),
        _stage(
            "pod-ready-kept",
            "Pod",
            [
                _NOT_DELETED,
                _not_in(_CONTAINERS, *PLAYED),
                _ADDRESS_THERE,
                _in(".status.phase", "Running"),
                # Of those "pod-complete" is next, and only one stage is played.
                _not_in(".metadata.ownerReferences.[].kind", "Job"),
            ],
            status=_KEPT,
        ),
        _stage(
            "pod-complete",
            "Pod",
            [
                _NOT_DELETED,
                _not_in(_CONTAINERS, *PLAYED),
                _in(".status.phase", "Running"),
                _in(".metadata.ownerReferences.[].kind", "Job"),
            ],
            status=_COMPLETE,
        ),
        _stage(
            "pod-delete",
            "Pod",
            [{**_NOT_DELETED, "operator": "Exists"}, _not_in(_CONTAINERS, *PLAYED)],
            delete=True,
        ),
    )


def _stage(
    name: str, kind: str, requirements: list[dict[str, Any]], *, status: str = "", delete: bool = False
) -> Stage:
    return {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "Stage",
        "metadata": {"name": name},
        "spec": {
            "resourceRef": {"apiGroup": "v1", "kind": kind},
            "selector": {"matchExpressions": requirements},
            "next": {"delete": True} if delete else {"statusTemplate": status},
        },
    }


def _heartbeat() -> Stage:
    stage = _stage("node-heartbeat", "Node", [_in(_condition("Ready"), "True")], status=_CONDITIONS)
    # The controller-manager gives a node up that was not heard of for 40 s, and its pods are ready no more.
    stage["spec"]["delay"] = {"durationMilliseconds": 15_000, "jitterDurationMilliseconds": 20_000}
    stage["spec"]["immediateNextStage"] = True
    return stage


def _in(key: str, *values: str) -> dict[str, Any]:
    """True of any value the key's path leads to."""
    return {"key": key, "operator": "In", "values": list(values)}


def _not_in(key: str, *values: str) -> dict[str, Any]:
    """True when none is among them, also when the path leads nowhere."""
    return {"key": key, "operator": "NotIn", "values": list(values)}


def _condition(kind: str) -> str:
    return f'.status.conditions.[] | select( .type == "{kind}" ) | .status'


_NO_ADDRESS = {"key": ".status.podIP", "operator": "DoesNotExist"}
_ADDRESS_THERE = {**_NO_ADDRESS, "operator": "Exists"}

# It changes nothing. A kwok that was started again knows addresses in use from stages alone that it plays
# (markPodIP in its pod_controller.go), and would give them to other pods of the node.
_KEPT = """
podIP: {{ .status.podIP | Quote }}
"""

_ADDRESS = """
{{ with NodeIPsWith .spec.nodeName }}
hostIP: {{ index . 0 | Quote }}
hostIPs:
{{ range . }}
- ip: {{ . | Quote }}
{{ end }}
{{ end }}
{{ with PodIPsWith .spec.nodeName (or .spec.hostNetwork false) (or .metadata.uid "") \
(or .metadata.name "") (or .metadata.namespace "") }}
podIP: {{ index . 0 | Quote }}
podIPs:
{{ range . }}
- ip: {{ . | Quote }}
{{ end }}
{{ end }}
"""

_READY = """
{{ $now := Now }}
phase: Running
startTime: {{ $now | Quote }}
conditions:
- {lastTransitionTime: {{ $now | Quote }}, status: "True", type: Initialized}
- {lastTransitionTime: {{ $now | Quote }}, status: "True", type: Ready}
- {lastTransitionTime: {{ $now | Quote }}, status: "True", type: ContainersReady}
{{ range .spec.readinessGates }}
- lastTransitionTime: {{ $now | Quote }}
  status: "True"
  type: {{ .conditionType | Quote }}
{{ end }}
containerStatuses:
{{ range .spec.containers }}
- image: {{ .image | Quote }}
  name: {{ .name | Quote }}
  ready: true
  started: true
  restartCount: 0
  state:
    running:
      startedAt: {{ $now | Quote }}
{{ end }}
initContainerStatuses:
{{ range .spec.initContainers }}
- image: {{ .image | Quote }}
  name: {{ .name | Quote }}
  ready: true
  restartCount: 0
  state:
  {{ if eq .restartPolicy "Always" }}
    running:
      startedAt: {{ $now | Quote }}
  {{ else }}
    terminated:
      exitCode: 0
      finishedAt: {{ $now | Quote }}
      reason: Completed
      startedAt: {{ $now | Quote }}
  {{ end }}
{{ end }}
"""

_COMPLETE = """
{{ $now := Now }}
phase: Succeeded
containerStatuses:
{{ range .spec.containers }}
- image: {{ .image | Quote }}
  name: {{ .name | Quote }}
  ready: false
  started: false
  restartCount: 0
  state:
    terminated:
      exitCode: 0
      finishedAt: {{ $now | Quote }}
      reason: Completed
      startedAt: {{ $now | Quote }}
{{ end }}
"""

_CONDITIONS = """
{{ $now := Now }}
{{ $since := or .metadata.creationTimestamp $now }}
conditions:
{{ range NodeConditions }}
- lastHeartbeatTime: {{ $now | Quote }}
  lastTransitionTime: {{ $since | Quote }}
  message: {{ .message | Quote }}
  reason: {{ .reason | Quote }}
  status: {{ .status | Quote }}
  type: {{ .type | Quote }}
{{ end }}
"""

_NODE = (
    _CONDITIONS
    + """
phase: Running
addresses:
{{ with NodeIP }}
- address: {{ . | Quote }}
  type: InternalIP
{{ end }}
{{ with NodeName }}
- address: {{ . | Quote }}
  type: Hostname
{{ end }}
nodeInfo:
  architecture: amd64
  bootID: ""
  containerRuntimeVersion: {{ printf "kwok-%s" Version | Quote }}
  kernelVersion: {{ printf "kwok-%s" Version | Quote }}
  kubeProxyVersion: ""
  kubeletVersion: {{ printf "kwok-%s" Version | Quote }}
  machineID: ""
  operatingSystem: linux
  osImage: ""
  systemUUID: ""
"""
)
