"""Decides from its arguments which pods an engine's pod is one engine with, or why it cannot be.

A group is one engine in many pods. Its ranks are nodes (`--nnodes`, for tensor and pipeline parallelism over
pods) or copies of the model (`--data-parallel-size`). The pod of rank 0 listens at the group's address, and
the others join it there (rendezvous.py). The words of what is refused are close to those of the engines:
vLLM's engine/arg_utils.py, entrypoints/cli/serve.py and v1/engine/utils.py, SGLang's srt/server_args.py.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from sandbox.engine.command.arguments import Arguments
from sandbox.engine.failure import EngineFailure

# What vLLM and SGLang take where the flag is not given (vllm/config/parallel.py).
LOCAL = "127.0.0.1"
_SUPERVISOR_PORT = 9256
_HYBRID, _EXTERNAL, _MULTI_PORT = (
    f"--data-parallel-{mode}-lb" for mode in ("hybrid", "external", "multi-port-external")
)

Ranks = Literal["nodes", "copies"]

# The flags for address and port of a group in vLLM, and the port where its flag is not given.
_MEETING: Mapping[Ranks, tuple[str, str, int]] = {
    "nodes": ("--master-addr", "--master-port", 29501),
    "copies": ("--data-parallel-address", "--data-parallel-rpc-port", 29550),
}


@dataclass(frozen=True)
class Sizes:
    """How the model is spread over GPUs: `data` copies, of which a pod has `data_local` where that is given.

    `attention` is how many ways the requests are spread within a tensor group, which takes no further GPUs.
    """

    tensor: int = 1
    pipeline: int = 1
    data: int = 1
    data_local: int | None = None
    attention: int = 1


@dataclass(frozen=True)
class Group:
    """The group of one pod, which has `count` of the `size` ranks, from `first` on.

    `address` is a name or an IP address. `headless`: the pod has no API server. `balanced`: every pod has
    one, and something outside chooses among them. `alike` has what all pods must have been given alike.
    """

    ranks: Ranks
    address: str
    port: int
    size: int
    first: int = 0
    count: int = 1
    headless: bool = False
    balanced: bool = False
    alike: str = ""


def sizes_of(given: Arguments, flags: Mapping[str, str]) -> Sizes:
    """Return the sizes that the flags say. Raises EngineFailure for those that cannot be."""
    numbers = {size: _positive(given, flag) for size, flag in flags.items() if given.has(flag)}
    sizes = Sizes(**numbers)
    if given.has("--enable-dp-attention") and sizes.attention == 1:
        sizes = replace(sizes, attention=sizes.data, data=1)
    if sizes.attention > 1 and sizes.data > 1:
        raise EngineFailure(
            f"ValueError: --dp-size {sizes.data} with --attn-dp-size {sizes.attention}: data-parallel "
            "replicas combined with attention data parallelism are not supported."
        )
    if sizes.tensor % sizes.attention:
        raise EngineFailure(f"AssertionError: tp_size={sizes.tensor}, attn_dp_size={sizes.attention}")
    return sizes


def group_of(engine: str, given: Arguments, sizes: Sizes) -> Group | None:
    """Return the group of the pod, or None for an engine in one pod. Raises EngineFailure."""
    if engine == "sglang":
        return _sglang(given, sizes)
    if engine != "vllm":
        return None
    return _vllm_nodes(given, sizes) if _number(given, "--nnodes", 1) > 1 else _vllm_copies(given, sizes)


def gpus_needed(engine: str, given: Arguments, sizes: Sizes, group: Group | None) -> int:
    """Return the GPUs that the engine uses in this pod."""
    copy = sizes.tensor * sizes.pipeline
    if group is not None and group.ranks == "nodes":
        return copy * sizes.data // group.size
    if group is not None:
        return copy * group.count
    return copy * (_copies_here(given, sizes) if engine == "vllm" else sizes.data)


def ports_of(given: Arguments, sizes: Sizes, port: int) -> tuple[int, ...]:
    """Return the ports of the pod's API servers: one, or with a multi-port load balancer one per copy."""
    count = _copies_here(given, sizes) if given.has(_MULTI_PORT) else 1
    return tuple(range(port, port + count))


def health_port_of(given: Arguments, ports: tuple[int, ...]) -> int | None:
    """Return the port that tells the health of all API servers of a pod at once, or None without one."""
    if not given.has(_MULTI_PORT):
        return None
    port = _number(given, "--data-parallel-supervisor-port", _SUPERVISOR_PORT)
    if port in ports:
        raise EngineFailure(
            f"ValueError: Error: --data-parallel-supervisor-port {port} overlaps with child rank ports "
            f"{ports[0]}-{ports[-1]}"
        )
    return port


