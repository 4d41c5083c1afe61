"""The kwok Stages of a simulated cluster: what kwok does to nodes and pods, and what it leaves to the agent.

Most pods are Running and Ready at once and disappear when they are deleted. Pods with a container that the
agent runs get only their address from kwok (https://kwok.sigs.k8s.io/docs/user/stages-configuration/).
"""

from typing import Any

from inferfleet.documents.pods.template import ENGINE
from inferfleet.serving.weights import FILLER
from inferfleet.tables.body_based_router import IMAGE as ROUTER_IMAGE

Stage = dict[str, Any]

# The container's name in the manifests of endpoint pickers.
PICKER = "epp"
# The container's name in the pods that Istio makes for Gateways.
ISTIO_PROXY = "istio-proxy"
# The names of the containers that the agent runs.
AGENT_CONTAINERS = (ENGINE, FILLER, PICKER, ISTIO_PROXY)
# The images of the server that conformance suites ask: the agent runs it in containers of any name.
_SUITE_SERVER = "gcr.io/k8s-staging-gateway-api/echo-basic"
SUITE_SERVERS = tuple(
    f"{_SUITE_SERVER}:{tag}"
    for tag in ("v20260204-monthly-2026.01-60-g28382302", "v20251106-v1.3.0-263-g47c3435c")
)
# The images of controllers that a stack installs, without their tags: the agent runs those that it has
# programs for, and says of another that nobody has it.
CONTROLLERS = ("registry.k8s.io/lws/lws", "docker.io/istio/pilot", "docker.io/envoyproxy/gateway")
# The images that the agent runs in networks of their own: of Envoy Gateway 1.9.1's proxies and rate limit
# service (api/v1alpha1/shared_types.go; its chart names the service's without a digest), of the body-based
# router, and of Envoy Gateway where a stack installs it.
PROXY_IMAGE = (
    "docker.io/envoyproxy/envoy:distroless-v1.39.1"
    "@sha256:eb2c01c13125d1629637cb4e4cce7207009fb7cc2c8027f9742758549d15b6f4"
)
RATE_LIMIT_IMAGE = "docker.io/envoyproxy/ratelimit:8fe6ea42"
_RATE_LIMIT_DIGEST = "sha256:a61547259607d40aff153050c2a87873ca1676d1d9f5f06937d412000dcc2df1"
FRONT_DOOR_PROGRAMS = {
    PROXY_IMAGE: "envoy",
    ROUTER_IMAGE: "bbr",
    f"{CONTROLLERS[2]}:v1.9.1": "envoy-gateway",
    RATE_LIMIT_IMAGE: "ratelimit",
    f"{RATE_LIMIT_IMAGE}@{_RATE_LIMIT_DIGEST}": "ratelimit",
}
# The container of Envoy Gateway's image beside each of its proxies: the agent does its work.
SHUTDOWN_MANAGER = "shutdown-manager"
# An annotation on pods: each new value kills the containers of its pod once.
KILL = "sandbox.inferfleet.dev/kill"

_CONTAINERS = '.spec.containers.[] | .name, .image, (.image | sub(":[^:/]*$"; ""))'
_NOT_DELETED = {"key": ".metadata.deletionTimestamp", "operator": "DoesNotExist"}


def kwok_stages() -> tuple[Stage, ...]:
    """Return all stages. A configuration with stages of its own gets none of kwok's defaults."""
    with_agent = _in(_CONTAINERS, *AGENT_CONTAINERS, *SUITE_SERVERS, *CONTROLLERS, *FRONT_DOOR_PROGRAMS)
    without_agent = _not_in(
        _CONTAINERS, *AGENT_CONTAINERS, *SUITE_SERVERS, *CONTROLLERS, *FRONT_DOOR_PROGRAMS
    )
    return (
        _stage("node-initialize", "Node", [_not_in(_condition("Ready"), "True")], status=_NODE),
        _heartbeat(),
        _stage("pod-address", "Pod", [_NOT_DELETED, with_agent, _NO_ADDRESS], status=_ADDRESS),
        _stage("pod-address-kept", "Pod", [_NOT_DELETED, with_agent, _ADDRESS_THERE], status=_KEPT),
        _stage(
            "pod-ready",
            "Pod",
            [
                _NOT_DELETED,
                without_agent,
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
                without_agent,
                _ADDRESS_THERE,
                _in(".status.phase", "Running"),
                # Pods of Jobs go on to "pod-complete"; kwok plays only one of two stages that match.
                _not_in(".metadata.ownerReferences.[].kind", "Job"),
            ],
            status=_KEPT,
        ),
        _stage(
            "pod-complete",
            "Pod",
            [
                _NOT_DELETED,
                without_agent,
                _in(".status.phase", "Running"),
                _in(".metadata.ownerReferences.[].kind", "Job"),
            ],
            status=_COMPLETE,
        ),
        _stage(
            "pod-delete",
            "Pod",
            [{**_NOT_DELETED, "operator": "Exists"}, without_agent],
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
    # The controller-manager marks a node NotReady, and its pods with it, after 40 s without a heartbeat.
    stage["spec"]["delay"] = {"durationMilliseconds": 15_000, "jitterDurationMilliseconds": 20_000}
    stage["spec"]["immediateNextStage"] = True
    return stage


def _in(key: str, *values: str) -> dict[str, Any]:
    """Match when any value at the key's path is one of these."""
    return {"key": key, "operator": "In", "values": list(values)}


def _not_in(key: str, *values: str) -> dict[str, Any]:
    """Match when no value at the key's path is one of these, also when the path leads nowhere."""
    return {"key": key, "operator": "NotIn", "values": list(values)}


def _condition(condition_type: str) -> str:
    return f'.status.conditions.[] | select( .type == "{condition_type}" ) | .status'


_NO_ADDRESS = {"key": ".status.podIP", "operator": "DoesNotExist"}
_ADDRESS_THERE = {**_NO_ADDRESS, "operator": "Exists"}

# This status changes nothing. A restarted kwok learns which addresses are in use only from stages that it
# plays (markPodIP in its pod_controller.go), and would otherwise give them to other pods of the node.
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
