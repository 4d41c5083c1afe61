"""What stand-ins count of prompts that one pod has computed and another one answers."""

from collections.abc import Iterable
from typing import Any
from urllib.request import ProxyHandler, build_opener

from project import Project
from reaching import pod_url

from inferfleet.fleet.names import ROLE

_open = build_opener(ProxyHandler({})).open


def refused(project: Project, cluster: str, pods: Iterable[dict[str, Any]]) -> int:
    """How many prompts the decode pods among these could not take over, since their engines started."""
    decode = (pod for pod in pods if pod["metadata"]["labels"].get(ROLE) == "decode")
    return sum(_refused(project, cluster, pod) for pod in decode)


def _refused(project: Project, cluster: str, pod: dict[str, Any]) -> int:
    [port] = [port for container in pod["spec"]["containers"] for port in container.get("ports", ())][:1]
    way = pod_url(project, cluster, pod, port["containerPort"])
    with _open(f"{way}/metrics", timeout=300) as answer:
        lines = answer.read().decode().splitlines()
    name = "sandbox_kv_transfers_refused_total"
    return sum(int(float(line.rpartition(" ")[2])) for line in lines if line.startswith(name))
