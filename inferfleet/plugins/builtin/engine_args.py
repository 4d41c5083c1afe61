"""Plugin engine-args: writes the flags of an engine that its document says already.

They are those that the check of command lines looks for: sizes of the topology, the port, and in workers of
several pods what joins them, by the variables of the LeaderWorkerSet controller (LWS_LEADER_ADDRESS,
LWS_GROUP_SIZE, LWS_WORKER_INDEX: kubernetes-sigs/lws, pkg/utils/pod/pod_utils.go, commit 1b17603c). Pods that
serve get `--host=0.0.0.0` where the engine listens on 127.0.0.1 without it (SGLang, TensorRT-LLM). A flag
that is written stays as it is; one that contradicts the document is refused as without the plugin.

vLLM (vllm/engine/arg_utils.py, vllm/entrypoints/openai/dp_supervisor.py) joins pods by `--nnodes`,
`--node-rank` and `--master-addr`, and followers without requests are `--headless`; with whole copies in each
pod it takes `--data-parallel-address`, and infers a pod's first copy from `--node-rank`, so that nothing has
to be multiplied. SGLang (docs/references/multi_node_deployment) has `--nnodes`, `--node-rank` and
`--dist-init-addr`. TensorRT-LLM is started by mpirun, and Ray joins pods by itself: there only sizes, port
and address are written, in the entry.

Pods of prefill and decode are told to hand their KV caches on: vLLM by `--kv-transfer-config`, with kv_role
kv_producer for prefill and kv_consumer for decode as in its guides (docs/features/nixl_connector_usage.md, at
026c83f9, and mooncake_connector_usage.md), SGLang by `--disaggregation-mode`. Where a storage stands between
them, nothing is written. Decode of NIXL gets `kv_load_failure_policy` recompute from vLLM 0.16.0 on, with
which it reads the prompts itself whose caches ended with a prefill pod. vLLM of such a pair also gets
`--shutdown-timeout`, without which it aborts requests in hand at SIGTERM (vllm#36666). Engines of other
deployments get that flag with `drain: true` alone, because their pods restart for it.
"""

from inferfleet.plugins import api
from inferfleet.plugins.api import (
    Edited,
    Plugin,
    PodTemplate,
    Request,
    add_args,
    drain_args,
    engine,
    expert_args,
    handover_args,
    missing_args,
)


class Config(api.Config):
    """What does not follow from the topology."""

    expert_parallel: bool = False
    """Whether the experts of a mixture-of-experts model are spread over the GPUs of a worker instead of being
    split: `--enable-expert-parallel` of vLLM, and the size of the tensor group for SGLang (`--ep-size`) and
    TensorRT-LLM (`--ep_size`)."""
    drain: bool = False
    """Whether engines of all deployments are told to let requests in hand end when their pods do:
    `--shutdown-timeout` of vLLM from 0.19.0 on and `--exit-timeout-secs` of Triton, with what the grace
    period leaves after the preStop sleep. Where prefill is apart, vLLM is told so in any case."""


def edit(template: PodTemplate, request: Request, config: Config) -> PodTemplate | Edited:
    """Write the flags for topology, port, handover and end, and those that join the pods of a worker."""
    container = engine(template)
    if config.expert_parallel:
        add_args(container, *expert_args(template, request))
    add_args(container, *missing_args(template, request), *handover_args(template, request))
    if config.drain or request.deployment.connector is not None:
        add_args(container, *drain_args(template, request))
    if request.deployment.engine == "Other":
        return Edited(
            template, remarks=("of an engine of type Other no flags are known, so none is written",)
        )
    return template


PLUGIN = Plugin("engine-args", Config, edit, version="1.0.0")
