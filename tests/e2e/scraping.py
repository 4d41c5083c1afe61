"""Scraping as a Prometheus does that goes by a PodMonitor: which pods, which ports, whose token."""

import base64
from collections.abc import Iterator
from http.client import HTTPConnection
from typing import Any, NamedTuple
from urllib.parse import urlparse

from project import Project
from reaching import pod_url

_CONTAINER = "__meta_kubernetes_pod_container_name"


class Target(NamedTuple):
    """A port of a pod with metrics, reached from this machine; `token` is what is sent, "" for none."""

    url: str
    token: str

    def scrape(self, token: str | None = None) -> tuple[int, str]:
        """Return status and body, asked with the token of the target or another one."""
        sent, where = self.token if token is None else token, urlparse(self.url)
        connection = HTTPConnection(where.hostname or "", where.port, timeout=300)
        try:
            connection.request("GET", where.path, headers={"authorization": f"Bearer {sent}"} if sent else {})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()


def targets(project: Project, cluster: str, monitor: str) -> list[Target]:
    """Return what a PodMonitor (`<namespace>/<name>`) on a cluster has scraped."""
    [found] = [
        one
        for one in project.items(cluster, "podmonitors")
        if f"{one['metadata']['namespace']}/{one['metadata']['name']}" == monitor
    ]
    space = found["metadata"]["namespace"]
    return [
        Target(
            f"{pod_url(project, cluster, pod, port)}{endpoint['path']}",
            _token(project, cluster, space, endpoint),
        )
        for endpoint in found["spec"]["podMetricsEndpoints"]
        for pod in project.items(cluster, "pods", f"--selector={_selector(found)}")
        if pod["metadata"]["namespace"] == space
        for port in _ports(pod, endpoint)
    ]


def families(text: str) -> set[str]:
    """Return the names of the metrics in the text of an answer."""
    return {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE ")}


def _selector(monitor: dict[str, Any]) -> str:
    selector = monitor["spec"]["selector"]
    wanted = [f"{key}={value}" for key, value in selector["matchLabels"].items()]
    exist = [one["key"] for one in selector.get("matchExpressions", []) if one["operator"] == "Exists"]
    return ",".join([*wanted, *exist])


def _ports(pod: dict[str, Any], endpoint: dict[str, Any]) -> Iterator[int]:
    kept = {
        rule["regex"]
        for rule in endpoint["relabelings"]
        if rule.get("action") == "keep" and rule["sourceLabels"] == [_CONTAINER]
    }
    for container in pod["spec"]["containers"]:
        for port in container.get("ports", []):
            if port.get("name") == endpoint["port"] and (not kept or container["name"] in kept):
                yield port["containerPort"]


def _token(project: Project, cluster: str, space: str, endpoint: dict[str, Any]) -> str:
    if "authorization" not in endpoint:
        return ""
    named = endpoint["authorization"]["credentials"]
    path = f"jsonpath={{.data.{named['key']}}}"
    text = project.kubectl(cluster, "get", "secret", named["name"], "--namespace", space, "-o", path)
    return base64.b64decode(text).decode()
