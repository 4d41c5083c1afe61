"""Finds the URL of a service of a running sandbox, and those of the pods behind it."""

from dataclasses import dataclass
from typing import Any

from inferfleet.fleet.names import DEPLOYMENT
from inferfleet.serving.pod.template import PORT_NAME
from sandbox.cluster.kwok import KwokCluster
from sandbox.cluster.objects import is_ready
from sandbox.network.pod_network import holder
from sandbox.places import StackPlaces, project_root
from sandbox.problem import SandboxProblem
from sandbox.toolchain.tools import present_tools
from sandbox.verbs.service_urls import service_urls_of_stack


@dataclass(frozen=True)
class Endpoints:
    """The URLs of a service and its pods, without a trailing slash.

    `host` is the Host header that the gateway expects, "" if it accepts any. `holder` is the process that
    holds the network of the pods, None where they are in this machine's own.
    """

    gateway: str
    pods: tuple[str, ...]
    host: str = ""
    holder: int | None = None


def of_stack(stack: str) -> Endpoints:
    """Return the first service of a stack that has a URL, and the ready pods behind it.

    Raises SandboxProblem.
    """
    root = project_root()
    services = service_urls_of_stack(root, stack)
    service = next((service for service in services if service.url), None)
    tools = present_tools()
    if service is None or service.url is None or tools is None:
        reasons = [f"{unready.service} on {unready.cluster}: {unready.problem}" for unready in services]
        raise SandboxProblem(
            f"no service of stack {stack} has a URL: {'; '.join(reasons) or 'there is no service'}. "
            f"`inferfleet status --stack {stack}` says what is not ready."
        )
    cluster = KwokCluster(StackPlaces(root, stack), service.cluster)
    kubectl = cluster.kubectl(tools)
    namespace = service.service.partition("/")[0]
    selector = f"{DEPLOYMENT} in ({','.join(service.deployments)})"
    pods = kubectl.items("pods", "-n", namespace, "-l", selector)
    urls = tuple(url for pod in pods if (url := pod_url(pod)))
    return Endpoints(service.url, urls, service.host, holder(cluster.folder))


def pod_url(pod: dict[str, Any]) -> str | None:
    """Return the URL of a pod, or None while the pod is not ready."""
    ports = [port for container in pod["spec"]["containers"] for port in container.get("ports", [])]
    number = next((port["containerPort"] for port in ports if port.get("name") == PORT_NAME), None)
    return f"http://{pod['status']['podIP']}:{number}" if number and is_ready(pod) else None
