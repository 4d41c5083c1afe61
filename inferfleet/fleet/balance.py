"""Who shares requests among the copies of a model in one worker: the engine, or the endpoint picker."""

from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.documents.kinds.workers import MOST_PORTS, Balance
from inferfleet.fleet.roles import engine_of, serving_roles, workers_of


def balance(deployment: ModelDeployment, role: str) -> Balance:
    """Return who shares requests among the copies of a worker: as declared, else by type and topology.

    vLLM's copies in several pods are chosen among by the picker, each on a port of its own where a pod has
    2 to 8 of them; those of further roles on one port, because a Service is in front of them and no picker.
    """
    workers = workers_of(deployment, role)
    topology = workers.topology
    if workers.balance is not None:
        return workers.balance
    if not topology.has_copies_apart or engine_of(deployment, role).type != "vLLM":
        return "Engine"
    picked = role in serving_roles(deployment)
    return "Port" if picked and 2 <= topology.data_local <= MOST_PORTS else "Pod"


def has_copies_apart(deployment: ModelDeployment, role: str, pods: int) -> bool:
    """Return whether each of so many pods of a worker has whole copies of the model."""
    topology = workers_of(deployment, role).topology
    return topology.has_copies_apart and pods == topology.pods_per_worker


def every_pod_serves(deployment: ModelDeployment, role: str, pods: int) -> bool:
    """Return whether each of so many pods of a worker takes requests, and not only its entry."""
    return has_copies_apart(deployment, role, pods) and balance(deployment, role) != "Engine"
