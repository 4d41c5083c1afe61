"""What stand-ins count of prompts that one pod has computed and another one answers."""

from collections.abc import Iterable
from typing import Any
from urllib.request import ProxyHandler, build_opener

from inferfleet.fleet.names import ROLE

_open = build_opener(ProxyHandler({})).open


def refused(pods: Iterable[dict[str, Any]]) -> int:
    """How many prompts the decode pods among these could not take over, since their engines started."""
    return sum(_refused(pod) for pod in pods if pod["metadata"]["labels"].get(ROLE) == "decode")


def _refused(pod: dict[str, Any]) -> int:
    [port] = [port for container in pod["spec"]["containers"] for port in container.get("ports", ())][:1]
    with _open(f"http://{pod['status']['podIP']}:{port['containerPort']}/metrics", timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    name = "sandbox_kv_transfers_refused_total"
    return sum(int(float(line.rpartition(" ")[2])) for line in lines if line.startswith(name))
