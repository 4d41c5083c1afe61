"""The command line of TensorRT-LLM in one pod: `trtllm-serve` (tensorrt_llm/commands/serve.py)."""

from collections.abc import Iterator

from inferfleet.serving.engines.worker import WorkerPod

# The fields that say what inferfleet writes, by the flags.
FIELDS = {
    "--revision": "engine.model.revision",
    "--host": "",
    "--port": "engine.port",
    "--tp_size": "topology.tensor",
    "--tensor_parallel_size": "topology.tensor",
    "--pp_size": "topology.pipeline",
    "--pipeline_parallel_size": "topology.pipeline",
    "--ep_size": "topology.expert",
    "--moe_expert_parallel_size": "topology.expert",
}


def arguments(pod: WorkerPod) -> Iterator[str]:
    """Yield what follows the program."""
    model, topology = pod.model, pod.topology
    yield model.repository
    if model.revision:
        yield f"--revision={model.revision}"
    # It listens on localhost otherwise.
    yield "--host=0.0.0.0"
    yield f"--port={pod.port}"
    if topology.tensor > 1:
        yield f"--tp_size={topology.tensor}"
    if topology.expert:
        yield f"--ep_size={topology.tensor}"