def _vllm_nodes(given: Arguments, sizes: Sizes) -> Group:
    nodes, rank = _number(given, "--nnodes", 1), _number(given, "--node-rank", 0)
    tensor, pipeline, data = sizes.tensor, sizes.pipeline, sizes.data
    world, headless = tensor * pipeline * data, given.has("--headless")
    if world % nodes:
        raise EngineFailure(f"AssertionError: world_size={world} must be divisible by nnodes={nodes}.")
    if rank >= nodes:
        raise EngineFailure(f"AssertionError: node_rank={rank} must be less than nnodes={nodes}.")
    local = sizes.data_local or max(world // nodes // (tensor * pipeline), 1)
    nodes_per_copy = max(nodes * local // data, 1)
    if rank % nodes_per_copy and not headless:
        raise EngineFailure(
            f"AssertionError: collective_rpc should not be called on follower node: node_rank={rank} "
            "has no --headless."
        )
    if headless and not rank:
        raise EngineFailure(
            "RuntimeError: Did not receive response from front-end process: node_rank=0 has --headless, so "
            "that no pod has an API server."
        )
    alike = f"--nnodes {nodes}, tensor {tensor}, pipeline {pipeline}, data {data}"
    return _vllm(given, "nodes", size=nodes, first=rank, engine=rank // nodes_per_copy, alike=alike)


def _vllm_copies(given: Arguments, sizes: Sizes) -> Group | None:
    data = sizes.data
    headless = given.has("--headless")
    modes = [flag for flag in (_HYBRID, _EXTERNAL, _MULTI_PORT) if given.has(flag)]
    if len(modes) > 1:
        raise EngineFailure(
            "ValueError: Cannot use more than one data parallel load balancing mode. Choose one of: "
            f"{', '.join(modes)}."
        )
    if headless and modes:
        name = modes[0].removeprefix("--").replace("-", "_")
        raise EngineFailure(f"AssertionError: {name} is not applicable in headless mode")
    count = _copies_here(given, sizes)
    own_rank = _number(given, "--data-parallel-rank", -1)
    # The supervisor of several ports infers it: vllm/entrypoints/openai/dp_supervisor.py.
    inferred = _number(given, "--node-rank", 0) * count if given.has(_MULTI_PORT) else 0
    first = own_rank if own_rank >= 0 else _number(given, "--data-parallel-start-rank", inferred)
    if data == count and not first and not headless:
        return None
    if first + count > data:
        raise EngineFailure(
            f"ValueError: data_parallel_rank ({first + count - 1}) must be in the range [0, {data})"
        )
    alike = f"tensor {sizes.tensor}, pipeline {sizes.pipeline}, data {data}"
    return _vllm(given, "copies", size=data, first=first, count=count, engine=first, alike=alike)


def _vllm(
    given: Arguments, ranks: Ranks, *, size: int, first: int, count: int = 1, engine: int, alike: str
) -> Group:
    """Return the group of a pod that has the ranks from `first` on, in this engine of the group."""
    headless, balanced = given.has("--headless"), _balanced(given)
    if first and not headless and not balanced:
        raise EngineFailure(
            f"RuntimeError: Remote engine {engine} must use --headless unless in external or hybrid dp lb "
            "mode"
        )
    address, port, default = _MEETING[ranks]
    return Group(
        ranks=ranks,
        address=given.text(address) or LOCAL,
        port=_number(given, port, default),
        size=size,
        first=first,
        count=count,
        headless=headless,
        balanced=balanced,
        alike=alike,
    )


def _sglang(given: Arguments, sizes: Sizes) -> Group | None:
    nodes, rank = _number(given, "--nnodes", 1), _number(given, "--node-rank", 0)
    if nodes < 2:
        return None
    if sizes.tensor * sizes.pipeline % nodes:
        raise EngineFailure("AssertionError: tp_size must be divisible by number of nodes")
    if sizes.data > 1:
        raise EngineFailure(
            "AssertionError: multi-node data-parallel replicas are not supported; use attention DP "
            "(--attn-dp-size) across nodes"
        )
    if rank >= nodes:
        raise EngineFailure(f"AssertionError: node_rank={rank} must be less than nnodes={nodes}.")
    name, _, port = (given.text("--dist-init-addr") or "").rpartition(":")
    if not port.isdecimal():
        raise EngineFailure("ValueError: --dist-init-addr must be given as host:port with --nnodes above 1.")
    return Group(
        ranks="nodes",
        address=name.strip("[]"),
        port=int(port),
        size=nodes,
        first=rank,
        headless=rank > 0,
        alike=(
            f"--nnodes {nodes}, tensor {sizes.tensor}, pipeline {sizes.pipeline}, attention {sizes.attention}"
        ),
    )


def _balanced(given: Arguments) -> bool:
    """Return whether each pod has API servers of its own; vLLM infers it from a rank that is given."""
    inferred = given.has("--data-parallel-rank") or given.has("--data-parallel-start-rank")
    return any(given.has(flag) for flag in (_HYBRID, _EXTERNAL, _MULTI_PORT)) or (
        inferred and not given.has("--headless")
    )


def _copies_here(given: Arguments, sizes: Sizes) -> int:
    if given.has(_EXTERNAL) or given.has("--data-parallel-rank"):
        return 1
    return sizes.data_local or sizes.data


def _positive(given: Arguments, flag: str) -> int:
    number = int(given.text(flag) or 0)
    if number < 1:
        raise EngineFailure(f"ValueError: {flag} must be greater than 0, got {number}.")
    return number


def _number(given: Arguments, flag: str, default: int) -> int:
    text = given.text(flag)
    if text is None:
        return default
    if int(text) < 0:
        raise EngineFailure(f"ValueError: {flag} must be greater than or equal to 0, got {text}.")
    return int(text)
