"""The command line of vLLM.

Sources: vllm/engine/arg_utils.py and vllm/entrypoints/openai/dp_supervisor.py (a pod's first copy follows
from --node-rank), docs/serving/parallelism_scaling.md and data_parallel_deployment.md, of KV transfer
docs/features/nixl_connector_usage.md and mooncake_connector_usage.md. Tried with the parser of vLLM 0.32.
"""

import json
from collections.abc import Iterator
from typing import Any

from inferfleet.fleet.roles import DECODE, connector, serving_roles
from inferfleet.serving.engines.worker import INDEX, LEADER, SIZE, WorkerPod
from inferfleet.tables.engines import MASTER_PORT, RPC_PORT, SUPERVISOR_PORT

# The connector's class and the roles in it, by `prefill.connector`.
CONNECTORS = {"NIXL": "NixlConnector", "Mooncake": "MooncakeConnector"}
# The fields that say what inferfleet writes, by the flags. That of KV transfer is for `prefill` alone.
FIELDS = {
    "--model": "engine.model",
    "--revision": "engine.model.revision",
    "--served-model-name": "engine.servedNames",
    "--host": "",
    "--port": "engine.port",
    "--tensor-parallel-size": "topology.tensor",
    "--pipeline-parallel-size": "topology.pipeline",
    "--data-parallel-size": "topology.data",
    "--data-parallel-size-local": "topology.dataLocal",
    "--data-parallel-rank": "topology.data",
    "--data-parallel-start-rank": "topology.data",
    "--data-parallel-address": "topology.data",
    "--data-parallel-rpc-port": "",
    "--data-parallel-hybrid-lb": "workers.balance",
    "--data-parallel-external-lb": "workers.balance",
    "--data-parallel-multi-port-external-lb": "workers.balance",
    "--data-parallel-supervisor-port": "",
    "--nnodes": "topology.pipeline or topology.tensor",
    "--node-rank": "topology.pipeline or topology.tensor",
    "--master-addr": "topology.pipeline or topology.tensor",
    "--master-port": "",
    "--headless": "workers.balance",
    "--enable-expert-parallel": "topology.expert",
    "--shutdown-timeout": "engine.drain",
}
_KV_ROLES = {"prefill": "kv_producer", "decode": "kv_consumer"}
TRANSFER = "--kv-transfer-config"
# Keys of the connector's configuration that inferfleet writes.
TRANSFER_KEYS = ("kv_connector", "kv_role")


def arguments(pod: WorkerPod, *, drain: int) -> Iterator[str]:
    """Yield what follows the program; `drain` are the seconds that requests have after SIGTERM."""
    engine, model, topology = pod.engine, pod.model, pod.topology
    yield model.repository
    if model.revision:
        yield f"--revision={model.revision}"
    if engine.served_names:
        yield from ("--served-model-name", *engine.served_names)
    if pod.serves:
        yield f"--port={pod.port}"
    if topology.tensor > 1:
        yield f"--tensor-parallel-size={topology.tensor}"
    if topology.pipeline > 1:
        yield f"--pipeline-parallel-size={topology.pipeline}"
    if topology.data > 1:
        yield f"--data-parallel-size={topology.data}"
    yield from _group(pod)
    if topology.expert:
        yield "--enable-expert-parallel"
    if pod.serves:
        yield f"--shutdown-timeout={drain}"
    if config := transfer_config(pod):
        yield f"{TRANSFER}={json.dumps(config, sort_keys=True, separators=(',', ':'))}"


def _group(pod: WorkerPod) -> Iterator[str]:
    """Yield what joins the pods of a worker and says who shares requests among its copies.

    Pods with whole copies meet at --data-parallel-address, and infer their first copy from --node-rank; one
    copy over several pods is run by vLLM's own launcher of processes, and followers have no API server.
    """
    topology, chosen = pod.topology, pod.balance
    by_port = chosen == "Port"
    one_each = chosen == "Pod" and topology.data_local == 1
    if by_port or (pod.has_copies and not one_each):
        yield f"--data-parallel-size-local={topology.data_local}"
    if by_port:
        yield "--data-parallel-multi-port-external-lb"
        yield f"--data-parallel-supervisor-port={SUPERVISOR_PORT}"
    if pod.pods == 1:
        return
    if topology.data > 1:
        yield f"--data-parallel-rpc-port={RPC_PORT}"
    if by_port:
        yield f"--data-parallel-address={LEADER}"
        yield f"--node-rank={INDEX}"
        return
    if pod.has_copies and one_each:
        yield f"--data-parallel-address={LEADER}"
        yield f"--data-parallel-rank={INDEX}"
        return
    if pod.has_copies and chosen == "Pod":
        yield "--data-parallel-hybrid-lb"
    yield f"--nnodes={SIZE}"
    yield f"--node-rank={INDEX}"
    yield f"--master-addr={LEADER}"
    yield f"--master-port={MASTER_PORT}"
    if not pod.serves:
        yield "--headless"


def transfer_config(pod: WorkerPod) -> dict[str, Any] | None:
    """Return `--kv-transfer-config` of a pod, None for one that hands no KV cache on by a written flag.

    Decode pods of NIXL read those prompts themselves whose caches ended with a prefill pod.
    """
    deployment = pod.deployment
    prefill = deployment.spec.prefill
    if prefill is None or pod.role not in serving_roles(deployment):
        return None
    name = CONNECTORS.get(connector(deployment))
    if name is None:
        return None
    recompute = (
        {"kv_load_failure_policy": "recompute"} if pod.role == DECODE and name == "NixlConnector" else {}
    )
    return {**recompute, **prefill.options, "kv_connector": name, "kv_role": _KV_ROLES[pod.role]}
