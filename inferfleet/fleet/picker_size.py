"""What the endpoint picker of a deployment requests of a node, by what it does: how many endpoints it chooses
among, how often it asks each for metrics, and how long prompts are.

Its own charts request one size for every picker: GIE's 4 cores and 8Gi, limited to 16Gi, with which 5,000
short requests/s were answered (site-src/guides/epp-configuration/resource-tuning.md, pull request 2455 of
kubernetes-sigs/gateway-api-inference-extension, commit 5c806c0), llm-d's 8 cores. What makes a picker work is
in docs/operations.md of llm-d/llm-d-router (pull request 1616, commit 7bfe4af): metrics of 100 endpoints at
50ms cost 7.5 cores while nobody asks anything, which is 3.75 ms each time; requests with prompts of 100,000
tokens and answers of 1,000 cost 0.28 core seconds each beside that, and 2.5 to 5.2 GiB at 50 to 99 of them in
a second. `bench/pickers.py` measures the same of the picker of gie-1.5: 3 to 5 ms each time for metrics of 40
KiB, 5 ms for a request, 0.3 ms for each 1,000 tokens of its prompt and 0.1 ms for each piece of an answer,
with 50 to 270 MiB.
"""

from collections.abc import Mapping
from typing import Any

from inferfleet.documents.kinds.inference_cluster import Serving
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.documents.quantity import go_seconds, parse_quantity
from inferfleet.fleet.roles import every_pod_serves, picker_of, request_ports, serving_roles, workers_of

Amounts = Mapping[str, Mapping[str, str]]  # requests and limits, by resource

_INTERVAL = "refresh-metrics-interval"
# What pickers take an interval of 0 for (NewRuntime in pkg/epp/datalayer/runtime.go of GIE v1.5.0).
_UNSAID = 0.05
# CPU seconds for one endpoint's metrics once.
_SCRAPE = 0.005
# Cores for what one endpoint answers, which no document tells: two requests and 500 pieces in a second. Where
# prompts are of 100,000 tokens, three times as much: `endpointPicker.resources` says so then.
_ANSWERS = 0.06
# Few replicas more or less should be no other picker.
_LEAST_ENDPOINTS = 4
# A picker has no CPU limit: a request is what it has for certain while others want the node too. The most is
# the request of llm-d's chart; a picker of hundreds of endpoints takes more where there is more.
_CORES = ("250m", "500m", "1", "2", "4", "8")
_MEBIBYTES = 64
_LEAST_MEBIBYTES, _MOST_MEBIBYTES = 512, 8192
# What is buffered for a picker follows from requests in hand and not from endpoints alone: a limit reserves
# nothing, and a picker that reaches it is killed.
_LIMIT = "16Gi"


def picker_resources(deployment: ModelDeployment, serving: Serving, replicas: int) -> Amounts:
    """Return requests and limits of the picker of so many replicas on a cluster with this `serving` block.

    They are the deployment's own as a whole, since a mix of both would fit neither; else those that fit what
    the picker does.
    """
    declared = deployment.spec.endpoint_picker.resources
    if declared is not None:
        return declared.written
    profile = picker_of(deployment, serving)
    flags: Mapping[str, Any] = {
        **profile.flags,
        **serving.epp_flags,
        **deployment.spec.endpoint_picker.flags,
    }
    interval = go_seconds(str(flags[_INTERVAL])) or _UNSAID
    return size_for(replicas * endpoints_of_replica(deployment), interval=interval)


def size_for(endpoints: int, *, interval: float) -> Amounts:
    """Return what a picker of so many endpoints requests, which asks for metrics every `interval` seconds.

    Endpoints count as the next power of two, and as four at least, so that few changes of their number are
    another size.
    """
    counted = max(_LEAST_ENDPOINTS, 1 << max(0, endpoints - 1).bit_length())
    cores = counted * (_SCRAPE / interval + _ANSWERS)
    cpu = next((size for size in _CORES if cores <= float(parse_quantity(size))), _CORES[-1])
    mebibytes = min(max(_LEAST_MEBIBYTES, counted * _MEBIBYTES), _MOST_MEBIBYTES)
    memory = f"{mebibytes}Mi" if mebibytes < 1024 else f"{mebibytes // 1024}Gi"
    return {"requests": {"cpu": cpu, "memory": memory}, "limits": {"memory": _LIMIT}}


def endpoints_of_replica(deployment: ModelDeployment) -> int:
    """Return among how many endpoints, each a pod and a port, one replica lets its picker choose."""
    return sum(_endpoints(deployment, role) for role in serving_roles(deployment))


def _endpoints(deployment: ModelDeployment, role: str) -> int:
    workers = workers_of(deployment, role)
    pods = workers.topology.pods_per_worker
    serving = pods if every_pod_serves(deployment, role, pods) else 1
    return workers.count * serving * len(request_ports(deployment, role))
