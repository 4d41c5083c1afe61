"""The command line of SGLang.

Sources: sglang/srt/server_args.py, docs/references/multi_node_deployment, of prefill and decode apart
docs/advanced_features/pd_disaggregation.md. Tried with the parser of SGLang 0.5.23.
"""

from collections.abc import Iterator

from inferfleet.fleet.roles import PREFILL, hands_over
from inferfleet.serving.engines.worker import INDEX, LEADER, SIZE, WorkerPod
from inferfleet.tables.engines import BOOTSTRAP_PORT, SGLANG_MEETS

# The fields that say what inferfleet writes, by the flags.
FIELDS = {
    "--model-path": "engine.model",
    "--revision": "engine.model.revision",
    "--served-model-name": "engine.servedNames",
    "--host": "",
    "--port": "engine.port",
    "--enable-metrics": "",
    "--tensor-parallel-size": "topology.tensor",
    "--pipeline-parallel-size": "topology.pipeline",
    "--data-parallel-size": "topology.data",
    "--attn-dp-size": "topology.attention",
    "--enable-dp-attention": "topology.attention",
    "--expert-parallel-size": "topology.expert",
    "--nnodes": "topology.pipeline or topology.tensor",
    "--node-rank": "topology.pipeline or topology.tensor",
    "--dist-init-addr": "topology.pipeline or topology.tensor",
    "--disaggregation-mode": "prefill",
    "--disaggregation-bootstrap-port": "",
}


def arguments(pod: WorkerPod) -> Iterator[str]:
    """Yield what follows the program."""
    engine, model, topology = pod.engine, pod.model, pod.topology
    yield f"--model-path={model.repository}"
    if model.revision:
        yield f"--revision={model.revision}"
    for name in engine.served_names[:1]:
        yield f"--served-model-name={name}"
    if pod.serves:
        # It listens on 127.0.0.1 otherwise.
        yield "--host=0.0.0.0"
        yield f"--port={pod.port}"
        yield "--enable-metrics"
    if topology.tensor > 1:
        yield f"--tp-size={topology.tensor}"
    if topology.pipeline > 1:
        yield f"--pp-size={topology.pipeline}"
    if topology.data > 1:
        yield f"--dp-size={topology.data}"
    if topology.attention > 1:
        yield f"--attn-dp-size={topology.attention}"
    if topology.expert:
        yield f"--ep-size={topology.tensor}"
    if pod.pods > 1:
        yield f"--nnodes={SIZE}"
        yield f"--node-rank={INDEX}"
        yield f"--dist-init-addr={LEADER}:{SGLANG_MEETS}"
    if hands_over(pod.deployment, pod.role):
        yield f"--disaggregation-mode={pod.role}"
        if pod.role == PREFILL:
            yield f"--disaggregation-bootstrap-port={BOOTSTRAP_PORT}"
