"""Where a running sandbox can be asked: one service through its gateway, and the pods behind it."""

from dataclasses import dataclass
from typing import Any

from inferfleet.fleet.names import DEPLOYMENT
from inferfleet.manifests.pod.template import PORT_NAME
from sandbox.cluster.kwok import KwokCluster
from sandbox.places import StackPlaces, project_root
from sandbox.problem import SandboxProblem
from sandbox.toolchain.tools import present_tools
from sandbox.verbs.service_urls import service_urls_of_stack


@dataclass(frozen=True)
class Endpoints:
    """URLs without a last slash; `host` is what the Host header must say, "" when it does not matter."""

    gateway: str
    pods: tuple[str, ...]
    host: str = ""


def of_stack(stack: str) -> Endpoints:
    """The first service of a stack with a URL, and the ready pods behind it."""
    root = project_root()
    found = service_urls_of_stack(root, stack)
    way = next((one for one in found if one.url), None)
    tools = present_tools()
    if way is None or way.url is None or tools is None:
        told = "; ".join(f"{one.service} on {one.cluster}: {one.problem}" for one in found) or "no service"
        raise SandboxProblem(f"stack {stack} has nothing to ask: {told}")
    kubectl = KwokCluster(StackPlaces(root, stack), way.cluster).kubectl(tools)
    namespace = way.service.partition("/")[0]
    pods = kubectl.items("pods", "-n", namespace, "-l", f"{DEPLOYMENT} in ({','.join(way.deployments)})")
    return Endpoints(way.url, tuple(url for pod in pods if (url := pod_url(pod))), way.host)


def pod_url(pod: dict[str, Any]) -> str | None:
    """None while the pod is not ready."""
    status = pod.get("status", {})
    ready = any(one["type"] == "Ready" and one["status"] == "True" for one in status.get("conditions", []))
    ports = [port for one in pod["spec"]["containers"] for port in one.get("ports", [])]
    number = next((one["containerPort"] for one in ports if one.get("name") == PORT_NAME), None)
    return f"http://{status['podIP']}:{number}" if ready and number else None
