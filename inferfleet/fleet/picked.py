"""What the endpoint picker of a deployment has to choose among on a cluster, and what it requests for it."""

import re
from collections.abc import Mapping
from typing import Any

from inferfleet.api.kinds.inference_cluster import Serving
from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.fleet.engines.balance import every_pod_serves
from inferfleet.fleet.engines.ports import pool_ports
from inferfleet.fleet.roles import picker_of, serving_roles, workers_of
from inferfleet.profiles.pickers.sizes import sized

Amounts = Mapping[str, Mapping[str, str]]  # requests and limits, by resource

_INTERVAL = "refresh-metrics-interval"
# What pickers take an interval of 0 for (NewRuntime in pkg/epp/datalayer/runtime.go of GIE v1.5.0).
_UNSAID = 0.05
_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ns|us|µs|ms|s|m|h)")
_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


def picker_resources(deployment: ModelDeployment, serving: Serving, replicas: int) -> Amounts:
    """Return requests and limits of the picker of so many replicas on a cluster with this `serving` block.

    They are the deployment's own as a whole, since a mix of both would fit neither; else those that fit what
    the picker does.
    """
    own = deployment.spec.endpoint_picker.resources
    if own is not None:
        both = {"requests": dict(own.requests), "limits": dict(own.limits)}
        return {kind: amounts for kind, amounts in both.items() if amounts}
    profile = picker_of(deployment, serving)
    flags: Mapping[str, Any] = {
        **profile.flags,
        **serving.epp_flags,
        **deployment.spec.endpoint_picker.flags,
    }
    used = sized(replicas * endpoints_of_replica(deployment), interval=_seconds(str(flags[_INTERVAL])))
    return {"requests": dict(used.requests), "limits": dict(used.limits)}


def endpoints_of_replica(deployment: ModelDeployment) -> int:
    """Return among how many endpoints, each a pod and a port, one replica lets its picker choose."""
    return sum(_endpoints(deployment, role) for role in serving_roles(deployment))


def _endpoints(deployment: ModelDeployment, role: str) -> int:
    workers = workers_of(deployment, role)
    pods = workers.topology.pods_per_worker
    serving = pods if every_pod_serves(deployment, role, pods) else 1
    return workers.count * serving * len(pool_ports(deployment, role))


def _seconds(duration: str) -> float:
    """Return a duration of Go's in seconds. One that is none is refused elsewhere."""
    parts = _PART.findall(duration)
    return sum(float(number) * _SECONDS[unit] for number, unit in parts) or _UNSAID
