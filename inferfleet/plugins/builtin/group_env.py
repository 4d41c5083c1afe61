"""Plugin group-env: variables that tell a pod its group: GROUP_SIZE, ENTRY_ADDRESS, WORKER_INDEX.

Source: volcano-sh/kthena, commit 3cc05728, whose controller sets these in all containers and init
containers. Differences: they come first, so that other variables can refer to them as `$(ENTRY_ADDRESS)`; and
a worker of one pod has the pod's own IP as ENTRY_ADDRESS, because pods of a Deployment have no DNS name.

Pods of a LeaderWorkerSet get theirs from its controller, which puts LWS_GROUP_SIZE, LWS_LEADER_ADDRESS and
LWS_WORKER_INDEX in front of all others, so that references to them resolve: kubernetes-sigs/lws,
pkg/utils/pod/pod_utils.go, commit 1b17603c.
"""

from typing import Any

from inferfleet.plugins import api
from inferfleet.plugins.api import Plugin, PodTemplate, Request, containers


class Config(api.Config):
    """It has no fields."""


def edit(template: PodTemplate, request: Request, config: Config) -> PodTemplate:
    """Tell every container the size of its group, the entry pod's address, and the pod's number."""
    for container in containers(template):
        variables = _variables(request)
        names = {variable["name"] for variable in variables}
        kept_variables = [variable for variable in container.get("env", []) if variable["name"] not in names]
        container["env"] = variables + kept_variables
    return template


def _variables(request: Request) -> list[dict[str, Any]]:
    if request.group_size > 1:
        return [
            {"name": "GROUP_SIZE", "value": "$(LWS_GROUP_SIZE)"},
            {"name": "ENTRY_ADDRESS", "value": "$(LWS_LEADER_ADDRESS)"},
            {"name": "WORKER_INDEX", "value": "$(LWS_WORKER_INDEX)"},
        ]
    return [
        {"name": "GROUP_SIZE", "value": "1"},
        {"name": "ENTRY_ADDRESS", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
        {"name": "WORKER_INDEX", "value": "0"},
    ]


PLUGIN = Plugin("group-env", Config, edit, version="1.0.0")
